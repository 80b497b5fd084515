package sse

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/aaep-go/aaep/internal/httpguard"
)

// How long a Server waits.
const (
	bodyTime  = 10 * time.Second // for a request body to arrive
	writeTime = 10 * time.Second // for one write on an event stream, which is lost otherwise
	heartbeat = 15 * time.Second // of silence, after which a comment is sent (SSE-018)
)

// How long a Dialer's Conn waits.
const (
	postTime = 20 * time.Second // for a POST with its answer, and for a stream's headers
	// A stream that brings nothing for so long, not even a heartbeat, counts as broken.
	silence = 3 * heartbeat
	// Published servers without a handshake may never send a heartbeat.
	silenceUnnegotiated = 24 * time.Hour
)

// ServerOptions are the settings of a Server. The zero ServerOptions serve this machine only.
type ServerOptions struct {
	// Prefix is the path of the three endpoints as requests come to the Server. If empty,
	// "/aaep/v1".
	Prefix string
	// Authenticate names the peer of a request; two requests of one peer get the same non-empty
	// name. An error that is aaep.AuthorizationDenied is answered with 403, an *aaep.Rejection with
	// aaep.TransportUnavailable with 503 and its RetryAfter, every other with 401; its text stays
	// here. It is called from many goroutines at once. If nil, no credentials are asked for, and
	// only connections to a loopback address are served. A GET of a stream with a ticket is let in
	// without it. It is asked again while a stream is open, and ends it as package transports/auth
	// says.
	Authenticate func(*http.Request) (principal string, err error)
	// Hosts are the names under which this listener may be addressed, "name" or "name:port". If
	// empty, localhost, 127.0.0.1 and [::1]. A listener reached under other names must list them.
	Hosts []string
	// Origins are the web pages of other origins that may use this listener, such as
	// "https://reader.example". If empty, only pages from this listener itself; no CORS header is
	// sent.
	Origins []string
	// MaxSubscriptions bounds the subscriptions alive at once. If zero, 1024.
	MaxSubscriptions int
	// MaxWaiting bounds the subscriptions waiting for Accept. If zero, 128.
	MaxWaiting int
	// AnswerTimeout bounds how long a POST waits for the producer: for the answer to a request or a
	// renegotiation, and for room in a full queue. If zero, 10 seconds.
	AnswerTimeout time.Duration
	// Refused is called with why a request was refused that the producer never saw: "malformed",
	// "too_large", "forbidden" for its Host or its Origin, "unknown_stream", or, for a reply,
	// "unknown_subscription". It is called from many goroutines at once, and must not wait. It may
	// be nil.
	Refused func(reason string)
	// Logger receives diagnostics, never message contents. If nil, they are discarded.
	Logger *slog.Logger
}

// setDefaults puts the defaults where a field is zero or negative, and limits what the Logger gets.
func (o *ServerOptions) setDefaults() {
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if o.MaxSubscriptions <= 0 {
		o.MaxSubscriptions = 1024
	}
	if o.MaxWaiting <= 0 {
		o.MaxWaiting = 128
	}
	if o.AnswerTimeout <= 0 {
		o.AnswerTimeout = 10 * time.Second
	}
	o.Logger = httpguard.LimitLog(o.Logger)
}
