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
	"github.com/aaep-go/aaep/internal/questions"
	"github.com/aaep-go/aaep/internal/replica"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/producer/audit"
)

// askQuestion puts one question, waits for its one outcome and returns that. explain maps the
// outcome to the words that announce it and to the error that the agent gets. It must take no lock:
// endSession calls it with s.mu held if the session ends while the question is open. The
// pendingQuestion is returned with every outcome, also beside an error. clarify and askConfirmation
// call it on the agent's goroutine, holding no lock.
//
// The order is: the state awaiting_input, the question, its outcome, and one change of state that
// announces what came of it. Where an action was accepted, that change is to calling_tool.
func (s *Session) askQuestion(ctx context.Context, about speech, q *ledger.Question,
	explain func(*ledger.Outcome) (speech, error)) (_ *ledger.Outcome, _ *pendingQuestion, err error) {
	// A session has one question open at a time, so that it is clear which one a change of state is
	// about. The next one waits for its turn (D-40).
	select {
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
	out := s.receiveOutcome(ctx, put, q)
	if out == nil {
		return nil, nil, ErrSessionOver // endSession withdraws the question
	}
	if q.Confirmation != nil && out.Decision == aaep.Accept {
		defer func() {
			if err != nil {
				s.p.broker.Log.RecordNotDone(put.asked)
			}
		}()
	}
	// An answer that came too late for the agent is on record, but nothing is done.
	late := ctx.Err()
	if late != nil {
		out = ledger.WithdrawnOutcome(q)
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
	// The state changes before the next question has its turn, so that each outcome is announced.
	if q.Confirmation != nil && out.Decision == aaep.Accept && failed == nil {
		return out, put, s.enterStateSaying(aaep.StateCallingTool,
			s.p.speechOrPhrase(aaep.Text{}, phrase.UsingATool, ""))
	}
	if err := s.resumeState(news); err != nil {
		return nil, nil, errors.Join(failed, err)
	}
	return out, put, failed
}

// receiveOutcome waits for the outcome of a question. One that no recipient can answer has its
// outcome, and its record, at once. The result is nil if the session ends first.
func (s *Session) receiveOutcome(ctx context.Context, put *pendingQuestion, q *ledger.Question) *ledger.Outcome {
	if put.Waiter == nil {
		out := ledger.Unanswerable(q)
		out.At = time.Now()
		s.p.broker.Log.RecordOutcome(out, put.asked, nil)
		return out
	}
	out := s.awaitOutcome(ctx, put, q)
	if out != nil {
		s.p.removeQuestion(q.Token) // it may have been settled before openQuestion listed it
	}
	return out
}

// maxAsks is how often putQuestion records a question, once more each time that every recipient on
// record has left and new ones have come.
const maxAsks = 10

// putQuestion puts a question to every subscription and replica that can answer it, once it is on
// record that it is put to them, and announces that the agent waits. Only this call waits for the
// record: the session goes on, and no lock is held meanwhile. A subscription that comes in that
// time is not shown the question with the rest; it is recorded and asked by itself, see
// subscription.withhold. The result has no Waiter if no recipient can answer, or none can any more.
// Without an error the state is awaiting_input. askQuestion calls it.
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
	// withdraw gives what is on record as asked an outcome.
	withdraw := func(err error) error {
		if len(put.recorded) > 0 {
			out := ledger.WithdrawnOutcome(q)
			out.At = time.Now()
			p.broker.Log.RecordOutcome(out, put.asked, nil)
		}
		return err
	}
	for tries, others := 0, true; others; tries++ {
		if tries == maxAsks { // there are always others that could be asked
			return nil, withdraw(ErrUnreachable)
		}
		if fresh := p.unrecorded(put); len(fresh) > 0 {
			asked := put.asked
			if len(put.recorded) > 0 {
				asked = put.askedAlso()
			}
			asked.Recipients, asked.Deadline = fresh, time.Now().Add(closes.Given(put.Event))
			if p.broker.Log.Record(asked) != nil {
				return nil, withdraw(ErrNotRecorded)
			}
			put.recorded = append(put.recorded, fresh...)
			put.asked.Recipients = put.recorded
		}
		var open bool
		open, others, err = s.openQuestion(ctx, about, q, put, explain)
		switch {
		case err != nil:
			return nil, withdraw(err)
		case open:
			s.warnIfTooShort(payload, put.Pace)
			return put, nil
		}
	}
	if len(put.recorded) == 0 { // no user was shown any words
		put.asked.ShownDigest = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.ctx.Err() != nil {
		return nil, ErrSessionOver
	}
	return put, s.enterStateSaying(aaep.StateAwaitingInput, waitingFor(about))
}

// waitingFor returns the words that announce the state awaiting_input: those of the question.
func waitingFor(question speech) speech {
	question.with = aaep.Text{} // extension data, such as a haptic cue, goes with the question
	question.setPayloads(func(string) (aaep.Payload, bool) { return nil, true })
	return question
}

// prepareQuestion makes the event of a question and its Asked record, with the time to answer that
// the agent gives. The error is ErrSessionOver, or an *aaep.InvalidError for a question that must
// not be asked. It takes s.mu.
func (s *Session) prepareQuestion(about speech, q *ledger.Question, payload aaep.Payload) (
	put *pendingQuestion, err error) {
	put = &pendingQuestion{
		more: make(chan time.Duration, 1), Needs: replica.Needs{Patience: 1000, Pace: usualPace}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.ctx.Err() != nil {
		return nil, ErrSessionOver
	}
	if put.Event, err = s.buildEvent(about, payload); err == nil {
		put.asked, put.given = audit.Question(put.Event), int64(closes.Given(put.Event)/time.Second)
	}
	return put, err
}

// unrecorded returns the recipients that can be asked and are not on record as asked, and gives the
// question the time that they need. It takes Producer.mu, and the mu of each such subscription.
func (p *Producer) unrecorded(put *pendingQuestion) (fresh []audit.Subscription) {
	for _, sub := range *p.audience.Load() {
		if who := sub.auditIdentity(put.Event); sub.mayBeAsked(put.isConfirmation()) && !put.isRecordedAs(who) {
			put.Include(sub.needs())
			fresh = append(fresh, who)
		}
	}
	for _, party := range p.replicasToAsk(put.isConfirmation(), &put.Needs) {
		if !put.isRecorded(party.ID) {
			fresh = append(fresh, party.AuditIdentity())
		}
	}
	put.stretchTimeout()
	return fresh
}

// openQuestion opens a question that is on record, and emits awaiting_input and the question. If no
// recipient on record is left, open is false and nothing is emitted; others then says that there
// are some that can answer and are not on record. Those that are not, beside some that are, are
// asked when they are. The time to answer is that which all of them need. After an error the state
// goes back to what it was. explain becomes s.explainSettled. putQuestion calls it, holding no
// lock; it takes s.mu, putting and Producer.mu, and waits for the broker, never for a link.
func (s *Session) openQuestion(ctx context.Context, about speech, q *ledger.Question, put *pendingQuestion,
	explain func(*ledger.Outcome) (speech, error)) (open, others bool, err error) {
	p := s.p
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.ctx.Err() != nil {
		return false, false, ErrSessionOver
	}
	if err := ctx.Err(); err != nil {
		return false, false, err
	}
	p.putting.Lock()
	defer p.putting.Unlock()
	some, late := p.assignRecipients(q, put)
	if !some {
		return false, len(late)+len(put.replicas) > 0, nil
	}
	put.stretchTimeout()
	before := s.lastState.ev
	if err := s.enterStateSaying(aaep.StateAwaitingInput, waitingFor(about)); err != nil {
		return false, false, err
	}
	// The change of state that ended the question before has an earlier stamp than this question.
	// After a broken stream it may arrive once more behind this question, and the stamps show that
	// it is not the end of this one.
	put.Event.Timestamp = s.nextStamp()
	if before != nil && !put.Event.Timestamp.After(before.Timestamp) {
		put.Event.Timestamp = before.Timestamp.Add(time.Millisecond)
	}
	if err := s.machine.Next(put.Event); err != nil {
		return false, false, errors.Join(err, s.resumeState(speech{}))
	}
	s.last, q.Stamp = put.Event.Timestamp, put.Event.Timestamp
	// The question is open before the event is out, so that no reply can come too early. Until it
	// is one of p.asked nothing that settles it can take it from there, for p.mu is held.
	p.mu.Lock()
	if put.Waiter, err = p.broker.Open(q, put.asked); err != nil {
		p.mu.Unlock()
		if errors.Is(err, questions.ErrClosed) {
			err = ErrClosed
		}
		s.machine.Settled(q.Token, aaep.Reject)
		return false, false, errors.Join(err, s.resumeState(speech{}))
	}
	put.deadline = p.broker.Now().Add(closes.Given(put.Event))
	for _, sub := range late {
		sub.withhold(q.Token)
	}
	put.Pos = p.appendEvent(put.Event)
	p.asked[q.Token] = put
	asked := put.subs
	p.mu.Unlock()
	s.pos, s.explainSettled = put.Pos, explain
	for _, sub := range slices.Concat(asked, late) {
		if sub.IsAborted() { // it ended before the broker knew of it
			p.broker.RemoveSubscription(sub.id)
		}
	}
	for _, sub := range late {
		sub.lookAgain()
	}
	return true, false, nil
}

// assignRecipients makes recipients of q the subscriptions and replicas that can answer it and are
// on record as asked, and reports whether there are some. late are the subscriptions that are not
// on record yet; q expects them. openQuestion calls it with putting held.
func (p *Producer) assignRecipients(q *ledger.Question, put *pendingQuestion) (some bool, late []*subscription) {
	q.Recipients, q.Expected, put.subs, put.replicas = nil, nil, nil, nil
	for _, sub := range *p.audience.Load() {
		switch {
		case sub.IsAborted() || !sub.mayBeAsked(put.isConfirmation()):
		case put.isRecordedAs(sub.auditIdentity(put.Event)):
			q.Recipients, put.subs = append(q.Recipients, sub.id), append(put.subs, sub)
		default:
			q.Expected, late = append(q.Expected, sub.id), append(late, sub)
			put.Include(sub.needs())
		}
	}
	some = len(put.subs) > 0
	// A replica that came meanwhile is included too, for it records itself which of its
	// subscriptions it asks.
	for _, party := range p.replicasToAsk(put.isConfirmation(), &put.Needs) {
		some = some || put.isRecorded(party.ID)
		q.Recipients, put.replicas = append(q.Recipients, party.ID), append(put.replicas, party.ID)
	}
	return some, late
}

// pendingQuestion is a question that is open, or is about to be. Until openQuestion or
// openFollowedQuestion lists it in Producer.asked, it belongs to the goroutine that made it. At a
// replica it stands for a question of the agent.
type pendingQuestion struct {
	shaper.Entry
	*questions.Waiter // nil where no subscription is asked
	asked             audit.Record
	// more holds one: how much time is left since a subscriber was given more. awaitOutcome takes
	// it. It is nil at a replica.
	more          chan time.Duration
	given         int64 // how much time to answer the agent gives, in seconds; zero at a replica
	replica.Needs       // of those that could be asked until it was put; zero at a replica

	// Producer.mu guards what follows.
	deadline  time.Time            // as far as it is known here, by the broker's clock
	subs      []*subscription      // it has been put to these
	replicas  []string             // and to these replicas, by their ids
	recorded  []audit.Subscription // these were on record as asked from the first
	recording []audit.Subscription // the first record is being written for these; see follow.go
}

// isConfirmation reports whether it is a confirmation; otherwise it is a clarification.
func (put *pendingQuestion) isConfirmation() bool {
	return put.Event.Type() == aaep.TypeAwaitingConfirmation
}

// isRecorded reports whether the subscription or replica with this id was on record as asked from
// the first. Producer.mu is held, or the question is not in Producer.asked yet.
func (put *pendingQuestion) isRecorded(id string) bool {
	return among(put.recorded, id)
}

// isRecordedAs reports whether a subscription was on record from the first as asked in the language
// that it is shown.
func (put *pendingQuestion) isRecordedAs(who audit.Subscription) bool {
	return slices.ContainsFunc(put.recorded, func(on audit.Subscription) bool {
		return on.SubscriptionID == who.SubscriptionID && on.Language == who.Language
	})
}

// among reports whether all has the subscription or replica with this id.
func among(all []audit.Subscription, id string) bool { return indexOf(all, id) >= 0 }

// indexOf returns where all has the subscription or replica with this id, or -1.
func indexOf(all []audit.Subscription, id string) int {
	return slices.IndexFunc(all, func(who audit.Subscription) bool { return who.SubscriptionID == id })
}

// askedAlso returns the record of recipients that came later, still without these and without the
// deadline. Asked records after the first repeat no words.
func (put *pendingQuestion) askedAlso() audit.Record {
	return audit.Record{Kind: audit.Asked, SessionID: put.asked.SessionID, QuestionID: put.asked.QuestionID}
}

// replyToken returns the token that a reply to the question names.
func (put *pendingQuestion) replyToken() aaep.ReplyToken {
	token, _ := closes.Token(put.Event)
	return token
}

// questionsInOrder returns the open questions in the order in which they were put, with p.mu held.
func (p *Producer) questionsInOrder() []*pendingQuestion {
	return slices.SortedFunc(maps.Values(p.asked), func(a, b *pendingQuestion) int { return cmp.Compare(a.Pos, b.Pos) })
}

// removeQuestion takes a question out of those that later subscribers are asked. At the agent the
// broker calls it with every question that is no longer open, as Broker.Forget; the other callers
// are where that could be too early, and a replica, which has no Forget. It takes p.mu.
func (p *Producer) removeQuestion(token aaep.ReplyToken) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, token)
}
