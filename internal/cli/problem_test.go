package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/internal/cli/exits"
)

// What answers and is no agent that can be followed is told apart by what libraries, and packages
// of ours, say of it.
func TestWhatAnswers(t *testing.T) {
	answers := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			w.Write([]byte(body))
		}
	}
	const elsewhere = `{"@context":["https://aaep-protocol.org/context/v1"],"type":"aaep:producer.manifest","agent_id":"a","transports_supported":["websocket"]}`
	for _, tc := range []struct {
		name, scheme string
		answer       http.HandlerFunc
		want         string
		flags        []string
	}{
		{"no encryption", "https", answers(200, ""), " does not encrypt.\n", nil},
		{"no encryption, over WebSocket", "wss", answers(200, ""), " does not encrypt.\n", nil},
		{"a proxy", "http", answers(502, ""), " a proxy answers, and the agent behind it does not.\n", nil},
		{"a slow proxy", "ws", answers(504, ""), " a proxy answers, and the agent behind it does not.\n", nil},
		{"no such way", "http", answers(200, elsewhere), " is not reached over sse; ", []string{"--transport", "sse"}},
		{"something else", "http", answers(404, ""), " is not an agent.\n", nil},
		{"something else, to somebody in Spain", "http", answers(404, ""), " no es un agente.\n", []string{"--language", "es"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			there := httptest.NewServer(tc.answer)
			defer there.Close()
			at := tc.scheme + strings.TrimPrefix(there.URL, "http")
			var out, errs strings.Builder
			if code := Main(append([]string{"listen", at}, tc.flags...), strings.NewReader(""), &out, &errs); code != exits.Unreachable || !strings.Contains(errs.String(), tc.want) {
				t.Errorf("code %d, and says %q, want %q", code, errs.String(), tc.want)
			}
		})
	}
}
