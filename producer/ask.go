package producer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/questions"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/producer/audit"
)

// Question is what an agent wants to know from its user.
type Question struct {
	// Text is the question itself; Context is what the user should know to answer it. It is asked in the
	// languages that all its texts are in, the labels of the choices included.
	Text    aaep.Text
	Context aaep.Text
	// Choices are the answers to choose from, from 2 to 32. Without them the answer is of one of Kinds.
	Choices []Choice
	// Kinds are the forms of answer the agent understands. Empty is free text, or the choices alone.
	Kinds []aaep.ResponseKind
	// Default is taken as the answer when none comes: a choice's value, "true" or "false", a number,
	// or text. Empty is none.
	Default string
	// Timeout is how long the user has, as in Tool. Zero is two minutes.
	Timeout time.Duration
}

// Choice is one answer to choose: {Label: aaep.Say("Savings")}, or, where the agent knows it by another name,
// {Value: "account-2", Label: aaep.Say("Savings")}.
type Choice struct {
	Value string    // what the agent gets; empty is the label in the agent's own language
	Label aaep.Text // what the user hears
}

// Clarify asks the user and waits for the answer: a string, a bool or a float64, after the kind of
// question. Without an answer it returns Question.Default as a value of its kind, or ErrTimedOut or
// ErrUnreachable if there is none.
func (s *Session) Clarify(ctx context.Context, q Question) (any, error) {
	if s == nil || s.p == nil {
		return nil, ErrNoSession
	}
	if q.Timeout == 0 {
		q.Timeout = 2 * time.Minute
	}
	if err := s.p.checkTimeout(aaep.TypeAwaitingClarification, q.Timeout); err != nil {
		err = fmt.Errorf("producer: Question.Timeout: %w", err)
		return nil, err
	}
	if len(q.Kinds) == 0 {
		q.Kinds = []aaep.ResponseKind{aaep.ResponseFreetext}
		if len(q.Choices) > 0 {
			q.Kinds = []aaep.ResponseKind{aaep.ResponseMultipleChoice}
		}
	}
	p := &aaep.AwaitingClarification{
		ReplyToken:            aaep.ReplyToken(newID("rpl_")),
		TimeoutSeconds:        wholeSeconds(q.Timeout),
		AcceptedResponseKinds: slices.Clone(q.Kinds),
		DefaultResponse:       q.Default,
	}
	ask := func(p *aaep.AwaitingClarification, tag string) bool {
		var ok, all bool
		p.Question, all = textIn(q.Text, tag)
		p.Context, ok = textIn(q.Context, tag)
		all = all && ok
		p.Choices = nil
		for _, c := range q.Choices {
			label, ok := textIn(c.Label, tag)
			own, _ := textIn(c.Label, "")
			p.Choices = append(p.Choices, aaep.Choice{Value: cmp.Or(c.Value, own), Label: label})
			all = all && ok
		}
		return all
	}
	ask(p, "")
	words := s.p.authoredSpeech(q.Text)
	words.setPayloads(func(tag string) (aaep.Payload, bool) {
		p := *p
		ok := ask(&p, tag)
		return &p, ok
	})
	if q.Default != "" && ledger.DefaultResponse(p) == nil {
		return nil, &aaep.InvalidError{Message: string(aaep.TypeAwaitingClarification), Violations: []aaep.Violation{{
			Requirement: "EVT-085", Pointer: "/default_response", Problem: "is no answer to this question"}}}
	}
	out, _, err := s.askQuestion(ctx, words, &ledger.Question{Token: p.ReplyToken, SessionID: s.id, Clarification: p}, func(out *ledger.Outcome) (speech, error) {
		id, err := phrase.QuestionTimedOut, ErrTimedOut
		switch {
		case out.Cause == ledger.Replied:
			return speech{}, nil
		case out.Cause == ledger.Withdrawn:
			id, err = phrase.QuestionWithdrawn, context.Canceled
		case out.Response != nil:
			id, err = phrase.DefaultUsed, nil
		case out.Cause == ledger.Unreachable:
			id, err = phrase.QuestionUnreachable, ErrUnreachable
		}
		return s.p.phraseAbout(id, q.Text), err
	})
	if err != nil {
		return nil, err
	}
	return out.Response, nil
}

