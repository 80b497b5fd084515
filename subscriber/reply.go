package subscriber

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/transports"
)

// ErrUnknownEvent is the error of an answer to an event that asks nothing or something else, came
// from another subscription, was answered before, or is open no longer, as the agent said since or
// as its time is over, which is ErrLate as well. Nothing was sent. It is compared with errors.Is,
// for the error may say more closely why.
var ErrUnknownEvent = closes.ErrUnknown

// ErrLate is an ErrUnknownEvent for an answer that was not sent, for its time is over as far as is
// known here: the question was received longer ago than it said that it is open, and no event told
// of more time.
var ErrLate = closes.ErrLate

// ErrNotSent is the error of an answer of which it is certain that nothing was sent, for the
// producer could not be reached. Another may be given.
var ErrNotSent = closes.ErrNotSent

// pendingQuestion is one that was received and may be answered once.
type pendingQuestion struct {
	event    *aaep.Event
	previous *aaep.Event // that asked it before, in another language; the user may have heard only that
	size     int         // of event
	received time.Time   // last
	time     timeAllowed // to answer it
	sub      string      // the subscription it came on
	reply    []byte      // once one was made
	value    any         // what it says
	answered bool        // it is under way, or has arrived
	open     context.Context
	close    func() // ends open
}

// timeAllowed is how long an event that asks a question lets it be open. It does not begin anew
// where that event comes again.
type timeAllowed struct {
	eventID        string
	from           time.Time     // when the event came first
	announcedLimit time.Duration // how much time there is in all, as events said
	grants         int           // of more time, to this subscription
}

// isAskedBy reports whether the question is what an event asks, in this language or in the previous
// one.
func (q *pendingQuestion) isAskedBy(ev *aaep.Event) bool {
	return q != nil && (q.event == ev || q.previous == ev)
}

// inAnotherLanguage reports whether an event asks the question once more in another language, for a
// user who changed theirs.
func (q *pendingQuestion) inAnotherLanguage(ev *aaep.Event) bool {
	return q != nil && q.event != nil && q.event.SessionID == ev.SessionID && q.event.Language() != ev.Language()
}

// openQuestion remembers a question of this size in bytes that may be answered, for which the
// oldest make room. A token that is known gets the new event. Its context is opened again where it
// ended without an answer. Its time runs on where this very event came before, also on a
// subscription that lapsed, and else begins anew. An event that asks the same in another language
// leaves the one before as previous. It is called with s.mu held.
func (s *Subscription) openQuestion(ev *aaep.Event, size int, token aaep.ReplyToken) {
	q := s.questions[token]
	if q == nil {
		q = &pendingQuestion{sub: s.accepted.SubscriptionID, time: s.lapsed[token]}
	}
	isNew := q.open == nil
	if asksAnew := !isNew && q.open.Err() != nil && !q.answered; isNew || asksAnew {
		q.open, q.close = context.WithCancel(s.ctx)
	}
	delete(s.questions, token)
	s.makeQuestionRoom(size)
	if q.previous = nil; q.inAnotherLanguage(ev) {
		q.previous = q.event
	}
	q.event, q.size, q.received = ev, size, time.Now() // a token takes one decision, however often it is shown
	if q.time.eventID != ev.EventID {                  // an event that tells it once more has the time that is left
		q.time = timeAllowed{eventID: ev.EventID, from: q.received}
	}
	s.questions[token] = q
}

// timeLimit returns how much time there is to answer in all, as far as it is known here.
func (q *pendingQuestion) timeLimit() time.Duration {
	return max(q.time.announcedLimit, time.Duration(1+q.time.grants)*closes.Given(q.event))
}

// isLate reports whether that time is over. The agent asked before the question was received,
// whatever the clocks of both sides show.
func (q *pendingQuestion) isLate() bool {
	return q.timeLimit() > 0 && time.Since(q.time.from) > q.timeLimit()
}

// makeQuestionRoom forgets the oldest questions until one more, of size bytes, stays within
// openQuestions and waitingBytes, or none is left. It is called with s.mu held.
func (s *Subscription) makeQuestionRoom(size int) {
	for len(s.questions) > 0 {
		var oldest aaep.ReplyToken
		bytes := size
		for t, q := range s.questions {
			bytes += q.size
			if o := s.questions[oldest]; o == nil || q.received.Before(o.received) {
				oldest = t
			}
		}
		if len(s.questions) < openQuestions && bytes <= waitingBytes {
			return
		}
		s.forgetQuestion(oldest)
	}
}

// lapseQuestions forgets the open questions, which died with their subscription, but keeps their
// time: the agent may ask them again on the next, with the same events. It is called with s.mu
// held.
func (s *Subscription) lapseQuestions() {
	if len(s.lapsed)+len(s.questions) > openQuestions {
		s.lapsed = nil
	}
	if s.lapsed == nil {
		s.lapsed = map[aaep.ReplyToken]timeAllowed{}
	}
	for token, q := range s.questions {
		s.lapsed[token] = q.time
		s.forgetQuestion(token)
	}
}

