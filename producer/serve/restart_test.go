package serve_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
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
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/eventlog"
	"github.com/aaep-go/aaep/internal/freeport"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/producer/log/sqlite"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// runLoggedAgent is an agent with a log, over every transport of this module, that talks until it
// is killed.
func runLoggedAgent(dir, addr, socket string) {
	ctx := context.Background()
	kept, err := sqlite.Open(dir, sqlite.Options{})
	exitOn(err)
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}, Log: kept, KeepEvents: 64})
	exitOn(err)
	l, err := ipc.Listen(socket, nil)
	exitOn(err)
	go func() { exitOn(p.Serve(ctx, l)) }()
	ln, err := net.Listen("tcp", addr)
	exitOn(err)
	go func() { exitOn(serve.Serve(ctx, ln, p)) }()
	fmt.Println("ready")
	for i := 0; ; i++ {
		s, err := p.StartSession(ctx, aaep.Say("Talking."))
		exitOn(err)
		out := s.Output()
		for range 20 {
			_, err = fmt.Fprintf(out, "Number %d. ", rand.Int())
			exitOn(errors.Join(err, s.Progress(aaep.Text{}, aaep.Progress{Percent: new(rand.Float64() * 100)}, 0)))
			time.Sleep(time.Millisecond)
		}
		switch i % 3 {
		case 0:
			exitOn(s.Complete(aaep.Text{}))
		case 1:
			exitOn(s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{}))
		}
	}
}

// loggedListener is what one listener has received.
type loggedListener struct {
	mu     sync.Mutex
	events []*aaep.Event
	seen   map[string]bool
	sse    string        // the place on a link that knows it
	more   chan struct{} // holds one value after each event
}

// listenWithSubscription lets a Subscription find its place by itself.
func (h *loggedListener) listenWithSubscription(ctx context.Context, dialer transports.Dialer) error {
	sub, err := subscriber.Dial(ctx, dialer, subscriber.Config{ID: "reader", Capabilities: h.termsFrom("")})
	if err != nil {
		return err
	}
	defer sub.Close()
	for ev, err := range sub.Events(ctx) {
		if err != nil {
			return err
		}
		h.addEvent(ev)
	}
	return nil
}

// termsFrom are capabilities that ask for what follows a place; "" asks for what comes.
func (h *loggedListener) termsFrom(place string) aaep.Capabilities {
	c := subscriber.Logger().With(aaep.Capabilities{Languages: []string{"en-US"},
		PreferredVerbosity: aaep.VerbosityNormal})
	if place != "" {
		c.AddExtension(extensions.DeliveryVocabulary, extensions.Delivery{ResumeAfter: place})
	}
	return c
}

