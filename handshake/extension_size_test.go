package handshake_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
)

// What is kept for every event and told in every answer does not grow with what a peer declares (P7, P10).
func TestLongCapability(t *testing.T) {
	ext := handshake.Extension{Vocabulary: aaep.Vocabulary{Prefix: "lamp", URI: "https://lamp.example/v1"}}
	profiles := map[string]bool{}
	for _, size := range []int{1, 2, 1000, 60000, 100000, 900000} {
		object := fmt.Sprintf(`{"a":%q}`, strings.Repeat("a", size))
		terms, err := handshake.Negotiate(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "x", Capabilities: aaep.Capabilities{
			SupportedExtensions: []string{ext.URI}, Extensions: map[string]json.RawMessage{"lamp": json.RawMessage(object)}}},
			handshake.Offer{Extensions: []handshake.Extension{ext}})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(terms.Profile()); n == 0 || n > 64 {
			t.Errorf("%d bytes: the profile has %d", size, n)
		}
		honored := terms.Capabilities().Extensions["lamp"]
		if fits := size < 64<<10; fits != (honored != nil) || fits == (terms.Note() != "") {
			t.Errorf("%d bytes: honored %d bytes with the note %q", size, len(honored), terms.Note())
		}
		if honored != nil && profiles[terms.Profile()] {
			t.Errorf("%d bytes: the profile of another", size)
		}
		profiles[terms.Profile()] = true
	}
}
