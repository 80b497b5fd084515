package sse

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep/transports"
)

// A stream is one GET events. Its handler's goroutine alone writes, so nothing is written after the
// handler returned.
type stream struct {
	last   string
	trace  *trace // nil after a handshake
	writes chan write
	used   chan write // holds one whose frame has been written and whose result taken, to be used again
	done   chan struct{}
	once   sync.Once
}

// maxUsed is the largest frame whose memory an idle stream keeps.
const maxUsed = 4 << 10

type write struct {
	frame  []byte
	result chan error // holds one
}

var errLost = fmt.Errorf("sse: the event stream is lost: %w", transports.ErrInterrupted)

func (st *stream) LastEventID() string   { return st.last }
func (st *stream) Done() <-chan struct{} { return st.done }
func (st *stream) end()                  { st.once.Do(func() { close(st.done) }) }

// SendEvent returns after the event was written and flushed. If ctx ends in the middle of that, the
// event may or may not have gone out.
func (st *stream) SendEvent(ctx context.Context, event []byte, eventID string, resumable bool) error {
	if len(event) > transports.MaxMessage {
		return transports.ErrTooLarge
	}
	if !resumable {
		eventID = ""
	}
	select {
	case <-st.done:
		return errLost
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	name := eventName
	if st.trace != nil {
		name = ""
		st.trace.note(event, eventID) // before the write: the reply may be fast
	}
	var wr write
	select {
	case wr = <-st.used:
	default:
		wr = write{make([]byte, 0, len(event)+len(eventID)+len(name)+32), make(chan error, 1)}
	}
	wr.frame = appendFrame(wr.frame[:0], event, name, eventID)
	select {
	case st.writes <- wr:
	case <-st.done:
		return errLost
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-wr.result:
		if cap(wr.frame) <= maxUsed {
			select {
			case st.used <- wr:
			default:
			}
		}
		return err
	case <-st.done:
		select {
		case err := <-wr.result:
			return err
		default:
			return errLost
		}
	case <-ctx.Done():
		return ctx.Err()
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
		i := bytes.IndexAny(msg, "\r\n")
		if i < 0 {
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

// stream serves GET events, and sells a ticket to a POST.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, principal string) {
	s.events(w, r, principal, r)
}

// events serves the stream until it is lost, replaced or closed, or until the credentials that were shown are withdrawn.
func (s *Server) events(w http.ResponseWriter, r *http.Request, principal string, shown *http.Request) {
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
		s.sell(w, r, l)
		return
	}
	st := s.newStream(w, r)
	if st == nil {
		return
	}
	defer s.door.Watch(r.Context(), shown, principal, st.end)()
	if !s.follow(w, r, l, st, false) {
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
	return &stream{last: last, writes: make(chan write), used: make(chan write, 1), done: make(chan struct{})}
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
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(s.o.WriteTimeout)) // the producer's answer may have taken a while
	w.WriteHeader(http.StatusOK)
	err := rc.Flush()
	if err == nil {
		err = st.run(r.Context(), w, rc, &s.o)
	}
	if err != nil && r.Context().Err() == nil {
		s.o.Logger.Info("sse: event stream lost", "cause", err)
	}
	return true
}

// run writes what SendEvent hands over, and a comment after silence. A nil error means a proper end.
func (st *stream) run(ctx context.Context, w http.ResponseWriter, rc *http.ResponseController, o *ServerOptions) error {
	put := func(b []byte) error {
		err := rc.SetWriteDeadline(time.Now().Add(o.WriteTimeout))
		if err == nil {
			_, err = w.Write(b)
		}
		if err == nil {
			err = rc.Flush()
		}
		return err
	}
	beat := time.NewTimer(o.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case wr := <-st.writes:
			err := put(wr.frame)
			if err != nil {
				st.end() // before the sender learns of it
				wr.result <- fmt.Errorf("sse: write: %w: %w", err, transports.ErrInterrupted)
				return err
			}
			wr.result <- nil
		case <-beat.C:
			if err := put([]byte(":\n\n")); err != nil {
				return err
			}
		case <-st.done:
			// What is left is the end of the response; it must not wait for ever either.
			return rc.SetWriteDeadline(time.Now().Add(o.WriteTimeout))
		case <-ctx.Done():
			return ctx.Err()
		}
		beat.Reset(o.Heartbeat)
	}
}
