package credentials

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/aaep-go/aaep"
)

// An Authenticator names the peers of a listener by its field Authenticate. If that is nil, every
// peer is let in without a name. An Authenticator may be used by many goroutines at once.
type Authenticator struct {
	Authenticate func(*http.Request) (principal string, err error)
	Transport    string // in what is logged
	Log          *slog.Logger
}

// Identify returns the principal that sent a request, or the refusal that the transport sends the
// peer. The refusal has what the peer may know; the cause is logged. The principal is "" where no
// credentials are asked for.
func (d Authenticator) Identify(r *http.Request) (principal string, refused *aaep.Rejection) {
	if d.Authenticate == nil {
		return "", nil
	}
	principal, err := d.callAuthenticate(r)
	level := slog.LevelInfo
	if r.Header.Get("Authorization") != "" || r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		// a peer with credentials expects to be let in
		level = slog.LevelWarn
	}
	var later *aaep.Rejection
	switch {
	case err == nil && principal != "":
		return principal, nil
	case errors.As(err, &later) && later.Code == aaep.TransportUnavailable:
		d.Log.Log(r.Context(), level, d.Transport+": it cannot be told yet who this is", "peer", r.RemoteAddr,
			"cause", err)
		return "", &aaep.Rejection{Code: later.Code, Message: "Who you are cannot be told at the moment. Come again.",
			RetryAfter: later.RetryAfter}
	case errors.Is(err, aaep.AuthorizationDenied):
		d.Log.Warn(d.Transport+": not authorized", "peer", r.RemoteAddr, "cause", err)
		return "", &aaep.Rejection{Code: aaep.AuthorizationDenied, Message: "These credentials do not allow this."}
	case err == nil:
		d.Log.Error(d.Transport + ": Authenticate returned neither a principal nor an error")
	default:
		d.Log.Log(r.Context(), level, d.Transport+": not authenticated", "peer", r.RemoteAddr, "cause", err)
	}
	return "", &aaep.Rejection{Code: aaep.AuthenticationRequired, Message: "The credentials are missing or not valid."}
}

// callAuthenticate calls Authenticate. A panic counts as a refusal, and the agent goes on, also
// where no server of net/http recovers it.
func (d Authenticator) callAuthenticate(r *http.Request) (principal string, err error) {
	defer func() {
		if crash := recover(); crash != nil {
			d.Log.Error(d.Transport+": Authenticate panics", "peer", r.RemoteAddr, "panic", crash, "stack",
				string(debug.Stack()))
			principal, err = "", aaep.AuthenticationRequired
		}
	}()
	return d.Authenticate(r)
}

// RejectionMessage returns a refusal as the message that is sent to the subscriber; the time to try
// again is rounded up to seconds.
func RejectionMessage(r *aaep.Rejection) *aaep.SubscriptionRejected {
	m := &aaep.SubscriptionRejected{ReasonCode: r.Code, ReasonMessage: r.Message}
	if r.RetryAfter > 0 {
		m.RetryAfterSeconds = new(int64((r.RetryAfter + time.Second - 1) / time.Second))
	}
	return m
}

// recheckEvery is how often the credentials of an open stream are checked again.
const recheckEvery = 5 * time.Second

// errWithdrawn is the cause of the Rejection that Watch ends a stream with.
var errWithdrawn = errors.New("its credentials were withdrawn")

// Watch asks Authenticate about r every recheckEvery, in a goroutine of its own, until ctx is done
// or stop is called. It calls endStream, once, when the credentials that r was let in with are
// withdrawn: Authenticate then returns aaep.AuthenticationRequired, aaep.AuthorizationDenied or
// another name than principal. Any other error may pass, and changes nothing. The Rejection is for
// the producer's log; it has no message for the peer.
func (d Authenticator) Watch(ctx context.Context, r *http.Request, principal string,
	endStream func(*aaep.Rejection)) (stop func()) {
	if d.Authenticate == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	r = r.WithContext(ctx)
	ready := make(chan struct{}) // closed when timer is set
	var timer *time.Timer
	timer = time.AfterFunc(recheckEvery, func() {
		<-ready
		current, err := d.callAuthenticate(r)
		switch {
		case ctx.Err() != nil:
		case err == nil && current != principal, errors.Is(err, aaep.AuthenticationRequired),
			errors.Is(err, aaep.AuthorizationDenied):
			d.Log.Warn(d.Transport+": a stream ends, for its credentials were withdrawn", "principal", principal)
			withdrawal := &aaep.Rejection{Code: aaep.AuthenticationRequired, Err: errWithdrawn}
			if errors.Is(err, aaep.AuthorizationDenied) {
				withdrawal.Code = aaep.AuthorizationDenied
			}
			endStream(withdrawal)
		default:
			timer.Reset(recheckEvery)
		}
	})
	close(ready)
	return func() { cancel(); timer.Stop() }
}
