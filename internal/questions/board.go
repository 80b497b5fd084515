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

// Config is what a Board is made of. All of it is needed.
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
// Locks are taken in this order: putting, Board.mu, a Recipient's mu. The Broker may be waited for
// while they are held, for its goroutine takes none of them; a link or a record is never. Each may
// be taken with a Session's mu held. Board.mu may be with Producer.mu held, and a Recipient's mu
// with that of a group in package delivery.
type Board struct {
	Config
	// Broker says what settles a question.
	Broker *Broker
	// Agent is the agent of which this process is a replica; nil in the agent's own process. It is
	// all that tells the one from the other here. Set it before the first question.
	Agent *RemoteAgent

	// putting is held while a question is put, so that meanwhile no subscription is registered and
	// none changes whether it may be asked.
	putting     sync.Mutex
	slowRecords atomic.Int32 // how many records are being written that recordSoon has ceased to wait for

	mu   sync.Mutex                   // guards open, and the last fields of each Pending in it
	open map[aaep.ReplyToken]*Pending // the questions that are open, and listed for later subscribers
}

// RemoteAgent is the agent in another process, as a replica asks it and speaks for it. Both
// functions are needed.
type RemoteAgent struct {
	// AskMoreTime asks the agent for more time for a question, and reports whether there was more
	// to give. It waits for the agent.
	AskMoreTime func(by audit.Subscription, token aaep.ReplyToken) bool
	// AnnounceStuckReply announces, in the session of a question, that a reply received here waits
	// to be kept: the user who gave it believes that it counts.
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

// isReplica reports whether the questions here are those of an agent in another process, which
// alone gives more time and settles what no subscriber here answers.
func (b *Board) isReplica() bool { return b.Agent != nil }

// Forget takes a question out of those that later subscribers are asked. In the agent's own process
// the Broker calls it with every question that is settled, and the end of a session, which does not
// wait for that. At a replica the code that learns of the settlement calls it. It takes b.mu.
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
// never put by this agent but republished. It is false for any other event. It takes b.mu.
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
	for _, pending := range b.listOpen() {
		all = append(all, pending.Entry)
	}
	return all
}

// listOpen returns the open questions in the order in which they were put, with b.mu held.
func (b *Board) listOpen() []*Pending {
	return slices.SortedFunc(maps.Values(b.open), func(x, y *Pending) int { return cmp.Compare(x.Pos, y.Pos) })
}

// FindUnrecorded returns the subscriptions and replicas that may be asked and are not on record as
// asked, and gives the question the time to answer that they need. The caller is about to record
// them; the question is not listed yet.
func (b *Board) FindUnrecorded(pending *Pending) (fresh []audit.Subscription) {
	for r := range b.Recipients() {
		sub := r.Subscription
		identity := sub.AuditIdentity(pending.Event)
		if sub.MayBeAsked(pending.IsConfirmation()) && !pending.isRecordedAs(identity) {
			pending.Include(sub.Needs())
			fresh = append(fresh, identity)
		}
	}
	for _, process := range b.replicasToAsk(pending.IsConfirmation(), &pending.Needs) {
		if !pending.isRecorded(process.ID) {
			fresh = append(fresh, process.AuditIdentity())
		}
	}
	pending.StretchTimeout()
	return fresh
}

// CanAsk reports whether a question can be put to any subscription or replica at present: a
// confirmation, or else a clarification.
func (b *Board) CanAsk(isConfirmation bool) bool {
	for r := range b.Recipients() {
		if r.Subscription.MayBeAsked(isConfirmation) {
			return true
		}
	}
	return len(b.replicasToAsk(isConfirmation, nil)) > 0
}

// replicasToAsk returns the replicas that a question of this kind can be put to, in the order of
// their ids, and includes what their users need to answer in need, which may be nil.
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

// AssignRecipients makes recipients of q the subscriptions that may be asked and are on record as
// asked, and the replicas. recorded reports whether one of them is on record. unrecorded reports
// whether there are others: subscriptions that are not on record yet become expected, see
// ledger.Ledger.Expect, and a replica puts the question to subscriptions of its own. The caller
// holds the recipients with HoldRecipients, and calls Open before it releases them if recorded.
func (b *Board) AssignRecipients(q *ledger.Question, pending *Pending) (recorded, unrecorded bool) {
	q.Recipients, q.Expected = nil, nil
	pending.recipients, pending.replicas, pending.unrecorded = nil, nil, nil
	for r := range b.Recipients() {
		sub := r.Subscription
		switch {
		case sub.IsAborted() || !sub.MayBeAsked(pending.IsConfirmation()):
		case pending.isRecordedAs(sub.AuditIdentity(pending.Event)):
			q.Recipients, pending.recipients = append(q.Recipients, r.ID), append(pending.recipients, r)
		default:
			q.Expected, pending.unrecorded = append(q.Expected, r.ID), append(pending.unrecorded, r)
			pending.Include(sub.Needs())
		}
	}
	recorded = len(pending.recipients) > 0
	// A replica that came meanwhile is included too, for it records itself which of its
	// subscriptions it asks.
	for _, process := range b.replicasToAsk(pending.IsConfirmation(), &pending.Needs) {
		recorded = recorded || pending.isRecorded(process.ID)
		q.Recipients, pending.replicas = append(q.Recipients, process.ID), append(pending.replicas, process.ID)
	}
	return recorded, len(pending.unrecorded)+len(pending.replicas) > 0
}

