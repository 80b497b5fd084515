package sse

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/idle"
	"github.com/aaep-go/aaep/internal/writer"
	"github.com/aaep-go/aaep/transports"
)

// A stream is one GET of events, on the producer's side. Any goroutine may write to it, one at a
// time: the goroutine that has the Writer's turn.
type stream struct {
	last    string       // the client's Last-Event-ID
	history *sentHistory // nil after a handshake
	w       *writer.Writer
	// The connection, taken over from the http.Server, and written to in chunks; or nil.
	hijacked atomic.Pointer[net.Conn]
	idle     atomic.Pointer[idle.Wait] // waits for the peer to end hijacked
	done     chan struct{}             // closed by endStream
	once     sync.Once                 // of endStream
	// withdrawn is set before the stream ends because its credentials were withdrawn.
	withdrawn atomic.Pointer[aaep.Rejection]

	// Writes a comment after silence.
	heartbeatTimer *time.Timer
	err            error // of the write that failed; guarded by the Writer's turn
}

var errLost = fmt.Errorf("sse: the event stream is lost: %w", transports.ErrInterrupted)

// LastEventID is the Last-Event-ID that the GET came with, or "".
func (st *stream) LastEventID() string { return st.last }

// Done is closed when the stream is lost, replaced or closed.
func (st *stream) Done() <-chan struct{} { return st.done }

// Withdrawn returns why the stream has ended, if its credentials were withdrawn; or nil.
func (st *stream) Withdrawn() *aaep.Rejection { return st.withdrawn.Load() }

// endWithdrawn ends the stream because its credentials were withdrawn.
func (st *stream) endWithdrawn(why *aaep.Rejection) {
	st.withdrawn.Store(why)
	st.endStream()
}

// endStream closes done and interrupts what waits for the peer; only the first call counts. What
// serves the stream then finishes it.
func (st *stream) endStream() {
	st.once.Do(func() {
		close(st.done)
		st.interruptWatch()
	})
}

// SendEvents waits for the turn, then writes and flushes the events. Without events it writes what
// TrySend left. The error is that of ctx, errLost for a stream that has ended,
// transports.ErrTooLarge, or the writer's.
func (st *stream) SendEvents(ctx context.Context, events []transports.Event) error {
	size := chunkRoom
	for _, ev := range events {
		size += frameSize(ev)
	}
	if !st.w.TakeTurn(ctx, st.done) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errLost
	}
	defer st.w.LeaveTurn()
	if len(events) == 0 && !st.w.HasRest() {
		return nil
	}
	buf := writer.TakeBuffer(size)
	defer writer.FreeBuffer(buf)
	frames, err := st.AppendEvents(*buf, events)
	if err != nil {
		return err
	}
	*buf = frames
	return st.writeFrames(ctx, frames)
}

// Framing names the frames of a hijacked connection. It is "" for all other streams, and without a
// handshake: those cannot be written to without waiting, or need a record of each event.
func (st *stream) Framing() string {
	if st.hijacked.Load() == nil || st.history != nil || !st.w.CanTry() {
		return ""
	}
	return "chunks of Server-Sent Events"
}

// AppendEvents appends events to b as they go over the wire; on a hijacked connection as one chunk
// of HTTP/1.1. If one of them is too large it appends none, and returns transports.ErrTooLarge.
func (st *stream) AppendEvents(b []byte, events []transports.Event) ([]byte, error) {
	for _, ev := range events {
		if len(ev.Message) > transports.MaxMessage {
			return b, transports.ErrTooLarge
		}
	}
	if len(events) == 0 {
		return b, nil
	}
	name, start, chunked := eventName, len(b), st.hijacked.Load() != nil
	if chunked {
		b = beginChunk(b)
	}
	for _, ev := range events {
		if st.history != nil {
			name = ""
			st.history.record(ev.Message, ev.ID) // before the write: the reply may be fast
		}
		b = appendFrame(b, ev.Message, name, ev.ID)
	}
	if chunked {
		b = endChunk(b, start)
	}
	return b, nil
}

