package producer

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/phrase"
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
		p.Question, all = in(q.Text, tag)
		p.Context, ok = in(q.Context, tag)
		all = all && ok
		p.Choices = nil
		for _, c := range q.Choices {
			label, ok := in(c.Label, tag)
			own, _ := in(c.Label, "")
			p.Choices = append(p.Choices, aaep.Choice{Value: cmp.Or(c.Value, own), Label: label})
			all = all && ok
		}
		return all
	}
	ask(p, "")
	words := s.p.authored(q.Text)
	words.translate(func(tag string) (aaep.Payload, bool) {
		p := *p
		ok := ask(&p, tag)
		return &p, ok
	})
	if q.Default != "" && ledger.DefaultResponse(p) == nil {
		return nil, &aaep.InvalidError{Message: string(aaep.TypeAwaitingClarification), Violations: []aaep.Violation{{
			Requirement: "EVT-085", Pointer: "/default_response", Problem: "is no answer to this question"}}}
	}
	out, _, err := s.ask(ctx, words, &ledger.Question{Token: p.ReplyToken, SessionID: s.id, Clarification: p}, func(out *ledger.Outcome) (speech, error) {
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
		return s.p.about(id, q.Text), err
	})
	if err != nil {
		return nil, err
	}
	return out.Response, nil
}

