package questions

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/replica"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/producer/audit"
)

// Subscription is a subscription that may be asked, and the stream that shows it the questions.
// Any goroutine may call the methods of the first group; only the owner of the subscription calls
// those of the second, which are the stream's.
type Subscription interface {
	// MayBeAsked reports whether a question of this kind may be put to the subscription: its terms
	// and its rights allow the reply. The answer holds as long as HoldRecipients does.
	MayBeAsked(isConfirmation bool) bool
	// AuditIdentity returns the subscription as the audit log names it, with the language in which
	// it is shown ev.
	AuditIdentity(ev *aaep.Event) audit.Subscription
	// Needs returns what the subscription's user needs to answer.
	Needs() replica.Needs
	// Languages returns the languages of its terms, best first.
	Languages() []string
	// IsAborted reports whether the subscription has ended or is about to.
	IsAborted() bool
	// Wake has the owner call Recipient.AskLate. It never waits.
	Wake()

	// HasStream reports whether there is or was a stream, HasShown whether the entry at pos was
	// given to it, and HasPassed whether the log will not show that entry any more.
	HasStream() bool
	HasShown(pos uint64) bool
	HasPassed(pos uint64) bool
	// Push has an entry sent, and Discard takes out what was pushed and has not left.
	Push(e shaper.Entry)
	Discard(match func(*aaep.Event) bool)
}

// Recipient is a subscription with the questions that it is asked besides those that were put to it
// from the first. A question is put to a subscription only once that is on record. Until then it is
// withheld from the subscription's stream, and the record is written on a goroutine; AskLate puts
// the question when the record is kept. Nothing else waits for it.
type Recipient struct {
	Subscription Subscription // who is asked; a named field, so that its methods are not the Recipient's
	ID           string       // of the subscription
	board        *Board

	// These belong to the owner of the subscription.
	overfull  bool                            // too many questions are withheld; the owner ends it
	onRecord  map[aaep.ReplyToken]string      // the language in which it is on record as asked
	recording map[aaep.ReplyToken]string      // the language for which a record is being written
	toAsk     map[aaep.ReplyToken]*aaep.Event // the event that asks once the record is kept
	failed    map[aaep.ReplyToken]bool        // the record failed; AskLate does not try again
	beside    map[aaep.ReplyToken]*aaep.Event // the event that asked outside the log; see askAside

	askAgain atomic.Bool // AskLate has to look at kept, or for a question that is withheld and open

	mu       sync.Mutex        // a leaf; guards what follows
	withheld []aaep.ReplyToken // the log must not show it these questions; the newest is last
	kept     []keptRecord      // results of records that the owner is yet to note
}

// keptRecord is the result of a record: whether it is on record that a subscription is asked a
// question in a language.
type keptRecord struct {
	token    aaep.ReplyToken
	language string
	is       bool
}

const (
	// maxWithheld is how many questions may have been settled, at most, that are still withheld
	// from a subscription, for they could not be put to it before. With more, the subscription
	// ends: the log must never show it one of them.
	maxWithheld = 256
	// recordSoon is how long a record is waited for if no other is known to take longer. A question
	// whose record is kept within that time keeps its place in the order of events.
	recordSoon = 20 * time.Millisecond
)

// NewRecipient returns a subscription that is not asked anything yet.
func (b *Board) NewRecipient(id string, sub Subscription) *Recipient {
	return &Recipient{Subscription: sub, ID: id, board: b}
}

// recordSoon has a record written, and waits for that for recordSoon at most, or not at all while
// another record is known to take long. If it is kept in that time, known is true and err is its
// result. Otherwise later is called with the result, on a goroutine that Config.Recording counts.
// The owner of a subscription calls it, and OpenFollowed between BeginRecord and Recording.Done:
// Shutdown waits for these first, so that it misses no record.
func (b *Board) recordSoon(r audit.Record, later func(error)) (err error, known bool) {
	kept, begun := make(chan error, 1), make(chan struct{})
	b.Recording.Go(func() {
		close(begun)
		kept <- b.Broker.Log.Record(r)
	})
	<-begun // on a busy machine the goroutine may take longer to start than the record to be kept
	if b.slowRecords.Load() == 0 {
		timer := time.NewTimer(recordSoon)
		defer timer.Stop()
		select {
		case err = <-kept:
			return err, true
		case <-timer.C:
		}
	}
	b.slowRecords.Add(1)
	b.Recording.Go(func() {
		err := <-kept
		b.slowRecords.Add(-1)
		later(err)
	})
	return nil, false
}

