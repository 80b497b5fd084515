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
	var wr write
	select {
	case wr = <-st.used:
	default:
		wr = write{make([]byte, 0, len(event)+len(eventID)+len(eventName)+32), make(chan error, 1)}
	}
	wr.frame = appendFrame(wr.frame[:0], event, eventID)
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
func appendFrame(b, msg []byte, eventID string) []byte {
	b = append(b, "event: "+eventName+"\n"...)
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

// stream serves GET events until the stream is lost, replaced or closed.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, principal string) {
	if r.ContentLength != 0 {
		s.fail(w, http.StatusBadRequest, "a GET of the event stream has no body")
		return
	}
	l := s.lookup(r.URL.Query().Get("subscription_id"), principal)
	if l == nil {
		s.fail(w, http.StatusNotFound, "there is no such subscription; GET the Location of an accepted subscription.request")
		return
	}
	rc := http.NewResponseController(w)
	if err := rc.SetWriteDeadline(time.Now().Add(s.o.WriteTimeout)); err != nil {
		s.o.Logger.Error("sse: the http.ResponseWriter has no write deadlines; a middleware that wraps it needs an Unwrap method", "cause", err)
		s.fail(w, http.StatusInternalServerError, "this server cannot stream")
		return
	}
	_ = rc.SetReadDeadline(time.Time{}) // a ReadTimeout of the http.Server is not meant for streams
	st := &stream{last: r.Header.Get(lastEventID), writes: make(chan write), used: make(chan write, 1), done: make(chan struct{})}
	if !l.attach(st) {
		s.fail(w, http.StatusNotFound, "the subscription has ended")
		return
	}
	defer l.detach(st)
	h := w.Header()
	h.Set("Content-Type", streamType)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	err := rc.Flush()
	if err == nil {
		err = st.run(r.Context(), w, rc, &s.o)
	}
	if err != nil && r.Context().Err() == nil {
		s.o.Logger.Info("sse: event stream lost", "cause", err)
	}
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