// ask puts one question and waits for its one outcome. Explain says how to tell it and which error it is; with s.mu held too, where the
// session ends first and the question is withdrawn. What was pending is there with an outcome.
//
// The order of events: awaiting_input, the question, its outcome, and one change of state that says what
// came of it; where the answer is yes, that is calling_tool.
func (s *Session) ask(ctx context.Context, about speech, q *ledger.Question, explain func(*ledger.Outcome) (speech, error)) (_ *ledger.Outcome, _ *pending, err error) {
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
	s.p.awaitParties(ctx, q.Confirmation != nil)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	put, err := s.put(about, q, payload, explain)
	if err != nil {
		return nil, nil, err
	}
	var out *ledger.Outcome
	if put == nil {
		out = ledger.Nobody(q)
		out.At = time.Now()
		about := audit.Question(&aaep.Event{Payload: payload}) // nobody was shown anything, but it was about something
		put = &pending{asked: audit.Record{QuestionID: audit.QuestionID(q.Token), Tool: about.Tool, ToolCallID: about.ToolCallID}}
		s.p.desk.trail.settled(out, put.asked, nil)
	} else {
		if out = s.await(ctx, put, q); out == nil {
			return nil, nil, ErrSessionOver // whoever ends the session withdraws the question
		}
		s.p.forget(q.Token)
	}
	if q.Confirmation != nil && out.Decision == aaep.Accept {
		defer func() {
			if err != nil {
				s.p.desk.trail.notDone(put.asked)
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
	if put.answer != nil {
		s.asking = nil
		if err := s.machine.Settled(q.Token, out.Decision); err != nil {
			return nil, nil, err
		}
	}
	// The state changes before the next question has its turn, so that each outcome is told.
	if q.Confirmation != nil && out.Decision == aaep.Accept && failed == nil {
		return out, put, s.enterSaying(aaep.StateCallingTool, s.p.words(aaep.Text{}, phrase.UsingATool, ""))
	}
	if err := s.resume(news); err != nil {
		return nil, nil, errors.Join(failed, err)
	}
	return out, put, failed
}

// put tells that the agent waits, and sends the question to those who can answer it. The result is nil if
// there is nobody.
func (s *Session) put(about speech, q *ledger.Question, payload aaep.Payload, explain func(*ledger.Outcome) (speech, error)) (*pending, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.ctx.Err() != nil {
		return nil, ErrSessionOver
	}
	// What nobody may be asked is refused before anybody is told to wait.
	if _, err := s.build(about, payload); err != nil {
		return nil, err
	}
	waiting := about
	waiting.with = aaep.Text{} // it is felt with the question
	waiting.translate(func(string) (aaep.Payload, bool) { return nil, true })
	if err := s.enterSaying(aaep.StateAwaitingInput, waiting); err != nil {
		return nil, err
	}
	put, err := s.p.open(q, func(who slowest) (*aaep.Event, error) {
		stretch(payload, who)
		for _, in := range about.in {
			stretch(in.payload, who)
		}
		s.timeEnough(payload, who.pace)
		return s.prepare(about, payload)
	})
	if put == nil { // it was not put after all, though it was made
		s.machine.Settled(q.Token, aaep.Reject)
	} else {
		s.pos, s.asking = put.Pos, explain
	}
	if err != nil {
		return nil, errors.Join(err, s.resume(speech{}))
	}
	return put, nil
}

// pending is a question that is open.
type pending struct {
	shaper.Entry
	answer <-chan *ledger.Outcome
	asked  audit.Record
	more   chan time.Duration // there is so much time left, after somebody asked for more
	slowest

	// With the Producer's mu held:
	deadline time.Time       // as far as it is known here, by the desk's clock
	subs     []*subscription // who was asked
	parties  []string        // and which parties, by their ids
}

func (put *pending) isConfirmation() bool { return put.Event.Type() == aaep.TypeAwaitingConfirmation }

func (put *pending) token() aaep.ReplyToken {
	token, _ := closes.Token(put.Event)
	return token
}

// slowest are the needs of those who are asked: each of them waits for the one who needs most.
type slowest struct {
	patience int64 // by which the time to answer is stretched, in thousandths
	least    int64 // that it is, in seconds
	pace     int64 // in words per minute
}

// open puts a question to every subscription that can answer it. prepare makes its event, if there is anybody; the
// result is nil if nobody can answer, or nobody any more.
func (p *Producer) open(q *ledger.Question, prepare func(slowest) (*aaep.Event, error)) (*pending, error) {
	p.putting.Lock()
	defer p.putting.Unlock()
	put := &pending{more: make(chan time.Duration, 1), slowest: slowest{patience: 1000, pace: usualPace}}
	var able []*subscription
	for _, sub := range *p.audience.Load() {
		if sub.mayBeAsked(q.Confirmation != nil) {
			able = append(able, sub)
			put.slowest.add(sub.patience.Load(), sub.least.Load(), sub.pace.Load())
		}
	}
	elsewhere := p.ableParties(q, &put.slowest)
	if len(able)+len(elsewhere) == 0 {
		return nil, nil
	}
	ev, err := prepare(put.slowest)
	if err != nil {
		return nil, err
	}
	q.Stamp, put.asked = ev.Timestamp, audit.Question(ev)
	for _, sub := range able {
		put.asked.Recipients = append(put.asked.Recipients, sub.who(ev))
	}
	for _, party := range elsewhere {
		put.asked.Recipients = append(put.asked.Recipients, party.who())
		q.Recipients = append(q.Recipients, party.ID)
		put.parties = append(put.parties, party.ID)
	}
	if err := p.desk.trail.record(put.asked); err != nil { // which may take a while: p.mu is for those who deliver
		return nil, ErrNotRecorded
	}
	for _, sub := range able {
		if !sub.hungUp.Load() { // it has not left meanwhile
			q.Recipients = append(q.Recipients, sub.id)
			put.subs = append(put.subs, sub)
		}
	}
	if len(q.Recipients) == 0 {
		return nil, nil
	}
	// The book is open before the event is out, so that no reply can come too early. The desk may be waiting for what it
	// records, so p.mu is not held.
	if put.answer, err = p.desk.open(q, put.asked); err != nil {
		return nil, err
	}
	p.mu.Lock()
	put.deadline = p.desk.now().Add(closes.Given(ev))
	put.Entry = shaper.Entry{Pos: p.append(ev), Event: ev}
	p.asked[q.Token] = put
	p.mu.Unlock()
	p.log.Wait(put.Pos) // whoever comes after it is asked too, and must find it
	for _, sub := range able {
		if sub.hungUp.Load() { // it left before it was in the book
			p.desk.gone(sub.id)
		}
	}
	return put, nil
}

// openQuestions are in the order in which they were put. With p.mu held.
func (p *Producer) openQuestions() []*pending {
	return slices.SortedFunc(maps.Values(p.asked), func(a, b *pending) int { return cmp.Compare(a.Pos, b.Pos) })
}

// forget drops a question from those that later subscribers are asked.
func (p *Producer) forget(token aaep.ReplyToken) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, token)
}
