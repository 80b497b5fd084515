package negotiation_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// generous is an offer that refuses nothing a table asks for.
var generous = negotiation.Offer{Languages: []string{"en-US"}, Levels: []int64{1, 2, 3},
	Extensions: named("https://example.org/a", "https://example.org/b"), SignedManifest: true}

// named are extensions that do nothing, each with a prefix of its own.
func named(uris ...string) (all []handshake.Extension) {
	for _, uri := range uris {
		all = append(all, handshake.Extension{Vocabulary: aaep.Vocabulary{Prefix: "x" + uri[len(uri)-1:], URI: uri}})
	}
	return all
}

func request(c aaep.Capabilities) *aaep.SubscriptionRequest {
	return &aaep.SubscriptionRequest{AAEPVersion: "1.0.0", SubscriberID: "narrator", Capabilities: c}
}

func negotiate(t *testing.T, c aaep.Capabilities, offer negotiation.Offer) negotiation.Terms {
	t.Helper()
	terms, err := negotiation.Negotiate(request(c), offer)
	if err != nil {
		t.Fatalf("Negotiate(%+v) = %v", c, err)
	}
	return terms
}

func renegotiate(t *testing.T, now negotiation.Terms, change aaep.Capabilities, offer negotiation.Offer) negotiation.Terms {
	t.Helper()
	terms, err := negotiation.Renegotiate(now, change, offer)
	if err != nil {
		t.Fatalf("Renegotiate(%+v) = %v", change, err)
	}
	return terms
}

// answer encodes the answer to a request, the way a producer sends it.
func answer(terms negotiation.Terms) ([]byte, error) {
	return aaep.Encode(&aaep.SubscriptionAccepted{SubscriptionID: "sub_1", AAEPVersion: aaep.Version,
		Producer:            aaep.Agent{AgentID: "planner", AgentVersion: "1.0.0", AgentName: "Planner"},
		HonoredCapabilities: terms.Capabilities(), NegotiationNotes: terms.Note()})
}

// refused checks a refusal: its code, that it can be sent, and that it says what would be right.
func refused(t *testing.T, err error, code aaep.ReasonCode, says ...string) {
	t.Helper()
	var r *aaep.Rejection
	if !errors.As(err, &r) || !errors.Is(err, code) || r.Remote {
		t.Errorf("error %v; want %s", err, code)
		return
	}
	if _, err := aaep.Encode(&aaep.SubscriptionRejected{ReasonCode: r.Code, ReasonMessage: r.Message}); err != nil {
		t.Errorf("the refusal cannot be sent: %v", err)
	}
	for _, s := range says {
		if !strings.Contains(r.Message, s) {
			t.Errorf("the refusal %q does not say %q", r.Message, s)
		}
	}
}

// same compares terms without their notes.
func same(a, b negotiation.Terms) bool {
	for i := range reflect.TypeFor[negotiation.Terms]().NumField() {
		f := reflect.TypeFor[negotiation.Terms]().Field(i)
		if f.IsExported() && f.Name != "Notes" && f.Name != "ResumeAfter" &&
			!reflect.DeepEqual(reflect.ValueOf(a).Field(i).Interface(), reflect.ValueOf(b).Field(i).Interface()) {
			return false
		}
	}
	return reflect.DeepEqual(a.Capabilities(), b.Capabilities())
}
