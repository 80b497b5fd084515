// Package ledger settles questions: it decides which reply counts, when silence counts as the
// default, and that each question has one outcome, once (chapter 6). It is a pure machine: it knows
// no clock and no connection, and its owner passes now.
//
// A question is open, then settled once, then remembered for a day so that its token stays dead.
//
// Replies and times are judged in ledger.go, what silence means is in default.go, and which number
// a text is in number.go.
package ledger

import (
	"container/heap"
	"errors"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
)

// remember is how long a settled token is kept, so that it is never taken for a new one (§6.2.2).
const remember = 24 * time.Hour

// Question is one confirmation or clarification, as it was sent.
type Question struct {
	Token     aaep.ReplyToken
	SessionID string
	// Confirmation or Clarification is what was asked; the other is nil.
	Confirmation  *aaep.AwaitingConfirmation
	Clarification *aaep.AwaitingClarification
	// Stamp is the timestamp of the event, in wall time; replies are stamped against it.
	Stamp time.Time
	// Recipients are the ids of the subscriptions that were asked.
	Recipients []string
	// Expected are the ids of those that are about to be asked; see Ledger.Expect.
	Expected []string
}

// timeLimit returns the time to answer that the question was asked with.
func (q *Question) timeLimit() time.Duration {
	if q.Confirmation != nil {
		return time.Duration(q.Confirmation.TimeoutSeconds) * time.Second
	}
	return time.Duration(q.Clarification.TimeoutSeconds) * time.Second
}

// Cause says what settled a question.
type Cause string

const (
	// Replied: a subscriber answered.
	Replied Cause = "replied"
	// TimedOut: no answer came before the deadline, so the default applies.
	TimedOut Cause = "timed_out"
	// Unreachable: no subscription is left that could answer.
	Unreachable Cause = "unreachable"
	// Withdrawn: the producer took the question back, or the session or the producer ended.
	Withdrawn Cause = "withdrawn"
)

// Outcome is how a question ended. It is also the audit record of the settlement.
type Outcome struct {
	Question *Question
	Cause    Cause
	// Decision is the answer to a confirmation: Accept only if the action may run.
	Decision aaep.Decision
	// Response is the answer to a clarification: a string, a bool or a float64, or nil if there is
	// none.
	Response any
	// Reply is the reply that settled the question, or nil. What it claims about who decided and
	// when is the subscriber's word; By and Principal are what the connection says.
	Reply     aaep.Message
	By        string    // the id of the subscription that replied; "" if there is no reply
	Principal string    // who that is, by its transport
	At        time.Time // when the question was settled
	// Until is when the time to answer ended or would have, in the wall time of Question.Stamp.
	Until time.Time
	// Unrecorded is set by the owner of the audit log if the outcome could not be recorded; it is
	// then a rejection.
	Unrecorded bool
}

// A Ledger holds the questions of one producer. The zero Ledger is ready. It is not safe for
// concurrent use.
type Ledger struct {
	open    map[aaep.ReplyToken]*open
	settled map[aaep.ReplyToken]time.Time // when each question was settled; see remember
	// queue holds the tokens of settled, in the order in which they were settled: Expire forgets
	// them from the front.
	queue []aaep.ReplyToken
	due   deadlines // of the open questions, the next first
}

// open is a question that is not settled.
type open struct {
	q          *Question
	deadline   time.Time       // by the owner's clock; an answer counts only before it
	limit      time.Duration   // from when the question was opened to deadline
	extended   int             // how often Extend gave more time, at most maxExtensions
	recipients map[string]bool // by id; false: it is expected, and has not been asked
	index      int             // in due
}

const (
	// maxExtensions is how often a question can get as much time again (WCAG 2.2.1).
	maxExtensions = 10
	// maxTimeout is how long a question may be open at most (§6.4).
	maxTimeout = 24 * time.Hour
)

