package producer

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/questions"
)

// askQuestion puts one question, waits for its one outcome and returns that, with the Pending of
// the question. explain maps the outcome to the words that announce it and to the error that the
// agent gets. It must take no lock: endSession calls it with s.mu held if the session ends while
// the question is open. begin announces the call of an action that was accepted, with s.mu held; it
// is nil for a clarification. The error is explain's or begin's, ErrNotRecorded, ErrSessionOver,
// that of ctx, or that of a question that could not be put. clarify and askConfirmation call it on
// the agent's goroutine, holding no lock.
//
// The order is: the state awaiting_input, the question, its outcome, and one change of state that
// announces what came of it. Where an action was accepted, that change is to calling_tool, and its
// call follows before the session puts another question.
func (s *Session) askQuestion(ctx context.Context, words speech, q *ledger.Question,
	explain func(*ledger.Outcome) (speech, error), begin func() error) (*ledger.Outcome, *questions.Pending, error) {
	release, err := s.takeTurn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer release()

	var payload aaep.Payload = q.Clarification
	if q.Confirmation != nil {
		payload = q.Confirmation
	}
	s.p.awaitReplicas(ctx, q.Confirmation != nil)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	pending, err := s.putQuestion(ctx, words, q, payload, explain)
	if err != nil {
		return nil, nil, err
	}

	out := s.receiveOutcome(ctx, pending, q)
	if out == nil {
		return nil, nil, ErrSessionOver // endSession withdraws the question
	}
	accepted := q.Confirmation != nil && out.Decision == aaep.Accept
	// An answer that came too late for the agent is on record, but nothing is done.
	ctxErr := ctx.Err()
	if ctxErr != nil {
		out = ledger.WithdrawnOutcome(q)
	}
	err = s.announceOutcome(q, pending, out, ctxErr, explain, begin)
	if accepted && err != nil {
		s.p.broker.Log.RecordNotDone(pending.Record)
	}
	return out, pending, err
}

// announceOutcome notes in the session's order of events that a question is settled, and announces
// what came of it: an acceptance by the state calling_tool and what begin emits, anything else by
// the words that explain has for it and the state that the agent goes back to. ctxErr is why the
// agent wants no answer any more, or nil. The error says why the agent must not act on an answer:
// it is ctxErr, ErrNotRecorded, explain's or begin's, or ErrSessionOver. askQuestion calls it
// before the next question has its turn, so that each outcome is announced. It takes s.mu.
func (s *Session) announceOutcome(q *ledger.Question, pending *questions.Pending, out *ledger.Outcome, ctxErr error,
	explain func(*ledger.Outcome) (speech, error), begin func() error) error {
	news, failed := explain(out)
	if out.Unrecorded {
		failed = ErrNotRecorded
	}
	failed = cmp.Or(ctxErr, failed)

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.ctx.Err() != nil {
		return ErrSessionOver
	}
	if pending.Waiter != nil {
		s.explainSettled = nil
		if err := s.machine.Settled(q.Token, out.Decision); err != nil {
			return err
		}
	}
	if q.Confirmation != nil && out.Decision == aaep.Accept && failed == nil {
		err := s.enterStateSaying(aaep.StateCallingTool, s.p.speechOrPhrase(aaep.Text{}, phrase.UsingATool, ""))
		if err == nil {
			err = begin()
		}
		if err != nil {
			s.resumeState(speech{})
		}
		return err
	}
	if err := s.resumeState(news); err != nil {
		return errors.Join(failed, err)
	}
	return failed
}

// takeTurn waits until no other question of the session is open, and keeps others from being put
// until release is called. With one question open at a time it is clear which one a change of state
// is about (D-40). The error is that of ctx, or ErrSessionOver.
func (s *Session) takeTurn(ctx context.Context) (release func(), err error) {
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.ctx.Done():
		return nil, ErrSessionOver
	}
}

// receiveOutcome waits for the outcome of a question. One that no recipient can answer has its
// outcome, and its record, at once. The result is nil if the session ends first.
func (s *Session) receiveOutcome(ctx context.Context, pending *questions.Pending, q *ledger.Question) *ledger.Outcome {
	if pending.Waiter == nil {
		out := ledger.Unanswerable(q)
		out.At = time.Now()
		s.p.broker.Log.RecordOutcome(out, pending.Record, nil)
		return out
	}
	return s.awaitOutcome(ctx, pending, q)
}

// maxAsks is how often putQuestion records a question, once more each time that every recipient on
// record has left and new ones have come.
const maxAsks = 10

