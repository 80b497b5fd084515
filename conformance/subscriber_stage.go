package conformance

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

const (
	arrival = 20 * time.Second       // for a target to start and connect
	told    = 3 * time.Second        // for it to present or answer what it was sent, if SubscriberRun.Timeout says nothing else
	longest = time.Minute            // the same for one that goes on presenting other things
	mute    = 200 * time.Millisecond // the same for one that tells nothing through the hook
	quiet   = 150 * time.Millisecond // in which what must not come would come
	leaving = 3 * time.Second        // for it to end
)

const (
	noteStream = "the target opened the event stream after " // and the id of an event, or "nothing"
	noteCut    = "the runner broke the link"
	noteLeft   = "the target closed the link"
	noteWrong  = "the transport: "
	noteGone   = "the target ended: "
)

// scenePlay is what the runner does to the target in one go.
type scenePlay struct {
	name    string
	hook    bool // nothing can be judged without it
	perform func(*scene)
}

// A scene is where one play with a subscriber is played.
type scene struct {
	ctx      context.Context
	stop     context.CancelFunc
	tape     *tape
	hook     *Hook
	patience time.Duration
	unheard  int // events of which nothing was told, while nothing ever was
	arrivals chan transports.Conn
	over     chan struct{} // closed when the target has ended
	running  sync.WaitGroup
	calls    []*call
}

// A call is one connection of the target.
type call struct {
	sc   *scene
	n    int
	conn transports.Conn
	id   string // of the subscription
	// request is the first; its m is nil if none came.
	request message
	terms   object // what was honored
	streams chan transports.Stream
	stream  transports.Stream
	spent   []time.Time       // when the newest events left, for the rate
	states  map[string]string // of sessions
}

// play plays one play. A target that is known to be mute is not waited for.
// Names are those that it came under before.
func (run SubscriberRun) play(ctx context.Context, p scenePlay, hookless bool, names map[string]bool) *Recording {
	ctx, cancel := context.WithTimeout(ctx, maxPlay)
	defer cancel()
	t := newTape(Scenario{Name: p.name}, names)
	sc := &scene{tape: t, hook: &Hook{tape: t, acts: make(chan []byte, 64)}, patience: cmp.Or(run.Timeout, told), arrivals: make(chan transports.Conn), over: make(chan struct{})}
	t.rec.limit = sc.patience
	if hookless {
		sc.patience = mute
	}
	sc.ctx, sc.stop = context.WithCancel(ctx)
	if _, itself := run.Subscriber.(*HTTPHook); !itself {
		sendAway(run.Listener)
	}
	sc.running.Go(func() { sc.accept(run.Listener) })
	target, kill := context.WithCancel(ctx)
	go func() {
		defer close(sc.over)
		if err := run.Subscriber.Run(target, sc.hook); target.Err() == nil {
			why := "it said nothing"
			if err != nil {
				why = err.Error()
			}
			t.mu.Lock()
			if len(t.rec.Entries) == 0 && err != nil {
				t.rec.DriverErr = err
			}
			t.mu.Unlock()
			t.add(Entry{Note: noteGone + why})
		}
	}()
	if !p.hook || !hookless {
		p.perform(sc)
	} else {
		t.add(Entry{Note: noteStart})
	}
	for _, c := range sc.calls {
		if asked, ok := c.conn.(interface{ Wrongs() []string }); ok {
			for _, wrong := range asked.Wrongs() {
				t.add(Entry{Link: c.n, Note: noteWrong + wrong})
			}
		}
	}
	t.add(Entry{Note: noteEnd})
	t.freeze() // what it does when it is ended is not judged
	kill()
	<-sc.over
	for _, c := range sc.calls {
		c.leave()
	}
	sc.stop()
	sc.running.Wait()
	return t.now()
}

// sendAway turns away what the target of the play before had still begun.
func sendAway(l transports.Listener) {
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		conn, err := l.Accept(ctx)
		cancel()
		if err != nil {
			return
		}
		conn.Close()
	}
}

