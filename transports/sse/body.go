package sse

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/transports"
)

// largeBodyWait is how long a large message waits for room.
const largeBodyWait = 2 * time.Second

// readBody reads one message of at most transports.MaxMessage bytes from the body of r; more is
// never held. The caller calls release when it no longer holds the message, also where there is
// none. status is 0, or the status of the refusal that the caller is to write, with problem as its
// text; the refusal is logged and counted already.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, principal string) (msg []byte, release func(),
	status int, problem string) {
	release = func() {}
	refuse := func(status int, problem string) ([]byte, func(), int, string) {
		switch status {
		case http.StatusServiceUnavailable: // the sender is to come again
		case http.StatusRequestEntityTooLarge:
			s.refusals.Report(r, principal, httpguard.TooLarge, problem)
		default:
			s.refusals.Report(r, principal, httpguard.Malformed, problem)
		}
		return nil, release, status, problem
	}
	const tooLarge = "the message is larger than 1 MiB"
	if !isJSON(r.Header.Values("Content-Type")) {
		drainBody(r)
		return refuse(http.StatusUnsupportedMediaType, "Content-Type must be application/json, in UTF-8")
	}
	if enc := r.Header.Values("Content-Encoding"); len(enc) > 0 && !slices.Equal(enc, []string{"identity"}) {
		drainBody(r)
		return refuse(http.StatusUnsupportedMediaType, "the body must not be compressed: leave out Content-Encoding")
	}
	if r.ContentLength > transports.MaxMessage {
		drainBody(r)
		return refuse(http.StatusRequestEntityTooLarge, tooLarge)
	}
	msg, release, err := s.largeBodies.Read(io.LimitReader(r.Body, transports.MaxMessage+1), principal, largeBodyWait)
	if err == httpguard.ErrNoRoom {
		w.Header().Set("Retry-After", strconv.FormatInt(retrySoon, 10))
		return refuse(http.StatusServiceUnavailable,
			"there are as many large messages as can be held; send it again later")
	}
	if len(msg) > transports.MaxMessage {
		drainBody(r)
		return refuse(http.StatusRequestEntityTooLarge, tooLarge)
	}
	if err != nil {
		return refuse(http.StatusRequestTimeout, "the body did not arrive whole in time")
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // from here on only a hang-up is read
	return msg, release, 0, ""
}

// drainBody reads and drops the body of a refused request, if it is not too big, so that the peer,
// still writing, gets the refusal and not a reset. The body's deadline holds here too.
func drainBody(r *http.Request) {
	const maxDrained = 4 << 20 // bytes
	if r.ContentLength <= maxDrained && r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, r.Body, maxDrained)
	}
}
