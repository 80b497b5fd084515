package conformance

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep/transports"
)

const (
	arrival        = 20 * time.Second       // for a target to start and connect, if SubscriberRun.Arrival says nothing else of the first time
	presentTime    = 3 * time.Second        // for it to present or answer what it was sent, if SubscriberRun.Timeout says nothing else
	correctionTime = 3 * time.Second        // to come, or to open its stream, in another way than one that was refused
	longest        = time.Minute            // the same for one that goes on presenting other things
	hurried        = 200 * time.Millisecond // the same for one that reports nothing through the hook
	quiet          = 150 * time.Millisecond // in which what must not come would come
	leaving        = 3 * time.Second        // for it to end
)

const (
	noteStream   = "the target opened the event stream after " // and the id of an event, or "nothing"
	noteCut      = "the runner broke the link"
	noteLeft     = "the target closed the link"
	noteNoStream = "the target opened no event stream"
	noteGone     = "the target ended: "
	noError      = "it reports no error"
)

// subscriberScenario is what the runner does to the target in one go.
type subscriberScenario struct {
	name    string
	hook    bool // nothing can be judged without it
	perform func(*subscriberHarness)
	does    string // in words, of a case from outside
}

// A subscriberHarness is the fixture of one scenario run with a subscriber under test.
type subscriberHarness struct {
	ctx        context.Context
	stop       context.CancelFunc
	name       string
	progress   func(string) // reports what is run
	recorder   *recorder
	hook       *Hook
	arrival    time.Duration
	patience   time.Duration
	unreported int // events that were not reported, while none ever was
	arrivals   chan transports.Conn
	over       chan struct{} // closed when the target has ended
	gone       atomic.Bool   // it has ended by itself
	running    sync.WaitGroup
	conns      []*targetConn
}

// performScenario runs one scenario and returns its recording. wait is how long the target may take
// to come. A target that is mute, for the reason in mute, is not waited for; plain says that it
// knows no handshake. names are those under which it came before.
func (run SubscriberRun) performScenario(ctx context.Context, p subscriberScenario, progress func(string),
	wait time.Duration, mute string, plain bool, names map[string]bool) *Recording {
	ctx, cancel := context.WithTimeout(ctx, maxRunTime)
	defer cancel()
	t := newRecorder(Scenario{Name: p.name}, names)
	h := &subscriberHarness{recorder: t, name: p.name, progress: progress, hook: newHook(t), arrival: wait,
		patience: cmp.Or(run.Timeout, presentTime), arrivals: make(chan transports.Conn), over: make(chan struct{})}
	t.rec.limit = h.patience
	t.rec.plain = plain
	if t.rec.mute = mute; mute != "" {
		h.patience = hurried
	}
	h.ctx, h.stop = context.WithCancel(ctx)
	if _, itself := run.Subscriber.(*HTTPHook); !itself {
		closeConnections(run.Listener)
	}
	reporting := t.withReporter(h.ctx, 0, run.Level)
	h.running.Go(func() { h.acceptConnections(reporting, run.Listener) })
	target, kill := context.WithCancel(ctx)
	go h.runTarget(target, run.Subscriber)
	if !p.hook || mute == "" {
		p.perform(h)
	} else {
		t.addEntry(Entry{Note: noteStart})
	}
	t.addEntry(Entry{Note: noteEnd})
	t.stopRecording() // what it does when it is ended is not judged
	kill()
	<-h.over
	for _, c := range h.conns {
		c.closeConnection()
	}
	h.stop()
	h.running.Wait()
	return t.snapshot()
}

// runTarget runs the target until ctx is done, and records that, and why, it ended before. Where it
// ended with an error before anything else came, it could not be started. It closes h.over at its
// end, and is a goroutine of its own.
func (h *subscriberHarness) runTarget(ctx context.Context, target Subscriber) {
	defer close(h.over)
	err := target.Run(ctx, h.hook)
	if ctx.Err() != nil {
		return
	}
	why := noError
	if err != nil {
		why = err.Error()
	}
	h.recorder.mu.Lock()
	if len(h.recorder.rec.Entries) == 0 && err != nil {
		h.recorder.rec.DriverErr = err
	}
	h.recorder.mu.Unlock()
	h.gone.Store(true)
	h.recorder.addEntry(Entry{Note: noteGone + why})
}