// accept hands on who connects.
func (sc *scene) accept(l transports.Listener) {
	for {
		conn, err := l.Accept(sc.ctx)
		if err != nil {
			return
		}
		select {
		case sc.arrivals <- conn:
		case <-sc.ctx.Done():
			conn.Close()
			return
		}
	}
}

// wait waits until something is on the tape, or the target has ended.
func (sc *scene) wait(limit time.Duration, is func(*Recording) bool) bool {
	held := false
	sc.tape.wait(sc.ctx, limit, func(r *Recording) bool {
		held = is(r)
		return held || r.ended()
	})
	return held
}

func (r *Recording) ended() bool {
	for _, e := range slices.Backward(r.Entries) {
		if strings.HasPrefix(e.Note, noteGone) {
			return true
		}
	}
	return false
}

// next waits for a connection of the target, and for its request; nil is none.
func (sc *scene) next(limit time.Duration) *call {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case conn := <-sc.arrivals:
			if c := sc.take(conn); c.request.m != nil || !c.left() {
				return c
			} // somebody only knocked
			continue
		case <-sc.over:
		case <-timer.C:
		case <-sc.ctx.Done():
		}
		sc.tape.add(Entry{Link: len(sc.calls), Note: noteNoDial})
		return nil
	}
}

// take begins a call, and waits for its request. Who says nothing may know no handshake, which Level 3 alone asks
// for: they just get events.
func (sc *scene) take(conn transports.Conn) *call {
	c := &call{sc: sc, n: len(sc.calls), conn: conn, id: "sub_" + random(), streams: make(chan transports.Stream), states: map[string]string{}}
	sc.calls = append(sc.calls, c)
	sc.running.Go(c.read)
	if r, ok := conn.(transports.Resumable); ok {
		sc.running.Go(func() { c.follow(r) })
	}
	sc.wait(sc.tape.rec.limit, func(r *Recording) bool {
		if got := of(r.all(c.n, false), "subscription.request"); len(got) > 0 {
			c.request = got[0]
		}
		_, left := r.noted(c.n, noteLeft)
		return left || c.request.m != nil
	})
	return c
}

func (c *call) left() bool {
	r := c.sc.tape.now()
	_, left := r.noted(c.n, noteLeft)
	return left
}

// freeze ends a tape.
func (t *tape) freeze() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.full = true
}

// now is what is on the tape.
func (t *tape) now() *Recording {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rec
	return &r
}

func (c *call) read() {
	for {
		data, err := c.conn.Receive(c.sc.ctx)
		if err != nil {
			if c.sc.ctx.Err() == nil && !errors.Is(err, transports.ErrClosed) {
				c.sc.tape.add(Entry{Link: c.n, Note: noteLeft})
			}
			return
		}
		if !c.sc.tape.add(Entry{Link: c.n, Data: append([]byte{}, data...)}) {
			return
		}
	}
}

// follow takes the event streams of a call, of which the newest counts.
func (c *call) follow(r transports.Resumable) {
	for {
		st, err := r.NextStream(c.sc.ctx)
		if err != nil {
			return
		}
		last := st.LastEventID()
		if last == "" {
			last = "nothing"
		}
		c.sc.tape.add(Entry{Link: c.n, Note: noteStream + last})
		select {
		case c.streams <- st:
		case <-st.Done():
		case <-c.sc.ctx.Done():
			return
		}
	}
}

// send sends a message of the runner's as it is; an event goes over the stream, where there is one.
func (c *call) send(data []byte, eventID string) bool {
	c.sc.tape.add(Entry{Link: c.n, Sent: true, Data: data})
	ctx, cancel := context.WithTimeout(c.sc.ctx, patience)
	defer cancel()
	if _, ok := c.conn.(transports.Resumable); ok && eventID != "" {
		for {
			select {
			case c.stream = <-c.streams:
				continue
			default:
			}
			if c.stream != nil {
				if c.stream.SendEvent(ctx, data, eventID, true) == nil {
					return true
				}
			}
			select { // it may open another
			case c.stream = <-c.streams:
			case <-ctx.Done():
				c.sc.tape.add(Entry{Link: c.n, Note: noteNoSend})
				return false
			}
		}
	}
	if err := c.conn.Send(ctx, data); err != nil {
		c.sc.tape.add(Entry{Link: c.n, Note: noteNoSend})
		return false
	}
	return true
}

