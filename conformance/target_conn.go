package conformance

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// A targetConn is one connection of a subscriber under test, seen from the runner's producer.
type targetConn struct {
	harness *subscriberHarness
	index   int
	conn    transports.Conn
	id      string // of the subscription
	// request is the first; its m is nil if none came.
	request     message
	substitute  atomic.Pointer[[]byte] // what the endpoint wrote in its place
	terms       object                 // what was honored
	streams     chan transports.Stream
	open        transports.Stream
	lacksStream bool              // no stream was opened when one was waited for
	sentTimes   []time.Time       // when the newest events left, for the rate
	states      map[string]string // of sessions
}

// hasLeft reports whether the target has ended this connection.
func (c *targetConn) hasLeft() bool {
	r := c.harness.recorder.snapshot()
	_, left := r.noteOn(c.index, noteLeft)
	return left
}

// readLoop records what the target sends until the connection ends, and then notes why and closes
// this end. It is a goroutine of its own.
func (c *targetConn) readLoop() {
	for {
		data, err := c.conn.Receive(c.harness.ctx)
		if err != nil {
			if c.harness.ctx.Err() == nil && !errors.Is(err, transports.ErrClosed) {
				if !errors.Is(err, io.EOF) {
					c.harness.recorder.addEntry(Entry{Link: c.index,
						Note: noteAside + "the link ended: " + aaep.SafeText(err.Error())})
				}
				c.harness.recorder.addEntry(Entry{Link: c.index, Note: noteLeft})
				c.conn.Close() // as an agent does; a target that waits for that would come again too late
			}
			return
		}
		e := receivedEntry(c.conn, Entry{Link: c.index, Data: append([]byte{}, data...)})
		if e.Note == noteSubstitute {
			c.substitute.Store(&data)
		}
		if !c.harness.recorder.addEntry(e) {
			return
		}
	}
}

// substitutedRequest returns the request that the endpoint wrote in place of one of the target's,
// which knows no handshake: the terms that hold. It is nil where there is none.
func (c *targetConn) substitutedRequest() (request object) {
	if data := c.substitute.Load(); data != nil && jsonv2.Unmarshal(*data, &request) != nil {
		return nil
	}
	return request
}

// followStreams accepts the event streams that the target opens, until the connection or the
// scenario run ends. The newest stream counts. Each is noted with the id from which it goes on. It
// is a goroutine of its own.
func (c *targetConn) followStreams(r transports.Resumable) {
	for {
		st, err := r.NextStream(c.harness.ctx)
		if err != nil {
			return
		}
		last := st.LastEventID()
		if last == "" {
			last = "nothing"
		}
		c.harness.recorder.addEntry(Entry{Link: c.index, Note: noteStream + last})
		select {
		case c.streams <- st:
		case <-st.Done():
		case <-c.harness.ctx.Done():
			return
		}
	}
}

// sendBytes sends bytes of the runner as they are, an event over the target's stream where the
// transport has one, and reports whether they were sent.
func (c *targetConn) sendBytes(data []byte, eventID string) bool {
	c.harness.recorder.addEntry(Entry{Link: c.index, Sent: true, Data: data})
	ctx, cancel := context.WithTimeout(c.harness.ctx, patience)
	defer cancel()
	if _, ok := c.conn.(transports.Resumable); ok && eventID != "" {
		return c.sendOnStream(ctx, transports.Event{Message: data, ID: eventID})
	}
	if err := c.conn.Send(ctx, data); err != nil {
		c.harness.recorder.addEntry(Entry{Link: c.index, Note: noteNoSend})
		return false
	}
	return true
}