// putQuestion puts a question to every subscription and replica that can answer it, once it is on
// record that it is put to them, and announces that the agent waits. Only this call waits for the
// record: the session goes on, and no lock is held meanwhile. A subscription that comes in that
// time is not shown the question with the rest; it is recorded and asked by itself, see
// questions.Recipient. The result has no Waiter if no recipient can answer, or none can any more.
// Without an error the state is awaiting_input. askQuestion calls it.
func (s *Session) putQuestion(ctx context.Context, words speech, q *ledger.Question, payload aaep.Payload,
	explain func(*ledger.Outcome) (speech, error)) (*questions.Pending, error) {
	p := s.p
	if !p.beginRecord() { // a Shutdown ends the session
		return nil, ErrSessionOver
	}
	defer p.recording.Done()
	pending, err := s.prepareQuestion(words, payload)
	if err != nil {
		return nil, err
	}
	// withdraw records that a question which is on record as asked was not put after all.
	withdraw := func(err error) error {
		if pending.IsOnRecord() {
			out := ledger.WithdrawnOutcome(q)
			out.At = time.Now()
			p.broker.Log.RecordOutcome(out, pending.Record, nil)
		}
		return err
	}
	for tries, unrecorded := 0, true; unrecorded; tries++ {
		if tries == maxAsks { // there are always new ones that could be asked
			return nil, withdraw(ErrUnreachable)
		}
		if fresh := p.board.FindUnrecorded(pending); len(fresh) > 0 {
			if p.broker.Log.Record(pending.RecordOf(fresh)) != nil {
				return nil, withdraw(ErrNotRecorded)
			}
			pending.MarkRecorded(fresh)
		}
		var open bool
		open, unrecorded, err = s.openQuestion(ctx, words, q, pending, explain)
		switch {
		case err != nil:
			return nil, withdraw(err)
		case open:
			s.warnIfTooShort(payload, pending.Pace)
			return pending, nil
		}
	}
	if !pending.IsOnRecord() { // no user was shown any words
		pending.Record.ShownDigest = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.ctx.Err() != nil {
		return nil, ErrSessionOver
	}
	return pending, s.enterStateSaying(aaep.StateAwaitingInput, waitingFor(words))
}

// waitingFor returns the words that announce the state awaiting_input: those of the question.
func waitingFor(question speech) speech {
	question.extensionData = aaep.Text{} // extension data, such as a haptic cue, goes with the question
	question.setPayloads(func(string) (aaep.Payload, bool) { return nil, true })
	return question
}

// prepareQuestion makes the event of a question and a Pending for it, which the caller opens on the
// board. It reserves nothing. The error is ErrSessionOver, or an *aaep.InvalidError for a question
// that must not be asked. It takes s.mu.
func (s *Session) prepareQuestion(words speech, payload aaep.Payload) (*questions.Pending, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.ctx.Err() != nil {
		return nil, ErrSessionOver
	}
	ev, err := s.buildEvent(words, payload)
	if err != nil {
		return nil, err
	}
	return questions.NewPending(ev), nil
}

// openQuestion opens a question that is on record, and emits awaiting_input and the question. If no
// recipient on record is left, open is false and nothing is emitted; unrecorded then reports
// whether there are others that can answer, whom putQuestion records and then tries again. Where
// some are on record, the others are asked when they are too. The time to answer is that which all
// of them need. After an error the state goes back to what it was. explain becomes
// s.explainSettled. putQuestion calls it, holding no lock; it takes s.mu, holds the recipients, and
// waits for the broker, never for a link.
func (s *Session) openQuestion(ctx context.Context, words speech, q *ledger.Question, pending *questions.Pending,
	explain func(*ledger.Outcome) (speech, error)) (open, unrecorded bool, err error) {
	p := s.p
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.ctx.Err() != nil {
		return false, false, ErrSessionOver
	}
	if err := ctx.Err(); err != nil {
		return false, false, err
	}
	defer p.board.HoldRecipients()()
	recorded, unrecorded := p.board.AssignRecipients(q, pending)
	if !recorded {
		return false, unrecorded, nil
	}
	pending.StretchTimeout()
	before := s.lastState.ev
	if err := s.enterStateSaying(aaep.StateAwaitingInput, waitingFor(words)); err != nil {
		return false, false, err
	}
	// The change of state that ended the question before has an earlier stamp than this question.
	// After a broken stream it may arrive once more behind this question, and the stamps show that
	// it is not the end of this one.
	pending.Event.Timestamp = s.nextStamp()
	if before != nil && !pending.Event.Timestamp.After(before.Timestamp) {
		pending.Event.Timestamp = before.Timestamp.Add(time.Millisecond)
	}
	if err := s.machine.Next(pending.Event); err != nil {
		return false, false, errors.Join(err, s.resumeState(speech{}))
	}
	s.last, q.Stamp = pending.Event.Timestamp, pending.Event.Timestamp
	if err := p.board.Open(q, pending, p.appendEvent); err != nil {
		if errors.Is(err, questions.ErrClosed) {
			err = ErrClosed
		}
		s.machine.Settled(q.Token, aaep.Reject)
		return false, false, errors.Join(err, s.resumeState(speech{}))
	}
	s.pos, s.explainSettled = pending.Pos, explain
	return true, false, nil
}
