package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

const (
	patience = 5 * time.Second  // for an answer, or for what follows one
	slow     = 20 * time.Second // for a scenario's next step
	// settle is how long after the end of a scenario run its subscribers still listen: what must
	// not come would come now.
	settle = 500 * time.Millisecond
	// puzzling is a silence after which the user wants to know what is waited for, and again each
	// time that reminding has passed.
	puzzling  = 3 * time.Second
	reminding = 30 * time.Second
)

const (
	noteFlood      = "the producer sent more than the runner keeps"
	noteClosed     = "the producer closed the link"
	noteNoDial     = "no link could be made"
	noteLost       = "the runner broke the event stream"
	noteFound      = "the runner opened the event stream again"
	noteNoSend     = "the message could not be sent"
	noteRefused    = "refused with " // and the code
	noteManifest   = "the manifest"
	noteSigned     = "the manifest, signed"
	noteNoManifest = "no manifest: " // and why
	// noteSubstitute stands for a message that the transport of the runner wrote itself.
	noteSubstitute = "the target sent no such message as is expected here, and the link of the suite went on without it"
	noteStart      = "the scenario was started"
	noteUnstarted  = "the scenario could not be started"
	noteEnd        = "the runner listened until here"
)

// A producerHarness is the fixture of one scenario run.
type producerHarness struct {
	ctx         context.Context
	run         ProducerRun
	recorder    *recorder
	links       []*link
	running     sync.WaitGroup
	stop        context.CancelFunc // of readers and driver
	scenarioRun scenarioRun
	turn        chan struct{}    // held while a scenario is being started, for drivers start one after another
	progress    func(string)     // reports what is run
	before      *producerHarness // whose subscribers may still listen; nil where there is none
	ended       int              // entries at the end of the scenario run
	mute        bool             // its subscriber was accepted, and not one event came
	endless     bool             // in it, or before, a session was waited for that had begun and did not end
	another     bool             // a second subscriber is asked too
	over        chan struct{}    // closed when all that it started has ended
}

type object = map[string]any

// usualCapabilities returns the capabilities that most scenarios request: everything unmerged but
// for sentences, and both kinds of questions.
func usualCapabilities() object {
	return object{"languages": []string{"en-US", "en"}, "coalesce_boundaries": []string{"sentence", "completion"},
		"supports_confirmation_reply": true, "supports_clarification_reply": true,
		"supported_conformance_levels": []int{1, 2, 3}}
}

// withMembers returns a copy of an object with other members as well; nil takes one away.
func withMembers(o object, more object) object {
	all := object{}
	for k, v := range o {
		all[k] = v
	}
	for k, v := range more {
		if all[k] = v; v == nil {
			delete(all, k)
		}
	}
	return all
}

// requestMessage returns a valid subscription.request for some capabilities.
func requestMessage(capabilities object) object {
	return object{"type": "subscription.request", "aaep_version": aaep.Version, "subscriber_id": "aaep-conformance",
		"capabilities": capabilities}
}

// dialLink opens a link, and starts the goroutine that reads from it. Where it cannot, even after
// the subscribers of the run before have left, it notes why in the recording, and the link is dead.
func (h *producerHarness) dialLink(dialer transports.Dialer) *link {
	l := &link{harness: h, index: len(h.links), id: implicitID, readerDone: make(chan struct{})}
	h.links = append(h.links, l)
	ctx, cancel := l.withPatience()
	defer cancel()
	conn, err := dialer.Dial(ctx)
	if err != nil && h.before.awaitListeners() { // the target may have one subscriber at a time
		conn, err = dialer.Dial(ctx)
	}
	if err != nil {
		l.noteUnreached("the opening of the link", err)
		h.recorder.addEntry(Entry{Link: l.index, Note: noteNoDial})
		l.noteRefusal(err)
		close(l.readerDone)
		return l
	}
	l.conn = conn
	h.running.Go(l.readLoop)
	return l
}

// subscribeLink opens a link, asks, and waits for the answer. A producer of Level 1 may know no
// handshake (§9.3.3): then the link just listens.
func (h *producerHarness) subscribeLink(capabilities object) *link {
	return h.sendRequest(requestMessage(capabilities))
}

// sendRequest opens a link with the run's dialer, sends a request and waits for its answer.
func (h *producerHarness) sendRequest(req object) *link { return h.sendRequestBy(h.run.Dialer, req) }