// withhold keeps the log from showing a question to the subscription, until AskLate puts it. Any
// goroutine may call it that does not hold r.mu.
func (r *Recipient) withhold(token aaep.ReplyToken) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.withheld, token) {
		r.withheld = append(r.withheld, token)
	}
}

// release lets the log show a question again that was withheld. It takes r.mu; Board.mu is held,
// with which the caller has made sure that the question is open and the subscription is asked.
func (r *Recipient) release(token aaep.ReplyToken) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.withheld = slices.DeleteFunc(r.withheld, func(t aaep.ReplyToken) bool { return t == token })
}

// IsWithheld reports whether the log must not show a question to the subscription. Any goroutine
// may call it that does not hold r.mu.
func (r *Recipient) IsWithheld(token aaep.ReplyToken) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.withheld, token)
}

// IsOverfull reports whether too many questions are withheld from the subscription that were
// settled before they could be put to it, so that it has to end. The owner calls it.
func (r *Recipient) IsOverfull() bool { return r.overfull }

// queueRecord hands the result of a record to the owner, which noteRecord then notes. It is called
// on the goroutine that waited for the record, holding no lock.
func (r *Recipient) queueRecord(k keptRecord) {
	r.mu.Lock()
	r.kept = append(r.kept, k)
	r.mu.Unlock()
	r.lookAgain()
}

// lookAgain makes the owner of the subscription call AskLate. Any goroutine may call it, with any
// lock held; it never waits.
func (r *Recipient) lookAgain() {
	r.askAgain.Store(true)
	r.Subscription.Wake()
}

// AskLate puts to the subscription the questions that are on record by now, and begins to record
// those that have been withheld since. It does nothing if there is none. The owner calls it,
// holding no lock; it takes Board.mu and r.mu, and may wait for the audit log for recordSoon.
func (r *Recipient) AskLate() {
	if !r.askAgain.Swap(false) {
		return
	}
	r.mu.Lock()
	kept := r.kept
	r.kept = nil
	r.mu.Unlock()
	for _, k := range kept {
		r.noteRecord(k)
	}
	r.putOpen(func(put *Pending) *aaep.Event {
		token := put.token()
		switch {
		case r.toAsk[token] == nil && (r.failed[token] || !r.IsWithheld(token)):
			return nil
		case r.Subscription.HasStream() && r.Subscription.HasShown(put.Pos):
			return r.board.repeatQuestion(put, time.Now()) // with the time that is left now
		}
		return put.Event
	}, func(e shaper.Entry) {
		if !r.Subscription.HasStream() {
			r.Subscription.Push(e)
			return
		}
		r.askAside(e)
	})
}

// noteRecord notes the result of a record. The owner calls it.
func (r *Recipient) noteRecord(k keptRecord) {
	switch language, begun := r.recording[k.token]; {
	case language == k.language:
		delete(r.recording, k.token)
	case begun && !k.is:
		return // that of another language is still being written
	}
	if r.onRecord == nil {
		r.onRecord, r.failed = map[aaep.ReplyToken]string{}, map[aaep.ReplyToken]bool{}
	}
	if k.is {
		r.onRecord[k.token] = k.language
	} else {
		delete(r.toAsk, k.token)
		r.failed[k.token] = true
		r.board.Broker.DismissRecipient(k.token, r.ID)
	}
}

