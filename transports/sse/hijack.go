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

// hijackStream takes the connection of a stream from the http.Server, where its owner allows that
// (httpguard.AllowHijack). The stream then needs no goroutine until its end, or one that only waits
// for that: a fraction of the memory that the handler would need. credentialed is the request whose
// credentials the stream depends on; the caller has st's turn to write, which is given back. It
// reports false where the handler must serve the stream itself: over HTTP/2, and behind middleware
// that does not support it.
func (s *Server) hijackStream(w http.ResponseWriter, r, credentialed *http.Request, l *link, st *stream) bool {
	serverCtx := httpguard.HijackUntil(r.Context())
	hijacker, ok := w.(http.Hijacker)
	if serverCtx == nil || !ok || !r.ProtoAtLeast(1, 1) || !l.beginPost() {
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
	unwatch := s.authenticator.Watch(serverCtx, credentialed, l.principal, st.endWithdrawn)
	unbind := context.AfterFunc(serverCtx, st.endStream)
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

// awaitReadable has finish called once, in a goroutine of its own, when there is something to read
// from the connection, which a peer of a stream sends only at its end, or when interruptWatch is
// called. Where the system can watch an idle connection, no goroutine waits until then; elsewhere
// finish begins at once and itself waits.
func (st *stream) awaitReadable(conn net.Conn, finish func()) {
	if secured, ok := conn.(*tls.Conn); ok {
		// Bytes that the TLS layer holds back do not matter: awaitHangUp reads until the end.
		conn = secured.NetConn()
	}
	w := idle.New(conn, finish)
	if w == nil || !w.Begin() {
		go finish()
		return
	}
	st.idle.Store(w)
	select {
	case <-st.done: // the stream ended before there was a wait to interrupt
		w.CallNow()
	default:
	}
}

// awaitHangUp returns when the peer has gone, the stream has ended, or the peer has sent more than
// a peer of a stream may. What the peer sends is ignored.
func (st *stream) awaitHangUp(conn net.Conn) {
	select {
	case <-st.done: // the stream ended before there was a read to interrupt
		return
	default:
	}
	const maxIgnored = 4 << 10 // bytes
	b := make([]byte, 64)
	for total := 0; total < maxIgnored; {
		n, err := conn.Read(b)
		if total += n; err != nil {
			return
		}
	}
}

// interruptWatch is called by endStream, once, when the stream ends. It makes awaitReadable call
// its function at once, and awaitHangUp return.
func (st *stream) interruptWatch() {
	if w := st.idle.Load(); w != nil {
		w.CallNow()
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

// beginChunk appends the head of a chunk, with room for the length that endChunk fills in.
func beginChunk(b []byte) []byte { return append(b, "00000000\r\n"...) }

// endChunk ends the chunk whose head begins at b[start]: it writes the length of what was appended
// since into the head, and appends the line end.
func endChunk(b []byte, start int) []byte {
	n := uint32(len(b) - start - chunkHead)
	hex.Encode(b[start:], []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	return append(b, "\r\n"...)
}
