package transports_test

import (
	"context"
	"testing"

	"github.com/aaep-go/aaep/transports"
)

// A witness that is not asked for is known to have seen nothing.
func TestWitnessTaken(t *testing.T) {
	told := ""
	ctx, taken := transports.WithWitness(t.Context(), func(requirement, problem string) {
		told = requirement + " " + problem
	})
	if taken() {
		t.Error("taken before anybody asked")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if transports.WitnessOf(ctx).Tell("SSE-016", "a stream may be cached"); !taken() ||
		told != "SSE-016 a stream may be cached" {
		t.Errorf("taken: %v; told %q", taken(), told)
	}
	transports.WitnessOf(t.Context()).Tell("SSE-016", "nobody hears it")
}