// Accept sends the user's yes to a confirmation. A nil error means that it was handed to the
// producer, not that it counted: what comes of it is told by events. A question takes one answer;
// after an error that says the link failed, the same answer may be sent again. One that comes late
// is not sent: it is ErrLate, or ErrUnknownEvent where the agent said before that it does not wait
// any more.
//
// An answer must follow from something the user did, once they had the whole question, which this
// package does not know: present.Presenter.Answer sends a yes by this only then.
func (q *Question) Accept(ctx context.Context) error { return q.sendDecision(ctx, aaep.Accept, "") }

// Reject sends the user's no to a confirmation. What Accept says holds here too.
func (q *Question) Reject(ctx context.Context) error { return q.sendDecision(ctx, aaep.Reject, "") }

// AutoReply sends a decision that no person made, but a policy that the user configured and can
// name: the reply says that it was decided by "auto:" and the policy's name. It accepts only what
// is of low risk and can be undone; the rest is for a person.
func (q *Question) AutoReply(ctx context.Context, d aaep.Decision, policy string) error {
	if policy == "" || aaep.SafeText(policy) != policy {
		return errors.New("subscriber: a policy that answers must have a name that can be shown")
	}
	if q != nil && q.Event != nil && d == aaep.Accept {
		if p, ok := q.Event.Payload.(*aaep.AwaitingConfirmation); ok &&
			(p.RiskLevel != aaep.RiskLow || p.IsIrreversible()) {
			return errors.New("subscriber: a policy accepts only what is of low risk and can be undone; ask the user")
		}
	}
	return q.sendDecision(ctx, d, "auto:"+policy)
}

// sendDecision sends a decision about a confirmation, once. decidedBy names a policy, or is empty
// where the user decided. It refuses a question that is no confirmation, and a decision that this
// one does not allow; else the error is sendAnswer's. Accept, Reject and AutoReply call it.
func (q *Question) sendDecision(ctx context.Context, d aaep.Decision, decidedBy string) error {
	if q == nil || q.sub == nil || q.Event == nil {
		return ErrUnknownEvent
	}
	p, ok := q.Event.Payload.(*aaep.AwaitingConfirmation)
	if !ok {
		return q.refuseMethod("this is a clarification; AnswerText, AnswerYesNo or AnswerNumber answers it")
	}
	if d != aaep.Accept && d != aaep.Reject {
		return fmt.Errorf("subscriber: decision %q must be accept or reject", d)
	}
	if p.AllowedReplies != nil && !slices.Contains(p.AllowedReplies, d) {
		return fmt.Errorf("subscriber: this question does not allow %q; it allows %q", d, p.AllowedReplies)
	}
	return q.sub.sendAnswer(ctx, q.Event, d, func(sub string, decidedAt time.Time) aaep.Message {
		return &aaep.ConfirmationReply{ReplyToken: p.ReplyToken, Decision: d, SubscriptionID: sub, Timestamp: decidedAt,
			DecidedBy: decidedBy}
	})
}

// unknownEvent is an ErrUnknownEvent that says more closely why nothing was sent.
type unknownEvent string

// Error returns the reason.
func (e unknownEvent) Error() string { return "subscriber: " + string(e) }

// Unwrap returns ErrUnknownEvent.
func (e unknownEvent) Unwrap() error { return ErrUnknownEvent }

// errAnswered is of a question to which an answer was sent.
const errAnswered = unknownEvent("this question was answered already; it takes one answer")

// refuseMethod returns the error of a method that does not answer questions of this kind: why says
// which do. Of a question that is not open it returns why it is not.
func (q *Question) refuseMethod(why string) error {
	if err := q.Err(); err != nil {
		return err
	}
	return unknownEvent(why)
}

// AnswerText sends the user's words, or the value of the choice they made, as the answer to a
// clarification that takes either. What Accept says holds for it, AnswerYesNo and AnswerNumber too.
func (q *Question) AnswerText(ctx context.Context, text string) error {
	return q.sendResponse(ctx, text)
}

// AnswerYesNo sends the user's yes or no to a clarification.
func (q *Question) AnswerYesNo(ctx context.Context, yes bool) error { return q.sendResponse(ctx, yes) }

// AnswerNumber sends the user's number as the answer to a clarification. A number that JSON cannot
// hold, such as an infinity, is an error and is not sent.
func (q *Question) AnswerNumber(ctx context.Context, number float64) error {
	if math.IsNaN(number) || math.IsInf(number, 0) {
		return fmt.Errorf("subscriber: %v is not a number that can be sent", number)
	}
	return q.sendResponse(ctx, number)
}

// sendResponse sends a string, a bool or a float64 as the answer to a clarification, once. It
// refuses, with an error that says which answers fit, an answer of another kind. AnswerText,
// AnswerYesNo and AnswerNumber call it.
func (q *Question) sendResponse(ctx context.Context, response any) error {
	if q == nil || q.sub == nil || q.Event == nil {
		return ErrUnknownEvent
	}
	p, ok := q.Event.Payload.(*aaep.AwaitingClarification)
	if !ok {
		return q.refuseMethod("this is a confirmation; Accept or Reject answers it")
	}
	if !acceptsResponse(p, response) {
		return fmt.Errorf("subscriber: this question does not take a %T like that; it takes %s", response,
			describeAccepted(p))
	}
	return q.sub.sendAnswer(ctx, q.Event, response, func(sub string, decidedAt time.Time) aaep.Message {
		return &aaep.ClarificationReply{ReplyToken: p.ReplyToken, Response: response, SubscriptionID: sub,
			Timestamp: decidedAt}
	})
}