// sendRequestBy is sendRequest with another dialer. Where the request could not be sent, the link
// is dead.
func (h *producerHarness) sendRequestBy(dialer transports.Dialer, req object) *link {
	l := h.dialLink(dialer)
	can, _ := req["capabilities"].(object)
	l.answers = can["supports_confirmation_reply"] == true || can["supports_clarification_reply"] == true
	if l.dead = !l.sendObject(req); l.dead && l.conn != nil {
		if _, unsent := h.recorder.snapshot().noteOn(l.index, noteNoSend); unsent {
			l.noteUnreached("the subscription.request", l.err)
			h.recorder.addEntry(Entry{Link: l.index, Note: noteNoDial}) // some links are made with the first message
		}
	}
	l.awaitAnswer()
	return l
}

// startScenario makes the producer act, if a subscriber is there to see it.
func (h *producerHarness) startScenario() { h.driveScenario(h.scenarioRun.scenario) }

// driveScenario has the driver start a scenario on a goroutine of the harness, one at a time, and
// notes in the recording that it starts, or why it could not. Without a working link it does
// nothing.
func (h *producerHarness) driveScenario(scenario Scenario) { h.driveWithin(scenario, maxRunTime) }

// driveWithin has the driver start a scenario in the background, and reports whether it did. It
// waits up to limit for a driver that is busy with an earlier scenario. It does not where no link
// lives, or an earlier scenario of this run could not be started.
func (h *producerHarness) driveWithin(scenario Scenario, limit time.Duration) bool {
	if !slices.ContainsFunc(h.links, func(l *link) bool { return !l.dead }) {
		return false
	}
	select {
	case h.turn <- struct{}{}:
	case <-time.After(limit):
		return false
	case <-h.ctx.Done():
		return false
	}
	if h.recorder.snapshot().DriverErr != nil { // nothing more of this scenario run can be judged, and the next would meet what is started here
		<-h.turn
		return false
	}
	h.recorder.addEntry(Entry{Note: noteStart})
	h.running.Go(func() {
		defer func() { <-h.turn }()
		err := h.run.Driver.Start(h.ctx, scenario)
		if scenario.Name == Shutdown && errors.Is(err, ErrNoDriver) {
			err = nil // it may have ended with the target
		}
		if err != nil && h.ctx.Err() == nil {
			h.recorder.mu.Lock()
			h.recorder.rec.DriverErr = err
			h.recorder.mu.Unlock()
			h.recorder.addEntry(Entry{Note: noteUnstarted})
		}
	})
	return true
}

// awaitQuestion returns the n-th confirmation on a link, one that comes again not counted, and
// reports whether it came before n sessions had ended there.
func (h *producerHarness) awaitQuestion(l *link, n int) (message, bool) {
	var got []message
	h.recorder.awaitCondition(h.ctx, slow, func(r *Recording) bool {
		got = distinctQuestions(confirmationsOn(r, l.index))
		return len(got) >= n || len(ofTypes(r.eventsOn(l.index), completed, errored, cancelled)) >= n ||
			h.isSilenced(r, l)
	})
	if len(got) < n {
		return message{}, false
	}
	return got[n-1], true
}

// awaitEvent returns the first new event of a type that comes on a link in time. It does not wait
// for one that came already, but in a form that cannot be read. Where the target is known to stay
// silent it waits at most patience. While it waits for long, it reports that to Progress. It
// returns false at the limit, and for a link that has ended.
func (h *producerHarness) awaitEvent(l *link, limit time.Duration, types ...string) (message, bool) {
	var got []message
	over := func(r *Recording) bool {
		got = ofTypes(r.eventsOn(l.index), types...)
		return len(got) > 0 || h.isSilenced(r, l) || slices.ContainsFunc(r.unreadableOn(l.index), namesDecidingEvent)
	}
	word := time.Now().Add(puzzling)
	for until := time.Now().Add(limit); ; {
		heard, left := len(h.recorder.snapshot().Entries), time.Until(until)
		if h.mayStaySilent(l) {
			left = min(left, patience)
		}
		more := func(r *Recording) bool { return len(r.Entries) > heard || over(r) }
		if !h.awaitReporting(l, left, &word, types, more) || over(h.recorder.snapshot()) {
			break
		}
	}
	if len(got) == 0 {
		return message{}, false
	}
	return got[0], true
}

