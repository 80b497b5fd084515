package serve_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/sse"
)

// TestKill needs processes to kill: the test program itself, told by this variable what to be.
const childVariable = "SERVE_TEST_CHILD"

// runChild is what a process that TestMain started for a test does. It prints each step on a line
// of its own, so that it can be killed after it.
func runChild(what string) {
	args := strings.Fields(what)
	switch args[0] {
	case "agent": // with its listener in the same process, or over a socket
		runAgent(args[1], args[2], args[3] == "sse")
	case "logged":
		runLoggedAgent(args[1], args[2], args[3])
	case "accepts":
		runAcceptingAgent(args[1], args[2])
	case "flood":
		runFlood(args[1], args[2])
	case "listener":
		conn, err := sse.Dialer{URL: "http://" + args[3]}.Dial(context.Background())
		if err == nil {
			err = runListener(conn, args[1], args[2])
		}
		fmt.Println("left:", err)
	}
}

// exitOn ends a child with an error, unless err is nil.
func exitOn(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func auditPath(dir string) string   { return filepath.Join(dir, "trail.jsonl") }
func effectsPath(dir string) string { return filepath.Join(dir, "effects") }
func tokensPath(dir string) string  { return filepath.Join(dir, "tokens") }

// appendNote adds a line to a file that outlives its writer: written by one call, and within one
// page of memory, so that no kill leaves half of it.
func appendNote(path string, words ...any) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%-*s\n", noteLength-1, strings.TrimSuffix(fmt.Sprintln(words...), "\n"))
	return err
}

const noteLength = 128

// readNotes returns the words of each line that appendNote wrote.
func readNotes(path string) (all [][]string, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(data)) {
		if len(line) != noteLength {
			return nil, fmt.Errorf("%s: %q is no line", path, line)
		}
		all = append(all, strings.Fields(line))
	}
	return all, err
}

// runAgent is a producer whose tools are all irreversible. A tool that runs notes that, and how
// long the audit log was then.
func runAgent(dir, life string, overSSE bool) {
	trail, err := audit.Open(auditPath(dir), audit.Options{EachSecond: strings.HasSuffix(life, "0")})
	exitOn(err)
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}, Audit: trail,
		Grace: 200 * time.Millisecond, ShortTimeouts: true})
	exitOn(err)
	if overSSE {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		exitOn(err)
		fmt.Println("at", ln.Addr())
		go func() { exitOn(serve.Serve(context.Background(), ln, p)) }()
	} else {
		theirs, ours := transports.Pipe()
		go p.ServeConn(ours)
		go func() { exitOn(runListener(theirs, dir, life)) }()
	}
	var n atomic.Int64
	for range 3 {
		s, err := p.StartSession(context.Background(), aaep.Say("Paying."))
		exitOn(err)
		for range 2 {
			go func() {
				for {
					exitOn(p.WaitSubscriber(context.Background()))
					tool := pay
					tool.Name = fmt.Sprintf("pay_%s_%d", life, n.Add(1))
					tool.Action = aaep.Say(tool.Name)
					tool.Timeout = time.Second
					_, err := s.Tool(context.Background(), tool, func(context.Context) (string, error) {
						fmt.Println("running", tool.Name)
						info, err := os.Stat(auditPath(dir))
						if err == nil {
							err = appendNote(effectsPath(dir), tool.Name, info.Size())
						}
						exitOn(err)
						fmt.Println("ran", tool.Name)
						return "", nil
					})
					switch {
					case err == nil, errors.Is(err, producer.ErrRejected), errors.Is(err, producer.ErrTimedOut),
						errors.Is(err, producer.ErrUnreachable):
						fmt.Println("done", tool.Name, err)
					default:
						exitOn(err)
					}
				}
			}()
		}
	}
	select {}
}

// answerTo returns the listener's answer to a question: accept and reject in turns, and sometimes
// none.
func answerTo(tool string) aaep.Decision {
	switch tool[len(tool)-1] {
	case '7':
		return ""
	case '0', '2', '4', '6', '8':
		return aaep.Accept
	}
	return aaep.Reject
}

