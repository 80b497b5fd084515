package conformance

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// A link is one of the runner's subscribers. It repairs nothing.
type link struct {
	harness *producerHarness
	index   int
	conn    transports.Conn // nil if there is none
	id      string          // of the subscription
	gone    bool            // it was cut, and says no more
	dead    bool            // not even the request could be sent
	// answers says that it may be asked.
	answers bool
	// breaksAfter is the type of event after which the reader breaks the event stream, once; nil is
	// none.
	breaksAfter atomic.Pointer[string]
	// connected says that the target took the connection; err is why there is no link, or what came
	// of the last message.
	connected atomic.Bool
	err       error
	// told is closed when its reader is gone, and end is then what it met.
	readerDone chan struct{}
	end        error
}

// withPatience returns a context with the time limit of one step of a link. Through it the link
// learns whether the target accepts connections.
func (l *link) withPatience() (context.Context, context.CancelFunc) {
	trace := &httptrace.ClientTrace{ConnectDone: func(_, _ string, err error) {
		if err == nil {
			l.connected.Store(true)
		}
	}}
	ctx := l.harness.recorder.withReporter(l.harness.ctx, l.index, l.harness.run.Level)
	return context.WithTimeout(httptrace.WithClientTrace(ctx, trace), patience)
}

// noteUnreached records the step at which a link could not be established, and why.
func (l *link) noteUnreached(step string, err error) {
	var late net.Error
	if l.connected.Load() && (errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late) && late.Timeout()) {
		err = fmt.Errorf("%w: it did not answer %s within %v: %w", ErrSilent, step, patience, err)
	}
	l.err = err
}

// unreachedReason returns why a link was not established: how its program has ended, where it has,
// or else the error of the link. It closes the link and waits for its reader.
func (l *link) unreachedReason() error {
	if l.conn == nil {
		return l.err
	}
	ended := l.conn.Close()
	<-l.readerDone
	return cmp.Or(ended, l.err, l.end)
}

// awaitAnswer waits, for patience at most, for the answer to the newest request or renegotiation of
// a link, and reports whether it came. The first answer sets the subscription's id.
func (l *link) awaitAnswer() (answered bool) {
	l.harness.recorder.awaitCondition(l.harness.ctx, patience, func(r *Recording) bool {
		all := r.exchanges(l.index)
		_, over := r.noteOn(l.index, noteClosed)
		_, substituted := r.noteOn(l.index, noteSubstitute)
		if answered = len(all) > 0 && len(all[len(all)-1].answers) > 0; answered && len(all) == 1 {
			l.id = cmp.Or(all[0].answer().stringMember("subscription_id"), l.id)
		}
		return answered || over || substituted || l.dead
	})
	return answered
}

// noteRefusal records a refusal that came by other means than a message, such as an HTTP status.
func (l *link) noteRefusal(err error) {
	if refusal := new(aaep.Rejection); errors.As(err, &refusal) && l.harness.ctx.Err() == nil {
		l.harness.recorder.addEntry(Entry{Link: l.index, Note: noteRefused + string(refusal.Code)})
	}
}

// readLoop records what comes on the link until the link ends or the recording is full, and opens a
// broken stream again, up to three times. It is a goroutine of its own; l.end says why it ended,
// once l.readerDone is closed.
func (l *link) readLoop() {
	defer close(l.readerDone)
	reopened := 0
	for {
		data, err := l.conn.Receive(l.harness.ctx)
		var again transports.Reopener
		if errors.Is(err, transports.ErrInterrupted) && reopened < 3 {
			l.awaitRestored()
			if again, _ = l.conn.(transports.Reopener); again != nil && again.Reopen(l.harness.ctx) == nil {
				reopened++
				continue
			}
		}
		if err != nil {
			l.end = err
			l.noteRefusal(err)
			if l.harness.ctx.Err() == nil && !errors.Is(err, transports.ErrClosed) {
				if l.index == 0 {
					l.harness.recorder.noteEnded(err)
				}
				l.harness.recorder.addEntry(Entry{Link: l.index, Note: noteClosed})
			}
			return
		}
		if !l.harness.recorder.addEntry(receivedEntry(l.conn, Entry{Link: l.index, Data: append([]byte{}, data...)})) {
			return
		}
		if typ := l.breaksAfter.Load(); typ != nil && bytes.Contains(data, []byte(*typ)) {
			l.breaksAfter.Store(nil)
			l.breakStream()
		}
	}
}

