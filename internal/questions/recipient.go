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

// Recipient is a subscription with the questions that it is asked later than the first recipients:
// it came when they were open, or may answer them only since it has new terms. A question is put to
// a subscription only once that is on record. Until then it is withheld from the subscription's
// stream, and the record is written on another goroutine; AskLate puts the question when the record
// is kept. Nothing else waits for it.
type Recipient struct {
	Subscription Subscription // who is asked; a named field, so that its methods are not the Recipient's
	ID           string       // of the subscription
	board        *Board

	// These belong to the owner of the subscription.
	overfull        bool                            // too many questions are withheld; the owner ends it
	onRecord        map[aaep.ReplyToken]string      // the language in which it is on record as asked
	recording       map[aaep.ReplyToken]string      // the language for which a record is being written
	toAsk           map[aaep.ReplyToken]*aaep.Event // the event that asks once the record is kept
	failed          map[aaep.ReplyToken]bool        // the record failed; AskLate does not try again
	askedOutsideLog map[aaep.ReplyToken]*aaep.Event // the event that asked; see askOutsideLog

	askAgain atomic.Bool // AskLate has to look at results, or for a question that is withheld and open

	mu       sync.Mutex        // a leaf; guards what follows
	withheld []aaep.ReplyToken // the log must not show it these questions; the newest is last
	results  []recordResult    // the owner is yet to note them with noteRecord
}

// recordResult says whether it was kept on record that a subscription is asked a question in a
// language.
type recordResult struct {
	token    aaep.ReplyToken
	language string
	kept     bool
}

const (
	// maxWithheld is how many questions may be withheld from a subscription, at most, that were
	// settled before they could be put to it. With more, the subscription ends: the log must never
	// show it one of them, and what is withheld is kept in memory.
	maxWithheld = 256
	// soonKept is how long recordSoon waits for a record. A question whose record is kept within
	// that time keeps its place in the order of events.
	soonKept = 20 * time.Millisecond
)

// NewRecipient returns the Recipient of a subscription, which is not asked anything yet; id is the
// subscription's.
func (b *Board) NewRecipient(id string, sub Subscription) *Recipient {
	return &Recipient{Subscription: sub, ID: id, board: b}
}