// Open opens a question whose recipients were assigned, has its event appended to the log, and
// lists it for later subscribers. It is open at the Broker before its event is out, so that no
// reply can come too early. b.mu is held until it is listed, so that Forget, if the question is
// settled at once, comes afterwards. From subscriptions that are not on record yet it is withheld;
// AskLate puts it to them. The caller still holds the recipients. Open waits for the Broker, never
// for a link; the error is the Broker's.
func (b *Board) Open(q *ledger.Question, pending *Pending, appendEvent func(*aaep.Event) uint64) (err error) {
	b.mu.Lock()
	if pending.Waiter, err = b.Broker.Open(q, pending.Record); err != nil {
		b.mu.Unlock()
		return err
	}
	pending.deadline = b.Broker.Now().Add(closes.Given(pending.Event))
	for _, r := range pending.unrecorded {
		r.withhold(q.Token)
	}
	pending.Pos = appendEvent(pending.Event)
	b.open[q.Token] = pending
	asked := pending.recipients
	b.mu.Unlock()
	for _, r := range slices.Concat(asked, pending.unrecorded) {
		if r.Subscription.IsAborted() { // it ended before the Broker knew of it
			b.Broker.RemoveSubscription(r.ID)
		}
	}
	for _, r := range pending.unrecorded {
		r.lookAgain()
	}
	return nil
}

// AskedRecipients returns the subscriptions that the question was put to, and the ids of the
// replicas. The slices are the caller's. It takes b.mu.
func (b *Board) AskedRecipients(pending *Pending) (recipients []*Recipient, replicas []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(pending.recipients), slices.Clone(pending.replicas)
}

// UpdateReplica applies a presence that a replica reports: it makes the replica a recipient of the
// open questions that it can answer only now, and takes it out of those that it can answer no
// longer. apply replaces the presence that was known of it, and returns that. It is called at the
// agent, holding no lock; it holds the recipients, takes b.mu and waits for the Broker.
func (b *Board) UpdateReplica(now replica.Presence, apply func(replica.Presence) replica.Presence) {
	defer b.HoldRecipients()() // the recipients must not change while a question is put
	before := apply(now)
	var joined []aaep.ReplyToken
	b.mu.Lock()
	for token, pending := range b.open {
		if now.MayBeAsked(pending.IsConfirmation()) && !before.MayBeAsked(pending.IsConfirmation()) {
			joined = append(joined, token)
			pending.replicas = append(pending.replicas, now.ID)
		}
	}
	b.mu.Unlock()
	for _, token := range joined {
		b.Broker.AddRecipient(token, now.ID)
	}
	if before.Confirm && !now.Confirm || before.Clarify && !now.Clarify {
		b.Broker.NarrowAbilities(now.ID, !now.Confirm, !now.Clarify)
	}
}

// Extend gives a question more time for a recipient that asks for it, and reports whether there was
// more to give. recipient is the id of a subscription or, at the agent, of a replica; asker is the
// subscription that the audit log names. The goroutine that waits for the outcome then learns from
// Pending.More how much time is left. The caller holds no lock; Extend takes b.mu, and waits for
// the Broker or, at a replica, for the agent.
func (b *Board) Extend(recipient string, asker audit.Subscription, token aaep.ReplyToken) bool {
	b.mu.Lock()
	pending := b.open[token]
	b.mu.Unlock()
	if b.isReplica() {
		return pending != nil && b.extendAtAgent(pending, asker)
	}
	left, ok := b.Broker.Extend(recipient, token)
	if ok && pending != nil {
		b.recordExtension(pending, asker, left)
		b.setTimeLeft(pending, left)
	}
	return ok
}

// extendAtAgent asks the agent for more time for its question, on behalf of the subscription asker
// here, and reports whether there was more to give. The agent does not say how much it gave: this
// replica counts on as much time again as the question was put with. Extend calls it, holding no
// lock; it waits for the agent, and takes b.mu.
func (b *Board) extendAtAgent(pending *Pending, asker audit.Subscription) bool {
	if !b.Agent.AskMoreTime(asker, pending.token()) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	pending.deadline = pending.deadline.Add(closes.Given(pending.Event))
	return true
}

// setTimeLeft notes that a question of this agent is open for left from now on, and hands that to
// the goroutine that waits for the outcome. It takes b.mu.
func (b *Board) setTimeLeft(pending *Pending, left time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	pending.deadline = b.Broker.Now().Add(left)
	select {
	case <-pending.More: // the time before this has not been taken yet, and no longer holds
	default:
	}
	pending.More <- left
}

// recordExtension records that the subscription asker was given more time for a question, which is
// open for left from now on. The time is given already, so nothing waits for the record, except
// during a Shutdown. The caller holds no lock.
func (b *Board) recordExtension(pending *Pending, asker audit.Subscription, left time.Duration) {
	r := audit.Record{Kind: audit.Extended, SessionID: pending.Record.SessionID,
		QuestionID: pending.Record.QuestionID, Deadline: time.Now().Add(left), By: &asker}
	if !b.BeginRecord() {
		b.Broker.Log.Record(r)
		return
	}
	go func() {
		defer b.Recording.Done()
		b.Broker.Log.Record(r)
	}()
}
