package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// maxUnreported bounds what is kept for the next Reporter.
const maxUnreported = 100

type deviation struct{ requirement, problem string }

// setReporter makes w the Reporter of what comes from now on, and reports to it what came while
// there was none. A nil w forgets that: it belongs to a scenario that is over.
func (s *Endpoint) setReporter(w violation.Reporter) {
	s.mu.Lock()
	unreported := s.unreported
	s.reporter, s.unreported = w, nil
	s.mu.Unlock()
	if w != nil {
		for _, d := range unreported {
			w(d.requirement, d.problem)
		}
	}
}

// reportViolation reports a deviation. A target may come before the runner calls Accept, and then
// ends its attempt: what it did wrong is kept for that call, or it would never be reported.
func (s *Endpoint) reportViolation(requirement, problem string) {
	if problem == "" {
		return
	}
	s.mu.Lock()
	w := s.reporter
	if w == nil && len(s.unreported) < maxUnreported {
		s.unreported = append(s.unreported, deviation{requirement, problem})
	}
	s.mu.Unlock()
	w.Report(requirement, problem)
}

// reportRequests returns next as a handler that reports which requests come otherwise than the
// bindings say: those that next refuses, and posted messages for no subscription. bare says that
// there is no handshake. Requests of the hook are not looked at.
func (s *Endpoint) reportRequests(next http.Handler, bare bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, HookPath) {
			next.ServeHTTP(w, r)
			return
		}
		var head bytes.Buffer // of what is posted
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = struct {
				io.Reader
				io.Closer
			}{io.TeeReader(r.Body, &atMost{&head, transports.MaxMessage}), r.Body}
		}
		if bare && r.Method == http.MethodPost {
			if body, err := io.ReadAll(io.LimitReader(r.Body, transports.MaxMessage+1)); err == nil {
				s.keepReply(body)
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
		}
		seen := &answered{ResponseWriter: w}
		next.ServeHTTP(seen, r)
		var sent message
		_ = json.Unmarshal(head.Bytes(), &sent) // what is none has no type
		switch {
		case seen.status >= 400 && !refusals[seen.status]: // by the runner, or because it is slow
		case seen.status >= 400 && bare:
			s.reportViolation(bareWrong(r, seen))
		case seen.status >= 400:
			s.reportViolation(s.requestViolation(r, seen, sent))
		case r.Method == http.MethodPost && !bare:
			s.notePosted(seen, sent)
		}
	})
}

// refusals are the codes with which a transport itself refuses a request.
var refusals = map[int]bool{400: true, 403: true, 404: true, 405: true, 408: true, 411: true, 413: true, 415: true,
	426: true, 431: true}

type message struct {
	Type           string `json:"type"`
	SubscriptionID string `json:"subscription_id"`
	ReplyToken     string `json:"reply_token"`
}

// typeOf reads what is known of a message; what cannot be read has no type.
func typeOf(msg []byte) (m message) {
	_ = json.Unmarshal(msg, &m)
	return m
}

// keepReply keeps a reply as it was posted until the runner receives it. The oldest is dropped when
// there are too many.
func (s *Endpoint) keepReply(body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replies = append(s.replies, body); len(s.replies) > maxUnreported {
		s.replies = s.replies[1:]
	}
}

// asPosted returns the message as it was posted that has the same token, or the message where there
// is none.
func (s *Endpoint) asPosted(msg []byte) []byte {
	token := typeOf(msg).ReplyToken
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, body := range s.replies {
		if token != "" && typeOf(body).ReplyToken == token {
			s.replies = slices.Delete(s.replies, i, i+1)
			return body
		}
	}
	return msg
}

// notePosted records the subscription ids that answers to requests give, and reports other posted
// messages that name a subscription there is none of.
func (s *Endpoint) notePosted(seen *answered, sent message) {
	var got message
	if sent.Type == "subscription.request" && json.Unmarshal(seen.body.Bytes(), &got) == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.given[got.SubscriptionID] = true
		return
	}
	s.mu.Lock()
	known := s.given[sent.SubscriptionID]
	s.mu.Unlock()
	if !known {
		s.reportViolation("CONF-014", fmt.Sprintf("%s names the subscription %s, which there is none of",
			shortenText(sent.Type),
			shortenText(sent.SubscriptionID)))
	}
}

