package serving

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/metrics"
	"github.com/aaep-go/aaep/producer"
)

// They are those of the agent, for who asks on this machine and is no page.
func TestServeMetrics(t *testing.T) {
	p, _ := clitest.AgentOf(t, producer.Config{})
	defer p.Shutdown(t.Context())
	s, err := p.StartSession(t.Context(), aaep.Say("Working."))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Complete(aaep.Say("Ready."))
	ln, err := ListenMetrics(t.Context(), "127.0.0.1:0", []string{"127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	at, stop := ServeMetrics(ln, map[string]*producer.Producer{"": p}, metrics.NewRequestCounts())
	defer stop()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(host string) (int, string) {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", at, nil)
		r.Host = host
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	if code, body := get(""); code != 200 || !strings.Contains(body, "\naaep_events_produced_total 2\n") {
		t.Errorf("%d\n%s", code, body)
	}
	if code, _ := get("evil.example"); code != 403 {
		t.Errorf("a rebound name gets %d", code)
	}
	taken := strings.TrimSuffix(strings.TrimPrefix(at, "http://"), metricsPath)
	for addr, want := range map[string]string{"0.0.0.0:0": "could be reached from other machines", "192.0.2.1:1": "could be reached", "here": "is not an address", taken: "another program serves", "127.0.0.1:1": "cannot both be at 127.0.0.1:1"} {
		if _, err := ListenMetrics(t.Context(), addr, []string{"127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want that it %s", addr, err, want)
		}
	}
}