// closeConnections accepts and closes the connections that the target of the scenario run before
// had still begun, until none comes for five milliseconds.
func closeConnections(l transports.Listener) {
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

// acceptConnections hands the connections of a listener to the scenario run, until ctx or the run
// ends. It is a goroutine of its own.
func (h *subscriberHarness) acceptConnections(ctx context.Context, l transports.Listener) {
	for {
		conn, err := l.Accept(ctx)
		if err != nil {
			return
		}
		select {
		case h.arrivals <- conn:
		case <-h.ctx.Done():
			conn.Close()
			return
		}
	}
}

// awaitCondition waits until is reports true for the recording, and reports whether it did, within
// limit and before the target ended.
func (h *subscriberHarness) awaitCondition(limit time.Duration, is func(*Recording) bool) bool {
	held := false
	h.recorder.awaitCondition(h.ctx, limit, func(r *Recording) bool {
		held = is(r)
		return held || h.gone.Load()
	})
	return held
}

// afterViolation returns a channel that is closed when the transport has noticed a violation while
// the target was awaited, and the target has had its time to correct it.
func (h *subscriberHarness) afterViolation(ctx context.Context) <-chan struct{} {
	over := make(chan struct{})
	h.running.Go(func() {
		if h.recorder.awaitCondition(ctx, maxRunTime, func(r *Recording) bool { return r.firstViolations() != "" }) {
			h.recorder.awaitCondition(ctx, correctionTime, func(*Recording) bool { return false })
			close(over)
		}
	})
	return over
}

// nextConn waits for a connection of the target, and for its request. It returns nil, which it
// records, at the limit, or where the target has ended or broke the binding first. Connections
// without a message are passed over.
func (h *subscriberHarness) nextConn(limit time.Duration) *targetConn {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	puzzled := time.After(puzzling)
	var refused <-chan struct{}
	if len(h.conns) == 0 {
		ctx, cancel := context.WithCancel(h.ctx)
		defer cancel()
		refused = h.afterViolation(ctx)
	}
	for {
		select {
		case <-puzzled:
			if left := limit - puzzling; left > 0 {
				h.progress(fmt.Sprintf("%s, waiting up to %d more seconds for the subscriber", h.name,
					int(left.Seconds())))
			}
			continue
		case <-refused:
		case conn := <-h.arrivals:
			if c := h.beginConn(conn); c.request.members != nil || !c.hasLeft() {
				return c
			} // a connection without a message
			continue
		case <-h.over:
		case <-timer.C:
		case <-h.ctx.Done():
		}
		h.recorder.addEntry(Entry{Link: len(h.conns), Note: noteNoDial})
		return nil
	}
}

// beginConn begins a connection of the target, and waits for its request. A target that sends none
// may know no handshake, which Level 3 alone asks for; it is sent events all the same.
func (h *subscriberHarness) beginConn(conn transports.Conn) *targetConn {
	c := &targetConn{harness: h, index: len(h.conns), conn: conn, id: "sub_" + randomID(),
		streams: make(chan transports.Stream), states: map[string]string{}}
	h.conns = append(h.conns, c)
	h.running.Go(c.readLoop)
	if r, ok := conn.(transports.Resumable); ok {
		h.running.Go(func() { c.followStreams(r) })
	}
	limit := h.recorder.rec.limit
	if h.recorder.rec.plain {
		limit = hurried
	}
	h.awaitCondition(limit, func(r *Recording) bool {
		if got := ofTypes(r.messagesOn(c.index, false), "subscription.request"); len(got) > 0 {
			c.request = got[0]
		}
		if o := c.substitutedRequest(); o != nil {
			c.request = message{members: o}
		}
		_, left := r.noteOn(c.index, noteLeft)
		return left || c.request.members != nil
	})
	return c
}

// stopRecording takes no more entries from now on.
func (t *recorder) stopRecording() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.full = true
}

// snapshot returns the recording as it is now. Only the goroutine of the scenario run may read its
// messages.
func (t *recorder) snapshot() *Recording {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rec
	r.watched = slices.ContainsFunc(t.reporters, func(used func() bool) bool { return used() })
	return &r
}

// sendUserAct passes to the hook what the user does next, and records it. A hook that is full, for
// its target reads nothing, does not get it.
func (h *subscriberHarness) sendUserAct(act object) {
	data := encodeObject(act)
	h.recorder.addEntry(Entry{Link: hookLink, Sent: true, Data: data})
	select {
	case h.hook.acts <- data:
	default: // the target does not read them
	}
}

// awaitPresented waits until all texts were presented of an event, and reports whether they were.
// Speech takes its time: as long as the target presents anything at all, the wait goes on.
func (h *subscriberHarness) awaitPresented(eventID string, texts ...string) (done bool) {
	if eventID == "" {
		return false // it was not sent
	}
	for end := time.Now().Add(longest); !done && time.Now().Before(end); {
		n := h.hook.lines.Load()
		more := h.awaitCondition(h.patience, func(*Recording) bool {
			got := h.hook.presentedText(eventID)
			done = got != "" && !slices.ContainsFunc(texts, func(t string) bool { return !containsWords(got, t) })
			return done || h.hook.lines.Load() > n
		})
		if !more || n > maxHookLines {
			break
		}
	}
	if !done && !h.hook.isUsed() {
		if h.unreported++; h.unreported > 1 {
			h.patience = min(h.patience, hurried)
		}
	}
	return done
}

// textOf returns all that was presented of an event, with blanks between; "" where nothing was.
func (r *Recording) textOf(eventID string) string {
	var all []string
	for _, m := range r.presentedLines(eventID) {
		all = append(all, m.stringMember("text"))
	}
	return strings.Join(all, " ")
}

// containsWords reports whether a text holds another, whatever its case, spacing and signs, which a
// voice may change.
func containsWords(text, part string) bool {
	return strings.Contains(normalizeText(text), normalizeText(part))
}

// normalizeText leaves of a text the letters and digits of ASCII, in small letters.
func normalizeText(s string) string {
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

// pauseFor lets time go by in which something might come, without looking at what comes.
func (h *subscriberHarness) pauseFor(d time.Duration) {
	h.recorder.awaitCondition(h.ctx, d, func(*Recording) bool { return false })
}

// beginSubscription waits for the target and agrees to what it asks for; nil if it does not
// connect.
func (h *subscriberHarness) beginSubscription() *targetConn {
	c := h.nextConn(h.arrival)
	if c != nil {
		c.sendAccepted(nil)
	}
	return c
}

// eventLabelled returns the event that the runner sent with a label, on any link.
func (r *Recording) eventLabelled(label string) (message, bool) {
	for l := range r.linkCount() {
		for _, m := range r.messagesOn(l, true) {
			if id := m.stringMember("event_id"); len(id) > labelAt && id[labelAt:] == label {
				return m, true
			}
		}
	}
	return message{}, false
}
