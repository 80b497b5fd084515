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
	// the log kept longer than this after the time to answer had ended is too late.
	lateReply = 10 * time.Second
)

// Claims settles questions for all processes of an agent. What settles a question is the first
// claim that the log of all processes keeps. All fields are needed, and never change. Any goroutine
// may use it.
type Claims struct {
	Shared log.Shared // keeps the claims
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

// Settle settles a question for all processes of the agent with the outcome that this process has,
// and returns the outcome that counts: this one, or that of the claim which another process had
// kept first. It is the Broker's Claim, which calls it on a goroutine of its own for each outcome,
// holding no lock; it waits for the shared log. w.Lost says why a reply did not settle the
// question.
//
// The agent always gets an outcome, a rejection if its claim could not be kept. A replica claims
// only the replies of its own subscribers: for any other outcome it returns nil, and the question
// goes on elsewhere. It also returns nil for a reply whose claim could not be kept, and opens the
// question here again.
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
	first, won, err := c.claim(limit, out, w.By)
	if err != nil {
		w.Lost = err
		return c.failClaim(out, w.By, err)
	}
	c.Board.Forget(out.Question.Token)
	if won {
		return out
	}
	w.Lost = errors.New("the question was settled before, at another process")
	return c.adopt(out, w, first)
}

// claim has the shared log keep a claim of this outcome, and waits for that at most as long as
// limit. sender is the subscription that replied, or nil. It returns the claim that was kept first,
// and whether it is this one. Without an error the question is settled for all processes.
func (c *Claims) claim(limit time.Duration, out *ledger.Outcome, sender *audit.Subscription) (
	first log.Claim, mine bool, err error) {
	ctx, cancel := context.WithTimeout(c.Context, limit)
	defer cancel()
	data, err := replica.EncodeClaim(c.Shared.Node(), out, sender)
	if err != nil {
		return first, false, err
	}
	return c.Shared.Claim(ctx, string(out.Question.Token), data)
}

// failClaim returns what comes of an outcome whose claim could not be kept, for the reason err: nil
// at a replica, which opens the question again, and a rejection at the agent. sender is the
// subscription that replied; it is not nil at a replica. Settle calls it, holding no lock.
func (c *Claims) failClaim(out *ledger.Outcome, sender *audit.Subscription, err error) *ledger.Outcome {
	if out.Cause == ledger.Replied {
		c.lost.Add(1)
	}
	if c.Board.isReplica() {
		c.Board.Logger.Error("a reply could not be handed to the agent, and does not count",
			"session_id", out.Question.SessionID, "question_id", audit.QuestionID(out.Question.Token),
			"principal", sender.Principal, "error", err)
		c.Board.reopenFollowed(out.Question)
		return nil
	}
	c.Board.Logger.Error("a question could not be settled", "session_id", out.Question.SessionID, "error", err)
	out.Decision, out.Response, out.Unrecorded = aaep.Reject, nil, true
	return out
}

// adopt returns the outcome that the claim of another process, first, makes of the question; second
// is the outcome of this process, whose claim came too late. A claim that cannot be read is a
// rejection, and a reply that was kept too late counts as none. At the agent a reply from another
// process is recorded before the outcome counts, which is a rejection if that fails. w.By becomes
// the subscription that replied. Settle calls it, holding no lock.
func (c *Claims) adopt(second *ledger.Outcome, w *Waiter, first log.Claim) *ledger.Outcome {
	out, claimant, err := replica.DecodeClaim(second.Question, first)
	switch {
	case err != nil:
		c.Board.Logger.Error("a question was settled by what cannot be read",
			"session_id", second.Question.SessionID, "error", err)
	case out.Cause == ledger.Replied && first.At.After(second.Until.Add(lateReply)):
		c.Board.Logger.Warn(
			"a reply was kept after the time to answer, or the clocks of this machine and of the log differ",
			"session_id", second.Question.SessionID, "node", claimant.Node, "late", first.At.Sub(second.Until))
		out = ledger.Silence(second.Question)
	}
	if out.Cause == ledger.Replied && !c.Board.isReplica() && !out.Unrecorded {
		out.Unrecorded = c.Board.Broker.Log.RecordReply(*claimant, out.Reply, nil) != nil
	}
	w.By, out.At, out.Until = claimant, second.At, second.Until
	return out
}
