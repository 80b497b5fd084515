package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli"
	"github.com/aaep-go/aaep/internal/cli/hook/call"
	"github.com/aaep-go/aaep/internal/npmtest"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/ipc"
)

// TestMain is the command itself where a test runs it as a process.
func TestMain(m *testing.M) {
	if os.Getenv("AAEP_TEST_COMMAND") != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// A home is what a user has: a home of their own, and a server of hooks that is started in it.
type home struct {
	t   testing.TB
	dir string
	env []string
}

func newHome(t testing.TB) *home {
	t.Helper()
	if !unix {
		t.Skip("the folders of this test are those of Unix")
	}
	dir, err := os.MkdirTemp("", "hook") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, dir: dir}
	run := filepath.Join(dir, "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains([]string{"HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
			"XDG_CONFIG_HOME", "GEMINI_CLI_HOME", "CODEX_HOME"}, name) {
			h.env = append(h.env, v)
		}
	}
	h.env = append(h.env, "AAEP_TEST_COMMAND=1", "HOME="+dir, "XDG_RUNTIME_DIR="+run,
		"XDG_STATE_HOME="+filepath.Join(dir, "state"))
	t.Setenv("XDG_RUNTIME_DIR", run) // for what follows the server in this process
	t.Cleanup(func() { os.RemoveAll(dir) })
	return h
}

// startServer starts the server of hooks, until the test ends.
func (h *home) startServer(args ...string) *exec.Cmd {
	h.t.Helper()
	cmd := h.newCommand(append([]string{"hook", "serve"}, args...)...)
	var says locked
	cmd.Stderr = &says
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	for late := time.Now().Add(2 * time.Minute); !strings.Contains(says.String(),
		"Serving Coding agents"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			h.t.Fatalf("the server does not serve: %s", &says)
		}
	}
	return cmd
}

