package questions

import (
	"cmp"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/replica"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/producer/audit"
)

// Config is what a Board is made of. All of it is needed, except where it says otherwise.
type Config struct {
	// Recipients returns the subscriptions that are served, whether they may be asked or not. It
	// takes no lock.
	Recipients func() iter.Seq[*Recipient]
	// Replicas returns the other processes that serve the agent's subscribers, in the order of
	// their ids. A replica has none.
	Replicas func() []replica.Presence
	// Recording counts the records that are being written, which Shutdown waits for. BeginRecord
	// adds one, or reports false where Shutdown has begun.
	Recording   *sync.WaitGroup
	BeginRecord func() bool
	// NewEventID returns an id for an event that asks a question once more.
	NewEventID func() string
	Logger     *slog.Logger
}

// Board has the questions that are open, puts each to the subscriptions that may answer it, and
// knows which of them it was put to. A question is put to a subscription only once that is on
// record. All methods may be called at once.
//
// Locks are taken in this order: putting, Board.mu, a Recipient's mu. Each may be taken where a
// session is held, and none is held while a link or a record is waited for, but that putting
// and Board.mu are held while the Broker is.
type Board struct {
	Config
	// Broker says what settles a question.
	Broker *Broker
	// Agent is the agent of which this process is a replica; nil in the agent's own process. It is
	// all that tells the one from the other here. Set it before the first question.
	Agent *RemoteAgent

	// putting is held while a question is put, so that meanwhile no subscription is registered and
	// none begins or ceases to be one that may be asked.
	putting     sync.Mutex
	slowRecords atomic.Int32 // how many records are being written and not waited for

	mu   sync.Mutex                   // guards open, and what Pending says of it
	open map[aaep.ReplyToken]*Pending // listed from when they are put until they are settled
}

// RemoteAgent is the agent in another process, as a replica asks it and speaks for it. Both
// functions are needed.
type RemoteAgent struct {
	// AskMoreTime asks the agent for more time for a question, and reports whether there was more to
	// give. It waits for the agent.
	AskMoreTime func(by audit.Subscription, token aaep.ReplyToken) bool
	// AnnounceStuckReply announces, in the session of a question, that a reply received here waits to
	// be kept: the user who gave it believes that it counts.
	AnnounceStuckReply func(session string)
}

// NewBoard returns a Board without questions.
func NewBoard(cfg Config, broker *Broker) *Board {
	return &Board{Config: cfg, Broker: broker, open: map[aaep.ReplyToken]*Pending{}}
}

// HoldRecipients keeps questions from being put until release is called: meanwhile the caller may
// register a subscription, or change whether one may be asked.
func (b *Board) HoldRecipients() (release func()) {
	b.putting.Lock()
	return b.putting.Unlock
}

// isReplica reports whether the questions here are those of an agent in another process, which alone
// gives more time and settles what no subscriber here answers.
func (b *Board) isReplica() bool { return b.Agent != nil }

// Forget takes a question out of those that later subscribers are asked. At the agent the Broker
// calls it with every question that is no longer open; the other callers are where that could be
// too early, and a replica, whose Broker calls nothing.
func (b *Board) Forget(token aaep.ReplyToken) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, token)
}

// Count returns how many questions are open.
func (b *Board) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.open)
}

