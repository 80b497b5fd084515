package producer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/questions"
	"github.com/aaep-go/aaep/internal/shield"
)

// confirmation is what came of the question about a call of a tool.
type confirmation struct {
	pos     uint64          // of the tool.invoked that followed an acceptance; else zero
	changes json.RawMessage // with which the user accepted what Tool.Modified can change; else nil
	// asked is the question with its record; nil if it could not be put.
	asked *questions.Pending
}

// askConfirmation asks the user about a call of the tool t. Without an error either the action was
// accepted as it was asked about, and tool.invoked is announced, or the answer holds changes, and
// the action may be asked about anew. Otherwise the error says why it must not be done. Confirm
// calls it on the agent's goroutine, holding no lock.
func (s *Session) askConfirmation(ctx context.Context, t Tool, call toolCall) (got confirmation, err error) {
	if err := t.completeQuestion(s.p); err != nil {
		return got, err
	}
	question, err := t.newConfirmation(call)
	if err != nil {
		return got, err
	}
	words := s.p.authoredSpeech(t.Action)
	words.data = call.data
	// A language that lacks the consequence is left out, for a user must understand all that is
	// agreed to.
	s.warnOfLeftOut("tool", t.Name, words.setPayloads(func(tag string) (aaep.Payload, bool) {
		translated, hasConsequence := *question, false
		translated.Action, _ = textIn(t.Action, tag)
		translated.Consequence, hasConsequence = textIn(t.Consequence, tag)
		return &translated, hasConsequence
	}))
	out, asked, err := s.askQuestion(ctx, words,
		&ledger.Question{Token: question.ReplyToken, SessionID: s.id, Confirmation: question},
		func(out *ledger.Outcome) (speech, error) {
			if c := changesIn(out); c != nil && t.Modified != nil {
				got.changes = c
				return s.p.speechOrPhrase(aaep.Text{}, phrase.ActionChanged, ""), nil
			}
			return s.explainOutcome(out, t)
		},
		func() (err error) {
			got.pos, err = s.emitCall(t, call)
			return err
		})
	got.asked = asked
	if err == nil && got.changes == nil && out.Decision != aaep.Accept {
		err = ErrRejected
	}
	return got, err
}

// newConfirmation returns the question about a call of the tool, with a token of its own and in the
// first language of the texts. completeQuestion has filled in the tool's fields. The error is an
// *aaep.InvalidError that says what is wrong with Tool.ExtraContext.
func (t *Tool) newConfirmation(call toolCall) (*aaep.AwaitingConfirmation, error) {
	extraContext, err := questionContext(t.ExtraContext, call, t.AsksElsewhere)
	if err != nil {
		return nil, err
	}
	question := &aaep.AwaitingConfirmation{
		ReplyToken:      aaep.ReplyToken(newID("rpl_")),
		TimeoutSeconds:  questions.WholeSeconds(t.Timeout),
		DefaultDecision: t.Default,
		RiskLevel:       t.Risk,
		Irreversible:    &t.Irreversible,
		Reversibility:   aaep.Reversible,
		ExtraContext:    extraContext,
	}
	if t.Irreversible {
		question.Reversibility = aaep.Irreversible
	}
	question.Action, _ = textIn(t.Action, "")
	question.Consequence, _ = textIn(t.Consequence, "")
	return question, nil
}

// completeQuestion sets Default to reject and Timeout to the usual one, where a tool leaves them
// empty. The error says which field is wrong: a default of accept for a high-impact action, a
// Consequence that cannot be sent, or a Timeout out of bounds. askConfirmation calls it first.
func (t *Tool) completeQuestion(p *Producer) error {
	t.Default = cmp.Or(t.Default, aaep.Reject)
	if t.Default == aaep.Accept && t.isHighImpact() {
		return nameFields(&aaep.AwaitingConfirmation{}, invalidMember(aaep.TypeAwaitingConfirmation,
			"CONF-031", "/default_decision",
			"silence must not accept what is irreversible or of high risk; leave Default empty"))
	}
	if err := checkSecondText("Tool.Consequence", t.Consequence); err != nil {
		return err
	}
	t.Timeout = cmp.Or(t.Timeout, t.defaultTimeout())
	if err := p.checkTimeout(aaep.TypeAwaitingConfirmation, t.Timeout); err != nil {
		return fmt.Errorf("producer: Tool.Timeout: %w", err)
	}
	return nil
}