// requestViolation returns the requirement that a request which was refused breaks, or "", and says
// what was wrong with it and what would be right. An empty problem is for a request that may be
// made in vain, such as for a manifest.
func (s *Endpoint) requestViolation(r *http.Request, seen *answered, sent message) (requirement, problem string) {
	what := fmt.Sprintf("%s %s was answered with %d", shortenText(r.Method), shortenText(r.URL.RequestURI()), seen.status)
	if why := seen.refusalReason(); seen.status == http.StatusBadRequest && sent.Type != "" &&
		!strings.HasPrefix(sent.Type, "subscription.") {
		what += " (the type of the message is " + shortenText(sent.Type) + ")"
	} else if why != "" && seen.status != http.StatusNotFound {
		what += " (" + why + ")"
	}
	s.mu.Lock()
	subscribed := len(s.given) > 0
	s.mu.Unlock()
	isLaterPost := r.Method == http.MethodPost && subscribed && sent.Type != "subscription.request"
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/.well-known/"), strings.HasPrefix(path, sse.DefaultPrefix+"/schemas/"),
		path == "/favicon.ico":
		return "", "" // which may be there or not
	case seen.status == http.StatusForbidden:
		return "", what
	case path == websocket.DefaultPath:
		return "WS-002", what + "; a WebSocket is opened with the subprotocol " + websocket.Subprotocol
	case r.Header.Get("Upgrade") != "":
		return "", what + "; the WebSocket is at " + websocket.DefaultPath
	case path == sse.DefaultPrefix+"/events":
		return "SSE-005", what + theStream
	case path == sse.DefaultPrefix+"/replies", isLaterPost:
		return "SSE-009", what + "; replies, renegotiation and close go to POST " + sse.DefaultPrefix +
			"/replies, as application/json"
	case path == sse.DefaultPrefix+"/subscriptions", r.Method == http.MethodPost:
		return "SSE-003", what + "; a subscription is asked for with a subscription.request to POST " +
			sse.DefaultPrefix + "/subscriptions, as application/json"
	case strings.Contains(r.Header.Get("Accept"), "text/event-stream"), subscribed:
		return "SSE-005", what + theStream
	}
	return "", what
}

const theStream = "; the stream is at the Location that the answer to the subscription.request has, and is asked for with GET"

// bareWrong returns what is wrong with a request that an endpoint without a handshake refused; no
// requirement covers it. Requests that browsers make by themselves are not wrong.
func bareWrong(r *http.Request, seen *answered) (requirement, problem string) {
	if strings.HasPrefix(r.URL.Path, "/.well-known/") || r.URL.Path == "/favicon.ico" {
		return "", ""
	}
	return "", fmt.Sprintf("%s %s was answered with %d; here are GET /events and POST /messages, and no handshake",
		shortenText(r.Method), shortenText(r.URL.RequestURI()), seen.status)
}

// shortenText returns at most 100 bytes of a text of the target, safe to print; an empty text is
// "nothing".
func shortenText(s string) string {
	if s == "" {
		return "nothing"
	}
	return aaep.SafeText(strings.ToValidUTF8(s[:min(len(s), 100)], "\uFFFD"))
}

// answered is a response of which the beginning is kept.
type answered struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader keeps the status of the answer, and passes it on.
func (a *answered) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write keeps the beginning of the answer, and passes it on.
func (a *answered) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	(&atMost{&a.body, 16 << 10}).Write(b)
	return a.ResponseWriter.Write(b)
}

// refusalReason returns why a request was refused, as the answer says it, in one line of at most
// 300 bytes that is safe to print.
func (a *answered) refusalReason() string {
	var said struct {
		Error   string `json:"error"`
		Message string `json:"reason_message"`
	}
	text := a.body.String()
	if json.Unmarshal([]byte(text), &said) == nil {
		text = said.Error + said.Message
	}
	if text = strings.Join(strings.Fields(text), " "); len(text) > 300 {
		text = text[:300] + "…"
	}
	return aaep.SafeText(strings.ToValidUTF8(text, "\uFFFD"))
}

// atMost keeps the first bytes of what is written.
type atMost struct {
	*bytes.Buffer
	n int
}

// Write keeps as much of b as fits into n bytes in all, and drops the rest. It never fails.
func (w *atMost) Write(b []byte) (int, error) {
	w.Buffer.Write(b[:min(len(b), max(0, w.n-w.Len()))])
	return len(b), nil
}

// knocked is a connection of which the first bytes are looked at: HTTP begins with a letter.
type knocked struct {
	net.Conn
	s     *Endpoint
	known bool // used by the server's goroutine of the connection
}

// Read reports, with the first byte of a connection, one that speaks TLS or something other than
// HTTP.
func (c *knocked) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.known {
		c.known = true
		switch first := b[0]; {
		case first == 0x16:
			c.s.reportViolation("", "a connection came that speaks TLS, and this address is one without: it begins with "+
				c.s.scheme+"://, not "+c.s.scheme+"s://")
		case first < 'A' || first > 'Z':
			c.s.reportViolation("", fmt.Sprintf("a connection came that does not speak HTTP: it begins with %#02x",
				first))
		}
	}
	return n, err
}

// Close reports a connection over which nothing came.
func (c *knocked) Close() error {
	if !c.known {
		c.s.reportViolation("", "a connection came, and nothing over it")
	}
	return c.Conn.Close()
}

type knocking struct {
	net.Listener
	s *Endpoint
}

// Accept returns the next connection as one that reports what comes over it that is no HTTP.
func (l knocking) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &knocked{Conn: c, s: l.s}, nil
}
