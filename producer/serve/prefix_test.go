package serve_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
)

// A handler that is mounted under a prefix, where the addresses that it gives out would lead nowhere, says so to whoever comes and in
// the log; at the root it serves.
func TestUnderAPrefix(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "planner"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(t.Context())
	var logged bytes.Buffer
	h, err := (&serve.Server{Logger: slog.New(slog.NewTextHandler(&logged, nil))}).Handler(p)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/agent/", http.StripPrefix("/agent", h))
	mux.Handle("/", h)
	at := httptest.NewServer(mux)
	defer at.Close()
	for path, want := range map[string]int{"/healthz": 200, "/.well-known/aaep-manifest.json?x=/agent": 200, "/agent/healthz": 500, "/agent/aaep/v1/events": 500, "/agent/.well-known/aaep-manifest.json": 500} {
		resp, err := http.Get(at.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want || want == 500 && !strings.Contains(string(body), `"/agent"`) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	if !strings.Contains(logged.String(), "level=ERROR") || !strings.Contains(logged.String(), "prefix=/agent") {
		t.Errorf("logged: %s", &logged)
	}
}
