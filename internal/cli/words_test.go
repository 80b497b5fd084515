package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

func TestDollars(t *testing.T) {
	for amount, want := range map[float64]string{0: "$0", 61500: "$61,500", 999.999: "$1,000", 1491.5: "$1,491.50",
		0.05: "$0.05"} {
		if got := formatDollars(amount); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&aaep.Rejection{Code: aaep.RateLimit, Message: "Too many\nlisteners."}, "Too many listeners"},
		{fmt.Errorf("sse: not delivered: cannot reach x: %w", &url.Error{Op: "Post", URL: "http://x", Err: refused}),
			"nothing answers there"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Name: "bank.example", Err: "no such host"}},
			"there is no machine named bank.example"},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), "it did not answer in time"},
		{fmt.Errorf("x: %w", transports.ErrInterrupted), "the link broke"},
		{fmt.Errorf("sse: it is unknown: %w", io.ErrUnexpectedEOF), "the link broke"},
		{subscriber.ErrUnknownEvent, "the question is no longer open"},
		{&aaep.InvalidError{Message: "m", Violations: []aaep.Violation{{Requirement: "HS-012",
			Pointer: "/capabilities/pace_wpm", Problem: "must be less"}}}, "pace wpm must be less"},
		{errors.New("subscriber: odd"), "odd"},
		{fmt.Errorf("auth: tokens: line 1: %w", errors.New("auth: oidc: a token: could be guessed; sse: and more")),
			"tokens: line 1: a token: could be guessed; and more"},
	} {
		if got := plainError(tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}

// Where nothing answers, an agent can be started only where this machine is meant, and at that very
// address.
func TestStartThere(t *testing.T) {
	for at, want := range map[string]string{
		"http://127.0.0.1:8081": "--listen 127.0.0.1:8081 --", "ws://localhost:1/x": "--listen localhost:1 --",
		localScheme + "planner": "--listen " + localScheme + "planner --",
		"https://bank.example":  "try again later", "https://127.0.0.1:8081": "try again later",
		"http://127.0.0.1": "try again later",
	} {
		if got := startThere(at); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"http://127.0.0.1:8080": "http://127.0.0.1:8080", "127.0.0.1:8080": "http://127.0.0.1:8080",
		"localhost:1/x":             "http://localhost:1/x",
		"https://bank.example/aaep": "https://bank.example/aaep", "[::1]:80": "http://[::1]:80",
		"ws://x": "ws://x", "wss://bank.example": "wss://bank.example", localExample: localExample, localScheme: "",
		foreignScheme + "planner": "",
		"":                        "", "http://": "", "ftp://x": "", "a:b:c": "", "http://a:b@c": "",
		"http://a?b=c": "", "http://a#b": "", "127.0.0.1:99999": "", "https://x:0": "",
	} {
		got, err := checkAddress(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("address(%q) = %q, %v; want %q", in, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "a:b@") {
			t.Errorf("address(%q) repeats a password: %v", in, err)
		}
	}
}

func TestHighestRate(t *testing.T) {
	at := func(critical bool, seconds ...float64) (rs []receipt) {
		for _, s := range seconds {
			rs = append(rs, receipt{time.Unix(0, int64(s*1e9)), critical})
		}
		return rs
	}
	for _, tt := range []struct {
		rs   []receipt
		want int
	}{
		{nil, 0}, {at(false, 1), 1}, {at(true, 1, 1, 1), 0}, {at(false, 0, 1, 2), 1}, {at(false, 0, 0.999, 2), 1},
		{at(false, 0, 0.9, 1.8), 2},
		{at(false, 0, 0.8, 0.9, 1.0, 1.7, 5), 4}, {append(at(true, 0.5), at(false, 0, 0.1)...), 2},
	} {
		if got := highestRate(tt.rs); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.rs, got, tt.want)
		}
	}
}

func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"You have $61,500 in all.":  "You| have| |$61|,500| in| all|.",
		"Dr. Okafor's rule,\n\ni.e": "Dr|.| Okafo|r's| rule|,|\n|\ni|.e",
		"größer":                    "größ|er",
	} {
		got := splitTokens(text)
		if strings.Join(got, "|") != want || strings.Join(got, "") != text {
			t.Errorf("%q: %q, want %q", text, strings.Join(got, "|"), want)
		}
	}
}

// The sum of the demo is checked month by month.
func TestProject(t *testing.T) {
	want := 61500.0
	for range 26 * 12 {
		want = want*(1+0.04/12) + 500
	}
	if got := futureValue(61500, 500, 0.04, 26); math.Abs(got-want) > 0.01 {
		t.Errorf("%.2f, want %.2f", got, want)
	}
}

// The help of each command is plain text in lines that a terminal does not break.
func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"help"}, {"demo", "--help"}, {"run", "-h"}, {"help", "listen"},
		{"help", "serve"}, {"help", "bench"},
		{"help", "conformance", "producer"}, {"help", "conformance", "subscriber"}, {"help", "manifest", "init"},
		{"help", "manifest", "keygen"}, {"help", "manifest", "accept"}} {
		var out, errs bytes.Buffer
		if code := Main(args, strings.NewReader(""), &out, &errs); code != exitOK || errs.Len() > 0 {
			t.Errorf("%q: code %d, %s", args, code, &errs)
		}
		for line := range strings.Lines(out.String()) {
			if len(line) > 121 || strings.ContainsFunc(line,
				func(r rune) bool { return r > 0x7e || r < 0x20 && r != '\n' }) {
				t.Errorf("%q: %q", args, line)
			}
		}
	}
}

// No error of ours begins with the name of its package when a person reads it.
func TestPrefixes(t *testing.T) {
	made := regexp.MustCompile(`(?:errors\.New|fmt\.Errorf)\("([a-z0-9]+: )`)
	root := filepath.Join("..", "..")
	found := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if _, other := os.Stat(filepath.Join(path, "go.mod")); other == nil && path != root ||
				strings.HasSuffix(path, "test") {
				return fs.SkipDir // modules of their own, and what is for tests
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range made.FindAllStringSubmatch(string(text), -1) {
			found++
			if prefix := m[1]; prefix != "panic: " && trimPackageNames(prefix+"odd") != "odd" {
				t.Errorf("%s: an error begins with %q, which the command would print", path, prefix)
			}
		}
		return err
	})
	if err != nil || found < 100 {
		t.Fatal(found, err)
	}
}
