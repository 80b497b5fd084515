package producer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/phrase"
)

// askConfirmation returns the decision, and what the user changed, where they accepted with changes that t takes. What was pending is
// there with an acceptance.
func (s *Session) askConfirmation(ctx context.Context, t Tool, call toolCall) (aaep.Decision, json.RawMessage, *pendingQuestion, error) {
	if t.Default == "" {
		t.Default = aaep.Reject
	}
	if t.Default == aaep.Accept && (t.Irreversible || t.Risk == aaep.RiskHigh) {
		return "", nil, nil, &aaep.InvalidError{Message: string(aaep.TypeAwaitingConfirmation), Violations: []aaep.Violation{{
			Requirement: "CONF-031", Pointer: "/default_decision",
			Problem: "silence must not accept what is irreversible or of high risk; leave Default empty"}}}
	}
	if t.Timeout == 0 {
		switch {
		case t.Irreversible || t.Risk == aaep.RiskHigh:
			t.Timeout = 5 * time.Minute
		case t.Risk == aaep.RiskMedium:
			t.Timeout = 2 * time.Minute
		default:
			t.Timeout = time.Minute
		}
	}
	if err := s.p.checkTimeout(aaep.TypeAwaitingConfirmation, t.Timeout); err != nil {
		err = fmt.Errorf("producer: Tool.Timeout: %w", err)
		return "", nil, nil, err
	}
	reversibility := aaep.Reversible
	if t.Irreversible {
		reversibility = aaep.Irreversible
	}
	about, err := questionContext(t.ExtraContext, call)
	if err != nil {
		return "", nil, nil, err
	}
	p := &aaep.AwaitingConfirmation{
		ReplyToken:      aaep.ReplyToken(newID("rpl_")),
		TimeoutSeconds:  wholeSeconds(t.Timeout),
		DefaultDecision: t.Default,
		RiskLevel:       t.Risk,
		Irreversible:    &t.Irreversible,
		Reversibility:   reversibility,
		ExtraContext:    about,
	}
	p.Action, _ = textIn(t.Action, "")
	p.Consequence, _ = textIn(t.Consequence, "")
	words := s.p.authoredSpeech(t.Action)
	words.setPayloads(func(tag string) (aaep.Payload, bool) { // what is agreed to is understood whole, or not said in tag
		p, both := *p, false
		p.Action, _ = textIn(t.Action, tag)
		p.Consequence, both = textIn(t.Consequence, tag)
		return &p, both
	})
	var changes json.RawMessage
	out, asked, err := s.askQuestion(ctx, words, &ledger.Question{Token: p.ReplyToken, SessionID: s.id, Confirmation: p}, func(out *ledger.Outcome) (speech, error) {
		if c := changesIn(out); c != nil && t.Modified != nil {
			changes = c
			return s.p.speechOrPhrase(aaep.Text{}, phrase.ActionChanged, ""), nil
		}
		return s.explainOutcome(out, t.Action)
	})
	switch {
	case err == nil && changes != nil:
		return aaep.Reject, changes, asked, nil
	case err != nil || out.Decision != aaep.Accept:
		return aaep.Reject, nil, asked, cmp.Or(err, ErrRejected)
	}
	return aaep.Accept, nil, asked, nil
}

// questionContext is what a question says beside its words: the call it is for (D-22), and what the agent adds to that.
func questionContext(own json.RawMessage, call toolCall) (json.RawMessage, error) {
	refuse := func(at, problem string) error {
		return &aaep.InvalidError{Message: string(aaep.TypeAwaitingConfirmation), Violations: []aaep.Violation{{
			Requirement: "EVT-075", Pointer: "/extra_context" + at, Problem: problem}}}
	}
	members := map[string]any{}
	if own != nil {
		var added map[string]jsontext.Value
		if err := jsonv2.Unmarshal(own, &added); err != nil || added == nil {
			return nil, refuse("", "must be a JSON object that can be read in one way only")
		}
		for name, value := range added {
			if strings.EqualFold(name, "tool") || strings.EqualFold(name, "tool_call_id") {
				return nil, refuse("/"+name, "says which call is asked about, which is not for the agent to change; name it otherwise")
			}
			members[name] = value
		}
	}
	members["tool"], members["tool_call_id"] = call.Tool, call.ToolCallID
	return jsonv2.Marshal(members, jsonv2.Deterministic(true))
}

// changesIn returns what the user changed before they accepted, or nil. The ledger counts such an answer as a
// rejection of what was asked.
func changesIn(out *ledger.Outcome) json.RawMessage {
	if r, ok := out.Reply.(*aaep.ConfirmationReply); ok && r.Decision == aaep.Accept {
		return r.ModifiedAction
	}
	return nil
}

// explainOutcome says in words, and as an error, how a question about an action ended. No words are needed where
// the deed follows.
func (s *Session) explainOutcome(out *ledger.Outcome, action aaep.Text) (speech, error) {
	id, err := phrase.ActionRejected, ErrRejected
	switch {
	case out.Decision == aaep.Accept:
		return speech{}, nil
	case out.Cause == ledger.TimedOut:
		id, err = phrase.ActionTimedOut, ErrTimedOut
	case out.Cause == ledger.Unreachable:
		id, err = phrase.ActionUnreachable, ErrUnreachable
	case out.Cause == ledger.Withdrawn:
		id, err = phrase.ActionWithdrawn, context.Canceled
	}
	return s.p.phraseAbout(id, action), err
}

// phraseAbout is one of the package's own phrases about what the user was asked, in its shortest words.
func (p *Producer) phraseAbout(id phrase.ID, asked aaep.Text) speech {
	translations := asked.Translations()
	return p.phraseSpeech(id, func(tag string) (string, bool) {
		if tag == p.cfg.Language || tag == "" {
			return textAt(asked, "", aaep.VerbosityTerse)
		}
		best, ok := handshake.MatchLanguage([]string{tag}, slices.Sorted(maps.Keys(translations)))
		return translations[best].At(aaep.VerbosityTerse), ok
	})
}

// maxModified is how often an action may be changed before it counts as rejected.
const maxModified = 10

// applyChanges is a tool after its user changed it. It is never less dangerous than before.
func (s *shield) applyChanges(t Tool, changes json.RawMessage) (m Tool, err error) {
	err = s.call("Tool.Modified", func() (err error) { // of what a subscriber sent
		m, err = t.Modified(changes)
		return err
	})
	if err != nil {
		return t, err
	}
	m.Name, m.Title, m.Irreversible, m.Confirm = t.Name, t.Title, m.Irreversible || t.Irreversible, true
	if risks := []aaep.Risk{aaep.RiskLow, aaep.RiskMedium, aaep.RiskHigh}; slices.Index(risks, m.Risk) < slices.Index(risks, t.Risk) {
		m.Risk = t.Risk
	}
	return m, nil
}
