package acp_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/brailletest"
	"github.com/aaep-go/aaep/internal/npmtest"
	"github.com/aaep-go/aaep/internal/realtest"
	"github.com/aaep-go/aaep/internal/speechtest"
)

var record = flag.Bool("record", false, "write the recordings of Gemini CLI in docs/recordings anew")

// A moment is something that reached the person, or that they did; until is when it was over, and
// zero for what takes no time.
type moment struct {
	at, until time.Time
	what      string
}

// A recordedSession is a session with the real Gemini CLI that a person has over one output and a
// keyboard: a no leaves a file, and a yes deletes it.
type recordedSession struct {
	*consoleProcess
	began time.Time
	did   []moment
	told  func() []moment // all that has reached the person so far
}

// startRecorded runs "aaep acp" with an output on a terminal of its own, in a folder that has a
// report.
func startRecorded(t *testing.T, env []string, folder string, output string, agent []string) *recordedSession {
	t.Helper()
	if _, err := exec.LookPath("script"); err != nil {
		realtest.Missing(t, "there is no program script, which gives aaep acp a terminal")
	}
	command := append([]string{os.Args[0], "acp", "--settings", os.DevNull, "--folder", folder}, strings.Fields(output)...)
	command = append(append(command, "--"), agent...)
	s := &recordedSession{began: time.Now()}
	s.consoleProcess = startProcess(t, env, "script", "-qec", "exec "+strings.Join(command, " "), os.DevNull)
	return s
}

// do types a line, and notes it.
func (s *recordedSession) do(line string) {
	s.did = append(s.did, moment{at: time.Now(), what: "The person types: " + line})
	s.typeLine(line)
}

// awaitTold waits until what has reached the person since a time has one of some patterns, and
// returns which.
func (s *recordedSession) awaitTold(since time.Time, patterns ...string) int {
	s.t.Helper()
	for late := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		var all []moment
		for _, m := range s.told() {
			if m.at.After(since) {
				all = append(all, m)
			}
		}
		text := toldText(all)
		for i, pattern := range patterns {
			if regexp.MustCompile(pattern).MatchString(text) {
				return i
			}
		}
		select {
		case <-s.over:
			if strings.Contains(s.text, "a screen reader is running") {
				s.t.Skip("a screen reader is running, and would be heard at the same time")
			}
			s.t.Fatalf("it has ended, and printed\n%s", s.text)
		default:
		}
		if time.Now().After(late) {
			s.t.Fatalf("not told is %q, but\n%s\nand printed was\n%s", patterns, text, s.text)
		}
	}
}

// toldText returns what moments say, in one line without the marks of a display.
func toldText(all []moment) string {
	var text strings.Builder
	for _, m := range all {
		text.WriteString(m.what + " ")
	}
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if strings.ContainsRune("|⠒⠿⠶", r) {
			return ' '
		}
		return r
	}, text.String())), " ")
}

// goThrough is the person's part of the session.
func (s *recordedSession) goThrough(file string) {
	s.t.Helper()
	s.awaitTold(s.began, `Ctrl-C ends`)
	for _, turn := range []struct {
		says, answer, becomes string
		deleted               bool
	}{
		{"Delete the old report.", "n", `Answer sent: reject`, false},
		{"Delete it after all.", "y", `Answer sent: accept`, true},
	} {
		began := time.Now()
		s.do(turn.says)
		for since := began; ; {
			s.awaitTold(since, `Type y to accept or n to reject, then Enter\.`)
			time.Sleep(4 * time.Second) // those words, too, are to reach them
			since = time.Now()
			s.do(turn.answer)
			if s.awaitTold(since, turn.becomes, `may not have heard|before the question could be read`) == 0 {
				break
			}
		}
		s.awaitTold(began, `The agent finished\.`)
		time.Sleep(2 * time.Second)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) != turn.deleted {
			s.t.Errorf("after %s: %v", turn.answer, err)
		}
	}
}

// recordedStory is what has to reach the person, in this order.
var recordedStory = regexp.MustCompile(strings.Join([]string{`Following Gemini CLI\.`, `Delete the old report\.`,
	`I look for the report\.`, `There it is\.`, `Decide: Run the command "rm report\.txt"\.`, `Consequence: `, `High risk\.`,
	`No answer: it will not be done\.`, `Not verified: asked in the name of Gemini CLI\.`,
	`Type y to accept or n to reject, then Enter\.`, `The person types: n`, `Answer sent: reject\.`,
	`Then I leave it\.`, `The agent finished\.`, `Delete it after all\.`,
	`I look for the report\.`, `Decide: Run the command "rm report\.txt"\.`, `High risk\.`, `Type y to accept`,
	`The person types: y`, `Answer sent: accept\.`, `It is gone\.`, `The agent finished\.`}, `.*`))