// frameSize returns about how many bytes appendFrame appends for ev, rarely too few.
func frameSize(ev transports.Event) int { return len(ev.Message) + len(ev.ID) + len(eventName) + 32 }

// TrySend writes as much of frames as the connection takes at once, and returns how much that was;
// 0 if another goroutine is writing or the stream has ended.
func (st *stream) TrySend(frames []byte) int {
	select {
	case <-st.done:
		return 0
	default:
	}
	if !st.w.TryTakeTurn() {
		return 0
	}
	defer st.w.LeaveTurn()
	return st.w.TryWrite(frames)
}

// writeFrames writes b, which AppendEvents made, and flushes it. The caller has the turn. A write
// that fails, or that ctx interrupts, ends the stream, because part of a frame may be out; errLost
// says that the stream had ended before.
func (st *stream) writeFrames(ctx context.Context, b []byte) error {
	err := st.w.Write(ctx, st.done, b)
	switch {
	case err == nil:
		return nil
	case err == writer.ErrOver:
		return errLost
	}
	st.err = err
	st.endStream()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("sse: write: %w: %w", err, transports.ErrInterrupted)
}

// appendFrame appends msg to b as one event of Server-Sent Events, named name and with eventID as
// its id, each left out where it is "". Encoded messages have no line ends; one that has still
// gives one event, whose data differs only in how its lines end (SSE-006, SSE-007).
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

// isUnambiguous reports whether the query and the headers of a request for a stream read the same
// for every program, a proxy that looks at subscription_id included (INV-33); otherwise it has
// answered.
func (s *Server) isUnambiguous(w http.ResponseWriter, r *http.Request) bool {
	q, err := url.ParseQuery(r.URL.RawQuery)
	problem := ""
	if err != nil {
		problem = "the query cannot be read"
	}
	counts := map[string]int{} // by names in small letters, since a proxy may not tell them from capitals
	for name, values := range q {
		counts[strings.ToLower(name)] += len(values)
	}
	for _, name := range []string{"subscription_id", "ticket", "last_event_id"} {
		if counts[name] > 1 {
			problem = name + " is there more than once"
		}
	}
	if len(r.Header.Values(lastEventID)) > 1 {
		problem = lastEventID + " is there more than once"
	}
	if problem == "" {
		return true
	}
	s.refuseBadStream(w, r, "", problem)
	return false
}

// refuseBadStream answers, logs and counts a request for a stream that is not well formed.
func (s *Server) refuseBadStream(w http.ResponseWriter, r *http.Request, principal, problem string) {
	s.refusals.Report(r, principal, httpguard.Malformed, problem)
	s.writeError(w, http.StatusBadRequest, problem)
}

// serveStream serves a GET or POST of events that has credentials of its own, and no ticket.
func (s *Server) serveStream(w http.ResponseWriter, r *http.Request, principal string) {
	s.serveEvents(w, r, principal, r)
}

// serveEvents serves the stream of a GET until it is lost, replaced or closed, or until the
// credentials of credentialed are withdrawn. It answers a POST with a ticket. credentialed is the
// request that had credentials: r itself, or the one that r's ticket was issued for.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request, principal string, credentialed *http.Request) {
	if r.ContentLength != 0 {
		s.refuseBadStream(w, r, principal, "a request for the event stream has no body")
		return
	}
	l := s.lookupLink(r.URL.Query().Get("subscription_id"), principal)
	if l == nil {
		const gone = "there is no such subscription; GET the Location of an accepted subscription.request"
		s.refusals.Report(r, principal, httpguard.UnknownStream, gone)
		s.writeError(w, http.StatusNotFound, gone)
		return
	}
	if r.Method == http.MethodPost {
		s.issueTicket(w, r, l)
		return
	}
	if st := s.newStream(w, r); st != nil && !s.runStream(w, r, credentialed, l, st, false) {
		s.writeError(w, http.StatusNotFound, "the subscription has ended")
	}
}

