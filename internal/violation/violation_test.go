package violation_test

import (
	"context"
	"testing"

	"github.com/aaep-go/aaep/internal/violation"
)

// SSE-016: a Reporter that no transport asked for is known to have been told nothing.
func TestReporterUsed(t *testing.T) {
	reported := ""
	ctx, used := violation.WithReporter(t.Context(), func(requirement, problem string) {
		reported = requirement + " " + problem
	})
	if used() {
		t.Error("used before a transport asked for it")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	violation.ReporterOf(ctx).Report("SSE-016", "a stream may be cached")
	if !used() || reported != "SSE-016 a stream may be cached" {
		t.Errorf("used: %v; reported %q", used(), reported)
	}
	violation.ReporterOf(t.Context()).Report("SSE-016", "there is no Reporter, and nothing happens")
}