// keep writes the session down as a recording where that is wanted. It checks that the session, and
// the recording, are the story; their times, and what is told only if there is time for it, differ
// from run to run.
func (s *recordedSession) keep(name, title string) {
	s.t.Helper()
	all := append(s.told(), s.did...)
	slices.SortStableFunc(all, func(a, b moment) int { return a.at.Compare(b.at) })
	if text := toldText(all); !recordedStory.MatchString(text) {
		s.t.Errorf("what reaches the person has changed:\n%s", text)
	}
	began := all[0].at
	var text strings.Builder
	text.WriteString(title + "\n")
	for _, m := range all {
		if m.until.IsZero() {
			fmt.Fprintf(&text, "%6.1f           %s\n", m.at.Sub(began).Seconds(), m.what)
		} else {
			fmt.Fprintf(&text, "%6.1f to %5.1f  %s\n", m.at.Sub(began).Seconds(), m.until.Sub(began).Seconds(), m.what)
		}
	}
	file := filepath.Join("..", "..", "..", "docs", "recordings", name)
	if *record {
		if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	told := []moment{{what: regexp.MustCompile(`(?m)^ *[0-9.]+( to +[0-9.]+)?`).ReplaceAllString(string(recorded), "")}}
	if !strings.HasPrefix(string(recorded), title) || !recordedStory.MatchString(toldText(told)) {
		s.t.Errorf("the recording is not this story any more. Record it anew: go test ./internal/cli/acp -run Recordings -record")
	}
}

// TestGeminiRecordings keeps what a session with the real Gemini CLI is to a person who only hears,
// and to a person who only has fourteen cells.
func TestGeminiRecordings(t *testing.T) {
	if testing.Short() {
		t.Skip("it speaks for two minutes: make test-all runs it")
	}
	gemini := npmtest.Install(t, "testdata/gemini")
	asks := modelAnswer{words: []string{"I look for the report. ", "There it is."}, command: "rm report.txt"}
	answers := []modelAnswer{asks, {words: []string{"Then I leave it."}}, asks, {words: []string{"It is gone."}}}
	prepare := func(t *testing.T) (folder, file string, agent, env []string) {
		folder, err := os.MkdirTemp("", "plans") // which is told, and so is short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(folder) })
		file = filepath.Join(folder, "report.txt")
		if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
			t.Fatal(err)
		}
		agent, env = geminiCommand(t, gemini, answers)
		return folder, file, agent, env
	}
	t.Run("ear", func(t *testing.T) {
		t.Parallel()
		server := &speechtest.Server{}
		defer server.Close()
		at := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", at)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go server.Serve(l)
		folder, file, agent, env := prepare(t)
		s := startRecorded(t, append(env, "SPEECHD_ADDRESS=unix_socket:"+at), folder, "--output speech", agent)
		s.told = func() (all []moment) {
			for _, m := range server.Messages() {
				what := "“" + m.Text + "”"
				if !m.Heard && !m.Over.IsZero() {
					what += " is cut off."
				}
				if !m.Begun.IsZero() {
					all = append(all, moment{m.Begun, m.Over, what})
				}
			}
			return all
		}
		s.goThrough(file)
		s.keep("gemini-by-ear.txt", `A session with Gemini CLI 0.61.0, by ear alone

What a person hears of "aaep acp --output speech -- gemini --acp", from when to when in seconds, at 172 words a minute. The agent is
the real program, its model a script, and the speech server keeps the pace of a real one; quotation marks hold what the voice says.
`)
	})
	t.Run("braille", func(t *testing.T) {
		t.Parallel()
		display := brailletest.New(14)
		l, host := listenAsBRLTTY(t)
		defer l.Close()
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go display.ServeConn(conn)
			}
		}()
		folder, file, agent, env := prepare(t)
		s := startRecorded(t, append(env, "BRLAPI_HOST="+host), folder, "--as braille --cells 14 --output braille", agent)
		s.told = func() (all []moment) {
			states := display.States()
			for i, state := range states {
				if i+1 == len(states) || states[i+1].At.Sub(state.At) > 100*time.Millisecond { // what a finger can notice
					all = append(all, moment{at: state.At, what: strings.TrimRight("|"+state.Line+"|", " ")})
				}
			}
			return all
		}
		over := make(chan struct{})
		defer close(over)
		go func() { // the person pans on when they have read what is there
			for {
				select {
				case <-over:
					return
				case <-time.After(1700 * time.Millisecond):
				}
				if strings.TrimSpace(display.Now().Line) != "" {
					display.Press(brailletest.Forward)
				}
			}
		}()
		s.goThrough(file)
		s.keep("gemini-by-14-cells.txt", `A session with Gemini CLI 0.61.0, by 14 cells alone

What a person reads of "aaep acp --as braille --cells 14 --output braille -- gemini --acp", from which second on. They pan on every
1.7 seconds. The last two cells mean: ⠒ it goes on, ⠿ it stays until you pan on, ⠶ something waits. The agent is the real program,
its model a script, and BRLTTY one that shows what it is sent.
`)
	})
}

// listenAsBRLTTY listens where a client of BRLTTY looks for it with the value of BRLAPI_HOST that
// it returns.
func listenAsBRLTTY(t *testing.T) (l net.Listener, host string) {
	t.Helper()
	const firstPort = 4101
	for n := 1000 + os.Getpid()%10000; n < 60000; n++ {
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+n)); err == nil {
			return l, fmt.Sprintf("127.0.0.1:%d", n)
		}
	}
	t.Fatal("no port is free")
	return nil, ""
}