// acceptsResponse reports whether the question accepts an answer of this kind (§6.5.2). Where it
// names no kind, or one we do not know, the producer judges.
func acceptsResponse(p *aaep.AwaitingClarification, response any) bool {
	if len(p.AcceptedResponseKinds) == 0 {
		return true
	}
	for _, kind := range p.AcceptedResponseKinds {
		var ok bool
		switch kind {
		case aaep.ResponseYesNo:
			_, ok = response.(bool)
		case aaep.ResponseNumeric:
			_, ok = response.(float64)
		case aaep.ResponseFreetext:
			_, ok = response.(string)
		case aaep.ResponseMultipleChoice:
			var text string
			text, ok = response.(string)
			ok = ok && (len(p.Choices) == 0 || slices.Contains(choiceValues(p.Choices), text))
		default:
			ok = true
		}
		if ok {
			return true
		}
	}
	return false
}

// describeAccepted returns which answers the question accepts, in words for the caller. A kind that
// is not known is left out.
func describeAccepted(p *aaep.AwaitingClarification) string {
	var list []string
	for _, kind := range p.AcceptedResponseKinds {
		switch kind {
		case aaep.ResponseYesNo:
			list = append(list, "a bool")
		case aaep.ResponseNumeric:
			list = append(list, "a number")
		case aaep.ResponseFreetext:
			list = append(list, "a string")
		case aaep.ResponseMultipleChoice:
			list = append(list, fmt.Sprintf("a string out of %q", choiceValues(p.Choices)))
		}
	}
	return strings.Join(list, " or ")
}

// choiceValues returns the values of choices, in their order, for an error that names what would be
// right.
func choiceValues(choices []aaep.Choice) []string {
	var list []string
	for _, c := range choices {
		list = append(list, c.Value)
	}
	return list
}

// sendAnswer sends the one reply to the question that ev asks. reply makes it from the
// subscription's id and the time of the decision; value is what it says. A reply that may have
// arrived may be sent again, as it was, and not with another value. The error is ErrNotSent where
// nothing was sent for certain, because there was no link.
func (s *Subscription) sendAnswer(ctx context.Context, ev *aaep.Event, value any,
	reply func(string, time.Time) aaep.Message) error {
	s.mu.Lock()
	q, err := s.checkOpen(ev)
	conn, attempted := s.conn, q != nil && q.reply != nil
	_, reopens := conn.(transports.Reopener)
	linkGone := !s.status.Connected && !reopens
	switch {
	case err != nil:
		s.mu.Unlock()
		return err
	case q.reply != nil && q.value != value:
		s.mu.Unlock()
		return fmt.Errorf("subscriber: this question was answered with %v, and that may have arrived; it cannot be "+
			"changed", q.value)
	case q.reply == nil:
		msg, err := aaep.Encode(reply(q.sub, q.decisionTime(time.Now())))
		if err != nil { // the user may put it otherwise
			s.mu.Unlock()
			return err
		}
		q.reply, q.value = msg, value
	}
	msg := q.reply
	q.answered = true
	// A reply that waits for the link to take it must not leave once the time is over.
	if remaining := q.timeLimit() - time.Since(q.time.from); q.timeLimit() > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, remaining+1)
		defer cancel()
	}
	s.mu.Unlock()
	if err := s.writeMessage(ctx, conn, msg); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		q.answered = false
		if !linkGone && !isDialError(err) {
			return err
		}
		if !attempted {
			q.reply, q.value = nil, nil
		}
		return fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	q.close()
	return nil
}

// isDialError reports whether there was no connection to send over.
func isDialError(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// mayAnswer reports whether this subscription may answer questions of the kind that ev is: as the
// producer honored it, or, where its answer says nothing of that, as it was requested (D-34, D-45).
// It is called with s.mu held.
func (s *Subscription) mayAnswer(ev *aaep.Event) bool {
	honored, wanted := s.accepted.HonoredCapabilities.SupportsConfirmationReply, s.wanted.SupportsConfirmationReply
	if ev.Type() == aaep.TypeAwaitingClarification {
		honored, wanted = s.accepted.HonoredCapabilities.SupportsClarificationReply, s.wanted.SupportsClarificationReply
	}
	if honored != nil {
		return *honored
	}
	return isTrue(wanted)
}

// decisionTime returns the moment of the decision on the producer's clock: ours, unless the two
// differ by more than two seconds (D-35).
func (q *pendingQuestion) decisionTime(now time.Time) time.Time {
	producerTime := q.event.Timestamp.Add(now.Sub(q.received))
	if d := now.Sub(producerTime); d > 2*time.Second || d < -2*time.Second {
		return producerTime
	}
	return now
}