// receivedEntry returns the entry for a received message. One that the runner's own transport
// wrote, in place of one that the target did not send, is recorded without its bytes, so that no
// judge takes them for the target's.
func receivedEntry(conn transports.Conn, e Entry) Entry {
	if writer, ok := conn.(interface{ Substituted(msg []byte) bool }); ok && writer.Substituted(e.Data) {
		e.Data, e.Note = nil, noteSubstitute
	}
	return e
}

// breakStream breaks the event stream, which stays so until restoreStream, and reports whether
// there is one that can be opened again.
func (l *link) breakStream() bool {
	breaks, is := l.conn.(interface{ Cut() })
	if _, again := l.conn.(transports.Reopener); !is || !again {
		return false
	}
	l.harness.recorder.addEntry(Entry{Link: l.index, Note: noteLost})
	breaks.Cut()
	return true
}

// restoreStream lets the event stream be opened again.
func (l *link) restoreStream() { l.harness.recorder.addEntry(Entry{Link: l.index, Note: noteFound}) }

// awaitRestored waits, for at most maxRunTime, while a scenario keeps the link's stream broken;
// otherwise it returns at once.
func (l *link) awaitRestored() {
	if _, lost := l.harness.recorder.snapshot().noteOn(l.index, noteLost); lost {
		l.harness.recorder.awaitCondition(l.harness.ctx, maxRunTime, func(r *Recording) bool {
			_, found := r.noteOn(l.index, noteFound)
			return found
		})
	}
}

// sendObject sends a message, and reports whether it could be sent.
func (l *link) sendObject(o object) bool {
	if l.index == 0 && o["type"] == "subscription.close" {
		l.harness.recorder.markLeft()
	}
	return l.sendRaw(encodeObject(o))
}

// sendRaw sends bytes as they are, within patience, records them, and reports whether they could be
// sent. What kept them is in l.err and in the recording. A link that was not opened sends nothing.
func (l *link) sendRaw(data []byte) bool {
	if l.conn == nil {
		return false
	}
	l.harness.recorder.addEntry(Entry{Link: l.index, Sent: true, Data: data})
	ctx, cancel := l.withPatience()
	defer cancel()
	err := l.conn.Send(ctx, data)
	l.err = err
	if err != nil && !errors.Is(err, io.ErrClosedPipe) {
		l.harness.recorder.addEntry(Entry{Link: l.index, Note: noteNoSend, Data: []byte(aaep.SafeText(err.Error()))})
	}
	return err == nil
}

// breakConnection closes the connection without subscription.close, as a network failure would, and
// records that. After the first link's, the recording is marked as left.
func (l *link) breakConnection() {
	if l.conn != nil {
		if l.index == 0 {
			l.harness.recorder.markLeft()
		}
		l.harness.recorder.addEntry(Entry{Link: l.index, Note: noteCut})
		_ = l.conn.Close()
		l.gone = true
	}
}

// replyTo answers a confirmation as the user's answer would be, with the members of more over those
// of the reply.
func (l *link) replyTo(q message, decision string, more object) {
	l.sendObject(withMembers(object{"type": "confirmation.reply", "reply_token": q.stringMember("reply_token"),
		"decision":        decision,
		"subscription_id": l.id, "timestamp": aaep.FormatTimestamp(time.Now())}, more))
}

// answerClarification sends a clarification.reply with a response.
func (l *link) answerClarification(q message, response any, more object) {
	l.sendObject(withMembers(object{"type": "clarification.reply", "reply_token": q.stringMember("reply_token"),
		"response":        response,
		"subscription_id": l.id, "timestamp": aaep.FormatTimestamp(time.Now())}, more))
}

// renegotiate asks for other terms.
func (l *link) renegotiate(capabilities object) {
	l.sendObject(object{"type": "subscription.renegotiate", "subscription_id": l.id, "capabilities": capabilities})
}

// takeLeave closes the subscription.
func (l *link) takeLeave() {
	l.sendObject(object{"type": "subscription.close", "subscription_id": l.id,
		"reason_code": "subscriber_shutdown", "reason_message": "Leaving."})
}

// implicitID is the subscription of a link that none was given to.
const implicitID = "sub_implicit"
