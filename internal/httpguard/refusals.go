package httpguard

import (
	"log/slog"
	"net/http"

	"github.com/aaep-go/aaep/internal/shield"
)

// Reasons for which a transport refuses a request that the producer never sees.
const (
	Malformed           = "malformed"
	TooLarge            = "too_large"
	Forbidden           = "forbidden" // by Rules, or for want of an authenticator
	UnknownStream       = "unknown_stream"
	UnknownSubscription = "unknown_subscription" // of a reply
)

// Refusals logs and counts the requests that a transport refuses by itself.
type Refusals struct {
	Transport string              // begins the line
	Log       *slog.Logger        // one of LimitLog
	Count     func(reason string) // may be nil
}

// Report logs that r is refused, and counts it by its reason. principal is empty where the request
// shows no credentials, or too little of it was looked at. attrs say more.
func (f Refusals) Report(r *http.Request, principal, reason, cause string, attrs ...any) {
	attrs = append([]any{"reason", reason, "path", r.URL.Path, "cause", cause}, attrs...)
	f.Warn(r, "request refused", principal, reason, attrs...)
}

// Warn logs a refusal, and counts it by its reason, as Report does, with a message of the caller's.
// A panic of Count is caught.
func (f Refusals) Warn(r *http.Request, message, principal, reason string, attrs ...any) {
	if f.Count != nil {
		_ = shield.New(f.Log).Call(f.Transport+": Refused", func() error { f.Count(reason); return nil })
	}
	attrs = append([]any{"principal", principal, "peer", r.RemoteAddr}, attrs...)
	f.Log.Warn(f.Transport+": "+message, attrs...)
}
