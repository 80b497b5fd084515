package present_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/transports/sse"
)

// A person who scans gets more time when they select it, and is told the same over each of their
// outputs. What they were about to send is not, where the link is cut and the question goes with
// it.
func TestScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bank := newAgent(t, "Bank")
		agents := map[string]*agentOf{"Bank": bank}
		l := listen(t, false, agents)
		did := bank.asks("Pay five dollars.")
		l.asked()
		press := func(p string, wait time.Duration) {
			l.Answer(p)
			time.Sleep(wait)
		}
		press(announce.Step, 5*time.Second)
		press(announce.Step, 5*time.Second)
		press(announce.Step, 5*time.Second) // what follows
		press(announce.Step, 5*time.Second)
		press(announce.Step, 5*time.Second)
		press(announce.Select, time.Minute) // more time, and what waits is told
		for range 3 {
			press(announce.Step, 5*time.Second)
		}
		press(announce.Select, 10*time.Second)
		if l.heard("accept, 2 of 6.") != 2 || l.heard("To send: accept: Pay five dollars. 1 of 2.") != 1 || l.heard("There is more time to answer.") != 1 {
			t.Errorf("heard %q", l.lines())
		}
		select {
		case <-did:
			t.Fatal("it was done before it was sent")
		default:
		}
		press(announce.Select, time.Second)
		if !<-did {
			t.Errorf("it was not done; heard %q", l.lines())
		}
		did = bank.asks("Pay ten dollars.")
		l.asked()
		for _, p := range []string{announce.Step, announce.Step, announce.Select} {
			press(p, 5*time.Second)
		}
		bank.cut()
		press(announce.Select, 20*time.Second)
		if <-did || l.heard("To send: accept: Pay ten dollars. 1 of 2.") != 1 || l.heard("Answer sent") != 1 {
			t.Errorf("what was cut was done; heard %q", l.lines())
		}
		l.end(agents)
	})
	synctest.Test(t, func(t *testing.T) {
		voices := []*voice{{}, {}}
		people := []*present.Presenter{present.New(announce.Preferences{}), present.New(announce.Preferences{})}
		bank := newAgent(t, "Bank")
		agents := map[string]*agentOf{"Bank": bank}
		l := listen(t, false, agents)
		l.stop() // what follows is for two outputs of one person
		<-l.ended["Bank"]
		delete(l.ended, "Bank")
		sub, err := subscriber.Dial(t.Context(), bank, config(false))
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range people {
			go p.Run(t.Context(), voices[i])
		}
		go present.Follow(t.Context(), sub, "Bank", people...)
		synctest.Wait()
		did := bank.asks("Pay five dollars.")
		time.Sleep(2 * time.Minute)
		for _, p := range []string{announce.Step, announce.Step, announce.Select, announce.Select} {
			present.Answer(time.Time{}, p, people...)
			time.Sleep(10 * time.Second)
		}
		if !<-did {
			t.Error("it was not done")
		}
		for i, v := range voices {
			for _, want := range []string{"reject, 1 of 6.", "accept, 2 of 6.", "To send: accept: Pay five dollars. 1 of 2."} {
				if n := strings.Count(strings.Join(v.lines(), "|"), want); n != 1 {
					t.Errorf("output %d: %q %d times in %q", i, want, n, v.lines())
				}
			}
		}
		sub.Close()
		l.end(agents)
	})
}

// memoryNetwork is a network without sockets, for virtual time, whose links can be cut.
type memoryNetwork struct {
	accepted chan net.Conn
	closed   chan struct{}
	close    sync.Once
	mu       sync.Mutex
	links    []net.Conn
	down     bool
}

