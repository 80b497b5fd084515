package sse

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep/transports"
)

// A stream is one GET events. Whoever sends writes, in turn; the handler's goroutine waits for the end, and lets nobody
// write after it.
type stream struct {
	last    string
	trace   *trace // nil after a handshake
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration // of a write
	turn    chan struct{} // holds one while somebody writes
	done    chan struct{}
	once    sync.Once

	// Only who has the turn uses these.
	err     error           // of a write
	wrote   time.Time       // when the newest write began
	watched <-chan struct{} // the end of the context that would interrupt a write
	unwatch func() bool

	writing atomic.Bool
}

var errLost = fmt.Errorf("sse: the event stream is lost: %w", transports.ErrInterrupted)

func (st *stream) LastEventID() string   { return st.last }
func (st *stream) Done() <-chan struct{} { return st.done }
func (st *stream) end()                  { st.once.Do(func() { close(st.done) }) }

// SendEvents returns after the events were written and flushed.
func (st *stream) SendEvents(ctx context.Context, events []transports.Event) error {
	name := eventName
	if st.trace != nil {
		name = ""
	}
	size := 0
	for _, ev := range events {
		if len(ev.Message) > transports.MaxMessage {
			return transports.ErrTooLarge
		}
		size += len(ev.Message) + len(ev.ID) + len(name) + 32
	}
	if err := st.take(ctx); err != nil {
		return err
	}
	defer st.leave()
	if ctx.Done() != st.watched {
		if st.unwatch != nil {
			st.unwatch()
		}
		st.watched, st.unwatch = ctx.Done(), context.AfterFunc(ctx, st.interrupt)
	}
	buf, _ := buffers.Get().(*[]byte)
	if buf == nil || cap(*buf) < size {
		buf = new(make([]byte, 0, size))
	}
	frames := (*buf)[:0]
	for _, ev := range events {
		if st.trace != nil {
			st.trace.note(ev.Message, ev.ID) // before the write: the reply may be fast
		}
		frames = appendFrame(frames, ev.Message, name, ev.ID)
	}
	err := st.write(ctx, frames)
	if cap(frames) <= maxUsed {
		*buf = frames
		buffers.Put(buf)
	}
	return err
}

// buffers holds memory for frames, none of it larger than maxUsed.
var buffers sync.Pool

const maxUsed = 64 << 10