// newStream makes the stream of a GET of events, with the id of the last event that the peer says
// it had, or answers the request with why there cannot be one and returns nil. Nothing is sent to
// the peer yet.
func (s *Server) newStream(w http.ResponseWriter, r *http.Request) *stream {
	rc := http.NewResponseController(w)
	if err := rc.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		s.o.Logger.Error(
			"sse: the http.ResponseWriter has no write deadlines; a middleware that wraps it needs an Unwrap method",
			"cause", err)
		s.writeError(w, http.StatusInternalServerError, "this server cannot stream")
		return nil
	}
	_ = rc.SetReadDeadline(time.Time{}) // a ReadTimeout of the http.Server is not meant for streams
	last := r.Header.Get(lastEventID)
	if last == "" { // a page cannot set the header on an EventSource that it makes itself
		last = r.URL.Query().Get("last_event_id")
	}
	return &stream{last: last, w: writer.New(flushingWriter{w, rc}, writeTime), done: make(chan struct{})}
}

// A flushingWriter is a response that is flushed after each write.
type flushingWriter struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

// SetWriteDeadline bounds the next Write.
func (f flushingWriter) SetWriteDeadline(t time.Time) error { return f.rc.SetWriteDeadline(t) }

// Write writes b and flushes it, under the deadline that the caller has set, and takes that
// deadline away when all is out. n is how much of b was written.
func (f flushingWriter) Write(b []byte) (int, error) {
	n, err := f.w.Write(b)
	if err == nil {
		err = f.rc.Flush()
	}
	if err == nil { // over HTTP/2 the deadline would end an idle stream too
		err = f.rc.SetWriteDeadline(time.Time{})
	}
	return n, err
}

// runStream serves st as the link's stream until it is lost, replaced or closed, or the credentials
// of credentialed are withdrawn; or it hijacks the connection and returns at once. It reports
// false, having written nothing, if the link has ended or if onlyIdle is set and the link has a
// stream already.
func (s *Server) runStream(w http.ResponseWriter, r, credentialed *http.Request, l *link, st *stream,
	onlyIdle bool) bool {
	st.history = l.history
	if !l.attachStream(st, onlyIdle) {
		return false
	}
	h := w.Header()
	h.Set("Content-Type", streamType)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	if s.hijackStream(w, r, credentialed, l, st) {
		return true
	}
	defer l.detachStream(st)
	defer s.authenticator.Watch(r.Context(), credentialed, l.principal, st.endWithdrawn)()
	w.WriteHeader(http.StatusOK)
	_ = st.writeFrames(r.Context(), nil) // sends the head; an error has ended st
	st.startHeartbeat(s.heartbeat)
	select {
	case <-st.done:
	case <-r.Context().Done():
	}
	if st.finishStream(&s.o) {
		// What is left is the end of the response; it must not wait for ever either.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	}
	return true
}

// startHeartbeat starts the timer that writes a comment after each silence of the length heartbeat.
// It gives back the turn, which the stream has had since it was made, so that others can write.
func (st *stream) startHeartbeat(heartbeat time.Duration) {
	defer st.w.LeaveTurn()
	comment := []byte(":\n\n")
	if st.hijacked.Load() != nil {
		comment = endChunk(append(beginChunk(nil), comment...), 0)
	}
	st.heartbeatTimer = time.AfterFunc(heartbeat, func() {
		if !st.w.TakeTurn(context.Background(), st.done) {
			return
		}
		defer st.w.LeaveTurn()
		wait := heartbeat - st.w.SinceWrite()
		if wait <= 0 {
			if st.writeFrames(context.Background(), comment) != nil {
				return
			}
			wait = heartbeat
		}
		st.heartbeatTimer.Reset(wait)
	})
}

// finishStream ends the stream, waits for a write under way, and stops the heartbeat; nothing is
// written after it. It reports whether all that was sent was written, so that the response may be
// ended properly.
func (st *stream) finishStream(o *ServerOptions) (proper bool) {
	st.endStream()
	st.w.End()
	if st.heartbeatTimer != nil {
		st.heartbeatTimer.Stop()
	}
	if st.err != nil {
		o.Logger.Info("sse: event stream lost", "cause", st.err)
	}
	return st.err == nil && !st.w.HasRest()
}
