// Package hijack lets handlers take connections from an http.Server whose owner ends them itself, and so have none of the
// goroutine and buffers that the server keeps for each.
package hijack

import "context"

type key struct{}

// Allow returns a context for http.Server.BaseContext: connections may be taken, and must be ended when ctx is.
func Allow(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, ctx) }

// Until returns the context whose end must end a connection that is taken for a request with ctx; nil if none may be.
func Until(ctx context.Context) context.Context {
	until, _ := ctx.Value(key{}).(context.Context)
	return until
}