// IsSettled reports whether ev asks a question that is not open here: it has been settled, or was
// never put by this agent, as one that was republished.
func (b *Board) IsSettled(ev *aaep.Event) bool {
	token, asks := closes.Token(ev)
	if !asks {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, open := b.open[token]
	return !open
}

// Entries returns the events of the questions that are open, in the order in which they were put.
func (b *Board) Entries() (all []shaper.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, put := range b.inOrder() {
		all = append(all, put.Entry)
	}
	return all
}

// inOrder returns the open questions in the order in which they were put, with b.mu held.
func (b *Board) inOrder() []*Pending {
	return slices.SortedFunc(maps.Values(b.open), func(x, y *Pending) int { return cmp.Compare(x.Pos, y.Pos) })
}

// Unrecorded returns the recipients that can be asked and are not on record as asked, and gives the
// question the time that they need. The question is not listed yet.
func (b *Board) Unrecorded(put *Pending) (fresh []audit.Subscription) {
	for r := range b.Recipients() {
		if who := r.Subscription.AuditIdentity(put.Event); r.Subscription.MayBeAsked(put.IsConfirmation()) && !put.isRecordedAs(who) {
			put.Include(r.Subscription.Needs())
			fresh = append(fresh, who)
		}
	}
	for _, process := range b.replicasToAsk(put.IsConfirmation(), &put.Needs) {
		if !put.isRecorded(process.ID) {
			fresh = append(fresh, process.AuditIdentity())
		}
	}
	put.StretchTimeout()
	return fresh
}

// CanAsk reports whether a question of this kind can be put to any recipient.
func (b *Board) CanAsk(isConfirmation bool) bool {
	for r := range b.Recipients() {
		if r.Subscription.MayBeAsked(isConfirmation) {
			return true
		}
	}
	return len(b.replicasToAsk(isConfirmation, nil)) > 0
}

// replicasToAsk returns the replicas that a question can be put to, in the order of their ids, and
// includes what they need in need, which may be nil.
func (b *Board) replicasToAsk(isConfirmation bool, need *replica.Needs) (able []replica.Presence) {
	for _, r := range b.Replicas() {
		if r.MayBeAsked(isConfirmation) {
			if able = append(able, r); need != nil {
				need.Include(r.Needs)
			}
		}
	}
	return able
}

// AssignRecipients makes recipients of q the subscriptions and replicas that can answer it and are
// on record as asked. It reports whether there are some, and whether there are others that are not
// on record yet: those are expected. The caller holds what HoldRecipients returned, and calls Open
// if there are some.
func (b *Board) AssignRecipients(q *ledger.Question, put *Pending) (some, others bool) {
	q.Recipients, q.Expected, put.recipients, put.replicas, put.late = nil, nil, nil, nil, nil
	for r := range b.Recipients() {
		switch {
		case r.Subscription.IsAborted() || !r.Subscription.MayBeAsked(put.IsConfirmation()):
		case put.isRecordedAs(r.Subscription.AuditIdentity(put.Event)):
			q.Recipients, put.recipients = append(q.Recipients, r.ID), append(put.recipients, r)
		default:
			q.Expected, put.late = append(q.Expected, r.ID), append(put.late, r)
			put.Include(r.Subscription.Needs())
		}
	}
	some = len(put.recipients) > 0
	// A replica that came meanwhile is included too, for it records itself which of its
	// subscriptions it asks.
	for _, process := range b.replicasToAsk(put.IsConfirmation(), &put.Needs) {
		some = some || put.isRecorded(process.ID)
		q.Recipients, put.replicas = append(q.Recipients, process.ID), append(put.replicas, process.ID)
	}
	return some, len(put.late)+len(put.replicas) > 0
}

// Open opens a question whose recipients were assigned, and has it appended to the log. It is open
// before its event is out, so that no reply can come too early; until it is listed nothing that
// settles it can take it off the list, for b.mu is held. Those that are not on record yet are asked
// when they are. The error is the Broker's. The caller still holds the recipients; it waits for the
// Broker, never for a link.
func (b *Board) Open(q *ledger.Question, put *Pending, appendEvent func(*aaep.Event) uint64) (err error) {
	b.mu.Lock()
	if put.Waiter, err = b.Broker.Open(q, put.Record); err != nil {
		b.mu.Unlock()
		return err
	}
	put.deadline = b.Broker.Now().Add(closes.Given(put.Event))
	for _, r := range put.late {
		r.withhold(q.Token)
	}
	put.Pos = appendEvent(put.Event)
	b.open[q.Token] = put
	asked := put.recipients
	b.mu.Unlock()
	for _, r := range slices.Concat(asked, put.late) {
		if r.Subscription.IsAborted() { // it ended before the Broker knew of it
			b.Broker.RemoveSubscription(r.ID)
		}
	}
	for _, r := range put.late {
		r.lookAgain()
	}
	return nil
}

// PutTo returns the subscriptions and replicas that the question was put to.
func (b *Board) PutTo(put *Pending) (recipients []*Recipient, replicas []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(put.recipients), slices.Clone(put.replicas)
}

// JoinReplica puts the open questions to a replica that it can answer only now, and takes it out of
// those that it can answer no longer. apply replaces the presence that was known of it before,
// which it returns.
func (b *Board) JoinReplica(is replica.Presence, apply func(replica.Presence) replica.Presence) {
	defer b.HoldRecipients()() // the recipients must not change while a question is put
	was := apply(is)
	var join []aaep.ReplyToken
	b.mu.Lock()
	for token, put := range b.open {
		if is.MayBeAsked(put.IsConfirmation()) && !was.MayBeAsked(put.IsConfirmation()) {
			join = append(join, token)
			put.replicas = append(put.replicas, is.ID)
		}
	}
	b.mu.Unlock()
	for _, token := range join {
		b.Broker.AddRecipient(token, is.ID)
	}
	if was.Confirm && !is.Confirm || was.Clarify && !is.Clarify {
		b.Broker.NarrowAbilities(is.ID, !is.Confirm, !is.Clarify)
	}
}

// Extend gives a question more time for a recipient that asks for it, and reports whether there was
// more to give. recipient is the id of a subscription or, at the agent, of a replica; by is the
// subscription that the audit log names. The goroutine that waits for the outcome then learns how
// much time is left. A replica asks the agent, and counts on the time that the question was put
// with. The caller holds no lock; Extend waits for the Broker, or for the agent.
func (b *Board) Extend(recipient string, by audit.Subscription, token aaep.ReplyToken) bool {
	b.mu.Lock()
	put := b.open[token]
	b.mu.Unlock()
	if b.isReplica() {
		if put == nil || !b.Agent.AskMoreTime(by, token) {
			return false
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		put.deadline = put.deadline.Add(closes.Given(put.Event))
		return true
	}
	left, ok := b.Broker.Extend(recipient, token)
	if !ok {
		return false
	}
	if put != nil {
		r := audit.Record{Kind: audit.Extended, SessionID: put.Record.SessionID, QuestionID: put.Record.QuestionID,
			Deadline: time.Now().Add(left), By: &by}
		if b.BeginRecord() { // the time is given already, so nothing waits for the record
			go func() {
				defer b.Recording.Done()
				b.Broker.Log.Record(r)
			}()
		} else {
			b.Broker.Log.Record(r)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		put.deadline = b.Broker.Now().Add(left)
		select {
		case <-put.More: // it has not been taken yet, and there is more now
		default:
		}
		put.More <- left
	}
	return true
}
