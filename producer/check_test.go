package producer_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// SEC-010, EVT-011, EVT-045: on request, no text that holds a secret is told, and the refusal does
// not repeat it.
func TestRefuseSecrets(t *testing.T) {
	const key, card = "AKIAIOSFODNN7EXAMPLE", "4111 1111 1111 1111"
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}, RefuseSecrets: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	ctx := t.Context()
	if _, err := p.StartSession(ctx, aaep.Say("Using "+key)); !isSecretRefused(err, key) {
		t.Errorf("StartSession = %v", err)
	}
	s, err := p.StartSession(ctx, aaep.Say("A risk-free desk; the password is not told."))
	if err != nil {
		t.Fatal(err)
	}
	ran := false
	run := func(context.Context) (string, error) { ran = true; return "", nil }
	before := p.Stats().Produced
	for name, err := range map[string]error{
		"state":    s.State(aaep.StateDeciding, aaep.Say("Card "+card)),
		"progress": s.Progress(aaep.Say("Half."), aaep.Progress{Description: key}, 0),
		"handoff":  s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{PackagedContext: []byte(`{"key":"` + key + `"}`)}),
		"tool":     errorOf(s.Tool(ctx, producer.Tool{Name: "pay", Action: aaep.Say("Pay with " + card)}, run)),
		"question": errorOf(s.AskText(ctx, producer.Question{Text: aaep.Say("Is it " + card + "?")})),
		"confirm": errorOf(s.Tool(ctx, producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Action: aaep.Say("Pay."),
			Consequence: aaep.Say("Charges " + card)}, run)),
		"choice": errorOf(s.AskChoice(ctx, producer.Question{Text: aaep.Say("Which card?"), Choices: []producer.Choice{{Value: "a", Label: aaep.Say(card)}, {Value: "b", Label: aaep.Say("Another")}}})),
		"target": s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{TargetURI: "https://help.example/?key=" + key}),
		"end":    s.Complete(aaep.Say("The key is " + key)),
	} {
		if !isSecretRefused(err, key) || !isSecretRefused(err, card) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if ran || p.Stats().Produced != before {
		t.Errorf("the tool ran: %v; %d events were told", ran, p.Stats().Produced-before)
	}
	// What is refused in a stream would be a matter of how it came in chunks; and cut the answer
	// short.
	out := s.Output()
	answer := "An example is " + key + ", and card " + card + ". "
	if n, err := out.Write([]byte(answer)); n != len(answer) || err != nil {
		t.Errorf("Output.Write = %d, %v", n, err)
	}
	if err := s.Complete(aaep.Say("Done.")); err != nil {
		t.Error(err)
	}
}

// errorOf returns the error of a call with two results.
func errorOf[T any](_ T, err error) error { return err }

// isSecretRefused reports whether err refuses a secret, by SEC-010, without quoting it.
func isSecretRefused(err error, secret string) bool {
	var invalid *aaep.InvalidError
	return errors.As(err, &invalid) && invalid.Violations[0].Requirement == "SEC-010" && !strings.Contains(err.Error(), secret)
}
