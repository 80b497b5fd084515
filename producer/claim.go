package producer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/questions"
	"github.com/aaep-go/aaep/internal/replica"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
)

const (
	// claimTime is how long the agent tries to keep a claim of its own; a question that it cannot
	// settle by then is rejected. It is also after how long a replica announces that a reply waits.
	claimTime = 30 * time.Second
	// replyTime is how long a replica tries to claim a question for a reply that it received: no
	// other process has that reply.
	replyTime = 5 * time.Minute
	// lateReply is by how much the clocks of this machine and of the log may differ. A reply that
	// was kept longer than this after the time to answer had ended is too late.
	lateReply = 10 * time.Second
)

// claimOutcome settles a question for all processes of the agent, and returns what settled it. It
// is the broker's Claim, which calls it on a goroutine of its own for each outcome, holding no
// lock; it waits for the shared log. The agent always gets an outcome, a rejection if its claim
// could not be kept. A replica claims only the replies of its own subscribers: for any other
// outcome it returns nil, and the question goes on elsewhere; for a reply that could not be handed
// over too, and here the question is open again. w.Lost says why a reply did not settle the
// question.
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
	data, err := replica.EncodeClaim(p.shared.Node(), out, w.By)
	var first log.Claim
	mine := false
	if err == nil {
		first, mine, err = p.shared.Claim(ctx, string(out.Question.Token), data)
	}
	if err != nil {
		w.Lost = err
		if out.Cause == ledger.Replied {
			p.lostReplies.Add(1)
		}
		if p.cfg.Follow != nil {
			p.cfg.Logger.Error("a reply could not be handed to the agent, and does not count",
				"session_id", out.Question.SessionID, "question_id", audit.QuestionID(out.Question.Token),
				"principal", w.By.Principal, "error", err)
			p.reopenFollowedQuestion(out.Question)
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

// announceStuckReply announces, in the session of a question, that a reply received here waits to
// be kept: the user who gave it believes that it counts. A replica calls it on the goroutine of a
// timer that claimOutcome sets; it takes Producer.mu and then the Session's.
func (p *Producer) announceStuckReply(session string) {
	p.cfg.Logger.Warn("a reply waits, for it cannot be handed to the agent", "session_id", session)
	p.mu.Lock()
	of := slices.DeleteFunc(slices.Clone(p.sessions), func(s *Session) bool { return s.id != session })
	p.mu.Unlock()
	p.announceOutsideLog(phrase.AnswerStuck, of)
}

// adoptClaim returns the outcome that the claim of another process makes of the question; mine is
// the outcome of this process, whose claim came second. A claim that cannot be read is a rejection,
// and a reply that was kept too late counts as none. At the agent a reply from elsewhere is
// recorded first, and is a rejection if it cannot be. w.By becomes the one that replied.
// claimOutcome calls it, holding no lock.
func (p *Producer) adoptClaim(mine *ledger.Outcome, w *questions.Waiter, first log.Claim) *ledger.Outcome {
	out, by, err := replica.DecodeClaim(mine.Question, first)
	switch {
	case err != nil:
		p.cfg.Logger.Error("a question was settled by what cannot be read",
			"session_id", mine.Question.SessionID, "error", err)
	case out.Cause == ledger.Replied && first.At.After(mine.Until.Add(lateReply)):
		p.cfg.Logger.Warn(
			"a reply was kept after the time to answer, or the clocks of this machine and of the log differ",
			"session_id", mine.Question.SessionID, "node", by.Node, "late", first.At.Sub(mine.Until))
		out = ledger.Silence(mine.Question)
	}
	if out.Cause == ledger.Replied && p.cfg.Follow == nil && !out.Unrecorded {
		out.Unrecorded = p.broker.Log.RecordReply(*by, out.Reply, nil) != nil
	}
	w.By, out.At, out.Until = by, mine.At, mine.Until
	return out
}
