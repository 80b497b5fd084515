package serving

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/transports"
)

// INV-53: a listener that is behind at the end is waited for, but not for ever, and not in silence.
func TestDrain(t *testing.T) {
	for _, tc := range []struct {
		name     string
		sessions int
		stopped  time.Duration // when the operator wants to be done; zero is never
		deaf     bool          // takes nothing that is sent
		takes    time.Duration // at one event a second, three for each session
		says     string
		away     bool // has no stream, and takes no last words
		killed   bool // the program's parent kills it soon after it is stopped
	}{
		{"nobody is behind", 0, 0, false, 0, "", false, false},
		{"somebody is", 5, 0, false, 14 * time.Second,
			"aaep: Waiting up to 10 minutes for whoever is behind to hear the end (1). After Ctrl-C it is at most 30 seconds.\n", false, false},
		{"far behind, and gets on", 50, 0, false, 151 * time.Second,
			"aaep: Waiting up to 10 minutes for whoever is behind to hear the end (1). After Ctrl-C it is at most 30 seconds.\n", false, false},
		{"for too long", 250, 0, false, DrainLong,
			"aaep: Waiting up to 10 minutes for whoever is behind to hear the end (1). After Ctrl-C it is at most 30 seconds.\naaep: Somebody was still behind after 10 minutes, and did not hear the end.\n", false, false},
		{"stopped before", 50, time.Nanosecond, false, DrainTime,
			"aaep: Waiting up to 30 seconds for whoever is behind to hear the end (1).\naaep: Somebody was still behind after 30 seconds, and did not hear the end.\n", false, false},
		{"stopped meanwhile", 50, 45 * time.Second, false, 75 * time.Second,
			"aaep: Waiting up to 10 minutes for whoever is behind to hear the end (1). After Ctrl-C it is at most 30 seconds.\naaep: Somebody was still behind after 1 minute 15 seconds, and did not hear the end.\n", false, false},
		{"takes nothing", 50, 0, true, 27 * time.Second,
			"aaep: Waiting up to 10 minutes for whoever is behind to hear the end (1). After Ctrl-C it is at most 30 seconds.\n", false, false},
		{"has gone away", 5, 0, false, 12 * time.Second,
			"aaep: Waiting up to 10 minutes for whoever is behind to hear the end (1). After Ctrl-C it is at most 30 seconds.\n", true, false},
		{"killed soon", 50, time.Nanosecond, false, KillTime,
			"aaep: Somebody was still behind after 1 second, and did not hear the end.\n", false, true},
		{"killed meanwhile", 50, 10 * time.Second, false, 10*time.Second + KillTime,
			"aaep: Waiting up to 30 seconds for whoever is behind to hear the end (1). After Ctrl-C it is at most 1 second.\n" +
				"aaep: Somebody was still behind after 11 seconds, and did not hear the end.\n", false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
				if err != nil {
					t.Fatal(err)
				}
				here, there := transports.Pipe()
				if tc.away {
					there = &away{Conn: there}
				}
				go p.ServeConn(there)
				request, err := aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "reader",
					Capabilities: aaep.Capabilities{MaxEventsPerSecond: 1}})
				if err != nil {
					t.Fatal(err)
				}
				if err := here.Send(t.Context(), request); err != nil {
					t.Fatal(err)
				}
				var last aaep.Message
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					for !tc.deaf {
						msg, err := here.Receive(context.Background())
						if err != nil {
							return
						}
						last, _ = aaep.Decode(msg)
					}
				}()
				synctest.Wait()
				for range tc.sessions {
					if _, err := p.StartSession(t.Context(), aaep.Say("Hello.")); err != nil {
						t.Fatal(err)
					}
				}
				var said strings.Builder
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				if tc.stopped > 0 {
					time.AfterFunc(tc.stopped, stop)
				}
				if tc.stopped == time.Nanosecond {
					<-ctx.Done()
				}
				began := time.Now()
				if tc.killed {
					DrainBeforeKill(ctx, p, DrainTime, &lineio.Printer{Out: &said})
				} else {
					DrainListeners(ctx, p, DrainLong, &lineio.Printer{Out: &said})
				}
				if took := time.Since(began); took < tc.takes-time.Second || took > tc.takes+time.Second {
					t.Errorf("it took %v, want %v", took, tc.takes)
				}
				if said.String() != tc.says {
					t.Errorf("it says %q, want %q", said.String(), tc.says)
				}
				here.Close()
				<-ended
				if bye, ok := last.(*aaep.SubscriptionClose); tc.killed && (!ok || bye.ReasonCode != aaep.ProducerShutdown) {
					t.Errorf("the last message is %+v, want that the listener was not told all", last)
				}
			})
		})
	}
}

// away is a link whose peer asks for a subscription and never opens a stream.
type away struct {
	transports.Conn
	accepted atomic.Bool
}

func (*away) Notify(func()) {}

func (*away) NextStream(ctx context.Context) (transports.Stream, error) { return nil, ctx.Err() }

func (a *away) Send(ctx context.Context, msg []byte) error {
	if !a.accepted.Swap(true) {
		return a.Conn.Send(ctx, msg)
	}
	<-ctx.Done()
	return ctx.Err()
}

// Where listeners could not come any more, for a reason of the system's, the operator is told at
// once, and once; at a regular end nothing is.
func TestServingFails(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"broken": {errors.New("accept tcp: the socket is gone"), "aaep: Nobody can come any more at http://127.0.0.1:"},
		"over":   {producer.ErrClosed, ""},
	} {
		var talk clitest.Buffer
		s := &Flags{Addrs: []string{"127.0.0.1:0"}}
		_, served, err := s.openWith(t.Context(), &talk, func() (*producer.Producer, error) { return nil, nil },
			func(_ context.Context, _ *serve.Server, ln net.Listener, _ *producer.Producer) error {
				ln.Close()
				return tc.err
			})
		if err != nil {
			t.Fatal(err)
		}
		<-served
		if got := talk.String(); !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: it says %q", name, got)
		}
	}
}
