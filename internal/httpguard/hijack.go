package httpguard

import "context"

type hijackKey struct{}

// AllowHijack returns a context for http.Server.BaseContext: handlers may take connections from the
// server, and so have none of the goroutine and buffers that it keeps for each; they must be ended
// when ctx is.
func AllowHijack(ctx context.Context) context.Context {
	return context.WithValue(ctx, hijackKey{}, ctx)
}

// HijackUntil returns the context whose end must end a connection that is taken for a request with
// ctx; nil if none may be.
func HijackUntil(ctx context.Context) context.Context {
	until, _ := ctx.Value(hijackKey{}).(context.Context)
	return until
}
