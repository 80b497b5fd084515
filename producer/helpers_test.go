package producer_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is one producer and its subscribers. Its end shuts the producer down and checks every
// trace.
type stage struct {
	t         *testing.T
	p         *producer.Producer
	recorders []*listener                    // those whose traces are checked
	all       []*listener                    // all subscribers, recorders too
	lose      func() (keeps int, lossy bool) // what a stream that is opened loses; nil is nothing
}

// bubble runs f in a synctest bubble, with a producer of its own that allows short timeouts.
func bubble(t *testing.T, f func(t *testing.T, st *stage)) {
	t.Helper()
	bubbleWith(t, producer.Config{}, f)
}

// bubbleWith is bubble with a Config.
func bubbleWith(t *testing.T, cfg producer.Config, f func(t *testing.T, st *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.ShortTimeouts = true
		st := newStage(t, cfg)
		defer st.end()
		f(t, st)
	})
}

// newStage makes a producer, for the agent "tester" unless cfg names another.
func newStage(t *testing.T, cfg producer.Config) *stage {
	t.Helper()
	if cfg.Agent.AgentID == "" {
		cfg.Agent.AgentID = "tester"
	}
	p, err := producer.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &stage{t: t, p: p}
}

// end shuts the producer down within a second, closes the links and checks the traces of the
// recorders.
func (st *stage) end() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	st.p.Shutdown(ctx)
	synctest.Wait()
	for _, l := range st.all {
		l.conn.Close()
		l.stopReading()
	}
	for _, l := range st.recorders {
		checkTrace(st.t, l.arrivals(), l.asked)
	}
}

// startSession starts a session, which the caller ends.
func (st *stage) startSession(about string) *producer.Session {
	st.t.Helper()
	s, err := st.p.StartSession(context.Background(), aaep.Say(about))
	if err != nil {
		st.t.Fatal(err)
	}
	return s
}

// arrival is one message as it came, and when.
type arrival struct {
	at  time.Time
	raw []byte
	msg aaep.Message
}

// listener is a subscriber that does nothing by itself but read.
type listener struct {
	t    *testing.T
	conn transports.Conn
	id   string
	// asked says that it may answer.
	asked bool
	// served is closed when the producer has let go of it.
	served chan struct{}
	// wire is the other end of a resumable one.
	wire *agentLink

	mu   sync.Mutex
	got  []arrival
	stop context.CancelFunc
	done chan struct{}
}

// termsWith returns terms: rate events a second, or no limit, and cut at the boundaries.
func termsWith(rate int64, boundaries ...aaep.Boundary) aaep.Capabilities {
	return aaep.Capabilities{MaxEventsPerSecond: rate, CoalesceBoundaries: boundaries, Languages: []string{"en-US"}}
}

// mayAnswer adds the right to be asked.
func mayAnswer(c aaep.Capabilities) aaep.Capabilities {
	c.SupportsConfirmationReply, c.SupportsClarificationReply = new(true), new(true)
	return c
}

// allEvents returns terms without a limit and without cuts.
func allEvents() aaep.Capabilities { return termsWith(0, aaep.BoundaryNone) }

// addRecorder adds a listener that sees the whole trace, which is checked in the end. It may be
// asked.
func (st *stage) addRecorder() *listener {
	l := st.listen(mayAnswer(allEvents()))
	l.asked = true
	st.recorders = append(st.recorders, l)
	return l
}

// addWatcher is addRecorder for a subscriber that may not be asked.
func (st *stage) addWatcher() *listener {
	l := st.listen(allEvents())
	st.recorders = append(st.recorders, l)
	return l
}

// listen adds a subscriber on terms c, which must be accepted, and reads what it receives.
func (st *stage) listen(c aaep.Capabilities) *listener {
	st.t.Helper()
	l := st.connect()
	l.send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw", Capabilities: c})
	data, err := l.conn.Receive(context.Background())
	if err != nil {
		st.t.Fatal(err)
	}
	m, err := aaep.Decode(data)
	if err != nil {
		st.t.Fatal(err)
	}
	acc, ok := m.(*aaep.SubscriptionAccepted)
	if !ok {
		st.t.Fatalf("the answer to the request is %s", data)
	}
	l.id = acc.SubscriptionID
	l.startReading()
	return l
}

// connect makes a link on which nothing has been sent.
func (st *stage) connect() *listener {
	a, b := transports.Pipe()
	l := &listener{t: st.t, conn: a, served: make(chan struct{})}
	st.all = append(st.all, l)
	go func() {
		defer close(l.served)
		st.p.ServeConn(&sharedLink{Conn: b})
	}()
	return l
}

// startReading starts a goroutine that keeps what comes, until stopReading.
func (l *listener) startReading() {
	ctx, stop := context.WithCancel(context.Background())
	l.stop, l.done = stop, make(chan struct{})
	go func() {
		defer close(l.done)
		for {
			data, err := l.conn.Receive(ctx)
			if err != nil {
				return
			}
			m, err := aaep.Decode(data)
			if err != nil {
				l.t.Errorf("the producer sent %s: %v", data, err)
			}
			l.mu.Lock()
			l.got = append(l.got, arrival{time.Now(), data, m})
			l.mu.Unlock()
		}
	}()
}

