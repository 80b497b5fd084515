package sse

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"net"
	"net/http"
	"time"

	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/idle"
)

// hijackStream takes the connection of a stream from the http.Server, where its owner allows that.
// The stream then needs no goroutine until its end, or one that only waits for that: a fraction of
// the memory that the handler would need. It reports false where the handler must go on: over
// HTTP/2, and behind middleware that does not support it.
func (s *Server) hijackStream(w http.ResponseWriter, r, shown *http.Request, l *link, st *stream) bool {
	until := httpguard.HijackUntil(r.Context())
	hijacker, ok := w.(http.Hijacker)
	if until == nil || !ok || !r.ProtoAtLeast(1, 1) || !l.beginPost() {
		return false
	}
	w.Header().Set("Connection", "close") // it serves no other request
	w.WriteHeader(http.StatusOK)
	conn, _, err := hijacker.Hijack() // which sends the head: what follows is in chunks
	if err != nil {
		l.posts.Done()
		return false
	}
	st.w.SetConn(conn)
	st.hijacked.Store(&conn)
	st.startHeartbeat(s.heartbeat)
	unwatch := s.authenticator.Watch(until, shown, l.principal, st.endWithdrawn)
	unbind := context.AfterFunc(until, st.endStream)
	st.awaitReadable(conn, func() {
		defer l.posts.Done()
		defer unwatch()
		defer conn.Close()
		defer unbind()
		st.awaitHangUp(conn)
		l.detachStream(st) // before the last write, which may take a while
		if st.finishStream(&s.o) && conn.SetWriteDeadline(time.Now().Add(writeTime)) == nil {
			_, _ = conn.Write([]byte("0\r\n\r\n"))
		}
	})
	return true
}

// awaitReadable has over called once there is something to read from the connection, which is its
// end.
func (st *stream) awaitReadable(conn net.Conn, over func()) {
	if secured, ok := conn.(*tls.Conn); ok { // watch reads until the end, so it does not matter what that holds back
		conn = secured.NetConn()
	}
	w := idle.New(conn, over)
	if w == nil || !w.Begin() {
		go over()
		return
	}
	st.idle.Store(w)
	select {
	case <-st.done: // before there was anything to interrupt
		w.Now()
	default:
	}
}

// awaitHangUp returns when the peer has gone or the stream ended. What the peer sends is ignored.
func (st *stream) awaitHangUp(conn net.Conn) {
	select {
	case <-st.done: // before there was anything to interrupt
		return
	default:
	}
	const most = 4 << 10
	b := make([]byte, 64)
	for n := 0; n < most; {
		got, err := conn.Read(b)
		if n += got; err != nil {
			return
		}
	}
}

// interruptWatch ends awaitHangUp, or has it run at once.
func (st *stream) interruptWatch() {
	if w := st.idle.Load(); w != nil {
		w.Now()
	}
	if conn := st.hijacked.Load(); conn != nil {
		_ = (*conn).SetReadDeadline(time.Now())
	}
}

// A chunk of HTTP/1.1 begins with its length and ends with a line end.
const (
	chunkHead = len("00000000\r\n")
	chunkRoom = chunkHead + len("\r\n")
)

// beginChunk appends room for a chunk's length.
func beginChunk(b []byte) []byte { return append(b, "00000000\r\n"...) }

// endChunk writes the length of the chunk that began at start, and its end.
func endChunk(b []byte, start int) []byte {
	n := uint32(len(b) - start - chunkHead)
	hex.Encode(b[start:], []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	return append(b, "\r\n"...)
}
