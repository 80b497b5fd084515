package extensions_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// An integer may be written 600.0, as json.dumps of Python does, and what is honored is applied
// (D-14, HS-045).
func TestIntegersAsWritten(t *testing.T) {
	negotiate := func(v aaep.Vocabulary, data string) negotiation.Terms {
		t.Helper()
		req := &aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "reader",
			Capabilities: aaep.Capabilities{
				SupportedExtensions: []string{v.URI},
				Extensions:          map[string]json.RawMessage{v.Prefix: json.RawMessage(data)}}}
		terms, err := negotiation.Negotiate(req, negotiation.Offer{Extensions: extensions.All()})
		if err != nil {
			t.Fatal(err)
		}
		return terms
	}
	for _, minute := range []string{"600", "600.0", "6e2"} {
		terms := negotiate(extensions.TimingVocabulary, `{"timeout_multiplier":10,"min_seconds":`+minute+`}`)
		if terms.TimeoutMultiplier != 10 || terms.MinTimeout != 10*time.Minute {
			t.Errorf("min_seconds %s: %v times, at least %v", minute, terms.TimeoutMultiplier, terms.MinTimeout)
		}
	}
	if terms := negotiate(extensions.BrailleVocabulary, `{"cells":4e1}`); terms.MaxChunk != 40 {
		t.Errorf("4e1 cells make chunks of %d", terms.MaxChunk)
	}
}