// Open adds a question, whose time to answer begins now. It must have a recipient and a token never
// used before; otherwise the error says what is wrong. The question must not be changed afterwards.
func (l *Ledger) Open(now time.Time, q *Question) error {
	if (q.Confirmation == nil) == (q.Clarification == nil) {
		return errors.New("ledger: a question is a confirmation or a clarification")
	}
	if _, used := l.settled[q.Token]; used || l.open[q.Token] != nil {
		return errors.New("ledger: the token was used before")
	}
	if len(q.Recipients) == 0 {
		return errors.New("ledger: a question without recipients settles at once")
	}
	if l.open == nil {
		l.open = map[aaep.ReplyToken]*open{}
		l.settled = map[aaep.ReplyToken]time.Time{}
	}
	o := &open{q: q, deadline: now.Add(q.timeLimit()), limit: q.timeLimit(), recipients: map[string]bool{}}
	for _, id := range q.Expected {
		o.recipients[id] = false
	}
	for _, id := range q.Recipients {
		o.recipients[id] = true
	}
	l.open[q.Token] = o
	heap.Push(&l.due, o)
	return nil
}

// Reopen opens a question again that a reply has settled here, where that reply turned out to have
// no effect. Its recipients are those of q, and its time to answer begins anew. The error says that
// the question was not settled, or is that of Open.
func (l *Ledger) Reopen(now time.Time, q *Question) error {
	if !l.settledBefore(q.Token) {
		return errors.New("ledger: the question has not been settled")
	}
	delete(l.settled, q.Token)
	l.queue = slices.DeleteFunc(l.queue, func(t aaep.ReplyToken) bool { return t == q.Token })
	return l.Open(now, q)
}

// Extend gives a question as much time again as it was asked with, for a recipient that wants more:
// maxExtensions times, and maxTimeout in all. It returns how much time is left then; ok says
// whether that is more than before.
func (l *Ledger) Extend(now time.Time, subscription string, token aaep.ReplyToken) (left time.Duration, ok bool) {
	o := l.open[token]
	if o == nil || !o.recipients[subscription] || !now.Before(o.deadline) {
		return 0, false
	}
	if more := min(o.q.timeLimit(), maxTimeout-o.limit); more > 0 && o.extended < maxExtensions {
		o.extended++
		o.limit += more
		o.deadline = o.deadline.Add(more)
		heap.Fix(&l.due, o.index)
		ok = true
	}
	return o.deadline.Sub(now), ok
}

// Expect keeps an open question open for a subscription that is about to be asked, while that is
// being recorded. Until Join makes it a recipient it can neither answer nor extend the question.
// Join, Dismiss and Gone end that.
func (l *Ledger) Expect(token aaep.ReplyToken, subscription string) {
	if o := l.open[token]; o != nil && !o.recipients[subscription] {
		o.recipients[subscription] = false
	}
}

// Dismiss ends what Expect began, for a subscription that is not asked after all. One that has been
// asked stays a recipient. If no other is left, the question is settled as Unanswerable, and the
// outcome is returned.
func (l *Ledger) Dismiss(now time.Time, token aaep.ReplyToken, subscription string) []*Outcome {
	if o := l.open[token]; o == nil || o.recipients[subscription] {
		return nil
	}
	return l.dropQuestions(now, subscription, func(q *Question) bool { return q.Token == token })
}

// Join adds a recipient to an open question: a subscription that began later (§6.7), or that Expect
// announced.
func (l *Ledger) Join(token aaep.ReplyToken, subscription string) {
	if o := l.open[token]; o != nil {
		o.recipients[subscription] = true
	}
}