// questionContext returns the extra_context of a confirmation: the call that it is for (D-22),
// whether the agent asks elsewhere where it gets no answer, and the members of extra, the author's
// Tool.ExtraContext, or nil. The error is an *aaep.InvalidError that says what is wrong with extra.
func questionContext(extra json.RawMessage, call toolCall, elsewhere bool) (json.RawMessage, error) {
	refuse := func(member, problem string) error {
		return nameFields(&aaep.AwaitingConfirmation{}, invalidMember(aaep.TypeAwaitingConfirmation,
			"EVT-075", "/extra_context"+member, problem))
	}
	members := map[string]any{}
	if extra != nil {
		var added map[string]jsontext.Value
		if err := jsonv2.Unmarshal(extra, &added); err != nil || added == nil {
			return nil, refuse("", "must be a JSON object that can be read in one way only")
		}
		for name, value := range added {
			for _, ours := range []string{"tool", "tool_call_id", "unanswered"} {
				if strings.EqualFold(name, ours) {
					return nil, refuse("/"+name,
						"says which call is asked about, or what no answer means, which is not for the agent to change; "+
							"name it otherwise")
				}
			}
			members[name] = value
		}
	}
	members["tool"], members["tool_call_id"] = call.Tool, call.ToolCallID
	if elsewhere {
		members["unanswered"] = closes.Elsewhere
	}
	return jsonv2.Marshal(members, jsonv2.Deterministic(true))
}

// changesIn returns what the user changed when accepting, or nil. The ledger counts such an answer
// as a rejection of what was asked.
func changesIn(out *ledger.Outcome) json.RawMessage {
	if r, ok := out.Reply.(*aaep.ConfirmationReply); ok && r.Decision == aaep.Accept {
		return r.ModifiedAction
	}
	return nil
}

// explainOutcome maps the outcome of a confirmation to the words that announce it, and to the error
// that the agent gets. An acceptance has no words and no error: the action follows, and is
// announced. It takes no lock, as askQuestion demands.
func (s *Session) explainOutcome(out *ledger.Outcome, t Tool) (speech, error) {
	id, err := phrase.ActionRejected, ErrRejected
	switch {
	case out.Decision == aaep.Accept:
		return speech{}, nil
	case out.Unrecorded && out.Cause == ledger.Replied:
		id, err = phrase.ActionNotRecorded, ErrNotRecorded
	case out.Cause == ledger.TimedOut:
		id, err = phrase.ActionTimedOut, ErrTimedOut
	case out.Cause == ledger.Unreachable:
		id, err = phrase.ActionUnreachable, ErrUnreachable
	case out.Cause == ledger.Withdrawn:
		id, err = phrase.ActionWithdrawn, context.Canceled
	}
	if t.AsksElsewhere {
		switch id {
		case phrase.ActionTimedOut, phrase.ActionUnreachable, phrase.ActionNotRecorded:
			id = phrase.ActionElsewhere
		case phrase.ActionWithdrawn:
			id = phrase.ActionNotAskedHere
		}
	}
	return s.p.phraseAbout(id, t.Action), err
}

// phraseAbout returns one of the package's own phrases with asked, what the user was asked about,
// put into it in its tersest form, in every language offered that has the phrase. It is for the
// announcement of how a question ended. A translation of asked in a related language, such as en
// for en-GB, counts.
func (p *Producer) phraseAbout(id phrase.ID, asked aaep.Text) speech {
	translations := asked.Translations()
	return p.phraseSpeech(id, func(tag string) (string, bool) {
		if tag == p.cfg.Language || tag == "" {
			return textAt(asked, "", aaep.VerbosityTerse)
		}
		best, ok := negotiation.MatchLanguage([]string{tag}, slices.Sorted(maps.Keys(translations)))
		return translations[best].At(aaep.VerbosityTerse), ok
	})
}

// maxModified is how often an action may be changed before it counts as rejected.
const maxModified = 10

// applyChanges returns the tool with the changes that its user made, from Tool.Modified. The result
// keeps the name and the title, must ask, and is never less dangerous than t. A panic of
// Tool.Modified is an error, for what it was given comes from a subscriber. Confirm calls it,
// holding no lock.
func applyChanges(s *shield.Shield, t Tool, changes json.RawMessage) (modified Tool, err error) {
	err = s.Call("Tool.Modified", func() (err error) {
		modified, err = t.Modified(changes)
		return err
	})
	if err != nil {
		return t, err
	}
	modified.Name, modified.Title, modified.Confirm = t.Name, t.Title, true
	modified.Irreversible = modified.Irreversible || t.Irreversible
	risks := []aaep.Risk{aaep.RiskLow, aaep.RiskMedium, aaep.RiskHigh}
	if slices.Index(risks, modified.Risk) < slices.Index(risks, t.Risk) {
		modified.Risk = t.Risk
	}
	return modified, nil
}