// askAside pushes a question outside its place in the log, and keeps it in beside, from where
// RepeatQuestions pushes it again. The owner calls it, with Board.mu held.
func (r *Recipient) askAside(e shaper.Entry) {
	if r.beside == nil {
		r.beside = map[aaep.ReplyToken]*aaep.Event{}
	}
	token, _ := closes.Token(e.Event)
	r.beside[token] = e.Event
	r.Subscription.Push(e)
}

// putOpen puts the open questions to the subscription if it can answer them: at once those for
// which it is on record that it is asked, and the others by AskLate, once their records are kept.
// ask returns the event that asks a question, or nil to leave the question out; a nil ask is all
// questions, each by its own event. push gives an event to the stream, and is called with Board.mu
// held. It is not called for a question that the log is yet to show. The owner calls putOpen, and
// the registration of a subscription before there is an owner, holding no lock. It takes Board.mu
// and r.mu, and may wait for the audit log for recordSoon.
func (r *Recipient) putOpen(ask func(*Pending) *aaep.Event, push func(shaper.Entry)) {
	b := r.board
	b.mu.Lock()
	open := b.inOrder()
	settled := func(token aaep.ReplyToken) bool { return b.open[token] == nil }
	maps.DeleteFunc(r.onRecord, func(token aaep.ReplyToken, _ string) bool { return settled(token) })
	maps.DeleteFunc(r.failed, func(token aaep.ReplyToken, _ bool) bool { return settled(token) })
	maps.DeleteFunc(r.toAsk, func(token aaep.ReplyToken, _ *aaep.Event) bool { return settled(token) })
	r.mu.Lock()
	if over := len(r.withheld) - len(open); over > maxWithheld {
		r.overfull = true
	}
	r.mu.Unlock()
	b.mu.Unlock()
	for _, put := range open {
		token, entry := put.token(), put.Entry
		if ask != nil {
			entry.Event = ask(put)
		}
		if entry.Event == nil || !r.Subscription.MayBeAsked(put.IsConfirmation()) {
			continue
		}
		if entry.Event != put.Event {
			entry.Pos = 0 // it has no place in the log
		}
		if !r.isOnRecord(put, entry.Event) {
			continue
		}
		delete(r.toAsk, token)
		b.Broker.AddRecipient(token, r.ID)
		b.mu.Lock()
		if b.open[token] == put { // it has not been settled meanwhile
			if r.release(token); !slices.Contains(put.recipients, r) {
				put.recipients = append(put.recipients, r)
			}
			if r.Subscription.HasPassed(entry.Pos) { // otherwise the log shows it later
				push(entry)
			}
		}
		b.mu.Unlock()
	}
}

// isOnRecord reports whether it is on record that the subscription is asked the question of put, in
// the language that it is shown. If not, it has that recorded, once for each language, and ev is
// the event that asks when the record is kept; until then the question is withheld, and stays open
// for this subscription. A record that is kept at once counts. The owner calls it, holding no lock.
func (r *Recipient) isOnRecord(put *Pending, ev *aaep.Event) bool {
	b, token, who := r.board, put.token(), r.Subscription.AuditIdentity(put.Event)
	language, is := r.onRecord[token]
	b.mu.Lock()
	if i := indexOf(put.recorded, r.ID); i >= 0 && !is {
		if language, is = put.recorded[i].Language, true; put.isRecordedAs(who) {
			language = who.Language
		}
	}
	soon, left := indexOf(put.recording, r.ID) >= 0, put.deadline.Sub(b.Broker.Now())
	b.mu.Unlock()
	if is && language == who.Language {
		return true
	}
	r.withhold(token)
	if soon { // OpenFollowed releases it, or has AskLate look at it
		return false
	}
	if r.toAsk == nil {
		r.toAsk, r.recording = map[aaep.ReplyToken]*aaep.Event{}, map[aaep.ReplyToken]string{}
	}
	r.toAsk[token] = ev
	if language, begun := r.recording[token]; begun && language == who.Language {
		return false
	}
	b.Broker.ExpectRecipient(token, r.ID)
	record := put.laterRecord()
	record.Recipients, record.Deadline = []audit.Subscription{who}, time.Now().Add(left)
	r.recording[token] = who.Language
	err, known := b.recordSoon(record, func(err error) { r.queueRecord(keptRecord{token, who.Language, err == nil}) })
	if known {
		r.noteRecord(keptRecord{token, who.Language, err == nil})
	}
	return known && err == nil
}

