package replica

import (
	"encoding/json"
	"errors"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
)

// claim is what a process puts into the shared log to settle a question, where the agent is several
// processes. The first claim that is kept settles it. Every other process learns the outcome from
// that claim, the agent too when its own timeout comes second.
type claim struct {
	Node  string              `json:"node"` // the process that claims
	Cause ledger.Cause        `json:"cause"`
	By    *audit.Subscription `json:"by,omitzero"`    // the one that replied; nil: none
	Reply json.RawMessage     `json:"reply,omitzero"` // as it arrived
	// Unrecorded says that the reply could not be recorded, which makes it a rejection.
	Unrecorded bool `json:"unrecorded,omitzero"`
}

// EncodeClaim returns the claim that settles a question with an outcome. sender is the subscription
// that replied, or nil.
func EncodeClaim(node string, out *ledger.Outcome, sender *audit.Subscription) ([]byte, error) {
	c := claim{Node: node, Cause: out.Cause, By: sender, Unrecorded: out.Unrecorded}
	if out.Reply != nil {
		reply, err := aaep.Encode(out.Reply)
		if err != nil {
			return nil, err
		}
		c.Reply = reply
	}
	return json.Marshal(c)
}

// DecodeClaim returns the outcome that a claim makes of the question q, and which subscription
// replied, or nil if the claim is of no reply. With an error the outcome is a rejection.
func DecodeClaim(q *ledger.Question, first log.Claim) (*ledger.Outcome, *audit.Subscription, error) {
	rejection := ledger.WithdrawnOutcome(q)
	var c claim
	if err := jsonv2.Unmarshal(first.Data, &c); err != nil {
		return rejection, nil, err
	}
	if c.Cause != ledger.Replied {
		rejection.Cause = c.Cause
		return rejection, nil, nil
	}
	m, err := aaep.Decode(c.Reply)
	if err == nil && c.By == nil {
		err = errors.New("the claim has a reply, but not the subscription that gave it")
	}
	if err != nil {
		return rejection, nil, err
	}
	out, err := ledger.Answer(q, c.By.SubscriptionID, c.By.Principal, m)
	if err != nil {
		return rejection, nil, err
	}
	c.By.Node = c.Node
	if c.Unrecorded {
		out.Decision, out.Response, out.Unrecorded = aaep.Reject, nil, true
	}
	return out, c.By, nil
}
