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

// child is what such a process does. It says each step on a line of its own, so that it can be killed after it.
func child(what string) {
	args := strings.Fields(what)
	switch args[0] {
	case "agent": // with its listener in the same process, or over a socket
		agent(args[1], args[2], args[3] == "sse")
	case "logged":
		logged(args[1], args[2], args[3])
	case "accepts":
		accepts(args[1], args[2])
	case "flood":
		flood(args[1], args[2])
	case "listener":
		conn, err := sse.Dialer{URL: "http://" + args[3]}.Dial(context.Background())
		if err == nil {
			err = listen(conn, args[1], args[2])
		}
		fmt.Println("left:", err)
	}
}

func die(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func trailIn(dir string) string   { return filepath.Join(dir, "trail.jsonl") }
func effectsIn(dir string) string { return filepath.Join(dir, "effects") }
func tokensIn(dir string) string  { return filepath.Join(dir, "tokens") }

// note adds a line to a file that outlives its writer: written by one call, and within one page of memory, so that no
// kill leaves half of it.
func note(path string, words ...any) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%-*s\n", noteLength-1, strings.TrimSuffix(fmt.Sprintln(words...), "\n"))
	return err
}

const noteLength = 128

func notes(path string) (all [][]string, err error) {
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

// agent is a producer whose tools are all irreversible. A tool that runs notes that, and how long the trail was then.
func agent(dir, life string, overSSE bool) {
	trail, err := audit.Open(trailIn(dir), audit.Options{EachSecond: strings.HasSuffix(life, "0")})
	die(err)
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "tester"}, Audit: trail,
		Grace: 200 * time.Millisecond, ShortTimeouts: true})
	die(err)
	if overSSE {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		die(err)
		fmt.Println("at", ln.Addr())
		go func() { die(serve.Serve(context.Background(), ln, p)) }()
	} else {
		theirs, ours := transports.Pipe()
		go p.ServeConn(ours)
		go func() { die(listen(theirs, dir, life)) }()
	}
	var n atomic.Int64
	for range 3 {
		s, err := p.StartSession(context.Background(), aaep.Say("Paying."))
		die(err)
		for range 2 {
			go func() {
				for {
					die(p.WaitSubscriber(context.Background()))
					tool := pay
					tool.Name = fmt.Sprintf("pay_%s_%d", life, n.Add(1))
					tool.Action = aaep.Say(tool.Name)
					tool.Timeout = time.Second
					_, err := s.Tool(context.Background(), tool, func(context.Context) (string, error) {
						fmt.Println("running", tool.Name)
						info, err := os.Stat(trailIn(dir))
						if err == nil {
							err = note(effectsIn(dir), tool.Name, info.Size())
						}
						die(err)
						fmt.Println("ran", tool.Name)
						return "", nil
					})
					switch {
					case err == nil, errors.Is(err, producer.ErrRejected), errors.Is(err, producer.ErrTimedOut), errors.Is(err, producer.ErrUnreachable):
						fmt.Println("done", tool.Name, err)
					default:
						die(err)
					}
				}
			}()
		}
	}
	select {}
}

// answerTo is what the listener says to a question: accept and reject in turns, and sometimes nothing.
func answerTo(tool string) aaep.Decision {
	switch tool[len(tool)-1] {
	case '7':
		return ""
	case '0', '2', '4', '6', '8':
		return aaep.Accept
	}
	return aaep.Reject
}

// listen answers until its link ends. Now and then it also accepts what a dead producer had asked: in its own name, or
// in the name of who was asked then.
func listen(conn transports.Conn, dir, life string) error {
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
		return send(&aaep.ConfirmationReply{ReplyToken: aaep.ReplyToken(token), Decision: d, SubscriptionID: id, Timestamp: time.Now()})
	}
	old, err := notes(tokensIn(dir))
	if err != nil {
		return err
	}
	old = slices.DeleteFunc(old, func(was []string) bool { return strings.HasPrefix(was[2], "pay_"+life+"_") })
	if err := send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "chaos", Capabilities: everything}); err != nil {
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
		if err := note(tokensIn(dir), string(q.ReplyToken), acc.SubscriptionID, q.Action); err != nil {
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

// process is a child and what it says.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	heard []string
	late  *time.Timer
}

func spawn(t *testing.T, words ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0])}
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

// hear waits until the child has said so many lines that begin with a word.
func (p *process) hear(word string, n int) (last string) {
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

func (p *process) kill() {
	p.late.Stop()
	p.cmd.Process.Kill()
	for p.lines.Scan() { // what it had said before it died
		if text := p.lines.Text(); strings.HasPrefix(text, "failed") {
			p.t.Error("a child ", text)
		}
	}
	p.cmd.Wait()
}