// sendOnStream sends an event over the target's newest stream and reports whether it was sent.
// Where there is none it waits for one to be opened; after it has waited in vain once, it waits no
// more until there is one.
func (c *targetConn) sendOnStream(ctx context.Context, ev transports.Event) bool {
	var refused <-chan struct{}
	if c.open == nil && !c.lacksStream {
		refused = c.harness.afterViolation(ctx)
	}
	late := ctx.Done()
	if c.lacksStream {
		closed := make(chan struct{})
		close(closed)
		late = closed
	}
	for {
		select {
		case c.open = <-c.streams:
			continue
		default:
		}
		if c.open != nil && c.open.SendEvents(ctx, []transports.Event{ev}) == nil {
			c.lacksStream = false
			return true
		}
		select { // it may open another
		case c.open = <-c.streams:
			continue
		case <-refused:
		case <-c.harness.over:
		case <-late:
		}
		note := noteNoSend
		if c.open == nil {
			note = noteNoStream
		}
		c.lacksStream = true
		c.harness.recorder.addEntry(Entry{Link: c.index, Note: note})
		return false
	}
}

// sendObject sends a message that is no event, and reports whether it could be sent.
func (c *targetConn) sendObject(o object) bool { return c.sendBytes(encodeObject(o), "") }

// encodeObject returns an object as JSON with its members in a fixed order.
func encodeObject(o object) []byte {
	data, err := jsonv2.Marshal(o, jsonv2.Deterministic(true))
	if err != nil {
		panic(err) // it is of our own making
	}
	return data
}

// randomID returns random lower-case letters and digits for an id.
func randomID() string { return strings.ToLower(rand.Text()) }

// sendAccepted agrees to all that was asked for, but for extensions, which the runner has none of,
// and for changes; nil takes a term away.
func (c *targetConn) sendAccepted(changes object) {
	asked := c.request.objectMember("capabilities")
	if o, ok := c.latestMessage("subscription.renegotiate"); ok {
		asked = withMembers(c.terms, o.objectMember("capabilities"))
	}
	c.terms = withMembers(asked, object{"supported_extensions": nil})
	for name, v := range asked {
		if _, ok := v.(object); ok && name != "event_filters" {
			delete(c.terms, name)
		}
	}
	c.terms = withMembers(c.terms, changes)
	answer := object{"type": "subscription.accepted", "subscription_id": c.id, "aaep_version": aaep.Version,
		"producer":             object{"agent_id": "aaep-conformance", "agent_name": "Conformance"},
		"honored_capabilities": c.terms}
	if len(changes) > 0 {
		answer["negotiation_notes"] = "You get less than you asked for."
	}
	if c.request.members != nil {
		c.sendObject(answer)
	}
}

// sendRejected refuses the request with a reason code.
func (c *targetConn) sendRejected(code string) {
	c.sendObject(object{"type": "subscription.rejected", "reason_code": code,
		"reason_message": "The runner tries what a refusal does."})
}

// latestMessage returns the newest message of a type that the target sent on this connection, or
// false.
func (c *targetConn) latestMessage(typ string) (m message, ok bool) {
	if got := ofTypes(c.harness.recorder.snapshot().messagesOn(c.index, false), typ); len(got) > 0 {
		return got[len(got)-1], true
	}
	return m, false
}

// awaitMessage waits until the target has sent n messages of a type on this connection, and reports
// whether it did.
func (c *targetConn) awaitMessage(typ string, n int) (ok bool) {
	c.harness.awaitCondition(c.harness.patience, func(r *Recording) bool {
		ok = len(ofTypes(r.messagesOn(c.index, false), typ)) >= n
		_, left := r.noteOn(c.index, noteLeft)
		return ok || left
	})
	return ok
}

// agreedVerbosity returns the verbosity that was agreed with the target on this connection; normal
// where none was.
func (c *targetConn) agreedVerbosity() string {
	if v, _ := c.terms["preferred_verbosity"].(string); v != "" {
		return v
	}
	return "normal"
}

// newEvent makes an event with all that a good producer writes. Its id ends with a label, by which
// cases find it.
func (c *targetConn) newEvent(label, session, typ, say string, more object) object {
	urgency := map[string]string{errored: "critical", confirm: "critical", clarify: "critical", handoff: "critical",
		state: "background"}[typ]
	if urgency == "" {
		urgency = "normal"
	}
	e := object{"@context": aaep.CoreContext, "aaep_version": aaep.Version, "type": typ, "event_id": eventID(label),
		"session_id": session, "timestamp": aaep.FormatTimestamp(time.Now()),
		"producer":  object{"agent_id": "aaep-conformance", "agent_name": "Conformance"},
		"verbosity": c.agreedVerbosity(), "urgency": urgency,
		"localization_hints": object{"primary_language": "en-US", "text_direction": "ltr"}}
	if typ != output {
		for v, text := range summaryTexts(say) {
			e["summary_"+v] = text
		}
	}
	return withMembers(e, more)
}