// listenByHand comes back at once, as often as the agent is killed.
func (h *loggedListener) listenByHand(ctx context.Context, dialer transports.Dialer) error {
	for place := ""; ctx.Err() == nil; {
		conn, err := dialer.Dial(ctx)
		if err == nil {
			place, err = h.followOnce(ctx, conn, place)
			conn.Close()
		}
		if errors.Is(err, errLostPlace) {
			return err
		}
		select { // nothing announces that it is there again
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

var errLostPlace = errors.New("the place is lost")

// followOnce follows one subscription to its end, and returns where to go on.
func (h *loggedListener) followOnce(ctx context.Context, conn transports.Conn, place string) (string, error) {
	request, err := aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw",
		Capabilities: h.termsFrom(place)})
	if err == nil {
		err = conn.Send(ctx, request)
	}
	for err == nil {
		var data []byte
		if data, err = conn.Receive(ctx); err != nil {
			break
		}
		m, _ := aaep.Decode(data)
		switch m := m.(type) {
		case *aaep.SubscriptionAccepted:
			if place != "" && !strings.Contains(string(m.HonoredCapabilities.Extensions["delivery"]), place) {
				return "", fmt.Errorf("%w: %s", errLostPlace, m.NegotiationNotes)
			}
		case *aaep.Event:
			h.addEvent(m)
			if string(m.Extensions["delivery"]) == "" {
				place = m.EventID
			}
		}
	}
	if c, ok := conn.(interface{ LastEventID() string }); ok {
		place = cmp.Or(c.LastEventID(), h.sse)
		h.sse = place
	}
	return place, err
}

// addEvent keeps an event, unless it came before.
func (h *loggedListener) addEvent(ev *aaep.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen[ev.EventID] {
		return
	}
	h.seen[ev.EventID] = true
	h.events = append(h.events, ev)
	select {
	case h.more <- struct{}{}:
	default:
	}
}

// upTo is how far a listener has come that has heard all there is of a log since it came.
func (h *loggedListener) upTo(log []*aaep.Event, in *eventlog.Log, needless needless) int {
	events := slices.DeleteFunc(h.asIn(in), needless.has)
	for i, ev := range events {
		if at := findEvent(log, ev.EventID); at >= 0 { // not what the agent was doing when they came
			return at + len(events) - i
		}
	}
	return 0
}

// asIn is what was heard, under the ids that it has in the log, each event once: what is stamped
// later has another, and what could not be sent again as it was comes twice (INV-21, INV-23).
func (h *loggedListener) asIn(in *eventlog.Log) (events []*aaep.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	seen := map[string]bool{}
	for _, ev := range h.events {
		as := *ev
		if at, _, ok := in.Locate(ev.EventID); ok {
			as.EventID = in.EventID(eventlog.Place{Pos: at.Pos})
		}
		if !seen[as.EventID] {
			seen[as.EventID], events = true, append(events, &as)
		}
	}
	return events
}

// needless are sessions whose progress and states are not told where their error is known already
// (D-50).
type needless map[string]bool

func (n needless) has(ev *aaep.Event) bool {
	return n[ev.SessionID] && (ev.Type() == aaep.TypeProgressUpdated || ev.Type() == aaep.TypeStateChanged)
}

// findEvent returns the index of the event with an id, or -1.
func findEvent(log []*aaep.Event, id string) int {
	return slices.IndexFunc(log, func(ev *aaep.Event) bool { return ev.EventID == id })
}

// P8, INV-21, INV-22, TR-024, SSE-012, SSE-013: an agent is killed at random moments and started
// again on its log, and its listeners come back. In the end each has heard all that the log holds
// from where it began, in order, each once, and the sessions that were open have ended. With
// AAEP_LONG it is 300 times.
func TestKillWithLog(t *testing.T) {
	rounds := 6
	if os.Getenv("AAEP_LONG") != "" {
		rounds = 300
	}
	killWithLog(t, rounds, (*loggedListener).listenByHand)
}

// SSE-012, TR-024: a Subscription does that by itself.
func TestKillWithLogAndSubscriber(t *testing.T) {
	killWithLog(t, 1, (*loggedListener).listenWithSubscription)
}

func killWithLog(t *testing.T, rounds int, listen func(*loggedListener, context.Context, transports.Dialer) error) {
	dir, socket := t.TempDir(), filepath.Join(t.TempDir(), "own", "s")
	addr := freeport.Addr()
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"=logged "+dir+" "+addr+" "+socket)
		out, err := cmd.StdoutPipe()
		check(t, err)
		check(t, cmd.Start())
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		said := bufio.NewScanner(out)
		if !said.Scan() || said.Text() != "ready" {
			t.Fatalf("the agent says %q", said.Text())
		}
		go io.Copy(os.Stderr, out)
		return cmd
	}
	agent := start()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	all := map[string]*loggedListener{}
	var listening sync.WaitGroup
	for name, dialer := range map[string]transports.Dialer{
		"sse": sse.Dialer{URL: "http://" + addr}, "websocket": websocket.Dialer{URL: "ws://" + addr},
		"ipc": ipc.Dialer{Path: socket}} {
		h := &loggedListener{more: make(chan struct{}, 1), seen: map[string]bool{}}
		all[name] = h
		listening.Go(func() {
			if err := listen(h, ctx, dialer); err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for range rounds {
		for _, h := range all { // each has heard something of this life
			for range 2 {
				<-h.more
			}
		}
		time.Sleep(rand.N(30 * time.Millisecond))
		check(t, agent.Process.Kill())
		agent.Wait()
		agent = start()
	}
	for _, h := range all {
		for range 2 {
			<-h.more
		}
	}
	check(t, agent.Process.Kill())
	agent.Wait()
	// The last life does nothing but end what the others left.
	kept, err := sqlite.Open(dir, sqlite.Options{})
	check(t, err)
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}, Log: kept})
	check(t, err)
	l, err := ipc.Listen(socket, nil)
	check(t, err)
	ln, err := net.Listen("tcp", addr)
	check(t, err)
	go p.Serve(ctx, l)
	served := make(chan error, 1)
	go func() { served <- serve.Serve(context.Background(), ln, p) }()
	truth, in := readLog(t, kept)
	needless := needless{}
	for _, ev := range truth {
		if ev.Type() == aaep.TypeSessionErrored {
			needless[ev.SessionID] = true
		}
	}
	truth = slices.DeleteFunc(truth, needless.has)
	for name, h := range all {
		for quiet := false; !quiet && h.upTo(truth, in, needless) < len(truth); {
			select {
			case <-h.more:
			case <-time.After(patience):
				t.Errorf("%s: the end does not come", name)
				quiet = true
			}
		}
	}
	stop()
	listening.Wait()
	check(t, p.Shutdown(context.Background()))
	<-served
	check(t, kept.Close())
	open := map[string]int{}
	for _, ev := range truth {
		switch {
		case ev.Type() == aaep.TypeSessionStarted:
			open[ev.SessionID]++
		case ev.Type().Terminal():
			open[ev.SessionID]--
		}
	}
	for id, n := range open {
		if n != 0 {
			t.Errorf("session %s is left with %d", id, n)
		}
	}
	for name, h := range all {
		compareEvents(t, name, slices.DeleteFunc(h.asIn(in), needless.has), truth)
	}
}

