// Package violation carries what a transport notices of its peer to the code that proves peers. A
// transport that parses what a peer sends is the only code that sees where the peer breaks the
// binding, and goes on all the same. It reports that to the Reporter of the context that its Dial
// or Accept was given. Package conformance puts one there; no other code does, and a report then
// costs nothing.
package violation

import (
	"context"
	"sync/atomic"
)

// Reporter is called with what a peer does otherwise than the binding of its transport demands: the
// id of the requirement, such as "SSE-016", and one sentence without its full stop. Any goroutine
// may call it. A nil Reporter reports to no one.
type Reporter func(requirement, problem string)

// Report calls r, unless r is nil.
func (r Reporter) Report(requirement, problem string) {
	if r != nil {
		r(requirement, problem)
	}
}

// reporterKey is the key of an installedReporter in a context.
type reporterKey struct{}

// installedReporter is a Reporter in a context.
type installedReporter struct {
	Reporter
	used atomic.Bool // a transport has asked for it
}

// WithReporter returns a context for Dial and Accept of the transports of this module, which report
// to r what they notice of their Conns' peers. used reports whether a transport has asked for r:
// what the peers of any other transport do is not looked at.
func WithReporter(ctx context.Context, r Reporter) (_ context.Context, used func() bool) {
	installed := &installedReporter{Reporter: r}
	return context.WithValue(ctx, reporterKey{}, installed), installed.used.Load
}

// ReporterOf returns the Reporter of a context, or nil. Transports call it in Dial and Accept.
func ReporterOf(ctx context.Context) Reporter {
	installed, _ := ctx.Value(reporterKey{}).(*installedReporter)
	if installed == nil {
		return nil
	}
	installed.used.Store(true)
	return installed.Reporter
}