// A locked is a buffer for several goroutines.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }
func (l *locked) String() string              { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

func (h *home) newCommand(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env, cmd.WaitDelay = h.env, 10*time.Second
	return cmd
}

// runCommand runs the command, and returns what it prints.
func (h *home) runCommand(input string, args ...string) (stdout, stderr string, code int) {
	h.t.Helper()
	cmd := h.newCommand(args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// A person follows the server, and answers as they decide.
type person struct {
	sub   *subscriber.Subscription
	mu    sync.Mutex
	asked []*aaep.AwaitingConfirmation
	heard strings.Builder
	moved chan struct{} // closed and made anew with each event
}

// followServer follows the server as "aaep listen" does. Answer answers a question, or does not.
func (h *home) followServer(answer func(p *person, ev *aaep.Event)) *person {
	h.t.Helper()
	path, err := ipc.Path("hook")
	if err != nil {
		h.t.Fatal(err)
	}
	caps := subscriber.ScreenReader("en-US")
	caps.MaxEventsPerSecond = 100
	sub, err := subscriber.Dial(h.t.Context(), ipc.Dialer{Path: path}, subscriber.Config{ID: "reader", NoReconnect: true,
		Capabilities: caps})
	if err != nil {
		h.t.Fatal(err)
	}
	for late := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) { // until the server counts them
		if n, err := call.Status(h.t.Context()); n > 0 {
			break
		} else if time.Now().After(late) {
			h.t.Fatalf("the server has %d listeners: %v", n, err)
		}
	}
	p := &person{sub: sub, moved: make(chan struct{})}
	h.t.Cleanup(func() { sub.Close() })
	go func() {
		for ev, err := range sub.Events(context.Background()) {
			if err != nil {
				return
			}
			p.mu.Lock()
			q, asks := ev.Payload.(*aaep.AwaitingConfirmation)
			if asks {
				p.asked = append(p.asked, q)
			}
			if out, ok := ev.Payload.(*aaep.OutputStreaming); ok {
				p.heard.WriteString(out.Chunk + "\n")
			} else {
				p.heard.WriteString(ev.Text(aaep.VerbosityNormal) + "\n")
			}
			close(p.moved)
			p.moved = make(chan struct{})
			p.mu.Unlock()
			if asks {
				answer(p, ev)
			}
		}
	}()
	return p
}

func replyWith(d aaep.Decision) func(*person, *aaep.Event) {
	return func(p *person, ev *aaep.Event) { replies.Send(context.Background(), p.sub.Question(ev), d, nil) }
}

// awaitHeard waits until the person has heard something.
func (p *person) awaitHeard(t *testing.T, text string) {
	t.Helper()
	for late := time.After(2 * time.Minute); ; {
		p.mu.Lock()
		heard, moved := p.heard.String(), p.moved
		p.mu.Unlock()
		if strings.Contains(heard, text) {
			return
		}
		select {
		case <-moved:
		case <-late:
			t.Fatalf("not heard is %q, but\n%s", text, heard)
		}
	}
}

// The real Gemini CLI, with --yolo and hooks that our command has installed: a no keeps the file, a
// yes deletes it, and without a person all is as if there were no hook.
func TestGemini(t *testing.T) {
	gemini := npmtest.Install(t, "../acp/testdata/gemini")
	h := newHome(t)
	h.env = append(h.env, "GEMINI_API_KEY=none", "GEMINI_CLI_HOME="+h.dir, "GEMINI_CLI_TRUST_WORKSPACE=true",
		"GEMINI_MODEL=gemini-2.5-flash")
	settings := filepath.Join(h.dir, ".gemini", "settings.json")
	const mine = "{\n\t\"ui\": {\"theme\": \"Default\"}\n}\n"
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(mine), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, code := h.runCommand("", "hook", "install", "--pieces", "gemini"); code != 0 || !strings.Contains(out,
		"You will hear") {
		t.Fatalf("install ends with %d: %s%s", code, out, errs)
	}
	h.startServer()
	for _, c := range []struct {
		name   string
		answer func(*person, *aaep.Event)
		there  bool
	}{{"reject", replyWith(aaep.Reject), true}, {"accept", replyWith(aaep.Accept), false}, {"nobody", nil, false}} {
		t.Run(c.name, func(t *testing.T) {
			h.t = t
			folder := t.TempDir()
			file := filepath.Join(folder, "report.txt")
			if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
				t.Fatal(err)
			}
			var who *person
			if c.answer != nil {
				who = h.followServer(c.answer)
			}
			out, err := h.geminiCommand(gemini, folder).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) == c.there {
				t.Errorf("the file: %v. Gemini CLI says %s", err, out)
			}
			if who == nil {
				return
			}
			who.awaitHeard(t, "I have looked after it.")
			who.awaitHeard(t, "Gemini CLI in "+filepath.Base(folder)+": Delete the old report.")
			who.mu.Lock()
			defer who.mu.Unlock()
			if n := strings.Count(who.heard.String(), "I have looked after it."); n != 1 {
				t.Errorf("the answer is heard %d times", n)
			}
			if len(who.asked) != 1 || !strings.HasSuffix(who.asked[0].Action,
				`Run the command "rm report.txt".`) || who.asked[0].RiskLevel != aaep.RiskHigh {
				t.Errorf("asked %+v", who.asked)
			}
		})
	}
	h.t = t
	if out, errs, code := h.runCommand("", "hook", "install", "--remove", "gemini"); code != 0 {
		t.Fatalf("removing ends with %d: %s%s", code, out, errs)
	}
	if got, err := os.ReadFile(settings); string(got) != mine || err != nil {
		t.Errorf("the settings come back as %q, %v", got, err)
	}
}

// geminiCommand returns Gemini CLI, with a model that deletes a file and then says so.
func (h *home) geminiCommand(gemini, folder string) *exec.Cmd {
	h.t.Helper()
	answer := func(part map[string]any) map[string]any {
		return map[string]any{"method": "generateContentStream",
			"response": []any{map[string]any{"candidates": []any{map[string]any{
				"content": map[string]any{"role": "model", "parts": []any{part}}, "index": 0, "finishReason": "STOP"}}}}}
	}
	var lines bytes.Buffer
	for _, part := range []map[string]any{
		{"functionCall": map[string]any{"name": "run_shell_command", "args": map[string]any{"command": "rm report.txt",
			"description": "Clean up"}}},
		{"text": "I have looked "}, // in two pieces
	} {
		one := answer(part)
		if part["text"] != nil {
			first := one["response"].([]any)[0].(map[string]any)["candidates"].([]any)[0].(map[string]any)
			delete(first, "finishReason")
			one["response"] = append(one["response"].([]any), answer(map[string]any{"text": "after it."})["response"].([]any)...)
		}
		if err := json.NewEncoder(&lines).Encode(one); err != nil {
			h.t.Fatal(err)
		}
	}
	file := filepath.Join(h.t.TempDir(), "answers.jsonl")
	if err := os.WriteFile(file, lines.Bytes(), 0o600); err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command("node", filepath.Join(gemini, "node_modules", "@google", "gemini-cli", "bundle", "gemini.js"), "--yolo", "-p",
		"Delete the old report.", "--fake-responses-non-strict", file)
	cmd.Dir, cmd.Env, cmd.WaitDelay = folder, h.env, 10*time.Second
	return cmd
}