// stopReading stops reading.
func (l *listener) stopReading() {
	if l.stop != nil {
		l.stop()
		<-l.done
	}
}

// send sends a message to the producer.
func (l *listener) send(m aaep.Message) {
	l.t.Helper()
	data, err := aaep.Encode(m)
	if err != nil {
		l.t.Error(err)
		return
	}
	l.sendRaw(string(data))
}

// sendRaw sends bytes to the producer that may be no message.
func (l *listener) sendRaw(data string) {
	l.t.Helper()
	if err := l.conn.Send(context.Background(), []byte(data)); err != nil {
		l.t.Errorf("send: %v", err)
	}
}

// arrivals returns all messages that have come so far. It does not wait.
func (l *listener) arrivals() []arrival {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]arrival(nil), l.got...)
}

// events returns what has come, once everything that can happen now has happened.
func (l *listener) events() []*aaep.Event {
	synctest.Wait()
	return eventsOf(l.arrivals())
}

// eventsOf returns the events among the messages.
func eventsOf(got []arrival) (evs []*aaep.Event) {
	for _, a := range got {
		if ev, ok := a.msg.(*aaep.Event); ok {
			evs = append(evs, ev)
		}
	}
	return evs
}

// lastMessage returns the last message that is no event, or nil.
func (l *listener) lastMessage() (m aaep.Message) {
	synctest.Wait()
	for _, a := range l.arrivals() {
		if _, ok := a.msg.(*aaep.Event); !ok {
			m = a.msg
		}
	}
	return m
}

// payloadsOf returns the payloads of one type.
func payloadsOf[P aaep.Payload](evs []*aaep.Event) (found []P) {
	for _, ev := range evs {
		if p, ok := ev.Payload.(P); ok {
			found = append(found, p)
		}
	}
	return found
}

// question returns the newest confirmation, which must be there.
func (l *listener) question() *aaep.AwaitingConfirmation {
	l.t.Helper()
	qs := payloadsOf[*aaep.AwaitingConfirmation](l.events())
	if len(qs) == 0 {
		l.t.Fatal("no confirmation has come")
	}
	return qs[len(qs)-1]
}

// reply sends a decision on a confirmation.
func (l *listener) reply(q *aaep.AwaitingConfirmation, d aaep.Decision) {
	l.t.Helper()
	l.send(&aaep.ConfirmationReply{ReplyToken: q.ReplyToken, Decision: d, SubscriptionID: l.id, Timestamp: time.Now()})
}

// rawReply is reply as an object to spoil.
func (l *listener) rawReply(q *aaep.AwaitingConfirmation, d aaep.Decision) map[string]any {
	return map[string]any{"type": "confirmation.reply", "reply_token": q.ReplyToken, "decision": d,
		"subscription_id": l.id, "timestamp": aaep.FormatTimestamp(time.Now())}
}

// sendObject sends an object as JSON that may be no valid message.
func (l *listener) sendObject(o map[string]any) {
	l.t.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		l.t.Fatal(err)
	}
	l.sendRaw(string(data))
}

// result is what a call that waits came to.
type result[T any] struct {
	value T
	err   error
	at    time.Time
}

// callLater calls f in a goroutine and hands out its result.
func callLater[T any](f func() (T, error)) <-chan result[T] {
	c := make(chan result[T], 1)
	go func() {
		v, err := f()
		c <- result[T]{v, err, time.Now()}
	}()
	return c
}

// pay is a tool that must ask.
var pay = producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true,
	Action: aaep.Say("Pay $5."), Consequence: aaep.Say("The money is gone.")}

// look is a tool that need not.
var look = producer.Tool{Name: "look", Action: aaep.Say("Looking.")}

// succeed is a tool's function that does nothing.
func succeed(context.Context) (string, error) { return "done", nil }

// resumeAfter asks to go on after an event; "" says only that it will want to.
func resumeAfter(c aaep.Capabilities, after string) aaep.Capabilities {
	c.AddExtension(extensions.DeliveryVocabulary, extensions.Delivery{ResumeAfter: after})
	return c
}

// listenAccepted subscribes and returns the answer too.
func (st *stage) listenAccepted(c aaep.Capabilities) (*listener, *aaep.SubscriptionAccepted) {
	st.t.Helper()
	l := st.connect()
	l.send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw", Capabilities: c})
	l.startReading()
	acc, ok := l.lastMessage().(*aaep.SubscriptionAccepted)
	if !ok {
		st.t.Fatalf("the answer is %+v", l.lastMessage())
	}
	l.id = acc.SubscriptionID
	return l, acc
}

// honoredPlace is the resume_after of an answer.
func honoredPlace(t *testing.T, acc *aaep.SubscriptionAccepted) string {
	t.Helper()
	var d extensions.Delivery
	if err := json.Unmarshal(acc.HonoredCapabilities.Extensions["delivery"], &d); err != nil {
		t.Error(err)
	}
	return d.ResumeAfter
}