// askQuestion puts one question and waits for its one outcome. Explain says how to tell it and which error it is; with s.mu held too, where the
// session ends first and the question is withdrawn. What was pending is there with an outcome.
//
// The order of events: awaiting_input, the question, its outcome, and one change of state that says what
// came of it; where the answer is yes, that is calling_tool.
func (s *Session) askQuestion(ctx context.Context, about speech, q *ledger.Question, explain func(*ledger.Outcome) (speech, error)) (_ *ledger.Outcome, _ *pendingQuestion, err error) {
	select { // one question at a time, so that a state tells what came of it; the others wait in line (D-40)
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-s.ctx.Done():
		return nil, nil, ErrSessionOver
	}
	var payload aaep.Payload = q.Clarification
	if q.Confirmation != nil {
		payload = q.Confirmation
	}
	s.p.awaitReplicas(ctx, q.Confirmation != nil)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	put, err := s.putQuestion(ctx, about, q, payload, explain)
	if err != nil {
		return nil, nil, err
	}
	var out *ledger.Outcome
	if put.Waiter == nil {
		out = ledger.Nobody(q)
		out.At = time.Now()
		s.p.broker.Log.RecordOutcome(out, put.asked, nil)
	} else {
		if out = s.awaitOutcome(ctx, put, q); out == nil {
			return nil, nil, ErrSessionOver // whoever ends the session withdraws the question
		}
		s.p.removeQuestion(q.Token) // which may have been settled before it was known
	}
	if q.Confirmation != nil && out.Decision == aaep.Accept {
		defer func() {
			if err != nil {
				s.p.broker.Log.RecordNotDone(put.asked)
			}
		}()
	}
	late := ctx.Err()
	if late != nil { // an answer that came too late for its asker is recorded, but nothing is done
		out = &ledger.Outcome{Question: q, Cause: ledger.Withdrawn, Decision: aaep.Reject}
	}
	news, failed := explain(out)
	if out.Unrecorded {
		failed = ErrNotRecorded
	}
	failed = cmp.Or(late, failed)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.ctx.Err() != nil {
		return nil, nil, ErrSessionOver
	}
	if put.Waiter != nil {
		s.explainSettled = nil
		if err := s.machine.Settled(q.Token, out.Decision); err != nil {
			return nil, nil, err
		}
	}
	// The state changes before the next question has its turn, so that each outcome is told.
	if q.Confirmation != nil && out.Decision == aaep.Accept && failed == nil {
		return out, put, s.enterStateSaying(aaep.StateCallingTool, s.p.speechOrPhrase(aaep.Text{}, phrase.UsingATool, ""))
	}
	if err := s.resumeState(news); err != nil {
		return nil, nil, errors.Join(failed, err)
	}
	return out, put, failed
}

// maxAsks is how often a question is recorded anew, for all have left who are on record as asked,
// and others have come.
const maxAsks = 10

