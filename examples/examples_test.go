// Package examples runs each example as a person would, as a program of its own, and looks at what
// that person would notice.
package examples

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/brailletest"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/internal/speechtest"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/sse"
)

var programs string // the folder they are built into

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if programs, err = os.MkdirTemp("", "examples"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(programs)
		// The screen reader of the developer who runs the tests is not to be found.
		hidden := "-ldflags=-X github.com/aaep-go/aaep/internal/sessionbus.Processes=" + programs
		if out, err := exec.Command("go", "build", hidden, "-o", programs+string(filepath.Separator), "./...", "../cmd/aaep").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// program is one that runs. What it prints is kept.
type program struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	stdin io.Writer
	ended chan struct{}
	mu    sync.Mutex
	lines []string
}

// start runs a program until it ends, or the test does.
func start(t *testing.T, env []string, name string, args ...string) *program {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, name), args...)
	cmd.Env = append(os.Environ(), env...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	p := &program{t: t, name: name, cmd: cmd, stdin: stdin, ended: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { cmd.Wait(); write.Close() }()
	go func() {
		defer close(p.ended)
		for in := bufio.NewScanner(read); in.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, in.Text())
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() { <-p.ended })
	return p
}

func (p *program) printed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// until waits for something that is about to happen.
func (p *program) until(what string, happened func() bool) {
	p.t.Helper()
	for limit := time.Now().Add(3 * time.Minute); !happened(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			p.t.Fatalf("not within three minutes: %s\n%s has printed:\n%s", what, p.name, p.printed())
		}
	}
}

// prints waits until the program has printed a text.
func (p *program) prints(text string) {
	p.t.Helper()
	p.until("it prints "+text, func() bool { return strings.Contains(p.printed(), text) })
}

// end waits until the program has ended, and returns what it printed.
func (p *program) end() string {
	p.t.Helper()
	p.until("it ends", func() bool {
		select {
		case <-p.ended:
			return true
		default:
			return false
		}
	})
	return p.printed()
}

// interrupt presses Ctrl-C.
func (p *program) interrupt() error { return p.cmd.Process.Signal(os.Interrupt) }

// code is the exit code of a program that has ended.
func (p *program) code() int { return p.cmd.ProcessState.ExitCode() }

// accept types a yes to the bank, and again after longer and longer pauses: each may come too soon,
// and what is said then takes time, too. Meanwhile it calls reads, again and again.
func (p *program) accept(bank *program, reads func()) {
	p.t.Helper()
	wait, typed := time.Second, time.Time{}
	p.until("the money moves", func() bool {
		if reads(); time.Since(typed) > wait {
			io.WriteString(p.stdin, "y\n")
			wait, typed = wait*3/2, time.Now()
		}
		return strings.Contains(bank.printed(), "Savings: $600.")
	})
}

// address waits until the program has said where it is.
func (p *program) address() string {
	p.t.Helper()
	p.prints("http://")
	_, after, _ := strings.Cut(p.printed(), "http://")
	return "http://" + strings.Fields(after)[0]
}

// follow hears one session of an agent to its end, and answers what is asked.
func follow(t *testing.T, address string, wants aaep.Capabilities, answer func(*subscriber.Subscription, *aaep.Event)) string {
	t.Helper()
	return followOver(t, sse.Dialer{URL: address}, wants, answer)
}

func followOver(t *testing.T, over sse.Dialer, wants aaep.Capabilities, answer func(*subscriber.Subscription, *aaep.Event)) string {
	t.Helper()
	sub, err := subscriber.Dial(t.Context(), over, subscriber.Config{ID: "test", Capabilities: wants})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	var heard []string
	for ev, err := range sub.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		heard = append(heard, ev.Text(aaep.VerbosityNormal))
		switch ev.Payload.(type) {
		case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
			answer(sub, ev)
		}
		if ev.Type().Terminal() {
			break
		}
	}
	return strings.Join(heard, "\n")
}

