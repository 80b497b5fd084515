package transports

import (
	"context"
	"sync/atomic"
)

type witnessKey struct{}

// Witness is told what a peer does otherwise than the binding of its transport demands, even where
// the link goes on: the id of the requirement, such as "SSE-016", and one sentence without its full
// stop. It is called from any goroutine.
type Witness func(requirement, problem string)

type stationed struct {
	Witness
	taken atomic.Bool
}

// WithWitness returns a context for a Dialer or a Listener that tell w of their Conns, as those of
// this module do. Conformance is judged by it. taken reports whether one of them has asked for w;
// what others carry was not looked at.
func WithWitness(ctx context.Context, w Witness) (_ context.Context, taken func() bool) {
	s := &stationed{Witness: w}
	return context.WithValue(ctx, witnessKey{}, s), s.taken.Load
}

// WitnessOf returns who is to be told, or nil.
func WitnessOf(ctx context.Context) Witness {
	s, _ := ctx.Value(witnessKey{}).(*stationed)
	if s == nil {
		return nil
	}
	s.taken.Store(true)
	return s.Witness
}

// Tell tells w, unless that is nil.
func (w Witness) Tell(requirement, problem string) {
	if w != nil {
		w(requirement, problem)
	}
}