// putQuestion sends a question to those who can answer it, once it is on record that they are asked, and
// tells that the agent waits. Only the caller waits for the record: the session goes on, and no
// lock is held. What has changed when it is kept is looked at then: who came meanwhile is recorded
// and asked beside the others, see subscription.withhold. The result has no waiter where there is
// no subscription that can answer, or none any more.
func (s *Session) putQuestion(ctx context.Context, about speech, q *ledger.Question, payload aaep.Payload,
	explain func(*ledger.Outcome) (speech, error)) (*pendingQuestion, error) {
	p := s.p
	if !p.beginRecord() { // a Shutdown ends the session
		return nil, ErrSessionOver
	}
	defer p.recording.Done()
	put, err := s.prepareQuestion(about, q, payload)
	if err != nil {
		return nil, err
	}
	for range maxAsks {
		fresh := p.unrecorded(put)
		if len(fresh) == 0 {
			break
		}
		asked := put.asked
		if len(put.recorded) > 0 {
			asked = put.askedAlso()
		}
		asked.Recipients = fresh
		if p.broker.Log.Record(asked) != nil {
			if len(put.recorded) > 0 { // the others are
				break
			}
			return nil, ErrNotRecorded
		}
		put.recorded = append(put.recorded, fresh...)
		put.asked.Recipients = put.recorded
		open, err := s.openQuestion(ctx, about, q, put, explain)
		if err != nil && len(put.recorded) > 0 {
			out := &ledger.Outcome{Question: q, Cause: ledger.Withdrawn, Decision: aaep.Reject, At: time.Now()}
			p.broker.Log.RecordOutcome(out, put.asked, nil)
		}
		switch {
		case err != nil:
			return nil, err
		case open:
			s.warnIfTooShort(payload, put.pace)
			return put, nil
		}
	}
	if len(put.recorded) == 0 { // no one was shown anything, but it was about something
		put.asked.ShownDigest = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.ctx.Err() != nil {
		return nil, ErrSessionOver
	}
	return put, s.enterStateSaying(aaep.StateAwaitingInput, waitingFor(about))
}

// waitingFor is how a question is announced.
func waitingFor(question speech) speech {
	question.with = aaep.Text{} // it is felt with the question
	question.setPayloads(func(string) (aaep.Payload, bool) { return nil, true })
	return question
}

// prepareQuestion makes the event of a question, with the time to answer that those need who can be
// asked now. What must not be asked is refused.
func (s *Session) prepareQuestion(about speech, q *ledger.Question, payload aaep.Payload) (put *pendingQuestion, err error) {
	put = &pendingQuestion{more: make(chan time.Duration, 1), recipientNeeds: recipientNeeds{patience: 1000, pace: usualPace}}
	for _, sub := range *s.p.audience.Load() {
		if sub.mayBeAsked(q.Confirmation != nil) {
			put.recipientNeeds.include(sub.patience.Load(), sub.least.Load(), sub.pace.Load())
		}
	}
	s.p.replicasToAsk(q.Confirmation != nil, &put.recipientNeeds)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.ctx.Err() != nil {
		return nil, ErrSessionOver
	}
	stretchTimeout(payload, put.recipientNeeds)
	for _, in := range about.in {
		stretchTimeout(in.payload, put.recipientNeeds)
	}
	put.Event, err = s.buildEvent(about, payload)
	if err == nil {
		put.asked = audit.Question(put.Event)
	}
	return put, err
}

// unrecorded are those who can be asked and are not on record as asked.
func (p *Producer) unrecorded(put *pendingQuestion) (fresh []audit.Subscription) {
	for _, sub := range *p.audience.Load() {
		if sub.mayBeAsked(put.isConfirmation()) && !put.isRecorded(sub.id) {
			fresh = append(fresh, sub.auditIdentity(put.Event))
		}
	}
	for _, party := range p.replicasToAsk(put.isConfirmation(), nil) {
		if !put.isRecorded(party.ID) {
			fresh = append(fresh, party.auditIdentity())
		}
	}
	return fresh
}

// openQuestion opens a question that is on record, and tells that. It reports false where all have
// left who are on record as asked.
func (s *Session) openQuestion(ctx context.Context, about speech, q *ledger.Question, put *pendingQuestion,
	explain func(*ledger.Outcome) (speech, error)) (open bool, err error) {
	p := s.p
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.ctx.Err() != nil {
		return false, ErrSessionOver
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	p.putting.Lock()
	defer p.putting.Unlock()
	q.Recipients, put.subs, put.replicas = nil, nil, nil
	var late []*subscription
	for _, sub := range *p.audience.Load() {
		switch {
		case sub.aborted.Load() || !sub.mayBeAsked(put.isConfirmation()):
		case put.isRecorded(sub.id):
			q.Recipients, put.subs = append(q.Recipients, sub.id), append(put.subs, sub)
		default:
			late = append(late, sub)
		}
	}
	some := len(put.subs) > 0
	// Those that came meanwhile too: whom they ask they record themselves.
	for _, party := range p.replicasToAsk(put.isConfirmation(), nil) {
		some = some || put.isRecorded(party.ID)
		q.Recipients, put.replicas = append(q.Recipients, party.ID), append(put.replicas, party.ID)
	}
	if !some {
		return false, nil
	}
	before := s.lastState.ev
	if err := s.enterStateSaying(aaep.StateAwaitingInput, waitingFor(about)); err != nil {
		return false, err
	}
	// How the question before it ended is stamped before it: after a cut that may come again behind
	// it, and must not be taken for its own end.
	put.Event.Timestamp = s.nextStamp()
	if before != nil && !put.Event.Timestamp.After(before.Timestamp) {
		put.Event.Timestamp = before.Timestamp.Add(time.Millisecond)
	}
	if err := s.machine.Next(put.Event); err != nil {
		return false, errors.Join(err, s.resumeState(speech{}))
	}
	s.last, q.Stamp = put.Event.Timestamp, put.Event.Timestamp
	// The question is open before the event is out, so that no reply can come too early.
	if put.Waiter, err = p.broker.Open(q, put.asked); err != nil {
		if errors.Is(err, questions.ErrClosed) {
			err = ErrClosed
		}
		s.machine.Settled(q.Token, aaep.Reject)
		return false, errors.Join(err, s.resumeState(speech{}))
	}
	p.mu.Lock()
	put.deadline = p.broker.Now().Add(closes.Given(put.Event))
	for _, sub := range late {
		sub.withhold(q.Token)
	}
	put.Pos = p.appendEvent(put.Event)
	p.asked[q.Token] = put
	p.mu.Unlock()
	s.pos, s.explainSettled = put.Pos, explain
	for _, sub := range put.subs {
		if sub.aborted.Load() { // it left before it was in the book
			p.broker.RemoveSubscription(sub.id)
		}
	}
	for _, sub := range late {
		sub.lookAgain()
	}
	return true, nil
}

// pendingQuestion is a question that is open.
type pendingQuestion struct {
	shaper.Entry
	*questions.Waiter // nil where no subscription is asked
	asked             audit.Record
	more              chan time.Duration // how much time is left, after a subscriber asked for more
	recipientNeeds

	// With the Producer's mu held:
	deadline  time.Time            // as far as it is known here, by the clock of the questions
	subs      []*subscription      // who was asked
	replicas  []string             // and which parties, by their ids
	recorded  []audit.Subscription // who was on record as asked from the first
	recording []audit.Subscription // who is about to be
}

func (put *pendingQuestion) isConfirmation() bool {
	return put.Event.Type() == aaep.TypeAwaitingConfirmation
}

// isRecorded reports whether a subscription or a party was on record as asked from the first.
func (put *pendingQuestion) isRecorded(id string) bool {
	return among(put.recorded, id)
}

func among(all []audit.Subscription, id string) bool { return indexOf(all, id) >= 0 }

func indexOf(all []audit.Subscription, id string) int {
	return slices.IndexFunc(all, func(who audit.Subscription) bool { return who.SubscriptionID == id })
}

// askedAlso is the record of recipients that came later.
func (put *pendingQuestion) askedAlso() audit.Record {
	return audit.Record{Kind: audit.Asked, SessionID: put.asked.SessionID, QuestionID: put.asked.QuestionID}
}

func (put *pendingQuestion) replyToken() aaep.ReplyToken {
	token, _ := closes.Token(put.Event)
	return token
}

// recipientNeeds are the needs of those who are asked: each of them waits for the one who needs most.
type recipientNeeds struct {
	patience int64 // by which the time to answer is stretched, in thousandths
	least    int64 // that it is, in seconds
	pace     int64 // in words per minute
}

// questionsInOrder are in the order in which they were put. With p.mu held.
func (p *Producer) questionsInOrder() []*pendingQuestion {
	return slices.SortedFunc(maps.Values(p.asked), func(a, b *pendingQuestion) int { return cmp.Compare(a.Pos, b.Pos) })
}

// removeQuestion drops a question from those that later subscribers are asked.
func (p *Producer) removeQuestion(token aaep.ReplyToken) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, token)
}