func (c *call) sendObject(o object) bool { return c.send(encoded(o), "") }

func encoded(o object) []byte {
	data, err := jsonv2.Marshal(o, jsonv2.Deterministic(true))
	if err != nil {
		panic(err) // it is of our own making
	}
	return data
}

func random() string { return strings.ToLower(rand.Text()) }

// accepted agrees to all that was asked for, but for changes; nil takes a term away.
func (c *call) accepted(changes object) {
	asked := c.request.obj("capabilities")
	if o, ok := c.latest("subscription.renegotiate"); ok {
		asked = with(c.terms, o.obj("capabilities"))
	}
	c.terms = with(asked, changes)
	answer := object{"type": "subscription.accepted", "subscription_id": c.id, "aaep_version": aaep.Version,
		"producer": object{"agent_id": "aaep-conformance", "agent_name": "Conformance"}, "honored_capabilities": c.terms}
	if c.request.m != nil {
		c.sendObject(answer)
	}
}

func (c *call) rejected(code string, more object) {
	c.sendObject(with(object{"type": "subscription.rejected", "reason_code": code, "reason_message": "The runner tries what a refusal does."}, more))
}

// latest is the newest message of a type that the target has sent on this call.
func (c *call) latest(typ string) (m message, ok bool) {
	if got := of(c.sc.tape.now().all(c.n, false), typ); len(got) > 0 {
		return got[len(got)-1], true
	}
	return m, false
}

// receive waits for the n-th message of some types on this call.
func (c *call) receive(limit time.Duration, n int, types ...string) (m message, ok bool) {
	c.sc.wait(limit, func(r *Recording) bool {
		got := of(r.all(c.n, false), types...)
		if ok = len(got) >= n; ok {
			m = got[n-1]
		}
		_, left := r.noted(c.n, noteLeft)
		return ok || left
	})
	return m, ok
}

// verbosity is what the target is configured for.
func (c *call) verbosity() string {
	if v, _ := c.terms["preferred_verbosity"].(string); v != "" {
		return v
	}
	return "normal"
}

// event makes an event with all that a good producer writes. Its id ends with a label, by which cases find it.
func (c *call) event(label, session, typ, say string, more object) object {
	urgency := map[string]string{errored: "critical", confirm: "critical", clarify: "critical", handoff: "critical", state: "background"}[typ]
	if urgency == "" {
		urgency = "normal"
	}
	e := object{"@context": aaep.CoreContext, "aaep_version": aaep.Version, "type": typ, "event_id": "evt_" + random()[:12] + label,
		"session_id": session, "timestamp": aaep.FormatTimestamp(time.Now()), "producer": object{"agent_id": "aaep-conformance", "agent_name": "Conformance"},
		"verbosity": c.verbosity(), "urgency": urgency, "localization_hints": object{"primary_language": "en-US", "text_direction": "ltr"}}
	if typ != output {
		for v, text := range wordings(say) {
			e["summary_"+v] = text
		}
	}
	return with(e, more)
}

// wordings are the texts of an event at the three verbosities; none is within another.
func wordings(say string) map[string]string {
	return map[string]string{"terse": say + " in brief.", "normal": say + " as usual.", "detailed": say + " at length and in detail."}
}

// stateOf is the state in which events of a type are told (§6.2).
var stateOf = map[string]string{invoked: "calling_tool", done: "calling_tool", output: "writing_output", confirm: "awaiting_input", clarify: "awaiting_input"}

// emit sends an event as a good producer would: in the right state, not if it is filtered out, and within the rate. It returns
// the id of what was sent.
func (c *call) emit(e object) string {
	typ, _ := e["type"].(string)
	session, _ := e["session_id"].(string)
	if to := stateOf[typ]; to != "" && session != "" {
		c.inState(session, to)
	}
	if typ == state {
		e = with(e, object{"from_state": c.stateNow(session)})
		c.states[session], _ = e["to_state"].(string)
	}
	if filters, ok := c.terms["event_filters"].(object); ok && e["urgency"] != "critical" && !passes(filters, typ) {
		return ""
	}
	c.pace(e)
	id, _ := e["event_id"].(string)
	c.send(encoded(e), id)
	return id
}

