package transports

import "context"

type witnessKey struct{}

// Witness is told what a peer does otherwise than the binding of its transport demands, even where the link goes on: the id of
// the requirement, such as "SSE-016", and one sentence without its full stop. It is called from any goroutine.
type Witness func(requirement, problem string)

// WithWitness returns a context for a Dialer whose Conns tell w, as those of this module do. Conformance is judged by it.
func WithWitness(ctx context.Context, w Witness) context.Context {
	return context.WithValue(ctx, witnessKey{}, w)
}

// WitnessOf returns who is to be told, or nil.
func WitnessOf(ctx context.Context) Witness {
	w, _ := ctx.Value(witnessKey{}).(Witness)
	return w
}

// Tell calls w, unless it is nil.
func (w Witness) Tell(requirement, problem string) {
	if w != nil {
		w(requirement, problem)
	}
}
