package sse

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/internal/httpguard"
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

// rejectRaw answers with the status and the rejection m, encoded as msg. The header says when to
// come again, where m does, and how to authenticate, where that is the reason.
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

// shortenText cuts s to at most n bytes, between characters, and marks the cut with an ellipsis.
func shortenText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
