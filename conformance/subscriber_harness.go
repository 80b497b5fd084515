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

// performScenario runs one scenario. The target may take so long to come. A target that is mute,
// for some reason, is not waited for. Names are those that it came under before.
func (run SubscriberRun) performScenario(ctx context.Context, p subscriberScenario, progress func(string),
	wait time.Duration, mute string, plain bool, names map[string]bool) *Recording {
	ctx, cancel := context.WithTimeout(ctx, maxPlay)
	defer cancel()
	t := newRecorder(Scenario{Name: p.name}, names)
	sc := &subscriberHarness{recorder: t, name: p.name, progress: progress, hook: newHook(t), arrival: wait,
		patience: cmp.Or(run.Timeout, presentTime), arrivals: make(chan transports.Conn), over: make(chan struct{})}
	t.rec.limit = sc.patience
	t.rec.plain = plain
	if t.rec.mute = mute; mute != "" {
		sc.patience = hurried
	}
	sc.ctx, sc.stop = context.WithCancel(ctx)
	if _, itself := run.Subscriber.(*HTTPHook); !itself {
		closeConnections(run.Listener)
	}
	reporting := t.withReporter(sc.ctx, 0, run.Level)
	sc.running.Go(func() { sc.acceptConnections(reporting, run.Listener) })
	target, kill := context.WithCancel(ctx)
	go func() {
		defer close(sc.over)
		if err := run.Subscriber.Run(target, sc.hook); target.Err() == nil {
			why := noError
			if err != nil {
				why = err.Error()
			}
			t.mu.Lock()
			if len(t.rec.Entries) == 0 && err != nil {
				t.rec.DriverErr = err
			}
			t.mu.Unlock()
			sc.gone.Store(true)
			t.addEntry(Entry{Note: noteGone + why})
		}
	}()
	if !p.hook || mute == "" {
		p.perform(sc)
	} else {
		t.addEntry(Entry{Note: noteStart})
	}
	t.addEntry(Entry{Note: noteEnd})
	t.stopRecording() // what it does when it is ended is not judged
	kill()
	<-sc.over
	for _, c := range sc.conns {
		c.closeConnection()
	}
	sc.stop()
	sc.running.Wait()
	return t.snapshot()
}

// closeConnections turns away what the target of the scenario run before had still begun.
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

// acceptConnections hands the connections of a listener to the scenario run.
func (sc *subscriberHarness) acceptConnections(ctx context.Context, l transports.Listener) {
	for {
		conn, err := l.Accept(ctx)
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

// awaitCondition waits until something is in the recording, or the target has ended.
func (sc *subscriberHarness) awaitCondition(limit time.Duration, is func(*Recording) bool) bool {
	held := false
	sc.recorder.awaitCondition(sc.ctx, limit, func(r *Recording) bool {
		held = is(r)
		return held || sc.gone.Load()
	})
	return held
}

// afterViolation returns a channel that is closed when the transport has noticed a violation while
// the target was awaited, and the target has had its time to correct it.
func (sc *subscriberHarness) afterViolation(ctx context.Context) <-chan struct{} {
	over := make(chan struct{})
	sc.running.Go(func() {
		if sc.recorder.awaitCondition(ctx, maxPlay, func(r *Recording) bool { return r.firstViolation() != "" }) {
			sc.recorder.awaitCondition(ctx, correctionTime, func(*Recording) bool { return false })
			close(over)
		}
	})
	return over
}

// nextConn waits for a connection of the target, and for its request; nil is none.
func (sc *subscriberHarness) nextConn(limit time.Duration) *targetConn {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	puzzled := time.After(puzzling)
	var refused <-chan struct{}
	if len(sc.conns) == 0 {
		ctx, cancel := context.WithCancel(sc.ctx)
		defer cancel()
		refused = sc.afterViolation(ctx)
	}
	for {
		select {
		case <-puzzled:
			if left := limit - puzzling; left > 0 {
				sc.progress(fmt.Sprintf("%s, waiting up to %d more seconds for the subscriber", sc.name,
					int(left.Seconds())))
			}
			continue
		case <-refused:
		case conn := <-sc.arrivals:
			if c := sc.beginConn(conn); c.request.members != nil || !c.hasLeft() {
				return c
			} // a connection without a message
			continue
		case <-sc.over:
		case <-timer.C:
		case <-sc.ctx.Done():
		}
		sc.recorder.addEntry(Entry{Link: len(sc.conns), Note: noteNoDial})
		return nil
	}
}

// beginConn begins a call, and waits for its request. Who says nothing may know no handshake, which
// Level 3 alone asks for: they just get events.
func (sc *subscriberHarness) beginConn(conn transports.Conn) *targetConn {
	c := &targetConn{harness: sc, index: len(sc.conns), conn: conn, id: "sub_" + randomID(),
		streams: make(chan transports.Stream), states: map[string]string{}}
	sc.conns = append(sc.conns, c)
	sc.running.Go(c.readLoop)
	if r, ok := conn.(transports.Resumable); ok {
		sc.running.Go(func() { c.followStreams(r) })
	}
	limit := sc.recorder.rec.limit
	if sc.recorder.rec.plain {
		limit = hurried
	}
	sc.awaitCondition(limit, func(r *Recording) bool {
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

// sendUserAct passes to the hook what the user does next.
func (sc *subscriberHarness) sendUserAct(act object) {
	data := encodeObject(act)
	sc.recorder.addEntry(Entry{Link: hookLink, Sent: true, Data: data})
	select {
	case sc.hook.acts <- data:
	default: // the target does not read them
	}
}

// awaitPresented waits until all of some texts were presented of an event. Speech takes its time:
// as long as the target presents anything at all, it is awaited.
func (sc *subscriberHarness) awaitPresented(eventID string, texts ...string) (done bool) {
	if eventID == "" {
		return false // it was not sent
	}
	for end := time.Now().Add(longest); !done && time.Now().Before(end); {
		n := sc.hook.lines.Load()
		more := sc.awaitCondition(sc.patience, func(*Recording) bool {
			got := sc.hook.presentedText(eventID)
			done = got != "" && !slices.ContainsFunc(texts, func(t string) bool { return !containsWords(got, t) })
			return done || sc.hook.lines.Load() > n
		})
		if !more || n > maxHookLines {
			break
		}
	}
	if !done && !sc.hook.isUsed() {
		if sc.unreported++; sc.unreported > 1 {
			sc.patience = min(sc.patience, hurried)
		}
	}
	return done
}

// textOf is all that was presented of an event.
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
func (sc *subscriberHarness) pauseFor(d time.Duration) {
	sc.recorder.awaitCondition(sc.ctx, d, func(*Recording) bool { return false })
}

// beginSubscription waits for the target and agrees to what it asks for; nil if it does not
// connect.
func (sc *subscriberHarness) beginSubscription() *targetConn {
	c := sc.nextConn(sc.arrival)
	if c != nil {
		c.sendAccepted(nil)
	}
	return c
}

// eventLabelled is the event that the runner sent with a label, on any call.
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
