package sse

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/transports"
)

// An answer is the producer's answer to a POST. Either accepted or rejected is set.
type answer struct {
	msg      []byte // as the producer encoded it
	accepted *aaep.SubscriptionAccepted
	rejected *aaep.SubscriptionRejected
}

// writeAnswer writes the producer's answer as the response to r: a rejection with the status of its
// reason, an acceptance with the status created, which is 201 for a new subscription, whose
// Location then names the stream, and 200 for one renegotiated.
func (s *Server) writeAnswer(w http.ResponseWriter, r *http.Request, a answer, created int) {
	if a.accepted == nil {
		s.rejectRaw(w, credentials.Status(a.rejected.ReasonCode), a.rejected, a.msg)
		return
	}
	if created == http.StatusCreated {
		w.Header().Set("Location", s.streamPath(r, a.accepted.SubscriptionID))
	}
	s.writeBody(w, created, a.msg)
}

// rejectRequest answers a subscription.request that the producer does not see, with a rejection of
// this transport's own.
func (s *Server) rejectRequest(w http.ResponseWriter, status int, m *aaep.SubscriptionRejected) {
	m.ReasonMessage = shortenText(aaep.SafeText(m.ReasonMessage), 1000)
	msg, err := aaep.Encode(m)
	if err != nil {
		s.o.Logger.Error("sse: cannot encode a rejection", "cause", err)
		msg = []byte(
			`{"type":"subscription.rejected","reason_code":"unknown","reason_message":"The request is not valid."}`)
	}
	s.rejectRaw(w, status, m, msg)
}

// rejectRaw answers with the status and the rejection m, encoded as msg, and says in the header
// when to come again and how to authenticate, where the reason is one of those.
func (s *Server) rejectRaw(w http.ResponseWriter, status int, m *aaep.SubscriptionRejected, msg []byte) {
	if m.RetryAfterSeconds != nil {
		w.Header().Set("Retry-After", strconv.FormatInt(*m.RetryAfterSeconds, 10))
	}
	s.setChallenge(w, m.ReasonCode)
	s.writeBody(w, status, msg)
}

// setChallenge sets the WWW-Authenticate header that a 401 must have, if code leads to a 401.
func (s *Server) setChallenge(w http.ResponseWriter, code aaep.ReasonCode) {
	if code == aaep.AuthenticationRequired {
		w.Header().Set("WWW-Authenticate", `Bearer realm="aaep"`)
	}
}

// writeError answers with an error in JSON that is not an AAEP message: {"error": text}.
func (s *Server) writeError(w http.ResponseWriter, status int, text string) {
	b, err := json.Marshal(map[string]string{"error": text})
	if err != nil {
		b = []byte(`{}`)
	}
	s.writeBody(w, status, b)
}

// writeBody answers a request with a status and a JSON body, within writeTime. It bounds how long
// the rest of a refused request is read.
func (s *Server) writeBody(w http.ResponseWriter, status int, msg []byte) {
	h := w.Header()
	h.Set("Content-Type", jsonType)
	h.Set("Content-Length", strconv.Itoa(len(msg)))
	h.Set("Cache-Control", "no-store")
	rc := http.NewResponseController(w)
	if status >= http.StatusBadRequest && status != http.StatusRequestTimeout {
		// net/http reads and drops the rest of the body until then, for a peer that may not even be
		// authenticated.
		_ = rc.SetReadDeadline(time.Now().Add(httpguard.UnreadTimeout))
	}
	_ = rc.SetWriteDeadline(time.Now().Add(writeTime))
	w.WriteHeader(status)
	_, _ = w.Write(msg) // an error means that the peer has gone
}

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

// shortenText cuts s to at most n bytes, between characters, and marks the cut with an ellipsis.
func shortenText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