// PutForNewTerms puts open questions to a subscription whose terms have changed from was: those
// that it can answer only now (D-34), and those that were to come, or have come, in another
// language than they would now. What has come is put again, with the same token: a user who changes
// the language while deciding wants to hear in the new one what is to be decided. What has not left
// yet waits until the new language is on record. The owner calls it, after the answer to the
// change; nothing has left since the terms are new.
func (r *Recipient) PutForNewTerms(was *negotiation.Terms) {
	if !r.Subscription.HasStream() { // what is prepared for the first stream is prepared anew
		r.Subscription.Discard(func(ev *aaep.Event) bool {
			_, asks := closes.Token(ev)
			return asks
		})
		r.PutOpenQuestions()
		return
	}
	languages := r.Subscription.Languages()
	reworded := func(ev *aaep.Event) bool {
		return negotiation.ChooseLanguage(was.Languages, ev) != negotiation.ChooseLanguage(languages, ev)
	}
	if !slices.Equal(was.Languages, languages) {
		r.Subscription.Discard(func(ev *aaep.Event) bool {
			_, asks := closes.Token(ev)
			return asks && reworded(ev)
		})
	}
	could := func(put *Pending) bool {
		if put.IsConfirmation() {
			return was.ConfirmationReply
		}
		return was.ClarificationReply
	}
	now := time.Now()
	maps.DeleteFunc(r.beside, func(_ aaep.ReplyToken, ev *aaep.Event) bool { return r.board.IsSettled(ev) })
	r.putOpen(func(put *Pending) *aaep.Event {
		switch ev := put.Event; {
		case !could(put):
			return ev
		case !reworded(ev):
			return nil
		case r.Subscription.HasShown(put.Pos):
			return r.board.repeatQuestion(put, now)
		default: // the log shows it when it is on record
			return ev
		}
	}, r.askAside)
}

// PutOpenQuestions puts the open questions that the cursor has passed to the subscription if it can
// answer them. They take the place of the events in beside. The owner calls it, and the
// registration of a subscription, holding no lock.
func (r *Recipient) PutOpenQuestions() {
	clear(r.beside)
	r.putOpen(nil, r.Subscription.Push)
}

// RepeatQuestions puts the open questions of beside once more, for the stream may have broken
// before they arrived and the log does not have these events. The owner calls it when it makes a
// stream anew.
func (r *Recipient) RepeatQuestions() {
	if len(r.beside) == 0 {
		return
	}
	r.putOpen(func(put *Pending) *aaep.Event {
		if !r.Subscription.HasPassed(put.Pos) { // the log shows it, in its place
			delete(r.beside, put.token())
		}
		return r.beside[put.token()]
	}, func(e shaper.Entry) { r.Subscription.Push(shaper.Entry{Event: e.Event, At: e.Pos}) })
}

// repeatQuestion returns an event that asks a question once more, with the time that is left to
// answer. It takes b.mu.
func (b *Board) repeatQuestion(put *Pending, now time.Time) *aaep.Event {
	b.mu.Lock()
	left := WholeSeconds(put.deadline.Sub(b.Broker.Now()))
	b.mu.Unlock()
	return put.repeat(b.NewEventID(), now, left)
}