func (n *memoryNetwork) Accept() (net.Conn, error) {
	select {
	case c := <-n.accepted:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *memoryNetwork) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (n *memoryNetwork) Close() error {
	n.close.Do(func() { close(n.closed) })
	return nil
}

func (n *memoryNetwork) dial(context.Context, string, string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down {
		return nil, errors.New("connection refused")
	}
	near, far := net.Pipe()
	n.accepted <- far
	n.links = append(n.links, near)
	return near, nil
}

// cut breaks all links, and refuses others until it is called with false.
func (n *memoryNetwork) cut(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
	for _, c := range n.links {
		c.Close()
	}
}

// A person goes on to spell where a link over Server-Sent Events broke and went on again: what they
// wrote stays theirs, and one answer is sent. Neither is anything lost where the link is away while
// they send it.
func TestScanResumed(t *testing.T) {
	for _, sendsInVain := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "bank", AgentName: "Bank"}, Grace: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			links := &memoryNetwork{accepted: make(chan net.Conn, 10), closed: make(chan struct{})}
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { serve.Serve(ctx, links, p) })
			client := &http.Client{Transport: &http.Transport{DialContext: links.dial}}
			sub, err := subscriber.Dial(ctx, sse.Dialer{URL: "http://localhost", Client: client},
				subscriber.Config{ID: "switches", Capabilities: subscriber.Switch("en-US")})
			if err != nil {
				t.Fatal(err)
			}
			heard := &voice{}
			person := present.New(announce.Preferences{})
			running.Go(func() { person.Run(ctx, heard) })
			running.Go(func() { present.Follow(ctx, sub, "Bank", person) })
			s, err := p.StartSession(ctx, aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			answers := make(chan string, 1)
			running.Go(func() {
				text, _ := s.AskText(ctx, producer.Question{Text: aaep.Say("Which berth?"), Timeout: time.Hour})
				answers <- text
			})
			time.Sleep(time.Minute)
			press := func(until func() bool) {
				t.Helper()
				for range 100 {
					var press string
					person.Plan(func(a *announce.Announcer, now time.Time) { press = a.PressFor(now, "hi") })
					if press != "" {
						person.Answer(press)
					}
					if time.Sleep(3 * time.Second); until() {
						return
					}
				}
				t.Fatalf("it does not get there; heard %q", heard.lines())
			}
			wasHeard := func(text string) func() bool {
				return func() bool { return strings.Contains(strings.Join(heard.lines(), "|"), text) }
			}
			cutAt := "h. Space, correct and finish"
			if sendsInVain {
				cutAt = "To send: hi."
			}
			press(wasHeard(cutAt))
			links.cut(true)
			if sendsInVain {
				press(wasHeard("Your answer may not have been sent."))
			}
			time.Sleep(10 * time.Second)
			links.cut(false)
			time.Sleep(2 * time.Minute)
			if status, _ := sub.Status(); status.Subscribed != 1 || !status.Resumed {
				t.Errorf("sends in vain: %v: the stream did not go on: %+v, heard %q", sendsInVain, status, heard.lines())
			}
			press(func() bool { return len(answers) > 0 })
			if got := <-answers; got != "hi" {
				t.Errorf("%q was sent; heard %q", got, heard.lines())
			}
			if n := strings.Count(strings.Join(heard.lines(), "|"), "h. Space, correct and finish"); n != 1 {
				t.Errorf("the first letter was written %d times; heard %q", n, heard.lines())
			}
			sub.Close()
			stop()
			client.CloseIdleConnections()
			running.Wait()
		})
	}
}

// Where the output dies over which a person scans, they go on over another one, with what they
// wrote.
func TestScanOutputDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bank := newAgent(t, "Bank")
		voices := []*voice{{breaks: make(chan struct{})}, {}}
		people := []*present.Presenter{present.New(announce.Preferences{}), present.New(announce.Preferences{})}
		sub, err := subscriber.Dial(t.Context(), bank, config(false))
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range people {
			go p.Run(t.Context(), voices[i])
		}
		go present.Follow(t.Context(), sub, "Bank", people...)
		synctest.Wait()
		s, err := bank.StartSession(t.Context(), aaep.Say("Working."))
		if err != nil {
			t.Fatal(err)
		}
		answers := make(chan string, 1)
		go func() {
			text, _ := s.AskText(t.Context(), producer.Question{Text: aaep.Say("Which berth?"), Timeout: time.Hour})
			answers <- text
		}()
		time.Sleep(time.Minute)
		press := func(p *present.Presenter, until func() bool) {
			t.Helper()
			for range 100 {
				var press string
				p.Plan(func(a *announce.Announcer, now time.Time) { press = a.PressFor(now, "hi") })
				if press != "" {
					present.Answer(time.Time{}, press, people...)
				}
				if time.Sleep(3 * time.Second); until() {
					return
				}
			}
			t.Fatalf("it does not get there; heard %q and %q", voices[0].lines(), voices[1].lines())
		}
		press(people[0], func() bool {
			return strings.Contains(strings.Join(voices[1].lines(), "|"), "h. Space, correct and finish")
		})
		const reminder = "The question is: Which berth?" // is not for one who scans, over any output
		for i, v := range voices {
			if n := strings.Count(strings.Join(v.lines(), "|"), reminder); n != 1 {
				t.Errorf("output %d: reminded %d times: %q", i, n, v.lines())
			}
		}
		close(voices[0].breaks)
		present.Answer(time.Time{}, announce.Step, people...) // by which the voice is found to be gone
		time.Sleep(3 * time.Second)
		press(people[1], func() bool { return len(answers) > 0 })
		if got := <-answers; got != "hi" {
			t.Errorf("%q was sent; heard %q", got, voices[1].lines())
		}
		if !strings.Contains(strings.Join(voices[1].lines(), "|"), "Written: h. Spell an answer") {
			t.Errorf("what was written is not told; heard %q", voices[1].lines())
		}
		sub.Close()
		bank.Shutdown(context.Background())
	})
}
