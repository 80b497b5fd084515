package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/sse"
)

// LVL-044: the command starts a subscriber, and ends with a code that a script can ask for.
func TestConformanceSubscriber(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no Python here")
	}
	page, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "# Proving a subscriber\n")
	_, rest, _ = strings.Cut(rest, "```python\n")
	program, _, _ := strings.Cut(rest, "```")
	write := func(name, program string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	reader := func(name, program string) string { return fmt.Sprintf("%q %q", python, write(name, program)) }
	good := reader("reader.py", program)
	deaf := reader("deaf.py", strings.ReplaceAll(program, "print(json.dumps(line), flush=True)", "pass"))
	rude := reader("rude.py", strings.ReplaceAll(program, `event["type"].split(".")[-1]`, `"news"`))
	slow := []string{"--timeout", "120"}
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string // in what is printed
	}{
		{"passed", append([]string{"--exec", good}, slow...), exits.OK, "AAEP 1.0.0 subscriber Level 1: passed."},
		{"failed", append([]string{"--exec", rude, "--case", "ends-distinct"}, slow...), exits.Failed,
			"FAIL LVL-015 ends-distinct: two ends of a session are presented alike. Right would be: "},
		{"without the hook", []string{"--exec", deaf, "--timeout", "1"}, exits.Failed,
			"NOT RUN LVL-014 start-told: the target tells nothing through the hook."},
		{"known failure", append([]string{"--exec", rude, "--case", "ends-distinct", "--known-failures",
			write("known", "ends-distinct # alike so far")}, slow...), exits.OK,
			"FAIL LVL-015 ends-distinct, as is known: "},
		{"unknown failure", []string{"--exec", good, "--known-failures", write("wrong", "no-such")}, exits.Usage,
			"no case has that name"},
		{"no program", []string{"--exec", "/no/such/reader"}, exits.Unreachable, "no such file"},
		{"a program that does not come", []string{"--exec", python + " -c pass"}, exits.Unreachable,
			"no subscriber came to http://127.0.0.1:"},
		{"no case", []string{"--exec", good, "--case", "asks-first"}, exits.Usage, "no case for subscribers is named"},
		{"no level", []string{"--exec", good, "--level", "4"}, exits.Usage, "none of 1, 2 and 3"},
		{"no time", []string{"--exec", good, "--timeout", "0"}, exits.Usage, "not from 1 to 600"},
		{"no words", []string{"--exec", "'"}, exits.Usage, "--exec"},
		{"elsewhere", []string{"--exec", good, "--listen", "http://192.0.2.1:80"}, exits.Usage, "is not this machine"},
		{"list", []string{"--list"}, exits.OK, "unknown-type: Level 1, MUST, LVL-016, ENV-010, EXT-012: "},
		{"explain", []string{"--explain", "CONF-039"}, exits.OK, "expires: Level 2, MUST"},
		{"explain nothing", []string{"--explain", "XX-1"}, exits.Usage, "none decides it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, talk bytes.Buffer
			code := Main(append([]string{"conformance", "subscriber"}, tt.args...), strings.NewReader(""), &out, &talk)
			if all := out.String() + talk.String(); code != tt.code || !strings.Contains(all, tt.want) {
				t.Errorf("code %d, want %d and %q:\n%s", code, tt.code, tt.want, all)
			}
		})
	}
	var out, talk bytes.Buffer
	var report map[string]any
	code := Main(append([]string{"conformance", "subscriber", "--exec", good, "--case", "unknown-type", "--json"},
		slow...), strings.NewReader(""), &out, &talk)
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || code != exits.OK ||
		report["target_kind"] != "subscriber" {
		t.Errorf("code %d, %v: %s", code, err, out.String())
	}
}

// An author who starts the subscriber by hand is told where it is awaited, and is judged by the
// wire alone if it has no hook.
func TestConformanceSubscriberAwaited(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	var out bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		defer write.Close()
		ended <- Main([]string{"conformance", "subscriber", "--level", "3", "--timeout", "1", "--case",
			"request-valid", "--listen", "127.0.0.1:0"}, strings.NewReader(""), &out, write)
	}()
	line, err := readLine(read)
	_, at, found := strings.Cut(line, "Waiting 5 minutes for your subscriber at ")
	if err != nil || !found {
		t.Fatalf("%v: %q", err, line)
	}
	go func() {
		for { // that is not read any more must not keep it
			if _, err := readLine(read); err != nil {
				return
			}
		}
	}()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	sub, err := subscriber.Dial(ctx, sse.Dialer{URL: at},
		subscriber.Config{ID: "reader", Capabilities: subscriber.ScreenReader("en-US")})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if code := <-ended; code != exits.OK || !strings.Contains(out.String(), "PASS HS-004 request-valid") {
		t.Errorf("code %d: %s", code, out.String())
	}
}

// readLine reads one line, byte by byte.
func readLine(f *os.File) (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		if _, err := f.Read(b); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return string(line), nil
		}
		line = append(line, b[0])
	}
}
