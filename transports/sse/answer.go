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

// An answer is the producer's answer to a POST.
type answer struct {
	msg      []byte
	accepted *aaep.SubscriptionAccepted // either this
	rejected *aaep.SubscriptionRejected // or this is set
}

// writeAnswer sends the producer's answer; created is the status of an acceptance.
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

// rejectRequest answers with a rejection of this transport's own.
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

// rejectRaw answers with the rejection m, encoded as msg.
func (s *Server) rejectRaw(w http.ResponseWriter, status int, m *aaep.SubscriptionRejected, msg []byte) {
	if m.RetryAfterSeconds != nil {
		w.Header().Set("Retry-After", strconv.FormatInt(*m.RetryAfterSeconds, 10))
	}
	s.setChallenge(w, m.ReasonCode)
	s.writeBody(w, status, msg)
}

// setChallenge names the way to authenticate, which a 401 must.
func (s *Server) setChallenge(w http.ResponseWriter, code aaep.ReasonCode) {
	if code == aaep.AuthenticationRequired {
		w.Header().Set("WWW-Authenticate", `Bearer realm="aaep"`)
	}
}

// writeError answers with an error that is not an AAEP message.
func (s *Server) writeError(w http.ResponseWriter, status int, text string) {
	b, err := json.Marshal(map[string]string{"error": text})
	if err != nil {
		b = []byte(`{}`)
	}
	s.writeBody(w, status, b)
}

// writeBody sends a JSON body. It bounds how long the rest of a refused request is read.
func (s *Server) writeBody(w http.ResponseWriter, status int, msg []byte) {
	h := w.Header()
	h.Set("Content-Type", jsonType)
	h.Set("Content-Length", strconv.Itoa(len(msg)))
	h.Set("Cache-Control", "no-store")
	rc := http.NewResponseController(w)
	if status >= http.StatusBadRequest && status != http.StatusRequestTimeout {
		// until then net/http throws away what comes, and a stranger is there
		_ = rc.SetReadDeadline(time.Now().Add(httpguard.UnreadTimeout))
	}
	_ = rc.SetWriteDeadline(time.Now().Add(writeTime))
	w.WriteHeader(status)
	_, _ = w.Write(msg) // an error means that the peer has gone
}

// largeBodyWait is how long a large message waits for room.
const largeBodyWait = 2 * time.Second // for a large message to find room

// readBody reads one message of at most transports.MaxMessage bytes; more is never held. Where the
// request is refused it returns a status and a text. The caller calls done when the message is no
// longer held.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request, principal string) (msg []byte, done func(),
	status int, problem string) {
	done = func() {}
	refuse := func(status int, problem string) ([]byte, func(), int, string) {
		switch status {
		case http.StatusServiceUnavailable: // the sender is to come again
		case http.StatusRequestEntityTooLarge:
			s.refusals.Report(r, principal, httpguard.TooLarge, problem)
		default:
			s.refusals.Report(r, principal, httpguard.Malformed, problem)
		}
		return nil, done, status, problem
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
	msg, done, err := s.largeBodies.Read(io.LimitReader(r.Body, transports.MaxMessage+1), principal, largeBodyWait)
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
	return msg, done, 0, ""
}

// drainBody reads past a body that is not too big, so that the peer, still writing, gets our
// refusal and not a reset. The body's deadline holds here too.
func drainBody(r *http.Request) {
	const most = 4 << 20
	if r.ContentLength <= most && r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, r.Body, most)
	}
}

// shortenText cuts s to about n bytes, between characters.
func shortenText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