// recordSoon has a record written, and waits for that for soonKept at most, or not at all while
// another record is known to take longer. If it is written in that time, known is true and err is
// its result. Otherwise later is called with the result, on a goroutine that Config.Recording
// counts. The owner of a subscription calls it, and OpenFollowed between BeginRecord and
// Recording.Done: Shutdown waits for these first, so that it misses no record. The caller holds no
// lock.
func (b *Board) recordSoon(r audit.Record, later func(error)) (err error, known bool) {
	result, started := make(chan error, 1), make(chan struct{})
	b.Recording.Go(func() {
		close(started)
		result <- b.Broker.Log.Record(r)
	})
	<-started // on a busy machine the goroutine may take longer to start than the record to be kept
	if b.slowRecords.Load() == 0 {
		timer := time.NewTimer(soonKept)
		defer timer.Stop()
		select {
		case err = <-result:
			return err, true
		case <-timer.C:
		}
	}
	b.slowRecords.Add(1)
	b.Recording.Go(func() {
		err := <-result
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

// release lets the log show a question again that was withheld. It takes r.mu. The caller holds
// Board.mu, and has made sure with it that the question is open and that it is on record that the
// subscription is asked.
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

// queueResult hands the result of a record to the owner of the subscription, which notes it with
// noteRecord when it calls AskLate. It is called on the goroutine that waited for the record,
// holding no lock.
func (r *Recipient) queueResult(result recordResult) {
	r.mu.Lock()
	r.results = append(r.results, result)
	r.mu.Unlock()
	r.lookAgain()
}

// lookAgain makes the owner of the subscription call AskLate. Any goroutine may call it, with any
// lock held; it never waits.
func (r *Recipient) lookAgain() {
	r.askAgain.Store(true)
	r.Subscription.Wake()
}

// AskLate puts to the subscription the withheld questions for which it is on record as asked by
// now, and begins to record the others. Without lookAgain since the last call it does nothing. The
// owner calls it between two batches, holding no lock; it takes Board.mu and r.mu, and may wait for
// the audit log for soonKept.
func (r *Recipient) AskLate() {
	if !r.askAgain.Swap(false) {
		return
	}
	r.mu.Lock()
	results := r.results
	r.results = nil
	r.mu.Unlock()
	for _, result := range results {
		r.noteRecord(result)
	}
	r.putOpen(func(pending *Pending) *aaep.Event {
		token := pending.token()
		switch {
		case r.toAsk[token] == nil && (r.failed[token] || !r.IsWithheld(token)):
			return nil // it has been put before, or cannot be
		case r.Subscription.HasStream() && r.Subscription.HasShown(pending.Pos):
			return r.board.repeatQuestion(pending, time.Now()) // with the time that is left now
		}
		return pending.Event
	}, func(e shaper.Entry) {
		if !r.Subscription.HasStream() {
			r.Subscription.Push(e)
			return
		}
		r.askOutsideLog(e)
	})
}

// noteRecord notes the result of a record: the subscription is on record as asked, or it is not
// asked, and the question is no longer kept open for it. The owner calls it, holding no lock; it
// may wait for the Broker.
func (r *Recipient) noteRecord(result recordResult) {
	token := result.token
	switch language, isRecording := r.recording[token]; {
	case language == result.language:
		delete(r.recording, token)
	case isRecording && !result.kept:
		return // that of another language is still being written
	}
	if r.onRecord == nil {
		r.onRecord, r.failed = map[aaep.ReplyToken]string{}, map[aaep.ReplyToken]bool{}
	}
	if result.kept {
		r.onRecord[token] = result.language
	} else {
		delete(r.toAsk, token)
		r.failed[token] = true
		r.board.Broker.DismissRecipient(token, r.ID)
	}
}

// askOutsideLog pushes the event of a question outside its place in the log, and keeps it in
// askedOutsideLog, from where RepeatQuestions pushes it again after the stream has broken. The
// owner calls it, with Board.mu held.
func (r *Recipient) askOutsideLog(e shaper.Entry) {
	if r.askedOutsideLog == nil {
		r.askedOutsideLog = map[aaep.ReplyToken]*aaep.Event{}
	}
	token, _ := closes.Token(e.Event)
	r.askedOutsideLog[token] = e.Event
	r.Subscription.Push(e)
}

// putOpen puts the open questions to the subscription if it can answer them: at once those for
// which it is on record that it is asked. For the others it begins a record, and AskLate puts them
// once that is kept. eventFor returns the event that asks a question, or nil to leave the question
// out; a nil eventFor takes all questions, each with its own event. push gives an event to the
// stream, and is called with Board.mu held; it is not called for a question that the log is yet to
// show. The owner calls putOpen, and the registration of a subscription before there is an owner,
// holding no lock. It takes Board.mu and r.mu, and may wait for the audit log for soonKept.
func (r *Recipient) putOpen(eventFor func(*Pending) *aaep.Event, push func(shaper.Entry)) {
	for _, pending := range r.forgetSettled() {
		entry := pending.Entry
		if eventFor != nil {
			entry.Event = eventFor(pending)
		}
		if entry.Event == nil || !r.Subscription.MayBeAsked(pending.IsConfirmation()) {
			continue
		}
		if entry.Event != pending.Event {
			entry.Pos = 0 // it has no place in the log
		}
		if r.isOnRecord(pending, entry.Event) {
			r.joinQuestion(pending, entry, push)
		}
	}
}

// forgetSettled forgets what is known of the records of settled questions, and returns the
// questions that are open, in the order in which they were put. It also finds out whether the
// subscription is overfull. The owner calls it, holding no lock; it takes Board.mu and r.mu.
func (r *Recipient) forgetSettled() (open []*Pending) {
	b := r.board
	b.mu.Lock()
	defer b.mu.Unlock()
	open = b.listOpen()
	settled := func(token aaep.ReplyToken) bool { return b.open[token] == nil }
	maps.DeleteFunc(r.onRecord, func(token aaep.ReplyToken, _ string) bool { return settled(token) })
	maps.DeleteFunc(r.failed, func(token aaep.ReplyToken, _ bool) bool { return settled(token) })
	maps.DeleteFunc(r.toAsk, func(token aaep.ReplyToken, _ *aaep.Event) bool { return settled(token) })
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.withheld)-len(open) > maxWithheld { // at least so many of the withheld are settled
		r.overfull = true
	}
	return open
}

// joinQuestion makes the subscription, which is on record as asked, a recipient of the question,
// and pushes entry, which asks it. If the log is yet to show the question it pushes nothing, and if
// the question has been settled meanwhile it does neither. The owner calls it, holding no lock; it
// waits for the Broker, and takes Board.mu and r.mu.
func (r *Recipient) joinQuestion(pending *Pending, entry shaper.Entry, push func(shaper.Entry)) {
	b, token := r.board, pending.token()
	delete(r.toAsk, token)
	b.Broker.AddRecipient(token, r.ID)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[token] != pending {
		return
	}
	r.release(token)
	if !slices.Contains(pending.recipients, r) {
		pending.recipients = append(pending.recipients, r)
	}
	if r.Subscription.HasPassed(entry.Pos) {
		push(entry)
	}
}

// isOnRecord reports whether it is on record that the subscription is asked a question, in the
// language in which it is shown that. If not, the question is withheld, and stays open for this
// subscription, until that is recorded, once for each language; ev is the event that asks it then.
// A record that is kept at once counts. The owner calls it, holding no lock.
func (r *Recipient) isOnRecord(pending *Pending, ev *aaep.Event) bool {
	b, token, identity := r.board, pending.token(), r.Subscription.AuditIdentity(pending.Event)
	language, hasOwnRecord := r.onRecord[token] // a record of this subscription alone is newer than the first
	b.mu.Lock()
	recorded := hasOwnRecord && language == identity.Language || !hasOwnRecord && pending.isRecordedAs(identity)
	beingRecorded := indexOf(pending.recording, r.ID) >= 0
	b.mu.Unlock()
	if recorded {
		return true
	}
	r.withhold(token)
	// Where OpenFollowed is writing the record, that releases the question, or has AskLate look at
	// it.
	return !beingRecorded && r.recordAsked(pending, identity, ev)
}

// recordAsked begins to record that the subscription, which identity names with the language it is
// shown, is asked a question, unless that is being recorded already. It reports whether the record
// is kept at once. Otherwise the question is kept open for the subscription, and ev asks it when
// the record is kept. isOnRecord calls it, holding no lock; it waits for the Broker, and for the
// audit log for soonKept.
func (r *Recipient) recordAsked(pending *Pending, identity audit.Subscription, ev *aaep.Event) bool {
	b, token := r.board, pending.token()
	if r.toAsk == nil {
		r.toAsk, r.recording = map[aaep.ReplyToken]*aaep.Event{}, map[aaep.ReplyToken]string{}
	}
	r.toAsk[token] = ev
	if language, isRecording := r.recording[token]; isRecording && language == identity.Language {
		return false
	}
	b.Broker.ExpectRecipient(token, r.ID)
	record := pending.laterRecord()
	record.Recipients, record.Deadline = []audit.Subscription{identity}, time.Now().Add(b.timeLeft(pending))
	r.recording[token] = identity.Language
	err, known := b.recordSoon(record, func(err error) {
		r.queueResult(recordResult{token, identity.Language, err == nil})
	})
	if known {
		r.noteRecord(recordResult{token, identity.Language, err == nil})
	}
	return known && err == nil
}

// timeLeft returns how much of the time to answer a question is left, which may be negative. It
// takes b.mu.
func (b *Board) timeLeft(pending *Pending) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return pending.deadline.Sub(b.Broker.Now())
}

// PutForNewTerms puts open questions to a subscription whose terms have changed from before: those
// that it can answer only now (D-34), and those whose language is another one now. A question that
// the subscriber has been sent is put again, with the same token: a user who changes the language
// while deciding wants to hear in the new one what is to be decided. One that has not left yet
// waits until the new language is on record. The owner calls it after the answer to the change;
// nothing has left since the terms are new.
func (r *Recipient) PutForNewTerms(before *negotiation.Terms) {
	if !r.Subscription.HasStream() { // what is prepared for the first stream is prepared anew
		r.Subscription.Discard(asksQuestion)
		r.PutOpenQuestions()
		return
	}
	languages := r.Subscription.Languages()
	isReworded := func(ev *aaep.Event) bool {
		return negotiation.ChooseLanguage(before.Languages, ev) != negotiation.ChooseLanguage(languages, ev)
	}
	mayAnswerMore := !before.MayReply(true) && r.Subscription.MayBeAsked(true) ||
		!before.MayReply(false) && r.Subscription.MayBeAsked(false)
	// What was put and settled before is not on record as asked under the new terms: Discard also
	// keeps the log from showing it.
	if mayAnswerMore || !slices.Equal(before.Languages, languages) {
		r.Subscription.Discard(func(ev *aaep.Event) bool { return asksQuestion(ev) && isReworded(ev) })
	}
	now := time.Now()
	maps.DeleteFunc(r.askedOutsideLog, func(_ aaep.ReplyToken, ev *aaep.Event) bool { return r.board.IsSettled(ev) })
	r.putOpen(func(pending *Pending) *aaep.Event {
		switch ev := pending.Event; {
		case !before.MayReply(pending.IsConfirmation()): // it is put for the first time
			return ev
		case !isReworded(ev):
			return nil
		case r.Subscription.HasShown(pending.Pos):
			return r.board.repeatQuestion(pending, now)
		default: // the log shows it, once the new language is on record
			return ev
		}
	}, r.askOutsideLog)
}

// asksQuestion reports whether ev asks for a confirmation or a clarification.
func asksQuestion(ev *aaep.Event) bool {
	_, asks := closes.Token(ev)
	return asks
}

// PutOpenQuestions puts the open questions that the cursor has passed to the subscription if it can
// answer them. They take the place of the events in askedOutsideLog. The owner calls it where the
// stream begins anew, and the registration of a subscription, holding no lock.
func (r *Recipient) PutOpenQuestions() {
	clear(r.askedOutsideLog)
	r.putOpen(nil, r.Subscription.Push)
}

// RepeatQuestions puts the open questions of askedOutsideLog once more, for the stream may have
// broken before they arrived and the log does not have these events. The owner calls it when a
// stream goes on from the log, holding no lock.
func (r *Recipient) RepeatQuestions() {
	if len(r.askedOutsideLog) == 0 {
		return
	}
	r.putOpen(func(pending *Pending) *aaep.Event {
		if !r.Subscription.HasPassed(pending.Pos) { // the log shows it, in its place
			delete(r.askedOutsideLog, pending.token())
		}
		return r.askedOutsideLog[pending.token()]
	}, func(e shaper.Entry) { r.Subscription.Push(shaper.Entry{Event: e.Event, At: e.Pos}) })
}

// repeatQuestion returns an event that asks a question once more, with the time that is left to
// answer. It takes b.mu.
func (b *Board) repeatQuestion(pending *Pending, now time.Time) *aaep.Event {
	return pending.repeatEvent(b.NewEventID(), now, WholeSeconds(b.timeLeft(pending)))
}

// OpenFollowed opens, at a replica, the question of the agent that entry asks, and puts it to the
// subscriptions here that can answer it. q has its token and payload; the rest is filled in.
// justPut says that it has just been put, so that all its time is left, whatever the clocks say. If
// its record is kept within soonKept, the subscriptions become its recipients before the log shows
// it. Otherwise it is withheld from them, and AskLate puts it when the record is kept; the events
// after it do not wait. The goroutine that follows the agent's log calls it, holding no lock. The
// error says that the agent used the token before, which it must not.
func (b *Board) OpenFollowed(entry shaper.Entry, q *ledger.Question, justPut bool) error {
	ev := entry.Event
	q.SessionID, q.Stamp = ev.SessionID, ev.Timestamp
	q.Recipients = []string{elsewhere}
	pending := &Pending{Entry: entry, Record: audit.Question(ev)}
	left := time.Until(pending.Record.Deadline)
	if justPut {
		left = closes.Given(ev)
	}
	pending.deadline = b.Broker.Now().Add(left)
	able, err := b.listFollowed(q, pending)
	if err != nil {
		return err
	}
	for _, r := range able {
		r.withhold(q.Token)
	}
	if len(able) > 0 && b.BeginRecord() {
		defer b.Recording.Done()
		b.recordFollowed(q.Token, pending, able)
	}
	return nil
}

// listFollowed opens the agent's question q at the Broker and lists it on the Board. It returns the
// subscriptions that can answer it, which pending then names as those being recorded. OpenFollowed
// calls it, holding no lock; the error is the Broker's.
func (b *Board) listFollowed(q *ledger.Question, pending *Pending) (able []*Recipient, err error) {
	defer b.HoldRecipients()()
	for r := range b.Recipients() {
		if r.Subscription.MayBeAsked(pending.IsConfirmation()) {
			able = append(able, r)
			pending.recording = append(pending.recording, r.Subscription.AuditIdentity(pending.Event))
		}
	}
	pending.Record.Recipients = pending.recording
	b.mu.Lock() // what settles the question at once takes it off the list after it is there
	defer b.mu.Unlock()
	if pending.Waiter, err = b.Broker.Open(q, pending.Record); err == nil {
		b.open[q.Token] = pending
	}
	return able, err
}

// elsewhere stands, among the recipients of a question at a replica, for the subscriptions of other
// processes: they keep it open where no subscription here can answer it.
const elsewhere = ""

// recordFollowed records that a question of the agent is put to the subscriptions in able, from
// which it is withheld, and makes them its recipients if that is on record within soonKept.
// Otherwise the record goes on, and each subscription learns of its end with queueResult.
// OpenFollowed calls it, holding no lock.
func (b *Board) recordFollowed(token aaep.ReplyToken, pending *Pending, able []*Recipient) {
	endRecording := func(err error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if err == nil {
			pending.recorded = pending.recording
		}
		pending.recording = nil
	}
	err, known := b.recordSoon(pending.Record, func(err error) {
		endRecording(err)
		for i, r := range able {
			r.queueResult(recordResult{token, pending.Record.Recipients[i].Language, err == nil})
		}
	})
	if !known {
		return
	}
	endRecording(err)
	defer b.HoldRecipients()() // no terms change meanwhile
	for _, r := range able {
		sub := r.Subscription
		if err == nil && sub.MayBeAsked(pending.IsConfirmation()) &&
			pending.isRecordedAs(sub.AuditIdentity(pending.Event)) {
			b.joinFollowed(token, pending, r)
		} else {
			r.lookAgain() // the record failed, or is not of its present terms
		}
	}
}

// joinFollowed makes r, which is on record as asked, a recipient of a question of the agent that
// the log has not shown it yet, and lets the log show it. If the question has been settled
// meanwhile it stays withheld. recordFollowed calls it, holding the recipients; it waits for the
// Broker, and takes b.mu.
func (b *Board) joinFollowed(token aaep.ReplyToken, pending *Pending, r *Recipient) {
	b.Broker.AddRecipient(token, r.ID)
	b.mu.Lock()
	if b.open[token] == pending {
		pending.recipients = append(pending.recipients, r)
		r.release(token)
	}
	b.mu.Unlock()
	if r.Subscription.IsAborted() { // it ended before the Broker knew it as a recipient
		b.Broker.RemoveSubscription(r.ID)
	}
}

// reopenFollowed opens, at a replica, a question again whose answer from here could not be handed
// to the agent, unless another process has settled it meanwhile: the subscriptions that were asked
// here, and those that come, can still answer it. Claims.Settle calls it, holding no lock; it takes
// b.mu and waits for the Broker.
func (b *Board) reopenFollowed(settled *ledger.Question) {
	q := *settled
	b.mu.Lock()
	pending := b.open[q.Token]
	if pending == nil {
		b.mu.Unlock()
		return
	}
	q.Recipients = []string{elsewhere}
	asked := pending.recipients
	for _, r := range asked {
		q.Recipients = append(q.Recipients, r.ID)
	}
	waiter, err := b.Broker.Reopen(&q, pending.Record)
	if err != nil {
		delete(b.open, q.Token)
	} else {
		pending.Waiter = waiter
	}
	b.mu.Unlock()
	for _, r := range asked {
		switch {
		case r.Subscription.IsAborted(): // it ended before the Broker knew of it
			b.Broker.RemoveSubscription(r.ID)
		case !r.Subscription.MayBeAsked(pending.IsConfirmation()):
			b.Broker.NarrowAbilities(r.ID, pending.IsConfirmation(), !pending.IsConfirmation())
		}
	}
}
