package questions

import (
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/producer/audit"
)

// An AuditLog writes the audit records of questions and of the actions that they are about. Package
// audit says which record must be kept before what. All methods may be called at once; each returns
// when its record is kept, or cannot be.
type AuditLog struct {
	sink   audit.Sink
	logger *slog.Logger
	failed atomic.Int64 // records that could not be kept

	// OfReplica says that the agent is another process. Whether the action is done is up to that
	// process and its records: an outcome that cannot be recorded here stays what it is.
	OfReplica bool
}

// NewAuditLog returns an AuditLog that writes to sink, and to logger what sink did not take.
func NewAuditLog(sink audit.Sink, logger *slog.Logger) *AuditLog {
	return &AuditLog{sink: sink, logger: logger}
}

// Failed returns how many records could not be kept.
func (l *AuditLog) Failed() int { return int(l.failed.Load()) }

// Record writes one record, and returns when it is kept. The error says that it could not be; it is
// logged and counted here.
func (l *AuditLog) Record(r audit.Record) error {
	err := l.sink.Record(r)
	if err != nil {
		l.failed.Add(1)
		l.logger.Error("not recorded",
			"kind", r.Kind, "session_id", r.SessionID, "question_id", r.QuestionID, "error", err)
	}
	return err
}

// RecordOutcome records how a question ended, and whose reply that was; asked is the record of the
// question, and sender the subscription whose reply settled it, or nil. An outcome that cannot be
// recorded, or whose reply could not, becomes a rejection in place; at a replica only the latter
// does, which the claim has told the agent. The Broker calls it before it hands the outcome out.
func (l *AuditLog) RecordOutcome(out *ledger.Outcome, asked audit.Record, sender *audit.Subscription) {
	r := audit.Record{Kind: audit.Settled, Time: out.At, SessionID: out.Question.SessionID,
		QuestionID: audit.QuestionID(out.Question.Token),
		Tool:       asked.Tool, ToolCallID: asked.ToolCallID, ShownDigest: asked.ShownDigest,
		Cause: string(out.Cause), Decision: out.Decision, Response: out.Response,
		By: identifyReplier(out, asked.Recipients, sender)}
	if len(asked.Recipients) == 0 { // no record of the kind Asked says whose it is
		r.AgentID = asked.AgentID
	}
	if out.Unrecorded || l.Record(r) != nil && !l.OfReplica {
		if out.Decision == aaep.Accept {
			l.logger.Error("accepted, and not done: it cannot be put on record",
				"session_id", r.SessionID, "question_id", r.QuestionID)
		}
		out.Decision, out.Response, out.Unrecorded = aaep.Reject, nil, true
	}
}

// identifyReplier returns the subscription whose reply settled a question, or nil if none did: the
// newest of recipients with its id, which has the language that it was asked in, or else sender. A
// subscription that was asked after the first record, and is not sender, is known by what is in
// out.
func identifyReplier(
	out *ledger.Outcome, recipients []audit.Subscription, sender *audit.Subscription) *audit.Subscription {
	if out.By == "" {
		return nil
	}
	for _, recipient := range slices.Backward(recipients) {
		if recipient.SubscriptionID == out.By {
			return &recipient
		}
	}
	if sender != nil && sender.SubscriptionID == out.By {
		return sender
	}
	return &audit.Subscription{SubscriptionID: out.By, Principal: out.Principal}
}

// RecordReply records a reply m that came on the subscription sender; refused is why it does not
// count, or nil. The error says that the record could not be kept.
func (l *AuditLog) RecordReply(sender audit.Subscription, m aaep.Message, refused error) error {
	r := audit.Reply(m)
	r.By, r.Counted = &sender, refused == nil
	if refused != nil {
		r.Refused = refused.Error()
	}
	return l.Record(r)
}

// RecordNotDone records that an action was accepted, has not begun, and will not. asked is the
// record of its question.
func (l *AuditLog) RecordNotDone(asked audit.Record) {
	l.Record(audit.Record{Kind: audit.NotDone, SessionID: asked.SessionID, QuestionID: asked.QuestionID,
		Tool: asked.Tool, ToolCallID: asked.ToolCallID, ShownDigest: asked.ShownDigest})
}

// Questions returns, by the id of the question, the newest record of each question that earlier
// processes of this agent have put. It is empty where the sink cannot read its records back.
func (l *AuditLog) Questions(agentID string) map[string]audit.Record {
	all := map[string]audit.Record{}
	if sink, ok := l.sink.(audit.Recovering); ok {
		for _, r := range sink.Questions() {
			if r.AgentID == agentID || r.AgentID == "" {
				all[r.QuestionID] = r
			}
		}
	}
	return all
}

// RecordLeft records the end of a question that the process before this one left behind; newest is
// the newest record of it. It returns the record that is the newest then: a question without an
// outcome is withdrawn, and what was accepted and has not begun is not done. Anything else has
// ended.
func (l *AuditLog) RecordLeft(newest audit.Record) audit.Record {
	r := audit.Record{Time: time.Now(), SessionID: newest.SessionID, Tool: newest.Tool, ToolCallID: newest.ToolCallID,
		QuestionID: newest.QuestionID, ShownDigest: newest.ShownDigest}
	switch {
	case newest.Kind == audit.Asked:
		r.Kind, r.Cause = audit.Settled, string(ledger.Withdrawn)
		if newest.Risk != "" { // a confirmation
			r.Decision = aaep.Reject
		}
	case newest.Kind == audit.Settled && newest.Decision == aaep.Accept:
		r.Kind = audit.NotDone
	default:
		return newest
	}
	l.Record(r) // what cannot be kept is logged, and changes nothing: nothing was done
	return r
}