// contains checks that texts are in another, in this order.
func contains(t *testing.T, whole string, parts ...string) {
	t.Helper()
	rest := whole
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Fatalf("%q is not there, or not in its place:\n%s", part, whole)
		}
		rest = after
	}
}

// Money moves on a yes, and on nothing else.
func TestBank(t *testing.T) {
	t.Parallel()
	mute := subscriber.ScreenReader("en-US").With(aaep.Capabilities{SupportsConfirmationReply: new(false)})
	for name, c := range map[string]struct {
		wants    aaep.Capabilities
		decision aaep.Decision
		end      string
		left     string
	}{
		"yes":                  {subscriber.ScreenReader("en-US"), aaep.Accept, "Your savings are in order.", "Checking: $300. Savings: $600."},
		"no":                   {subscriber.ScreenReader("en-US"), aaep.Reject, "No money was moved.", "Checking: $800. Savings: $100."},
		"nobody can be asked.": {mute, "", "No money was moved.", "Checking: $800. Savings: $100."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bank := start(t, nil, "bank", "-listen", "127.0.0.1:0")
			asked := 0
			heard := follow(t, bank.address(), c.wants, func(sub *subscriber.Subscription, ev *aaep.Event) {
				asked++
				contains(t, ev.Text(aaep.VerbosityNormal), "Transfer $500")
				if err := replies.Send(t.Context(), sub.Question(ev), c.decision, nil); err != nil {
					t.Error(err)
				}
			})
			contains(t, heard, "Looking after your savings.", c.end)
			contains(t, bank.end(), c.left)
			if want := len(c.decision) > 0; asked > 0 != want {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}

// The listener that starts the program hears what it prints, and how it ended.
func TestAnyCLI(t *testing.T) {
	t.Parallel()
	anycli := filepath.Join(programs, "anycli")
	contains(t, start(t, nil, "aaep", "listen", "--exec", "'"+anycli+"' go help version").end(),
		"Running go.", "Go version reports the Go version used", "Done. go finished.")
	contains(t, start(t, nil, "aaep", "listen", "--exec", "'"+anycli+"' go nonsense").end(), "Error. go failed: exit status 2.")
}

// The question is heard whole before a yes counts, and then the money moves.
func TestReader(t *testing.T) {
	t.Parallel()
	for pace := 1200; !interrupts(t, pace); pace /= 2 { // a machine that is busy may hear the yes after the question
		if pace < 200 {
			t.Fatal("a yes counts before the question was heard")
		}
	}
}

// interrupts says yes in the middle of the question, and again at its end. It is false if the first
// yes counted.
func interrupts(t *testing.T, pace int) bool {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	voice := &speechtest.Server{WordsPerMinute: pace}
	t.Cleanup(func() { ln.Close(); voice.Close() })
	go voice.Serve(ln)
	bank := start(t, nil, "bank", "-listen", "127.0.0.1:0")
	reader := start(t, []string{"SPEECHD_ADDRESS=inet_socket:" + ln.Addr().String(), "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere"}, "reader", bank.address())
	said := func(text string) (n int) {
		for _, m := range voice.Messages() {
			if strings.Contains(m.Text, text) && (m.Heard || m.Over.IsZero()) {
				n++
			}
		}
		return n
	}
	hears := func(text string) {
		t.Helper()
		reader.until("it says "+text, func() bool {
			return slices.ContainsFunc(voice.Heard(), func(heard string) bool { return strings.Contains(heard, text) })
		})
	}
	early := func() int {
		return said("That came before the question could be read or heard.") + said("You may not have heard all of it.")
	}
	reader.until("it begins to ask", func() bool { return said("Transfer $500") > 0 })
	io.WriteString(reader.stdin, "y\n")
	moved := false
	reader.until("it says that this was early", func() bool {
		moved = strings.Contains(bank.printed(), "Savings: $600.")
		return moved || early() > 0
	})
	if moved {
		return false
	}
	hears("Type y for yes or n for no, then Enter.")
	reader.accept(bank, func() {})
	hears("Your savings are in order.")
	return true
}

// What the agent says passes under the fingers a page at a time, and what needs the person rings.
func TestTouch(t *testing.T) {
	t.Parallel()
	const cells, firstPort = 14, 4101
	display := brailletest.New(cells)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			brltty, _ := display.Dial(context.Background())
			go func() { io.Copy(brltty, conn); brltty.Close() }()
			go func() { io.Copy(conn, brltty); conn.Close() }()
		}
	}()
	host := fmt.Sprintf("BRLAPI_HOST=127.0.0.1:%d", ln.Addr().(*net.TCPAddr).Port-firstPort)
	bank := start(t, nil, "bank", "-listen", "127.0.0.1:0")
	touch := start(t, []string{host, "BRLAPI_AUTH=none"}, "touch", bank.address())
	read := func() string {
		var pages []string
		for _, s := range display.States() {
			pages = append(pages, strings.TrimRight(s.Line, " ⠒⠶⠿"))
		}
		return strings.Join(strings.Fields(strings.Join(pages, " ")), " ")
	}
	seen, pressed := 0, time.Now()
	pans := func() { // goes on when a page came, and again where a key was too early to count
		if n := len(display.States()); strings.TrimSpace(display.Now().Line) != "" && (n > seen || time.Since(pressed) > 1200*time.Millisecond) {
			seen, pressed = n, time.Now()
			display.Press(brailletest.Forward)
		}
	}
	reads := func(text string) {
		t.Helper()
		touch.until("there is under the fingers: "+text, func() bool { pans(); return strings.Contains(read(), text) })
	}
	touch.prints("\aneeds_you")
	reads("Decide: Transfer $500 from checking to savings.")
	reads("No answer: it will not be done.")
	io.WriteString(touch.stdin, "\n") // a switch
	reads("reject, 1 of 6.")
	touch.accept(bank, pans)
	reads("Your savings are in order.")
	touch.prints("\adone")
	for _, s := range display.States() {
		if n := len([]rune(s.Line)); s.Ours && n != cells {
			t.Errorf("%q has %d cells", s.Line, n)
		}
	}
}

// The application's own page, the page that follows the agent, and the agent are one site.
func TestWeb(t *testing.T) {
	t.Parallel()
	site := start(t, nil, "web", "-listen", "127.0.0.1:0")
	address := site.address()
	get := func(path string) string {
		t.Helper()
		r, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v", path, r.Status, err)
		}
		return string(body)
	}
	contains(t, get("/"), `<html lang="en">`, "Plan a trip", `href="/aaep/web/"`)
	contains(t, get("/aaep/web/"), "<script", "<main", `role="alert"`)
	r, err := http.PostForm(address+"/trips", url.Values{})
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.Request.URL.Path != "/aaep/web/" || r.StatusCode != http.StatusOK {
		t.Errorf("the button leads to %s: %s", r.Request.URL, r.Status)
	}
	heard := follow(t, address, subscriber.ScreenReader("en-US"), func(sub *subscriber.Subscription, ev *aaep.Event) {
		if err := sub.Question(ev).AnswerText(t.Context(), "Lima"); err != nil {
			t.Error(err)
		}
	})
	contains(t, heard, "Planning a trip.", "Where do you want to go?", "The flight to Lima leaves at noon.", "The trip is planned.")

	foreign, err := http.NewRequestWithContext(t.Context(), "POST", address+"/trips", nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign.Header.Set("Origin", "https://elsewhere.example")
	if r, err = http.DefaultClient.Do(foreign); err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusForbidden {
		t.Errorf("another site may press the button: %s", r.Status)
	}
}

// Each hears the tones in their own range, and who knows nothing of tones is told the same words
// without.
func TestExtension(t *testing.T) {
	t.Parallel()
	heard := map[string][]string{}
	for _, line := range strings.Split(start(t, nil, "extension").end(), "\n") {
		name, text, _ := strings.Cut(line, ": ")
		heard[name] = append(heard[name], text)
	}
	contains(t, strings.Join(heard["Ada"], "\n"), "Copying four folders.", `Folder 1 of 4. {"hz":250}`, `Folder 4 of 4. {"hz":1000}`, "All is copied.")
	contains(t, strings.Join(heard["Bayo"], "\n"), `Folder 1 of 4. {"hz":1000}`, `Folder 4 of 4. {"hz":4000}`)
	chen := strings.Join(heard["Chen"], "\n")
	contains(t, chen, "Copying four folders.", "Folder 1 of 4.", "All is copied.")
	if strings.Contains(chen, "hz") {
		t.Errorf("Chen asked for no tones:\n%s", chen)
	}
}

// A user who may answer decides, which is on record; one who may only listen is asked nothing, and
// one without credentials hears nothing. A restart continues the log and the audit file.
func TestService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens, state := filepath.Join(dir, "tokens"), filepath.Join(dir, "state")
	if err := os.WriteFile(tokens, []byte("ada 0123456789abcdef0123456789abcdef\nben fedcba9876543210fedcba9876543210\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, token string
		decision    aaep.Decision
		end         string
	}{
		{"ada", "0123456789abcdef0123456789abcdef", aaep.Accept, "Your savings are in order. Receipt 7."},
		{"ada", "0123456789abcdef0123456789abcdef", aaep.Reject, "No money was moved."},
		{"ben", "fedcba9876543210fedcba9876543210", "", "No money was moved."},
	} {
		service := start(t, nil, "service", "-listen", "127.0.0.1:0", "-state", state, "-tokens", tokens, "-may-answer", "ada")
		if _, err := subscriber.Dial(t.Context(), sse.Dialer{URL: service.address()}, subscriber.Config{ID: "stranger"}); err == nil {
			t.Error("a stranger is let in")
		}
		over := sse.Dialer{URL: service.address(), Header: http.Header{"Authorization": {"Bearer " + c.token}}}
		heard := followOver(t, over, subscriber.ScreenReader("en-US"), func(sub *subscriber.Subscription, ev *aaep.Event) {
			if err := replies.Send(t.Context(), sub.Question(ev), c.decision, nil); err != nil || c.decision == "" {
				t.Errorf("%s was asked: %v", c.name, err)
			}
		})
		contains(t, heard, "Looking after your savings.", c.end)
		if service.end(); service.code() != 0 || strings.Contains(service.printed(), "level=ERROR") {
			t.Errorf("%s, %q: the exit code is %d, and it says:\n%s", c.name, c.decision, service.code(), service.printed())
		}
	}
	misspelt := start(t, nil, "service", "-listen", "127.0.0.1:0", "-state", state, "-tokens", tokens, "-may-answer", "ada,bne")
	contains(t, misspelt.end(), `-may-answer has \"bne\"`, "there is ada, ben")
	if misspelt.code() != 1 {
		t.Errorf("the exit code is %d", misspelt.code())
	}
	trail := filepath.Join(state, "trail.jsonl")
	if verify := start(t, nil, "aaep", "audit", "verify", trail); !strings.Contains(verify.end(), "trail") || verify.code() != 0 {
		t.Errorf("the trail does not verify: %s", verify.printed())
	}
	contains(t, start(t, nil, "aaep", "audit", "show", trail).end(), "Transfer $500", "authenticated as ada, accept. It counted.",
		"No one could be asked whether to use transfer_funds")
}

// TestServingFails checks that an agent that cannot be served ends with the reason.
func TestServingFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte("ada 0123456789abcdef0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"bank": nil, "model": nil, "service": {"-state", dir, "-tokens", tokens}} {
		agent := start(t, nil, name, append(args, "-listen", "0.0.0.0:0")...)
		contains(t, agent.end(), "is not a loopback address")
		if agent.code() != 1 {
			t.Errorf("%s: the exit code is %d", name, agent.code())
		}
	}
}
