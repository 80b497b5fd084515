package exits

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

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
		if got := PlainError(tt.err); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}

// No error of ours begins with the name of its package when a person reads it.
func TestPrefixes(t *testing.T) {
	made := regexp.MustCompile(`(?:errors\.New|fmt\.Errorf)\("([a-z0-9]+: )`)
	root := filepath.Join("..", "..", "..")
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
			if prefix := m[1]; prefix != "panic: " && TrimPackageNames(prefix+"odd") != "odd" {
				t.Errorf("%s: an error begins with %q, which the command would print", path, prefix)
			}
		}
		return err
	})
	if err != nil || found < 100 {
		t.Fatal(found, err)
	}
}