func (c *call) stateNow(session string) string {
	if now := c.states[session]; now != "" {
		return now
	}
	return "idle"
}

// inState tells that a session goes to another state, if it is not there.
func (c *call) inState(session, to string) {
	if c.stateNow(session) != to {
		c.emit(c.event("state", session, state, "Going on", object{"to_state": to}))
	}
}

// pace waits until one more event may leave (§5.6).
func (c *call) pace(e object) {
	rate, limited := c.terms["max_events_per_second"].(float64)
	if !limited || rate < 1 || e["urgency"] == "critical" {
		return
	}
	if len(c.spent) >= int(rate) {
		timer := time.NewTimer(max(time.Until(c.spent[0].Add(time.Second)), time.Millisecond))
		select {
		case <-timer.C:
		case <-c.sc.ctx.Done():
		}
		timer.Stop()
		c.spent = c.spent[1:]
	}
	c.spent = append(c.spent, time.Now())
}

// do does what the user would, through the hook.
func (sc *scene) do(act object) {
	data := encoded(act)
	sc.tape.add(Entry{Link: hookLink, Sent: true, Data: data})
	select {
	case sc.hook.acts <- data:
	default: // nobody takes them
	}
}

// presented waits until all of some texts were presented of an event. A voice takes its time: as long as the target
// presents anything at all, it is waited for.
func (sc *scene) presented(eventID string, texts ...string) (done bool) {
	for end := time.Now().Add(longest); !done && time.Now().Before(end); {
		n := len(sc.tape.now().all(hookLink, false))
		more := sc.wait(sc.patience, func(r *Recording) bool {
			got := r.text(eventID)
			done = got != "" && !slices.ContainsFunc(texts, func(t string) bool { return !says(got, t) })
			return done || len(r.all(hookLink, false)) > n
		})
		if !more {
			break
		}
	}
	if !done && !sc.hook.Told() {
		if sc.unheard++; sc.unheard > 1 {
			sc.patience = min(sc.patience, mute)
		}
	}
	return done
}

// text is all that was presented of an event.
func (r *Recording) text(eventID string) string {
	var all []string
	for _, m := range r.told(eventID) {
		all = append(all, m.str("text"))
	}
	return strings.Join(all, " ")
}

// says reports whether a text holds another, whatever its case, spacing and signs, which a voice may change.
func says(text, part string) bool { return strings.Contains(plainLetters(text), plainLetters(part)) }

func plainLetters(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}
		return -1
	}, s)
}

func (sc *scene) pause(d time.Duration) {
	sc.tape.wait(sc.ctx, d, func(*Recording) bool { return false })
}

// cut breaks the link without a word.
func (c *call) cut() {
	c.sc.tape.add(Entry{Link: c.n, Note: noteCut})
	if breaks, ok := c.conn.(interface{ Cut() }); ok {
		breaks.Cut()
		return
	}
	c.conn.Close()
}

// leave ends a call, as a producer that shuts down does.
func (c *call) leave() {
	ctx, cancel := context.WithTimeout(c.sc.ctx, time.Second)
	defer cancel()
	_ = c.conn.Send(ctx, encoded(object{"type": "subscription.close", "subscription_id": c.id, "reason_code": "producer_shutdown",
		"reason_message": "The play is over."})) // whoever is gone needs no goodbye
	_ = c.conn.Close()
}

// begin waits for the target and agrees to what it asks for; nil if nobody comes.
func (sc *scene) begin() *call {
	c := sc.next(arrival)
	if c != nil {
		c.accepted(nil)
	}
	return c
}

// sentAs is the event that the runner sent with a label, on any call.
func (r *Recording) sentAs(label string) (message, bool) {
	for l := range r.links() {
		for _, m := range r.all(l, true) {
			if strings.HasSuffix(m.str("event_id"), label) {
				return m, true
			}
		}
	}
	return message{}, false
}

func sessionID() string { return "sess_" + random() }