// take waits for the turn to write.
func (st *stream) take(ctx context.Context) error {
	select {
	case <-st.done:
		return errLost
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case st.turn <- struct{}{}:
	default:
		select {
		case st.turn <- struct{}{}:
		case <-st.done:
			return errLost
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (st *stream) leave() { <-st.turn }

// write writes and flushes; the caller has the turn. A write that failed, or that the end of ctx or of the stream
// interrupted, ends the stream.
func (st *stream) write(ctx context.Context, b []byte) error {
	st.wrote = time.Now()
	err := st.rc.SetWriteDeadline(st.wrote.Add(st.timeout))
	st.writing.Store(true) // before the look at what might interrupt it
	defer st.writing.Store(false)
	select {
	case <-st.done:
		if len(b) > 0 {
			return errLost
		}
	default:
	}
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		_, err = st.w.Write(b)
	}
	if err == nil {
		err = st.rc.Flush()
	}
	if err == nil {
		return nil
	}
	st.err = err
	st.end()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("sse: write: %w: %w", err, transports.ErrInterrupted)
}

// interrupt ends a write that is under way.
func (st *stream) interrupt() {
	if st.writing.Load() {
		_ = st.rc.SetWriteDeadline(time.Now())
	}
}

// appendFrame appends one event. Encoded messages have no line ends; one that has still gives one
// event, whose data differs only in how its lines end (SSE-006, SSE-007).
func appendFrame(b, msg []byte, name, eventID string) []byte {
	if name != "" {
		b = append(b, "event: "+name+"\n"...)
	}
	if eventID != "" && !strings.ContainsAny(eventID, "\r\n\x00") {
		b = append(b, "id: "+eventID+"\n"...)
	}
	for {
		b = append(b, "data: "...)
		i := lineEnd(msg)
		if i == len(msg) {
			break
		}
		b = append(append(b, msg[:i]...), '\n')
		if msg[i] == '\r' && i+1 < len(msg) && msg[i+1] == '\n' {
			i++
		}
		msg = msg[i+1:]
	}
	return append(append(b, msg...), "\n\n"...)
}

// stream serves GET events until the stream is lost, replaced or closed, and sells a ticket to a POST.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, principal string) {
	if r.ContentLength != 0 {
		s.fail(w, http.StatusBadRequest, "a request for the event stream has no body")
		return
	}
	l := s.lookup(r.URL.Query().Get("subscription_id"), principal)
	if l == nil {
		s.fail(w, http.StatusNotFound, "there is no such subscription; GET the Location of an accepted subscription.request")
		return
	}
	if r.Method == http.MethodPost {
		s.sell(w, l)
		return
	}
	if st := s.newStream(w, r); st != nil && !s.follow(w, r, l, st, false) {
		s.fail(w, http.StatusNotFound, "the subscription has ended")
	}
}

// newStream makes the stream of a GET, or answers that there cannot be one and returns nil.
func (s *Server) newStream(w http.ResponseWriter, r *http.Request) *stream {
	rc := http.NewResponseController(w)
	if err := rc.SetWriteDeadline(time.Now().Add(s.o.WriteTimeout)); err != nil {
		s.o.Logger.Error("sse: the http.ResponseWriter has no write deadlines; a middleware that wraps it needs an Unwrap method", "cause", err)
		s.fail(w, http.StatusInternalServerError, "this server cannot stream")
		return nil
	}
	_ = rc.SetReadDeadline(time.Time{}) // a ReadTimeout of the http.Server is not meant for streams
	last := r.Header.Get(lastEventID)
	if last == "" { // a page cannot set the header on an EventSource that it makes itself
		last = r.URL.Query().Get("last_event_id")
	}
	st := &stream{last: last, w: w, rc: rc, timeout: s.o.WriteTimeout, turn: make(chan struct{}, 1), done: make(chan struct{})}
	st.turn <- struct{}{} // run's, for the head of the response
	return st
}

// follow serves st as the link's stream until it is lost, replaced or closed. It reports false, having written
// nothing, if the link has ended or, where it must be idle, has a stream.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, l *link, st *stream, idle bool) bool {
	st.trace = l.trace
	if !l.attach(st, idle) {
		return false
	}
	defer l.detach(st)
	h := w.Header()
	h.Set("Content-Type", streamType)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	if err := st.run(r.Context(), s.o.Heartbeat); err != nil && r.Context().Err() == nil {
		s.o.Logger.Info("sse: event stream lost", "cause", err)
	}
	return true
}

// run opens the stream and keeps it alive with a comment after silence. It returns when the stream has ended, and with nil
// if that was a proper end.
func (st *stream) run(ctx context.Context, heartbeat time.Duration) error {
	st.w.WriteHeader(http.StatusOK)
	err := st.write(ctx, nil)
	st.leave()
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	for err == nil {
		select {
		case <-beat.C:
			beat.Reset(heartbeat)
			select {
			case st.turn <- struct{}{}:
				if silent := time.Since(st.wrote); silent < heartbeat {
					beat.Reset(heartbeat - silent)
				} else {
					err = st.write(ctx, []byte(":\n\n"))
				}
				st.leave()
			default: // somebody writes
			}
			continue
		case <-st.done:
		case <-ctx.Done():
			st.end()
		}
		break
	}
	st.interrupt()
	st.turn <- struct{}{} // for good
	if st.unwatch != nil {
		st.unwatch()
	}
	if st.err == nil && ctx.Err() == nil {
		// What is left is the end of the response; it must not wait for ever either.
		return st.rc.SetWriteDeadline(time.Now().Add(st.timeout))
	}
	return cmp.Or(st.err, ctx.Err())
}