// Reply applies a reply that arrived at now on a subscription. Only the first valid reply to a
// question settles it (§6.3.5). Any other has no effect, and the error says which check failed: it
// is for the audit record alone, never for the sender (§6.3.4).
func (l *Ledger) Reply(now time.Time, subscription, principal string, reply aaep.Message) (*Outcome, error) {
	var token aaep.ReplyToken
	var named string // the subscription_id in the reply
	var stamp time.Time
	switch r := reply.(type) {
	case *aaep.ConfirmationReply:
		token, named, stamp = r.ReplyToken, r.SubscriptionID, r.Timestamp
	case *aaep.ClarificationReply:
		token, named, stamp = r.ReplyToken, r.SubscriptionID, r.Timestamp
	default:
		return nil, errors.New("not a reply")
	}
	o := l.open[token]
	switch {
	case l.settledBefore(token):
		return nil, errors.New("the question was settled before")
	case o == nil:
		return nil, errors.New("no such question")
	case named != subscription:
		return nil, errors.New("names another subscription than the one it came on")
	case !o.recipients[subscription]:
		return nil, errors.New("comes from a subscription that was not asked")
	case !now.Before(o.deadline):
		return nil, errors.New("came after the deadline")
	case !stamp.Before(o.q.Stamp.Add(o.limit)):
		return nil, errors.New("is stamped after the deadline")
	}
	out, err := Answer(o.q, subscription, principal, reply)
	if err != nil {
		return nil, err
	}
	l.settleQuestion(now, o, out)
	return out, nil
}

// Answer returns the outcome of a question that this reply settles, here or at another process of
// the agent. The error says why the reply cannot settle it. It changes nothing.
func Answer(question *Question, subscription, principal string, reply aaep.Message) (*Outcome, error) {
	out := &Outcome{Question: question, Cause: Replied, Reply: reply, By: subscription, Principal: principal}
	switch r := reply.(type) {
	case *aaep.ConfirmationReply:
		q := question.Confirmation
		if q == nil {
			return nil, errors.New("answers a clarification with a decision")
		}
		if r.Decision != aaep.Accept && r.Decision != aaep.Reject ||
			q.AllowedReplies != nil && !slices.Contains(q.AllowedReplies, r.Decision) {
			return nil, errors.New("decision is not allowed")
		}
		out.Decision = r.Decision
		if r.ModifiedAction != nil {
			// We run what was shown or nothing (§6.3.2).
			out.Decision = aaep.Reject
		}
	case *aaep.ClarificationReply:
		q := question.Clarification
		if q == nil {
			return nil, errors.New("answers a confirmation with a response")
		}
		if !isAnswerTo(q, r.Response) {
			return nil, errors.New("response is of no accepted kind")
		}
		out.Response = r.Response
	default:
		return nil, errors.New("not a reply")
	}
	return out, nil
}

// isAnswerTo reports whether a response is of a kind that the question accepts: a bool for yes or
// no, a float64 for a number, any text, or the value of one of its choices (§6.5.5).
func isAnswerTo(q *aaep.AwaitingClarification, response any) bool {
	accepts := func(k aaep.ResponseKind) bool {
		if len(q.AcceptedResponseKinds) == 0 {
			return k == aaep.ResponseFreetext // D-24
		}
		return slices.Contains(q.AcceptedResponseKinds, k)
	}
	switch r := response.(type) {
	case bool:
		return accepts(aaep.ResponseYesNo)
	case float64:
		return accepts(aaep.ResponseNumeric)
	case string:
		return r != "" && (accepts(aaep.ResponseFreetext) || accepts(aaep.ResponseMultipleChoice) && isChoice(q, r))
	}
	return false
}

// isChoice reports whether s is the value of one of the question's choices.
func isChoice(q *aaep.AwaitingClarification, s string) bool {
	return slices.ContainsFunc(q.Choices, func(c aaep.Choice) bool { return c.Value == s })
}

// Expire settles with its default every question whose deadline has come (§6.4), and returns the
// outcomes in the order of the deadlines. It also forgets the tokens that were settled longer than
// remember ago.
func (l *Ledger) Expire(now time.Time) []*Outcome {
	for len(l.queue) > 0 && now.Sub(l.settled[l.queue[0]]) > remember {
		delete(l.settled, l.queue[0])
		l.queue = l.queue[1:]
	}
	var all []*Outcome
	for len(l.due) > 0 && !now.Before(l.due[0].deadline) {
		out := Silence(l.due[0].q)
		l.settleQuestion(now, l.due[0], out)
		all = append(all, out)
	}
	return all
}