// runListener answers until its link ends. Now and then it also accepts what a dead producer had
// asked: with its own subscription, or with the one that was asked then.
func runListener(conn transports.Conn, dir, life string) error {
	ctx := context.Background()
	send := func(m aaep.Message) error {
		data, err := aaep.Encode(m)
		if err != nil {
			return err
		}
		return conn.Send(ctx, data)
	}
	receive := func() (aaep.Message, error) {
		data, err := conn.Receive(ctx)
		if err != nil {
			return nil, err
		}
		return aaep.Decode(data)
	}
	reply := func(token, id string, d aaep.Decision) error {
		return send(&aaep.ConfirmationReply{ReplyToken: aaep.ReplyToken(token), Decision: d, SubscriptionID: id,
			Timestamp: time.Now()})
	}
	old, err := readNotes(tokensPath(dir))
	if err != nil {
		return err
	}
	old = slices.DeleteFunc(old, func(was []string) bool { return strings.HasPrefix(was[2], "pay_"+life+"_") })
	if err := send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "chaos",
		Capabilities: everything}); err != nil {
		return err
	}
	m, err := receive()
	if err != nil {
		return err
	}
	acc, isAccepted := m.(*aaep.SubscriptionAccepted)
	if !isAccepted {
		return fmt.Errorf("%+v", m)
	}
	for {
		m, err := receive()
		if err != nil {
			return err
		}
		ev, isEvent := m.(*aaep.Event)
		if !isEvent {
			return fmt.Errorf("%+v", m)
		}
		q, asks := ev.Payload.(*aaep.AwaitingConfirmation)
		if !asks {
			continue
		}
		if err := appendNote(tokensPath(dir), string(q.ReplyToken), acc.SubscriptionID, q.Action); err != nil {
			return err
		}
		fmt.Println("asked", q.Action)
		if len(old) > 0 {
			was := old[rand.IntN(len(old))]
			if err := reply(was[0], []string{acc.SubscriptionID, was[1]}[rand.IntN(2)], aaep.Accept); err != nil {
				return err
			}
		}
		if d := answerTo(q.Action); d != "" {
			if err := reply(string(q.ReplyToken), acc.SubscriptionID, d); err != nil {
				return err
			}
			fmt.Println("answered", q.Action)
		}
	}
}

// childProcess is a child and what it has printed.
type childProcess struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	heard []string
	late  *time.Timer
}

// startChild runs the test program as a child. It is killed after patience, or when the test ends.
func startChild(t *testing.T, words ...string) *childProcess {
	t.Helper()
	p := &childProcess{t: t, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), childVariable+"="+strings.Join(words, " "))
	out, err := p.cmd.StdoutPipe()
	check(t, err)
	p.cmd.Stderr = os.Stderr
	check(t, p.cmd.Start())
	p.lines = bufio.NewScanner(out)
	p.late = time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	t.Cleanup(p.kill)
	return p
}

// awaitLines waits until the child has printed n more lines that begin with a word, and returns the
// last.
func (p *childProcess) awaitLines(word string, n int) (last string) {
	p.t.Helper()
	for n > 0 {
		if !p.lines.Scan() {
			p.t.Fatalf("a child says no more; the last was %q", p.heard[max(0, len(p.heard)-5):])
		}
		last = p.lines.Text()
		if p.heard = append(p.heard, last); strings.HasPrefix(last, "failed") {
			p.t.Fatal("a child ", last)
		}
		if strings.HasPrefix(last, word) {
			n--
		}
	}
	return last
}

// kill kills the child, and fails the test if it had reported an error before.
func (p *childProcess) kill() {
	p.late.Stop()
	p.cmd.Process.Kill()
	for p.lines.Scan() { // what it had said before it died
		if text := p.lines.Text(); strings.HasPrefix(text, "failed") {
			p.t.Error("a child ", text)
		}
	}
	p.cmd.Wait()
}