// OpenFollowed opens, at a replica, a question of the agent, and puts it to the subscriptions here
// that can answer it. justPut says that it has just been put, whatever the clocks say. If its
// record is kept within recordSoon, they become its recipients before the log shows it. Otherwise
// it is withheld from them, and AskLate puts it when the record is kept; the events after it do not
// wait. The goroutine that follows the agent's log calls it, holding no lock. The error says that
// the agent used the token before, which it must not.
func (b *Board) OpenFollowed(entry shaper.Entry, q *ledger.Question, justPut bool) error {
	ev := entry.Event
	q.SessionID, q.Stamp = ev.SessionID, ev.Timestamp
	q.Recipients = []string{""} // the subscriptions at other processes; they keep it open
	put := &Pending{Entry: entry, Record: audit.Question(ev)}
	left := time.Until(put.Record.Deadline)
	if justPut {
		left = closes.Given(ev)
	}
	put.deadline = b.Broker.Now().Add(left)
	b.putting.Lock()
	var able []*Recipient
	for r := range b.Recipients() {
		if r.Subscription.MayBeAsked(put.IsConfirmation()) {
			able = append(able, r)
			put.recording = append(put.recording, r.Subscription.AuditIdentity(ev))
		}
	}
	put.Record.Recipients = put.recording
	var err error
	b.mu.Lock() // what settles the question at once takes it off the list after it is there
	if put.Waiter, err = b.Broker.Open(q, put.Record); err == nil {
		b.open[q.Token] = put
	}
	b.mu.Unlock()
	b.putting.Unlock()
	if err != nil {
		return err
	}
	for _, r := range able {
		r.withhold(q.Token)
	}
	if len(able) > 0 && b.BeginRecord() {
		defer b.Recording.Done()
		b.recordFollowed(q.Token, put, able)
	}
	return nil
}

// recordFollowed records that a question of the agent is put to the subscriptions in able, from
// which it is withheld, and makes them its recipients if that is on record within recordSoon.
// Otherwise the record goes on, and each subscription learns of its end with queueRecord.
// OpenFollowed calls it, holding no lock.
func (b *Board) recordFollowed(token aaep.ReplyToken, put *Pending, able []*Recipient) {
	recorded := func(err error) {
		b.mu.Lock()
		if err == nil {
			put.recorded = put.recording
		}
		put.recording = nil
		b.mu.Unlock()
	}
	err, known := b.recordSoon(put.Record, func(err error) {
		recorded(err)
		for i, r := range able {
			r.queueRecord(keptRecord{token, put.Record.Recipients[i].Language, err == nil})
		}
	})
	if !known {
		return
	}
	recorded(err)
	defer b.HoldRecipients()() // no terms change meanwhile
	for _, r := range able {   // the log has not shown it yet
		if err != nil || !r.Subscription.MayBeAsked(put.IsConfirmation()) || !put.isRecordedAs(r.Subscription.AuditIdentity(put.Event)) {
			r.lookAgain() // its terms have changed
			continue
		}
		b.Broker.AddRecipient(token, r.ID)
		b.mu.Lock()
		if b.open[token] == put {
			put.recipients = append(put.recipients, r)
			r.release(token)
		}
		b.mu.Unlock()
		if r.Subscription.IsAborted() { // it ended before the Broker knew it as a recipient
			b.Broker.RemoveSubscription(r.ID)
		}
	}
}

// reopenFollowed opens, at a replica, a question again whose answer from here could not be handed
// to the agent, unless another process has settled it meanwhile: those that were asked here, and
// those that come, can still answer it. Claims.Settle calls it, holding no lock.
func (b *Board) reopenFollowed(settled *ledger.Question) {
	q := *settled
	b.mu.Lock()
	put := b.open[q.Token]
	if put == nil {
		b.mu.Unlock()
		return
	}
	q.Recipients = []string{""}
	asked := put.recipients
	for _, r := range asked {
		q.Recipients = append(q.Recipients, r.ID)
	}
	again, err := b.Broker.Reopen(&q, put.Record)
	if err != nil {
		delete(b.open, q.Token)
	} else {
		put.Waiter = again
	}
	b.mu.Unlock()
	for _, r := range asked {
		switch {
		case r.Subscription.IsAborted(): // it ended before the Broker knew of it
			b.Broker.RemoveSubscription(r.ID)
		case !r.Subscription.MayBeAsked(put.IsConfirmation()):
			b.Broker.NarrowAbilities(r.ID, put.IsConfirmation(), !put.IsConfirmation())
		}
	}
}