// Gone takes a subscription that has ended out of the recipients of every question, the expected
// ones included. A question that has none left is settled as Unanswerable; those outcomes are
// returned.
func (l *Ledger) Gone(now time.Time, subscription string) []*Outcome {
	return l.dropQuestions(now, subscription, func(*Question) bool { return true })
}

// Unable is Gone for the kinds of question that a subscription may no longer answer after it has
// changed its terms: confirmations, clarifications or both.
func (l *Ledger) Unable(now time.Time, subscription string, confirmations, clarifications bool) []*Outcome {
	return l.dropQuestions(now, subscription, func(q *Question) bool {
		return confirmations && q.Confirmation != nil || clarifications && q.Clarification != nil
	})
}

// dropQuestions takes a subscription out of the recipients, the expected ones included, of the open
// questions that match. It settles those that have none left as Unanswerable, and returns these
// outcomes. Gone, Unable and Dismiss are calls of it.
func (l *Ledger) dropQuestions(now time.Time, subscription string, match func(*Question) bool) []*Outcome {
	return l.forEachOpen(now, func(o *open) *Outcome {
		if _, listed := o.recipients[subscription]; !listed || !match(o.q) {
			return nil
		}
		delete(o.recipients, subscription)
		if len(o.recipients) > 0 {
			return nil
		}
		return Unanswerable(o.q)
	})
}

// Withdraw settles as withdrawn the open question with this token if it is one of the session, or
// where token is "" every one of the session; sessionID "" is every session. It returns the
// outcomes, which accept nothing.
func (l *Ledger) Withdraw(now time.Time, token aaep.ReplyToken, sessionID string) []*Outcome {
	if o := l.open[token]; token != "" {
		if o == nil || sessionID != "" && o.q.SessionID != sessionID {
			return nil
		}
		out := WithdrawnOutcome(o.q)
		l.settleQuestion(now, o, out)
		return []*Outcome{out}
	}
	return l.forEachOpen(now, func(o *open) *Outcome {
		if sessionID != "" && o.q.SessionID != sessionID {
			return nil
		}
		return WithdrawnOutcome(o.q)
	})
}

// Next returns the next deadline, at which the owner calls Expire; zero is no open question.
func (l *Ledger) Next() time.Time {
	if len(l.due) == 0 {
		return time.Time{}
	}
	return l.due[0].deadline
}

// forEachOpen calls f with every open question, settles those for which it returns an outcome, in
// the order of their deadlines, and returns the outcomes. f must settle nothing itself.
func (l *Ledger) forEachOpen(now time.Time, f func(*open) *Outcome) []*Outcome {
	var settled []*open
	outcomes := map[*open]*Outcome{}
	for _, o := range l.open {
		if out := f(o); out != nil {
			settled, outcomes[o] = append(settled, o), out
		}
	}
	slices.SortFunc(settled, byDeadline)
	var all []*Outcome
	for _, o := range settled {
		l.settleQuestion(now, o, outcomes[o])
		all = append(all, outcomes[o])
	}
	return all
}

// settleQuestion moves a question from the open ones to the settled ones, and completes its outcome
// with the question and the times. Every settlement of the ledger goes through it.
func (l *Ledger) settleQuestion(now time.Time, o *open, out *Outcome) {
	delete(l.open, o.q.Token)
	heap.Remove(&l.due, o.index)
	l.settled[o.q.Token] = now
	l.queue = append(l.queue, o.q.Token)
	out.Question, out.At, out.Until = o.q, now, o.q.Stamp.Add(o.limit)
}

// settledBefore reports whether the question with this token has been settled, no longer than
// remember ago.
func (l *Ledger) settledBefore(token aaep.ReplyToken) bool {
	_, ok := l.settled[token]
	return ok
}
