package httpguard

import "context"

// hijackKey is the key in a context of the context that AllowHijack was given.
type hijackKey struct{}

// AllowHijack returns a context for http.Server.BaseContext: handlers may take connections from the
// server, and so have none of the goroutine and buffers that it keeps for each; they must be ended
// when ctx is.
func AllowHijack(ctx context.Context) context.Context {
	return context.WithValue(ctx, hijackKey{}, ctx)
}

// HijackUntil returns the context that AllowHijack was given, for a handler that wants to take the
// connection of the request with ctx: its end must end the connection. It is nil if the server's
// owner does not allow that.
func HijackUntil(ctx context.Context) context.Context {
	serverCtx, _ := ctx.Value(hijackKey{}).(context.Context)
	return serverCtx
}