// summaryTexts are the texts of an event at the three verbosities; none is within another.
func summaryTexts(say string) map[string]string {
	return map[string]string{"terse": say + " in brief.", "normal": say + " as usual.",
		"detailed": say + " at length and in detail."}
}

// stateOf is the state in which events of a type are sent (§6.2).
var stateOf = map[string]string{invoked: "calling_tool", done: "calling_tool", output: "writing_output",
	confirm: "awaiting_input", clarify: "awaiting_input"}

// emitEvent sends an event as a good producer would: in the right state, not if it is filtered out,
// and within the rate. It returns the id of what was sent, "" if nothing was.
func (c *targetConn) emitEvent(e object) string {
	typ, _ := e["type"].(string)
	session, _ := e["session_id"].(string)
	if to := stateOf[typ]; to != "" && session != "" {
		c.enterState(session, to)
	}
	if typ == state {
		e = withMembers(e, object{"from_state": c.currentState(session)})
		c.states[session], _ = e["to_state"].(string)
	}
	if filters, ok := c.terms["event_filters"].(object); ok && e["urgency"] != "critical" &&
		!passesFilters(filters, typ) {
		return ""
	}
	c.awaitRate(e)
	id, _ := e["event_id"].(string)
	if !c.sendBytes(encodeObject(e), id) {
		return ""
	}
	return id
}

// currentState returns the state that a session was last announced to be in on this connection;
// idle at first.
func (c *targetConn) currentState(session string) string {
	if now := c.states[session]; now != "" {
		return now
	}
	return "idle"
}

// enterState emits that a session goes to another state, if it is not there.
func (c *targetConn) enterState(session, to string) {
	if c.currentState(session) != to {
		c.emitEvent(c.newEvent("state", session, state, "Going on", object{"to_state": to}))
	}
}

// awaitRate waits until one more event may leave at the rate that was agreed (§5.6). Where there is
// none, and for a critical event, it returns at once. The scenario's goroutine calls it before each
// event.
func (c *targetConn) awaitRate(e object) {
	rate, limited := c.terms["max_events_per_second"].(float64)
	if !limited || rate < 1 || e["urgency"] == "critical" {
		return
	}
	if len(c.sentTimes) >= int(rate) {
		timer := time.NewTimer(max(time.Until(c.sentTimes[0].Add(time.Second)), time.Millisecond))
		select {
		case <-timer.C:
		case <-c.harness.ctx.Done():
		}
		timer.Stop()
		c.sentTimes = c.sentTimes[1:]
	}
	c.sentTimes = append(c.sentTimes, time.Now())
}

// breakConnection breaks the connection as a network does, without a subscription.close, and
// records that.
func (c *targetConn) breakConnection() {
	c.harness.recorder.addEntry(Entry{Link: c.index, Note: noteCut})
	if breaks, ok := c.conn.(interface{ Cut() }); ok {
		breaks.Cut()
		return
	}
	c.conn.Close()
}

// closeConnection ends the connection as a producer that shuts down does: with a
// subscription.close, for which it waits a second at most.
func (c *targetConn) closeConnection() {
	ctx, cancel := context.WithTimeout(c.harness.ctx, time.Second)
	defer cancel()
	_ = c.conn.Send(ctx, encodeObject(object{"type": "subscription.close", "subscription_id": c.id,
		"reason_code":    "producer_shutdown",
		"reason_message": "The play is over."})) // a peer that is gone needs no close
	_ = c.conn.Close()
}

// sessionID returns a new session_id.
func sessionID() string { return "sess_" + randomID() }

// labelAt is where the label of an event id begins.
const labelAt = 16

// eventID returns a new event_id that ends with a label, by which judges find the event.
func eventID(label string) string { return ("evt_" + randomID())[:labelAt] + label }
