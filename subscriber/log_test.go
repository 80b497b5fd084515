package subscriber

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// INV-36: what a peer wrote is logged in characters that do nothing, and not at any length.
func TestHostileWordsInTheLog(t *testing.T) {
	const hostile = "\u202egnp.exe\u2028x\u009b"
	for name, log := range map[string]func(*Subscription){
		"a type": func(s *Subscription) {
			s.logDiagnostics(&aaep.Event{Payload: &aaep.ExtensionPayload{Type: "acme:" + hostile +
				aaep.Type(strings.Repeat("x", 1<<20))},
				Diagnostics: []aaep.Violation{{Requirement: "ENV-026", Pointer: "/urgency"}}})
		},
		"a subscription": func(s *Subscription) {
			_ = s.closedBy(&aaep.SubscriptionClose{SubscriptionID: "sub_" + hostile + strings.Repeat("x", 1<<20)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			log(&Subscription{done: make(chan struct{}), cfg: Config{Logger: slog.New(slog.NewJSONHandler(&b, nil))},
				accepted: &aaep.SubscriptionAccepted{SubscriptionID: "sub_1"}})
			line := strings.TrimSuffix(b.String(), "\n")
			if !strings.Contains(line, "gnp.exe") || len(line) > 1000 || aaep.SafeText(line) != line ||
				strings.Contains(line, "\n") {
				t.Errorf("logged %+.1000q", line)
			}
		})
	}
}