// readLog returns all events that a log holds.
func readLog(t *testing.T, kept *sqlite.Store) (all []*aaep.Event, l *eventlog.Log) {
	t.Helper()
	l, err := eventlog.Open(readOnly{kept}, 1, "")
	check(t, err)
	for cursor := l.Start(); cursor < l.End(); cursor = l.Start() + uint64(len(all)) {
		events, _, err := l.Read(cursor, 256)
		check(t, err)
		all = append(all, events...)
	}
	check(t, l.Close())
	return all, l
}

// readOnly lets a second log look at a store.
type readOnly struct{ log.Store }

func (readOnly) Append([][]byte) error { return nil }
func (readOnly) SetMeta([]byte) error  { return nil }

// compareEvents checks that a listener received every event of truth from its first one on, in
// order.
func compareEvents(t *testing.T, name string, heard, truth []*aaep.Event) {
	t.Helper()
	for len(heard) > 0 && findEvent(truth, heard[0].EventID) < 0 {
		heard = heard[1:] // what the agent was doing then
	}
	if len(heard) == 0 {
		t.Errorf("%s heard nothing", name)
		return
	}
	truth = truth[findEvent(truth, heard[0].EventID):]
	if len(heard) != len(truth) {
		t.Errorf("%s heard %d of %d", name, len(heard), len(truth))
	}
	t.Logf("%s heard %d events of the %d there are since it came", name, len(heard), len(truth))
	// What is critical comes first, and is in no order with the rest; and what must come before it
	// takes its session with it.
	bySession := func(a, b *aaep.Event) int {
		if c := cmp.Compare(a.SessionID, b.SessionID); c != 0 || a.Critical() == b.Critical() {
			return c
		}
		if a.Critical() {
			return -1
		}
		return 1
	}
	heard, truth = slices.Clone(heard), slices.Clone(truth)
	slices.SortStableFunc(heard, bySession)
	slices.SortStableFunc(truth, bySession)
	for i, ev := range heard {
		if i >= len(truth) || truth[i].EventID != ev.EventID {
			t.Errorf("%s: the %d. of %d is %s %s, and should be %s", name, i, len(heard), ev.Type(), ev.EventID,
				truth[min(i, len(truth)-1)].Type())
			return
		}
		if ev.Type() == aaep.TypeOutputStreaming { // its hint is the listener's
			continue
		}
		if string(ev.Extensions["delivery"]) == `{"resumable":false}` {
			ev.Extensions, ev.Context = nil, nil
		}
		if ev.Timestamp.After(truth[i].Timestamp) { // it was overtaken (D-09)
			ev.Timestamp = truth[i].Timestamp
		}
		got, err := ev.MarshalJSON()
		check(t, err)
		want, err := truth[i].MarshalJSON()
		check(t, err)
		if string(got) != string(want) {
			t.Errorf("%s: %s\nis not\n%s", name, got, want)
		}
	}
}