// awaitReporting waits until is reports true, and returns whether it did within limit. From word on
// it reports to Progress, again and again, that the run waits for an event of these types on a
// link, and moves word to the time of the next report.
func (h *producerHarness) awaitReporting(l *link, limit time.Duration, word *time.Time, types []string,
	is func(*Recording) bool) (came bool) {
	end := time.Now().Add(limit)
	for !came && h.ctx.Err() == nil && !h.recorder.isFull() && time.Now().Before(end) {
		came = h.recorder.awaitCondition(h.ctx, min(time.Until(end), max(time.Until(*word), 0)), is)
		if rest := time.Until(end); !came && rest > 0 && !time.Now().Before(*word) {
			h.reportWaiting(l, rest, types)
			*word = time.Now().Add(reminding)
		}
	}
	return came
}

// reportWaiting reports to the caller's Progress what the run waits for.
func (h *producerHarness) reportWaiting(l *link, left time.Duration, types []string) {
	what := "the end of the session"
	switch asked := slices.Contains(types, confirm) || slices.Contains(types, clarify); {
	case len(h.recorder.snapshot().eventsOn(l.index)) == 0:
		what = "the first event"
	case asked:
		what = "its question"
	case h.hasUnansweredQuestion(l):
		what = "the end of a question that nobody answers"
	}
	h.progress(fmt.Sprintf("%s, waiting up to %d more seconds for %s", h.scenarioRun.name, int(left.Seconds()), what))
}

// hasUnansweredQuestion reports whether a question came on a link, and the runner answered none.
func (h *producerHarness) hasUnansweredQuestion(l *link) bool {
	r := h.recorder.snapshot()
	return len(ofTypes(r.eventsOn(l.index), confirm, clarify)) > 0 &&
		len(ofTypes(r.messagesOn(l.index, true), "confirmation.reply", "clarification.reply")) == 0
}

// namesDecidingEvent reports whether what cannot be read names an event that a scenario run goes on
// with.
func namesDecidingEvent(garbled []byte) bool {
	return slices.ContainsFunc([]string{confirm, clarify, completed, errored, cancelled}, func(typ string) bool {
		return bytes.Contains(garbled, []byte(strings.TrimPrefix(typ, "aaep:agent.")))
	})
}

// isSilenced reports whether nothing more is to be expected on a link: it was never there, or has
// ended, the driver failed, or a session began under an id that another had before.
func (h *producerHarness) isSilenced(r *Recording, l *link) bool {
	_, over := r.noteOn(l.index, noteClosed)
	return over || l.dead || r.DriverErr != nil ||
		slices.ContainsFunc(ofTypes(r.messagesOn(l.index, false), started), r.reusesSessionID)
}

// mayStaySilent reports whether what is waited for on a link may never come, or not so that it can
// be read: then silence is its end, but where the scenario has something that takes long.
func (h *producerHarness) mayStaySilent(l *link) bool {
	r := h.recorder.snapshot()
	return h.scenarioRun.scenario.TimeoutSeconds == 0 &&
		(h.endless || r.hasViolation() || len(r.unreadableOn(l.index)) > 0)
}

// awaitSessionEnd waits, for at most limit, for the end of the session on a link. It notes in
// h.mute a target that accepted and then sent nothing for that long, and in h.endless one whose
// session did not end.
func (h *producerHarness) awaitSessionEnd(l *link, limit time.Duration) {
	_, ended := h.awaitEvent(l, limit, completed, errored, cancelled)
	r := h.recorder.snapshot()
	wasAwaited := !ended && limit >= slow && !h.isSilenced(r, l)
	came := r.messagesOn(l.index, false)
	onlyAccepted := len(came) == 1 && len(ofTypes(came, "subscription.accepted")) == 1
	isReadable := !r.hasViolation() && len(r.unreadableOn(l.index)) == 0
	h.mute = wasAwaited && onlyAccepted && isReadable
	h.endless = h.endless || wasAwaited && len(r.eventsOn(l.index)) > 0
}

// pauseFor lets time go by in which something might come.
func (h *producerHarness) pauseFor(d time.Duration) {
	h.recorder.awaitCondition(h.ctx, d, func(*Recording) bool { return false })
}

