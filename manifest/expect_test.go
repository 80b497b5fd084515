package manifest

import (
	"errors"
	"testing"

	"github.com/aaep-go/aaep"
)

// LVL-039, SEC-018, §10.4.2 steps 4 and 5: the manifest is that of the agent that answered, and
// does not contradict it.
func TestExpect(t *testing.T) {
	k := keysOf()
	v := Verifier{Keys: set(t, jwk(t, k.es, nil))}
	token := signed(t, k.es, SignerOptions{})
	answer := func(change func(*aaep.SubscriptionAccepted)) *aaep.SubscriptionAccepted {
		a := &aaep.SubscriptionAccepted{AAEPVersion: "1.0.0",
			Producer: aaep.Agent{AgentID: "planner", AgentName: "Planner"},
			HonoredCapabilities: aaep.Capabilities{Languages: []string{"en-GB"},
				SupportedConformanceLevels: []int64{2}}}
		change(a)
		return a
	}
	same := func(*aaep.SubscriptionAccepted) {}
	for name, c := range map[string]struct {
		expect Expect
		want   error
	}{
		"agent":     {Expect{AgentID: "planner"}, nil},
		"any agent": {Expect{AnyAgent: true}, nil},
		"answer":    {Expect{Accepted: answer(same), Transport: SSE}, nil},
		"both":      {Expect{AgentID: "planner", Accepted: answer(same)}, nil},
		"little said": {Expect{Accepted: answer(func(a *aaep.SubscriptionAccepted) {
			a.Producer.AgentName = ""
			a.HonoredCapabilities = aaep.Capabilities{}
		})}, nil},
		"nothing": {Expect{}, ErrAgent},
		"another": {Expect{AgentID: "other"}, ErrAgent},
		"another answers": {Expect{AgentID: "planner",
			Accepted: answer(func(a *aaep.SubscriptionAccepted) { a.Producer.AgentID = "other" })}, ErrAgent},
		"nobody answers": {Expect{Accepted: answer(func(a *aaep.SubscriptionAccepted) { a.Producer.AgentID = "" })},
			ErrAgent},
		"any, and another": {Expect{AnyAgent: true,
			Accepted: answer(func(a *aaep.SubscriptionAccepted) { a.Producer.AgentID = "other" })}, ErrAgent},
		"another name": {
			Expect{Accepted: answer(func(a *aaep.SubscriptionAccepted) { a.Producer.AgentName = "Bank" })}, ErrOffer},
		"another version": {Expect{Accepted: answer(func(a *aaep.SubscriptionAccepted) { a.AAEPVersion = "2.0.0" })},
			ErrOffer},
		"another level": {
			Expect{Accepted: answer(func(a *aaep.SubscriptionAccepted) {
				a.HonoredCapabilities.SupportedConformanceLevels = []int64{4}
			})}, ErrOffer},
		"another language": {
			Expect{Accepted: answer(func(a *aaep.SubscriptionAccepted) {
				a.HonoredCapabilities.Languages = []string{"yo", "fr"}
			})}, ErrOffer},
		"another transport": {Expect{AgentID: "planner", Transport: WebSocket}, ErrOffer},
	} {
		if m, _, err := v.Verify(token, c.expect, now); !errors.Is(err, c.want) || (m == nil) != (err != nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	// A manifest that says little contradicts nothing.
	bare := mint(t, `{"alg":"ES256","kid":"`+k.esKid+`"}`, `{"agent_id":"planner"}`, k.es)
	if _, _, err := v.Verify(bare, Expect{Accepted: answer(same), Transport: SSE}, now); err != nil {
		t.Error(err)
	}
}

// What is claimed is read without proof, and tells so.
func TestParseUnverified(t *testing.T) {
	k := keysOf()
	m, id, err := ParseUnverified([]byte("\n" + planner))
	if err != nil || id != nil || m.AgentID != "planner" {
		t.Errorf("plain: %v, %v, %v", m, id, err)
	}
	// and wrong in every way
	m, id, err = ParseUnverified([]byte(mint(t, `{"alg":"ES384","kid":"mine","iat":7}`, planner, k.es)))
	if err != nil || m.AgentID != "planner" || id.KeyID != "mine" || id.Algorithm != "ES384" ||
		id.SignedAt.Unix() != 7 || id.Thumbprint != "" {
		t.Errorf("signed: %v, %+v, %v", m, id, err)
	}
	for _, text := range []string{"", "a.b.c", "[]", `{}`, mint(t, `{"alg":"ES256"}`, `[]`, k.es)} {
		if m, _, err := ParseUnverified([]byte(text)); err == nil {
			t.Errorf("%q was read as %v", text, m)
		}
	}
}
