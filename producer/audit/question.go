package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
)

// AsksElsewhere is the Default of a question that the agent puts to its user in its own window if
// it gets no answer.
const AsksElsewhere = closes.Elsewhere

// QuestionID names a question in a trail: "q_" and 32 hex digits of the SHA-256 of its reply token,
// from which the token cannot be found.
func QuestionID(token aaep.ReplyToken) string {
	sum := sha256.Sum256([]byte(token))
	return "q_" + hex.EncodeToString(sum[:16])
}

// Question returns the Asked record of a question as it will be sent, with its translations, and
// without recipients. The event must hold a confirmation or a clarification, and its timestamp is
// the time of the record. It need not have its event id yet.
func Question(ev *aaep.Event) Record {
	r := Record{Kind: Asked, Time: ev.Timestamp, AgentID: ev.Producer.AgentID, SessionID: ev.SessionID}
	r.Shown = []Words{wordsOf(ev)}
	for _, t := range ev.Translations {
		r.Shown = append(r.Shown, wordsOf(ev.In(t)))
	}
	if words, err := marshalSafe(r.Shown); err == nil { // else the record is refused for the same reason
		sum := sha256.Sum256(words)
		r.ShownDigest = hex.EncodeToString(sum[:])
	}
	timeout := int64(0)
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		r.QuestionID, timeout = QuestionID(p.ReplyToken), p.TimeoutSeconds
		r.Risk, r.Irreversible, r.Default = p.RiskLevel, p.IsIrreversible(), string(p.DefaultDecision)
		r.Tool, r.ToolCallID, _ = closes.Subject(p)
		if closes.AsksElsewhere(p) {
			r.Default = AsksElsewhere
		}
	case *aaep.AwaitingClarification:
		r.QuestionID, timeout, r.Default = QuestionID(p.ReplyToken), p.TimeoutSeconds, p.DefaultResponse
	}
	r.Deadline = ev.Timestamp.Add(time.Duration(timeout) * time.Second)
	return r
}

// wordsOf returns the words of the question that ev asks, in its first language; of another event,
// its summary.
func wordsOf(ev *aaep.Event) Words {
	w := Words{Language: ev.Language(), Terse: ev.Summary.Terse, Normal: ev.Summary.Normal,
		Detailed: ev.Summary.Detailed}
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		w.Action, w.Consequence = p.Action, p.Consequence
	case *aaep.AwaitingClarification:
		w.Question, w.Context, w.Choices = p.Question, p.Context, p.Choices
	}
	return w
}

// Reply returns the Replied record of a reply, an *aaep.ConfirmationReply or an
// *aaep.ClarificationReply, with what it claims. Whom it came from, and whether it counted, the
// caller adds. The id is that of the question it names, if there is such a question.
func Reply(m aaep.Message) Record {
	r := Record{Kind: Replied, Claims: &Claims{}}
	switch m := m.(type) {
	case *aaep.ConfirmationReply:
		r.QuestionID = QuestionID(m.ReplyToken)
		*r.Claims = Claims{Decision: m.Decision, DecidedBy: m.DecidedBy, Rationale: m.DecisionRationale,
			Time: m.Timestamp, Modified: m.ModifiedAction != nil}
	case *aaep.ClarificationReply:
		r.QuestionID = QuestionID(m.ReplyToken)
		*r.Claims = Claims{Response: m.Response, DecidedBy: m.DecidedBy, Time: m.Timestamp}
	}
	return r
}