// performRun runs the scenario. Its subscribers then listen a little longer, while the next
// scenario run is run already. It returns before they have; h.over is closed when all is over.
func (h *producerHarness) performRun() {
	whole := false
	defer func() {
		if !whole { // a panic of what the caller gave: later runs must not wait for this one
			h.closeLinks()
			close(h.over)
		}
	}()
	h.scenarioRun.run(h)
	h.awaitOtherEnds()
	h.recorder.markLeft()
	h.ended, whole = len(h.recorder.snapshot().Entries), true
	go func() {
		defer close(h.over)
		h.pauseFor(settle)
		h.closeLinks()
	}()
}

// awaitEnds waits until so many sessions have ended on a link.
func (h *producerHarness) awaitEnds(l *link, n int) {
	h.recorder.awaitCondition(h.ctx, slow, func(r *Recording) bool {
		return len(ofTypes(r.eventsOn(l.index), completed, errored, cancelled)) >= n || h.isSilenced(r, l)
	})
}

// runNextSession starts the scenario and waits until a session that begins on a link after the call
// ends there: other sessions may go on at the same time.
func (h *producerHarness) runNextSession(l *link) {
	begun := map[string]bool{}
	for _, m := range h.recorder.snapshot().eventsOn(l.index) {
		begun[m.stringMember("session_id")] = true
	}
	h.startScenario()
	h.recorder.awaitCondition(h.ctx, slow, func(r *Recording) bool {
		return h.isSilenced(r, l) || slices.ContainsFunc(ofTypes(r.eventsOn(l.index), completed, errored, cancelled),
			func(end message) bool { return !begun[end.stringMember("session_id")] })
	})
}

// awaitOtherEnds waits, after the end that the scenario run itself has awaited, for the ends of
// other sessions and at other subscribers: links are not equally fast, and a rate holds ends up.
func (h *producerHarness) awaitOtherEnds() {
	if !h.endless {
		h.recorder.awaitCondition(h.ctx, patience, func(r *Recording) bool {
			return !slices.ContainsFunc(r.followers(), func(f follower) bool {
				return f.owesEnd() && !slices.ContainsFunc(f.list, message.isTerminal)
			})
		})
	}
}

// subscribeAnother is subscribeLink for a subscriber that a scenario run can do without: the target
// may have one alone, or be no further than Level 1. It is nil then.
func (h *producerHarness) subscribeAnother(more object) *link {
	if h.run.OneLink || h.run.Level < 2 {
		return nil
	}
	return h.subscribeLink(withMembers(usualCapabilities(), more))
}

// couldAnswer reports whether a subscriber in a scenario run or those before it still listens who
// may be asked. h may be nil, which is no run.
func (h *producerHarness) couldAnswer() bool {
	for ; h != nil; h = h.before {
		select {
		case <-h.over:
		default:
			if slices.ContainsFunc(h.links, func(l *link) bool { return l.answers }) {
				return true
			}
		}
	}
	return false
}

// awaitListeners waits until no subscriber listens any more in a scenario run and those before it.
// It reports whether any subscriber did. h may be nil, which is no run.
func (h *producerHarness) awaitListeners() (did bool) {
	for ; h != nil; h = h.before {
		select {
		case <-h.over:
		default:
			did = true
			<-h.over
		}
	}
	return did
}

// closeLinks sends subscription.close on each link that lives, closes all links, and waits for all
// goroutines that the scenario run started.
func (h *producerHarness) closeLinks() {
	h.recorder.addEntry(Entry{Note: noteEnd})
	for _, l := range h.links {
		if l.dead || l.gone || l.conn == nil {
			continue
		}
		ctx, cancel := context.WithTimeout(h.ctx, patience)
		_ = l.conn.Send(ctx, encodeObject(object{"type": "subscription.close", "subscription_id": l.id,
			"reason_code": "subscriber_shutdown", "reason_message": "The play is over."})) // a peer that is gone needs none
		cancel()
	}
	h.stop()
	for _, l := range h.links {
		if l.conn != nil {
			_ = l.conn.Close()
		}
	}
	h.running.Wait()
}

// finishedRecording is what came of the scenario run, once it is over.
func (h *producerHarness) finishedRecording() *Recording {
	rec := h.recorder.snapshot()
	rec.dropForeignSessions(h.ended)
	return rec
}
