//go:build unix

package grpc_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/duplex"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
	aaepgrpc "github.com/aaep-go/aaep/transports/grpc"
	"github.com/aaep-go/aaep/transports/ipc"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/stdio"
	"github.com/aaep-go/aaep/transports/websocket"
)

// dial makes a Dialer of a function.
type dial func(context.Context) (transports.Conn, error)

// Dial calls the function.
func (d dial) Dial(ctx context.Context) (transports.Conn, error) { return d(ctx) }

// lines is the other end of a socket that speaks in lines, which ipc.Dialer does not.
type lines struct {
	net.Conn
	r *bufio.Reader
}

// Read returns the next line.
func (l lines) Read() ([]byte, error) { return l.r.ReadBytes('\n') }

// Write writes msg as a line.
func (l lines) Write(msg []byte) error {
	_, err := l.Conn.Write(append(slices.Clone(msg), '\n'))
	return err
}

// serveEverywhere serves p on every transport there is, until the test ends, and returns how it is
// reached on each.
func serveEverywhere(t *testing.T, p *producer.Producer) map[string]transports.Dialer {
	t.Helper()
	http, err := net.Listen("tcp", "127.0.0.1:0")
	requireNoError(t, err)
	socket, err := ipc.Listen(filepath.Join(t.TempDir(), "aaep", "agent.sock"), nil)
	requireNoError(t, err)
	var serving sync.WaitGroup
	serving.Go(func() { serve.Serve(context.Background(), http, p) })
	serving.Go(func() { p.Serve(context.Background(), socket) })
	rpc, stop := serveAt(t, p, "127.0.0.1:0")
	t.Cleanup(func() { stop(); serving.Wait() })
	return map[string]transports.Dialer{
		"sse":         sse.Dialer{URL: "http://" + http.Addr().String()},
		"websocket":   websocket.Dialer{URL: "ws://" + http.Addr().String()},
		"unix socket": ipc.Dialer{Path: socket.Addr()},
		"unix socket, lines": dial(func(ctx context.Context) (transports.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, "unix", socket.Addr())
			if err != nil {
				return nil, err
			}
			return duplex.New(lines{c, bufio.NewReader(c)}, ""), nil
		}),
		"pipe": dial(func(context.Context) (transports.Conn, error) {
			a, b := transports.Pipe()
			serving.Go(func() { p.ServeConn(b) })
			return a, nil
		}),
		"grpc": aaepgrpc.Dialer{Target: rpc},
		"stdio": stdio.Dialer{Command: func() *exec.Cmd {
			return relayCommand(t, func(up net.Conn) {
				p.Serve(context.Background(), stdio.NewListener(up, up, nil))
			}, &serving)
		}},
	}
}

// relayCommand returns the command of a child whose standard streams lead back to this process,
// where serve is handed the other end. So the child's half is that of a real process, and the agent
// is the one that the others follow too.
func relayCommand(t *testing.T, serve func(net.Conn), serving *sync.WaitGroup) *exec.Cmd {
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "relay.sock"))
	requireNoError(t, err)
	serving.Go(func() {
		up, err := ln.Accept()
		ln.Close()
		if err == nil {
			serve(up)
		}
	})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), relayVariable+"="+ln.Addr().String())
	return cmd
}

// HS-003, XT-003: one agent is followed at once over all transports, by subscribers that asked for
// the same; all hear the same story, and who answers on one of them, whichever, answers for all.
func TestOneStory(t *testing.T) {
	p := newProducer(t)
	dialers := serveEverywhere(t, p)
	subs := map[string]*subscriber.Subscription{}
	for name, d := range dialers {
		sub, err := subscriber.Dial(t.Context(), d, subscriber.Config{ID: name, Capabilities: everything})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer sub.Close()
		subs[name] = sub
	}
	// A stream of Server-Sent Events opens after the answer to the request.
	for late := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		there := 0
		for _, s := range p.Subscriptions() {
			if s.Connected {
				there++
			}
		}
		if there == len(subs) {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("%d are there, want %d", there, len(subs))
		}
	}
	for turn, answering := range slices.Sorted(maps.Keys(subs)) {
		yes := turn%2 == 0
		var reading sync.WaitGroup
		reading.Add(len(subs))
		ran := make(chan error, 1)
		go func() { ran <- playAgent(p, reading.Wait) }()
		var mu sync.Mutex
		heard := map[string]string{}
		var all sync.WaitGroup
		for name, sub := range subs {
			all.Go(func() {
				read := sync.OnceFunc(reading.Done)
				defer read()
				evs, err := readUntil(sub, func(ev *aaep.Event) bool {
					if ev.Text(aaep.VerbosityNormal) == lastBill {
						read()
					}
					if ev.Type() == aaep.TypeAwaitingConfirmation && name == answering {
						decision := aaep.Reject
						if yes {
							decision = aaep.Accept
						}
						if err := replies.Send(context.Background(), sub.Question(ev), decision, nil); err != nil {
							t.Errorf("%s: %v", name, err)
						}
					}
					return isOver(ev)
				})
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				mu.Lock()
				heard[name] = storyOf(evs)
				mu.Unlock()
			})
		}
		all.Wait()
		if err := <-ran; (err == nil) != yes {
			t.Errorf("%s answered, accepting is %v: the tool returned %v", answering, yes, err)
		}
		for name, told := range heard {
			if told != heard["pipe"] {
				t.Errorf("%s heard\n%s\nand pipe\n%s", name, told, heard["pipe"])
			}
		}
		outcome := map[bool]string{true: "Done: paid.", false: "Not done."}[yes]
		for _, want := range []string{"Paying the bill.", "ọjà ni ọla. ", "Pay $5.", outcome} {
			if !strings.Contains(heard["pipe"], want) {
				t.Errorf("%q is not in the story\n%s", want, heard["pipe"])
			}
		}
	}
}

const lastBill = "Bill 20 of 20."

// playAgent plays the agent of the example: it talks, counts, asks and ends. It asks when all have
// heard what was before, which a question may overtake.
func playAgent(p *producer.Producer, heard func()) error {
	s, err := p.StartSession(context.Background(), aaep.Say("Paying the bill."))
	if err != nil {
		return err
	}
	defer s.Close()
	out := s.Output()
	for _, text := range []string{"First ", "this. Ọjọ́ ", "ọjà ni ọla. ", "Then \"that\"\nand 😀."} {
		out.WriteString(text)
	}
	out.Close()
	for n := range 20 {
		if err := s.Progress(aaep.Say(fmt.Sprintf("Bill %d of 20.", n+1)), aaep.Progress{Step: int64(n + 1)},
			0); err != nil {
			return err
		}
	}
	heard()
	_, err = s.Tool(context.Background(), pay, succeed)
	if err != nil {
		s.Complete(aaep.Say("Not done."))
		return err
	}
	s.Complete(aaep.Say("Done: paid."))
	return nil
}

// storyOf writes events down, one a line, with all that tells one from another: which, what, and in
// which words.
func storyOf(evs []*aaep.Event) string {
	var b strings.Builder
	for _, ev := range evs {
		fmt.Fprintf(&b, "%s %s %q", ev.EventID, ev.Type(), ev.Text(aaep.VerbosityNormal))
		if p, isText := ev.Payload.(*aaep.OutputStreaming); isText {
			fmt.Fprintf(&b, " %d %q", p.Position, p.Chunk)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
