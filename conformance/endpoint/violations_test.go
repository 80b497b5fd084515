package endpoint_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/conformance/endpoint"
	"github.com/aaep-go/aaep/internal/violation"
)

// CONF-014: a target that was refused before the runner had called Accept is reported all the same,
// once, and not to the Reporter of a scenario after that one.
func TestRefusedBeforeAccept(t *testing.T) {
	s, err := endpoint.Listen("http://127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func() {
		resp, err := client.Get(s.URL() + "/aaep/v1/subscriptions")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusMethodNotAllowed {
			t.Fatal(resp.Status)
		}
	}
	accept := func() (reported []string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ctx, _ = violation.WithReporter(ctx, func(requirement,
			problem string) {
			reported = append(reported, requirement+" "+problem)
		})
		s.Accept(ctx)
		return reported
	}
	ask()
	if got := accept(); len(got) != 1 || !strings.HasPrefix(got[0],
		"SSE-003 GET /aaep/v1/subscriptions was answered with 405") {
		t.Errorf("%q was reported", got)
	}
	if got := accept(); len(got) != 0 {
		t.Errorf("%q was reported to the next one too", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Accept(ctx) // without a Reporter: what came is of no scenario
	for range 2 {
		ask()
	}
	s.Accept(ctx)
	ask()
	if got := accept(); len(got) != 1 {
		t.Errorf("of one refusal since the last scenario %q was reported", got)
	}
}
