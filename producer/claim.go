package producer

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/questions"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
)

// A claim is how a process says that it settles a question, where the agent is more than one. The first that is kept does; all
// others, the agent's own timeout among them, learn from it what the outcome is.
type claim struct {
	Node       string              `json:"node"`
	Cause      ledger.Cause        `json:"cause"`
	By         *audit.Subscription `json:"by,omitzero"`
	Reply      json.RawMessage     `json:"reply,omitzero"` // as it came
	Unrecorded bool                `json:"unrecorded,omitzero"`
}

const (
	claimTime = 30 * time.Second // for the agent's own claims: what cannot be settled by then is rejected; and for a reply, before it is told to wait
	replyTime = 5 * time.Minute  // for a reply that came to another process: only that can answer the question
	// lateReply is by how much clocks may differ: a reply that was kept so long after the time to answer is late.
	lateReply = 10 * time.Second
)

// claimOutcome settles a question for all processes. The agent gets an outcome in any case; one that follows gets only its own
// listeners' replies settled.
func (p *Producer) claimOutcome(out *ledger.Outcome, w *questions.Waiter) *ledger.Outcome {
	limit := claimTime
	if p.cfg.Follow != nil {
		if out.Cause != ledger.Replied {
			return nil
		}
		limit = replyTime
		defer time.AfterFunc(claimTime, func() { p.announceStuckReply(out.Question.SessionID) }).Stop()
	}
	ctx, cancel := context.WithTimeout(p.claims, limit)
	defer cancel()
	c := claim{Node: p.shared.Node(), Cause: out.Cause, By: w.By, Unrecorded: out.Unrecorded}
	data, err := []byte(nil), error(nil)
	if out.Reply != nil {
		c.Reply, err = aaep.Encode(out.Reply)
	}
	if err == nil {
		data, err = json.Marshal(c)
	}
	var first log.Claim
	mine := false
	if err == nil {
		first, mine, err = p.shared.Claim(ctx, string(out.Question.Token), data)
	}
	if err != nil {
		w.Lost = err
		if out.Cause == ledger.Replied {
			p.follower.lost.Add(1)
		}
		if p.cfg.Follow != nil {
			p.cfg.Logger.Error("a reply could not be handed to the agent, and does not count", "session_id", out.Question.SessionID,
				"question_id", audit.QuestionID(out.Question.Token), "principal", w.By.Principal, "error", err)
			return nil
		}
		p.cfg.Logger.Error("a question could not be settled", "session_id", out.Question.SessionID, "error", err)
		out.Decision, out.Response, out.Unrecorded = aaep.Reject, nil, true
		return out
	}
	p.removeQuestion(out.Question.Token)
	if mine {
		return out
	}
	w.Lost = errors.New("the question was settled before, at another process")
	return p.adoptClaim(out, w, first)
}

// announceStuckReply says where a question was put that an answer to it, which came here, waits to be kept: that of somebody who believes
// that they have answered.
func (p *Producer) announceStuckReply(session string) {
	p.cfg.Logger.Warn("a reply waits, for it cannot be handed to the agent", "session_id", session)
	p.mu.Lock()
	of := slices.DeleteFunc(slices.Clone(p.sessions), func(s *Session) bool { return s.id != session })
	p.mu.Unlock()
	p.announceOutsideLog(phrase.AnswerStuck, of)
}

// adoptClaim returns the outcome that somebody else's claim makes.
func (p *Producer) adoptClaim(mine *ledger.Outcome, w *questions.Waiter, first log.Claim) *ledger.Outcome {
	out, by, err := decodeClaim(mine.Question, first)
	switch {
	case err != nil:
		p.cfg.Logger.Error("a question was settled by what cannot be read", "session_id", mine.Question.SessionID, "error", err)
	case out.Cause == ledger.Replied && first.At.After(mine.Until.Add(lateReply)):
		p.cfg.Logger.Warn("a reply was kept after the time to answer, or the clocks of this machine and of the log differ",
			"session_id", mine.Question.SessionID, "node", by.Node, "late", first.At.Sub(mine.Until))
		out = ledger.Silence(mine.Question)
	}
	if out.Cause == ledger.Replied && p.cfg.Follow == nil && !out.Unrecorded {
		out.Unrecorded = p.broker.Log.RecordReply(*by, out.Reply, nil) != nil
	}
	w.By, out.At, out.Until = by, mine.At, mine.Until
	return out
}

// decodeClaim reads a claim. Where there is an error the outcome is a rejection.
func decodeClaim(q *ledger.Question, first log.Claim) (*ledger.Outcome, *audit.Subscription, error) {
	rejection := &ledger.Outcome{Question: q, Cause: ledger.Withdrawn, Decision: aaep.Reject}
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
		err = errors.New("nobody replied")
	}
	if err != nil {
		return rejection, nil, err
	}
	out, err := ledger.Answer(q, c.By.SubscriptionID, c.By.Principal, m)
	if err != nil {
		return rejection, nil, err
	}
	if c.By.Node = c.Node; c.Unrecorded {
		out.Decision, out.Response, out.Unrecorded = aaep.Reject, nil, true
	}
	return out, c.By, nil
}
