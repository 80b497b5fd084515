package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	bridge "github.com/aaep-go/aaep/bridges/acp"
	"github.com/aaep-go/aaep/internal/cli"
	"github.com/aaep-go/aaep/internal/npmtest"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// TestMain is the command itself where a test runs it as a process, or an agent that a test has it
// run.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == dyingAgentName {
		runDyingAgent(os.Args[2], os.Args[3])
	}
	if os.Getenv("AAEP_TEST_COMMAND") != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// A modelAnswer is one answer of the model: words, and a command that it wants to run.
type modelAnswer struct {
	words   []string
	command string
}

// geminiCommand returns the command line of Gemini CLI with scripted answers of its model, and its
// environment.
func geminiCommand(t *testing.T, gemini string, answers []modelAnswer) (args, env []string) {
	t.Helper()
	var lines bytes.Buffer
	for _, a := range answers {
		var chunks []map[string]any
		for i, text := range a.words {
			chunks = append(chunks, streamChunk(i == len(a.words)-1 && a.command == "", map[string]any{"text": text}))
		}
		if a.command != "" {
			call := map[string]any{"name": "run_shell_command",
				"args": map[string]any{"command": a.command, "description": "Clean up"}}
			chunks = append(chunks, streamChunk(true, map[string]any{"functionCall": call}))
		}
		line, err := json.Marshal(map[string]any{"method": "generateContentStream", "response": chunks})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	dir, err := os.MkdirTemp("", "gemini")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) // as far as that goes: what it started may still write there
	file := filepath.Join(dir, "answers.jsonl")
	if err := os.WriteFile(file, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	args = []string{"node", filepath.Join(gemini, "node_modules", "@google", "gemini-cli", "bundle", "gemini.js"), "--acp",
		"--fake-responses-non-strict", file}
	// What it asks of servers elsewhere by itself fails at once, and does not hold it up where they
	// cannot be reached.
	nowhere := "http://127.0.0.1:9"
	return args, append(os.Environ(), "HTTPS_PROXY="+nowhere, "https_proxy="+nowhere, "GEMINI_API_KEY=none", "GEMINI_CLI_HOME="+dir, "GEMINI_CLI_TRUST_WORKSPACE=true",
		"GEMINI_MODEL=gemini-2.5-flash")
}

// streamChunk is one chunk of a model's streamed answer.
func streamChunk(last bool, part map[string]any) map[string]any {
	c := map[string]any{"content": map[string]any{"role": "model", "parts": []any{part}}, "index": 0}
	if last {
		c["finishReason"] = "STOP"
	}
	return map[string]any{"candidates": []any{c}}
}

// A reader follows an agent, and calls answer for every question.
type reader struct {
	sub    *subscriber.Subscription
	answer func(r *reader, ev *aaep.Event)
	mu     sync.Mutex
	text   strings.Builder // of answers, as it came
	tools  []string        // what was told of calls
	types  map[aaep.Type]bool
	moved  chan struct{} // closed and made anew with each event
}

// waitForType waits until an event of a type has come.
func (r *reader) waitForType(typ aaep.Type) {
	for {
		r.mu.Lock()
		came, moved := r.types[typ], r.moved
		r.mu.Unlock()
		if came {
			return
		}
		<-moved
	}
}

// A pipeDialer connects to a Producer of this process.
type pipeDialer struct{ p *producer.Producer }

func (d pipeDialer) Dial(context.Context) (transports.Conn, error) {
	theirs, ours := transports.Pipe()
	go d.p.ServeConn(ours)
	return theirs, nil
}

// readEvents subscribes a reader to a Producer of this process.
func readEvents(t *testing.T, p *producer.Producer, answer func(*reader, *aaep.Event)) *reader {
	t.Helper()
	sub, err := subscriber.Dial(t.Context(), pipeDialer{p},
		subscriber.Config{ID: "reader", NoReconnect: true, Capabilities: aaep.Capabilities{
			SupportsConfirmationReply: new(true), SupportsClarificationReply: new(true)}})
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{sub: sub, answer: answer, types: map[aaep.Type]bool{}, moved: make(chan struct{})}
	go func() {
		for ev, err := range sub.Events(context.Background()) {
			if err != nil {
				return
			}
			r.mu.Lock()
			switch p := ev.Payload.(type) {
			case *aaep.OutputStreaming:
				r.text.WriteString(p.Chunk)
			case *aaep.ToolInvoked, *aaep.ToolCompleted:
				r.tools = append(r.tools, ev.Text(aaep.VerbosityNormal))
			}
			r.types[ev.Type()] = true
			close(r.moved)
			r.moved = make(chan struct{})
			r.mu.Unlock()
			if typ := ev.Type(); typ == aaep.TypeAwaitingConfirmation || typ == aaep.TypeAwaitingClarification {
				r.answer(r, ev)
			}
		}
	}()
	return r
}

// With the real Gemini CLI, a file is deleted upon an accepted confirmation and upon nothing else;
// and what is heard is what the model has said, once and in order.
func TestGemini(t *testing.T) {
	gemini := npmtest.Install(t, "testdata/gemini")
	type turn struct {
		name    string
		answer  func(r *reader, ev *aaep.Event, talk *bridge.Conversation)
		deleted bool
		goesOn  bool // the agent asks its model once more
	}
	reply := func(d aaep.Decision) func(*reader, *aaep.Event, *bridge.Conversation) {
		return func(r *reader, ev *aaep.Event, _ *bridge.Conversation) {
			replies.Send(context.Background(), r.sub.Question(ev), d, nil)
		}
	}
	turns := []turn{
		{"yes", reply(aaep.Accept), true, true},
		{"no", reply(aaep.Reject), false, true},
		{"yes again", reply(aaep.Accept), true, true}, // yes has allowed it once, so it is asked about
		{"silence", func(*reader, *aaep.Event, *bridge.Conversation) {}, false, true},
		{"stop", func(_ *reader, _ *aaep.Event, talk *bridge.Conversation) { talk.Stop() }, false, false},
		{"the listener dies", func(r *reader, _ *aaep.Event, _ *bridge.Conversation) { go r.sub.Close() }, false, true},
	}
	folder := t.TempDir()
	var answers []modelAnswer
	var want strings.Builder
	for i, tn := range turns {
		name := filepath.Join(folder, fmt.Sprintf("report%d.txt", i))
		if err := os.WriteFile(name, []byte("data"), 0o600); err != nil {
			t.Fatal(err)
		}
		words := []string{fmt.Sprintf("This is turn %d. ", i), "It is", " about one file."}
		answers = append(answers, modelAnswer{words, fmt.Sprintf("rm report%d.txt", i)})
		want.WriteString(strings.Join(words, ""))
		if tn.goesOn {
			after := fmt.Sprintf("Turn %d has ended.", i)
			answers = append(answers, modelAnswer{words: []string{after}})
			if i < len(turns)-1 { // then no subscriber is there
				want.WriteString(after)
			}
		}
	}
	args, env := geminiCommand(t, gemini, answers)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = env
	agent, err := bridge.Start(t.Context(), cmd, bridge.Config{Folder: folder, AnswerTime: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	if agent.Name() != "Gemini CLI" {
		t.Errorf("the agent calls itself %q", agent.Name())
	}
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "gemini"}, ShortTimeouts: true, Grace: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	talk, err := agent.NewConversation(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	asked, at := 0, 0
	r := readEvents(t, p, func(r *reader, ev *aaep.Event) {
		asked++
		if q := ev.Payload.(*aaep.AwaitingConfirmation); q.Action != fmt.Sprintf(`Run the command "rm report%d.txt".`,
			at) || q.RiskLevel != aaep.RiskHigh || q.DefaultDecision != aaep.Reject {
			t.Errorf("turn %d asks %+v", at, q)
		}
		turns[at].answer(r, ev, talk)
	})
	for i, tn := range turns {
		at = i
		if err := talk.Prompt(t.Context(), "Clean up."); err != nil {
			t.Errorf("%s: %v", tn.name, err)
		}
		_, err := os.Stat(filepath.Join(folder, fmt.Sprintf("report%d.txt", i)))
		if deleted := errors.Is(err, fs.ErrNotExist); deleted != tn.deleted {
			t.Errorf("%s: deleted is %v, want %v", tn.name, deleted, tn.deleted)
		}
	}
	if asked != len(turns) {
		t.Errorf("asked %d times, want %d", asked, len(turns))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := r.text.String(); got != want.String() {
		t.Errorf("heard\n%q, want\n%q", got, want.String())
	}
}

// A consoleProcess is "aaep acp" as a process, with a person who reads what it prints and types.
type consoleProcess struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser

	mu   sync.Mutex
	text string
	from int           // what was looked at
	more chan struct{} // closed and made anew with each piece
	over chan struct{}
}

// startConsole runs "aaep acp" in a folder. The process is killed when the test ends.
func startConsole(t *testing.T, folder string, env []string, args ...string) *consoleProcess {
	t.Helper()
	return startProcess(t, env, os.Args[0],
		append([]string{"acp", "--settings", os.DevNull, "--folder", folder}, args...)...)
}

// startProcess runs a program for a person as startConsole does. The command aaep is os.Args[0].
func startProcess(t *testing.T, env []string, name string, args ...string) *consoleProcess {
	t.Helper()
	k := &consoleProcess{t: t, cmd: exec.Command(name, args...), more: make(chan struct{}), over: make(chan struct{})}
	k.cmd.Env = append(env, "AAEP_TEST_COMMAND=1", "LC_ALL=C")
	k.cmd.Stdout, k.cmd.Stderr = k, k
	k.cmd.WaitDelay = 5 * time.Second
	var err error
	if k.in, err = k.cmd.StdinPipe(); err == nil {
		err = k.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() { defer close(k.over); k.cmd.Wait() }()
	t.Cleanup(func() { k.cmd.Process.Kill(); <-k.over })
	return k
}

func (k *consoleProcess) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.text += string(p)
	close(k.more)
	k.more = make(chan struct{})
	return len(p), nil
}

// typeLine types a line.
func (k *consoleProcess) typeLine(line string) {
	if _, err := io.WriteString(k.in, line+"\n"); err != nil {
		k.t.Error(err)
	}
}

// answerQuestion types an answer until it is not too soon to be one, and awaits what comes of it.
func (k *consoleProcess) answerQuestion(line, pattern string) {
	k.t.Helper()
	for {
		k.typeLine(line)
		if k.awaitLines(`before the question could be read|` + pattern)[0] != "before the question could be read" {
			return
		}
		time.Sleep(time.Second) // a person waits before they try again
	}
}

// awaitLines waits until what a pattern says was printed behind what was read before, and returns
// its groups.
func (k *consoleProcess) awaitLines(pattern string) []string {
	k.t.Helper()
	re, late := regexp.MustCompile(pattern), time.After(2*time.Minute)
	for {
		k.mu.Lock()
		if at := re.FindStringSubmatchIndex(k.text[k.from:]); at != nil {
			groups := re.FindStringSubmatch(k.text[k.from:])
			k.from += at[1]
			k.mu.Unlock()
			return groups
		}
		more, text := k.more, k.text
		k.mu.Unlock()
		select {
		case <-more:
		case <-k.over:
			k.t.Fatalf("it has ended without %q, and printed\n%s", pattern, text)
		case <-late:
			k.t.Fatalf("in a minute it has not printed %q, but\n%s", pattern, text)
		}
	}
}

// awaitExit waits until the process has ended.
func (k *consoleProcess) awaitExit() {
	k.t.Helper()
	select {
	case <-k.over:
	case <-time.After(2 * time.Minute):
		k.t.Fatalf("it has not ended, and printed\n%s", k.text)
	}
}

// The whole of a session as a person with fourteen braille cells has it: the prompt, the answer,
// the question, a no, the same again with a yes, and the end; and a client that is killed while it
// asks leaves the file.
func TestGeminiSession(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts Gemini CLI twice: make test-all runs it")
	}
	gemini := npmtest.Install(t, "testdata/gemini")
	folder := t.TempDir()
	file := filepath.Join(folder, "report.txt")
	if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	asks := modelAnswer{words: []string{"I look for the report. ", "There it is."}, command: "rm report.txt"}
	agent, env := geminiCommand(t, gemini, []modelAnswer{asks, {words: []string{"Then I leave it."}}, asks,
		{words: []string{"It is gone."}}})
	k := startConsole(t, folder, env, append([]string{"--as", "braille", "--cells", "14", "--"}, agent...)...)
	k.awaitLines(`Following Gemini CLI`)
	k.typeLine("Delete the report.")
	k.awaitLines(`I look for the report\.\s+There it is\.`)
	k.awaitLines(`Run the command "rm report.txt"\.`)
	k.awaitLines(`Type (\w+) to accept or n to reject`)
	k.answerQuestion("y", `That is no answer\.`) // for a question of high risk in a pipe
	k.answerQuestion("n", `Answer sent: reject\.`)
	k.awaitLines(`Then I leave it\.`)
	k.awaitLines(`The agent finished\.`)
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("after a no: %v", err)
	}
	k.typeLine("Delete it, please.")
	word := k.awaitLines(`Type (\w+) to accept or n to reject`)[1]
	k.answerQuestion(word, `Answer sent: accept\.`)
	k.awaitLines(`It is gone\.`)
	k.awaitLines(`The agent finished\.`)
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a yes: %v", err)
	}
	k.in.Close()
	k.awaitExit()

	if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	agent, env = geminiCommand(t, gemini, []modelAnswer{asks, asks})
	k = startConsole(t, folder, env, append([]string{"--"}, agent...)...)
	k.awaitLines(`Following Gemini CLI`)
	k.typeLine("Delete the report.")
	k.awaitLines(`Type (\w+) to accept`)
	k.cmd.Process.Kill()
	k.awaitExit()
	if _, err := os.Stat(file); err != nil {
		t.Errorf("after the client was killed: %v", err)
	}
}

// A program that is no agent is told of with what it printed last, and with what most agents need.
func TestNoAgent(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh")
	}
	k := startConsole(t, t.TempDir(), os.Environ(), "--", "sh", "-c", "echo The key is missing >&2; exit 3")
	k.awaitLines(`sh cannot be talked with: the agent ended before it said that it speaks ACP\. The last it printed: The key is missing`)
	k.awaitLines(`Most agents need a word for that after their name, such as --acp or acp`)
	k.awaitExit()
	if code := k.cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("the exit code is %d", code)
	}
}
