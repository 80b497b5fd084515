package questions

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/replica"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
)

const (
	// ClaimTime is how long the agent tries to keep a claim of its own; a question that it cannot
	// settle by then is rejected. It is also after how long a replica announces that a reply waits.
	ClaimTime = 30 * time.Second
	// replyTime is how long a replica tries to claim a question for a reply that it received: no
	// other process has that reply.
	replyTime = 5 * time.Minute
	// lateReply is by how much the clocks of this machine and of the log may differ. A reply that
	// was kept longer than this after the time to answer had ended is too late.
	lateReply = 10 * time.Second
)

// Claims settles questions for all processes of an agent. What settles a question is the first
// claim that the log of all processes keeps. Any goroutine may use it.
type Claims struct {
	Shared log.Shared
	// Context ends when nothing is left to be settled with the other processes.
	Context context.Context
	Board   *Board

	lost atomic.Int64 // replies whose claims could not be kept
}

// Lost returns how many replies could not be kept, and so do not count. A nil Claims has none.
func (c *Claims) Lost() int {
	if c == nil {
		return 0
	}
	return int(c.lost.Load())
}

// Settle settles a question for all processes of the agent, and returns what settled it. It is the
// Broker's Claim, which calls it on a goroutine of its own for each outcome, holding no lock; it
// waits for the shared log. The agent always gets an outcome, a rejection if its claim could not be
// kept. A replica claims only the replies of its own subscribers: for any other outcome it returns
// nil, and the question goes on elsewhere; for a reply that could not be handed over too, and here
// the question is open again. w.Lost says why a reply did not settle the question.
func (c *Claims) Settle(out *ledger.Outcome, w *Waiter) *ledger.Outcome {
	limit := ClaimTime
	if c.Board.isReplica() {
		if out.Cause != ledger.Replied {
			return nil
		}
		limit = replyTime
		announce := func() { c.Board.Agent.AnnounceStuckReply(out.Question.SessionID) }
		defer time.AfterFunc(ClaimTime, announce).Stop()
	}
	ctx, cancel := context.WithTimeout(c.Context, limit)
	defer cancel()
	data, err := replica.EncodeClaim(c.Shared.Node(), out, w.By)
	var first log.Claim
	mine := false
	if err == nil {
		first, mine, err = c.Shared.Claim(ctx, string(out.Question.Token), data)
	}
	if err != nil {
		w.Lost = err
		if out.Cause == ledger.Replied {
			c.lost.Add(1)
		}
		if c.Board.isReplica() {
			c.Board.Logger.Error("a reply could not be handed to the agent, and does not count",
				"session_id", out.Question.SessionID, "question_id", audit.QuestionID(out.Question.Token),
				"principal", w.By.Principal, "error", err)
			c.Board.reopenFollowed(out.Question)
			return nil
		}
		c.Board.Logger.Error("a question could not be settled", "session_id", out.Question.SessionID, "error", err)
		out.Decision, out.Response, out.Unrecorded = aaep.Reject, nil, true
		return out
	}
	c.Board.Forget(out.Question.Token)
	if mine {
		return out
	}
	w.Lost = errors.New("the question was settled before, at another process")
	return c.adopt(out, w, first)
}

// adopt returns the outcome that the claim of another process makes of the question; mine is the
// outcome of this process, whose claim came second. A claim that cannot be read is a rejection, and
// a reply that was kept too late counts as none. At the agent a reply from elsewhere is recorded
// first, and is a rejection if it cannot be. w.By becomes the one that replied. Settle calls it,
// holding no lock.
func (c *Claims) adopt(mine *ledger.Outcome, w *Waiter, first log.Claim) *ledger.Outcome {
	out, by, err := replica.DecodeClaim(mine.Question, first)
	switch {
	case err != nil:
		c.Board.Logger.Error("a question was settled by what cannot be read",
			"session_id", mine.Question.SessionID, "error", err)
	case out.Cause == ledger.Replied && first.At.After(mine.Until.Add(lateReply)):
		c.Board.Logger.Warn(
			"a reply was kept after the time to answer, or the clocks of this machine and of the log differ",
			"session_id", mine.Question.SessionID, "node", by.Node, "late", first.At.Sub(mine.Until))
		out = ledger.Silence(mine.Question)
	}
	if out.Cause == ledger.Replied && !c.Board.isReplica() && !out.Unrecorded {
		out.Unrecorded = c.Board.Broker.Log.RecordReply(*by, out.Reply, nil) != nil
	}
	w.By, out.At, out.Until = by, mine.At, mine.Until
	return out
}
