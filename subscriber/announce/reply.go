package announce

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/answers"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

// Question returns the question that an answer is for which the person begins to give at a time,
// and the agent whose it is; nil is none, or one that cannot be answered so yet. It is the one that
// is put to them, a second after that began, so that a second press of the key that answered the
// one before does not answer this; and, but for a rejection, once they had all of it and had
// pressed no key for a moment, so that a key that was under the finger when the question came
// accepts nothing. While the person hears of another question, such as that its time ends, and
// until they heard the name of the one that is put again, there is none. Asking changes nothing.
func (a *Announcer) Question(began time.Time, d aaep.Decision) (source string, question *aaep.Event) {
	q := a.questions.firstOpen()
	if a.blackout.coversTime(began) || !q.isReadable(began) || d != aaep.Reject && !q.mayCount(began, a.lastKey) {
		return "", nil
	}
	return q.source, q.event
}

// OpenQuestion returns the question that is put to the person, or is about to be, whether or not an
// answer would count yet; the agent that asks; and how much time is left to answer. Nil is none.
func (a *Announcer) OpenQuestion(now time.Time) (source string, question *aaep.Event, left time.Duration) {
	if q := a.questions.firstOpen(); q != nil {
		return q.source, q.event, q.timeLeft(now)
	}
	return "", nil, 0
}

// isReadable reports whether a question was put long enough ago that an answer is not for the
// question before, and none is on its way.
func (q *openQuestion) isReadable(began time.Time) bool {
	return q != nil && !q.put.IsZero() && began.Sub(q.put) >= hearing.StillBefore && q.sendingSince.IsZero()
}

// mayCount reports whether the person had all of a question before they began to answer, and their
// hands were still: typed is the newest key before.
func (q *openQuestion) mayCount(began, typed time.Time) bool {
	return !q.heardAt.IsZero() && !q.heardAt.After(began) && isStill(began, typed)
}

// isStill reports whether a person's hands were still when they began to answer: typed is the
// newest key before, zero is none.
func isStill(began, typed time.Time) bool {
	return typed.IsZero() || began.Sub(typed) >= hearing.StillBefore
}

// mayBeOneKey reports whether a reply to a question may have been a single key, other than a no:
// one that is pressed over and over is no answer. The word for a yes, and a text, are more.
func (q *openQuestion) mayBeOneKey(r *Reply, text string) bool {
	_, yesNo := r.Response.(bool)
	isWord := phrase.Is(text, q.acceptWord) // a blank text is no answer and does not come here
	return r.Decision == aaep.Accept && !isWord || r.choice > 0 || yesNo
}

// Reply is an answer to send, by the methods of subscriber.Question. Answered takes what came of
// that.
type Reply struct {
	Source   string        // the agent that asks
	Question *aaep.Event   // the event that asked
	Decision aaep.Decision // of a confirmation
	Response any           // to a clarification: a string, a bool or a float64
	Untold   bool          // the terms of the subscription leave out the events that tell what comes of it
	asked    *openQuestion
	by       *Announcer
	choice   int // the place of a choice, from 1; zero is none
}

// Answer takes what the person typed, said or pressed, such as "y", "n", "2" or the text of an
// answer, or Step or Select for a switch, which they began at a time, as the answer to the question
// that is put. The zero time is that of the first key of those that Typing told of without a rest,
// else now. It returns what to send; nil is nothing, and they are told why. A yes, and every answer
// to a clarification, counts once they had all of the question, as Question says, and a no at once.
// A number means the choice that is labelled with it, else the one in that place; where these are
// two, they are asked. While an answer is on its way it takes no other; of the same one, nothing is
// said. It ends the typing, as Rest does.
func (a *Announcer) Answer(now, began time.Time, text string) *Reply {
	if text == Step || text == Select {
		return a.handlePress(now, began, text)
	}
	began, typed := a.timesOfAnswer(now, began)
	return a.takeAnswer(now, began, typed, a.questions.firstOpen(), text, nil)
}

// takeAnswer is Answer for what the person typed, or for a reply that they chose, unless chosen is
// nil: began is when they began it, and typed when the last key before it came. It is for the
// question q that is put, which may be nil.
func (a *Announcer) takeAnswer(now, began, typed time.Time, q *openQuestion, text string, chosen *Reply) *Reply {
	defer a.Rest(now)
	isBlank := strings.TrimSpace(text) == ""
	if w := a.missedWords(now, began, q); w != nil && !isBlank {
		a.explainAtOnce(now, q, w, a.withdrawn)
		return nil
	}
	if q == nil || isBlank {
		a.answerNothing(now, q, text)
		return nil
	}
	if isOnItsWay := !q.sendingSince.IsZero(); isOnItsWay {
		if !a.isSentAgain(now, q, began, text) { // else what becomes of it is told
			a.refuseAnswer(now, q, phraseIn(a.language, phrase.AnsweredBefore, ""))
		}
		return nil
	}
	tooSoon := phraseIn(a.language, phrase.AnsweredTooSoon, "")
	if a.mayBeForOther(now, began, q, text, chosen) {
		why := tooSoon
		if wasHeard := !q.heardAt.IsZero() && !began.Before(q.heardAt); wasHeard {
			why = phraseIn(a.language, phrase.OtherWasSaid, "")
		}
		a.refused = a.withSpeaker(q.source, why).String()
		a.addRequestedWithQuestion(now, why)
		return nil
	}
	if !q.isReadable(began) {
		a.explainAtOnce(now, q, a.withSpeaker(q.source, tooSoon), nil)
		return nil
	}
	r, refused := chosen, Words(nil)
	if chosen == nil {
		r, refused = a.readAnswer(now, q, began, text)
	}
	switch {
	case r == nil && refused == nil: // why is being told
		return nil
	case refused != nil:
		it := a.refuseAnswer(now, q, refused)
		if it.about = q; q.ambiguous != "" && q.ambiguityItem == nil {
			q.ambiguityItem = it
		}
		return nil
	case !a.mayAnswerNow(now, began, typed, q, r, text):
		return nil
	}
	a.dropRefusals(now, q)
	q.sendingSince, q.sent, a.answerTaken, a.sending, q.outcomeTold = now, r, now, q, false
	return r
}

// dropRefusals drops what waits of why earlier answers to q did not count. takeAnswer calls it for
// one that does: after it, they would sound as if it did not.
func (a *Announcer) dropRefusals(now time.Time, q *openQuestion) {
	for _, queue := range []*[]*item{&a.urgent, &a.asked} {
		*queue = slices.DeleteFunc(*queue, func(it *item) bool {
			isStale := it.refuses == q && a.isUntold(it)
			if isStale {
				a.endItem(it, now, Expired)
			}
			return isStale
		})
	}
}

// mayAnswerNow reports whether the answer r to q, typed as text, counts as given by a person who
// had the question: they can have read it, or else heard it, or they refuse. If not, it is told
// why. takeAnswer calls it, and says what the times are.
func (a *Announcer) mayAnswerNow(now, began, typed time.Time, q *openQuestion, r *Reply, text string) bool {
	switch {
	case a.p.Reads && q.wasShown(began):
		if !a.canHaveRead(q, began) && a.askAgain(now, q, r) {
			return false
		}
		if q.mayBeOneKey(r, text) && !isStill(began, typed) {
			a.explainAtOnce(now, q, a.withSpeaker(q.source, phraseIn(a.language, phrase.AnsweredTooSoon, "")), nil)
			return false
		}
	case r.Decision != aaep.Reject && (a.p.Reads || !q.mayCount(began, typed)):
		if !a.explainAtOnce(now, q, a.withSpeaker(q.source, phraseIn(a.language, phrase.NotAllHeard, "")), nil) {
			a.putAgain(now, q)
		}
		return false
	}
	return true
}

// isSentAgain reports whether a line that the person began at a time says the same as the newest
// answer to q that was sent, in whatever words.
func (a *Announcer) isSentAgain(now time.Time, q *openQuestion, began time.Time, text string) bool {
	if q.sent == nil {
		return false
	}
	again, _ := a.readAnswer(now, q, began, text)
	return again != nil && again.Decision == q.sent.Decision && again.Response == q.sent.Response
}

// timesOfAnswer returns when an answer was begun, which is given or else known from the keys that
// were typed, and when the last key before it came.
func (a *Announcer) timesOfAnswer(now, given time.Time) (began, lastKeyBefore time.Time) {
	began = given
	switch {
	case !given.IsZero():
	case a.isTyping:
		began = a.typingBegan
	default:
		began = now
	}
	keysAreOfAnswer := a.isTyping && !began.After(a.typingBegan)
	if keysAreOfAnswer {
		return began, a.typedBefore
	}
	return began, a.lastKey
}

// mayBeForOther reports whether an answer to q was begun so soon after something else was said that
// it may be for that; chosen is nil or the reply that the person selected. A no to a confirmation
// counts all the same where the blackout lets it.
func (a *Announcer) mayBeForOther(now, began time.Time, q *openQuestion, text string, chosen *Reply) bool {
	p, decides := q.event.Payload.(*aaep.AwaitingConfirmation)
	isCovered := a.blackout.coversTime(began) || decides && a.blackout.coversTime(now) // a text that was begun before goes on
	if !isCovered {
		return false
	}
	if !decides || !a.blackout.countsNo(began) {
		return true
	}
	if chosen == nil {
		return a.readDecision(now, q, p, text) != aaep.Reject
	}
	return chosen.Decision != aaep.Reject
}

// lateAnswer is how long after a question was closed a yes or a no is taken for an answer to it,
// and not for a message to the agent: the person may not know yet that it is closed. It is longer
// than replyWithin, for a message that is sent cannot be taken back.
const lateAnswer = time.Minute

// IsAnswer reports whether a line that the person began at a time is to be taken as an answer,
// where they type messages to the agent, too. It is where a question is open, or was when they
// began, or closed within the last minute and the line is a yes or a no. inDoubt says that they may
// have meant it as a message all the same. The zero time is now.
func (a *Announcer) IsAnswer(now, began time.Time, text string) (isAnswer, inDoubt bool) {
	a.noteAsking(now)
	if began.IsZero() {
		began = now
	}
	wasAsking := !a.askingSince.IsZero() && !a.askingSince.After(began) && !began.After(a.askedUntil)
	isLate := !a.askedUntil.IsZero() && now.Sub(a.askedUntil) < lateAnswer && answers.Decision(text, a.language) != ""
	return a.isAsking || wasAsking || isLate, !a.isAsking || !wasAsking
}

// noteAsking records since when and until when questions are open. It is called whenever one may
// have come or gone.
func (a *Announcer) noteAsking(now time.Time) {
	isAsking := a.questions.countOpen() > 0
	if isAsking && !a.isAsking {
		a.askingSince = now
	}
	if isAsking || a.isAsking {
		a.askedUntil = now
	}
	a.isAsking = isAsking
}

// refuseAnswer queues the words that say why an answer to a question does not count, with the
// agent's name, keeps them for Refused, and returns their announcement.
func (a *Announcer) refuseAnswer(now time.Time, q *openQuestion, why Words) *item {
	why = a.withSpeaker(q.source, why)
	a.refused = why.String()
	it := a.addRequested(now, why)
	it.refuses = q
	return it
}

// Refused returns why the newest answer does not count, as the person is told, and forgets it.
func (a *Announcer) Refused() (why string) {
	why, a.refused = a.refused, ""
	return why
}

// readAnswer reads a line, begun at a time, as a reply to a question, or returns the words that say
// why it is none. Both are nil where those words are being said already. A number that may mean two
// choices is no reply at first, and the words say which of them it means; after these were heard,
// the same number is one.
func (a *Announcer) readAnswer(now time.Time, q *openQuestion, began time.Time, text string) (r *Reply, refused Words) {
	r = &Reply{Source: q.source, Question: q.event, asked: q, by: a}
	switch p := q.event.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		r.Decision = a.readDecision(now, q, p, text)
		if r.Decision != "" && p.AllowedReplies != nil && !slices.Contains(p.AllowedReplies, r.Decision) {
			return nil, phraseIn(a.language, phrase.AnswerNotTaken, "")
		}
	case *aaep.AwaitingClarification:
		reading := answers.Response(p, text, q.event.Language(), a.language)
		trimmed := strings.TrimSpace(text)
		if reading.Doubtful && q.ambiguous == trimmed && a.isWaiting(q.ambiguityItem) {
			return nil, nil
		}
		if reading.Doubtful && (q.ambiguous != trimmed || !a.heardBefore(q.ambiguityItem, began)) {
			q.ambiguous, q.ambiguityItem = trimmed, nil
			choice := In(q.event.Language(), words.Sentence(words.OneLine(p.Choices[reading.Choice-1].Label)))
			return nil, phraseIn(a.language, phrase.ChoiceMeant, "").And("", choice)
		}
		r.Response, r.choice = reading.Response, reading.Choice
	}
	if r.Decision == "" && r.Response == nil {
		refused = phraseIn(a.language, phrase.NoAnswer, "").And(" ", a.wantedAnswers(q)).And(" ", q.answering)
		if a.p.Reads {
			refused = refused.And(" ", phraseIn(a.language, phrase.EnterAgain, ""))
		}
		return nil, refused
	}
	return r, nil
}

// wantedAnswers returns the words that say which answers a clarification takes, where these are
// choices or a number, and else nothing. readAnswer adds them to its refusal of an answer.
func (a *Announcer) wantedAnswers(q *openQuestion) (w Words) {
	p, ok := q.event.Payload.(*aaep.AwaitingClarification)
	if !ok {
		return nil
	}
	kinds := answers.KindsOf(p)
	switch n := len(p.Choices); {
	case kinds.Choice && n > fewChoices:
		number, _ := phrase.In(a.language, phrase.ANumberTo, strconv.Itoa(n))
		w = phraseIn(a.language, phrase.Expected, words.Sentence(number))
	case kinds.Choice:
		space := "" // Expected ends with one
		w = phraseIn(a.language, phrase.Expected, "")
		for i, c := range p.Choices {
			label := words.Sentence(words.OneLine(c.Label))
			w, space = w.And(space, In(q.event.Language(), fmt.Sprintf("%d: %s", i+1, label))), " "
		}
	}
	if kinds.Numeric {
		number, _ := phrase.In(a.language, phrase.ANumber, "")
		w = w.And(" ", phraseIn(a.language, phrase.Expected, words.Sentence(number)))
	}
	return w
}

// isWaiting reports whether something has yet to be said to its end.
func (a *Announcer) isWaiting(it *item) bool {
	return it != nil && (it.receipt.Outcome == Waiting || it.receipt.Outcome == Speaking)
}

// heardBefore reports whether the person can have heard all of something before a time, also where
// its output returned at once.
func (a *Announcer) heardBefore(it *item, at time.Time) bool {
	if it == nil || it.receipt.Outcome != Heard {
		return false
	}
	heardAt, n := it.receipt.Ended, Words(it.sentences).countWords()
	if heardAt.Sub(it.arrived) < time.Duration(n)*time.Minute/fastest {
		heardAt = heardAt.Add(a.speakingTime(n))
	}
	return !heardAt.After(at)
}

// explainAtOnce queues the words w, which say why an answer does not count. Where the question q,
// which may be nil, waits or is being said, they come before it, and it goes on after them, since
// later they would not be true any more; waits reports that. The same words come only once before
// each sentence of the question: answers that follow each other without a pause would hold it up
// for good. another is the question that the words name, or nil.
func (a *Announcer) explainAtOnce(now time.Time, q *openQuestion, w Words, another *openQuestion) (waits bool) {
	a.refused = w.String()
	refuses := q
	if another != nil { // w is about that one, whatever becomes of q
		refuses = nil
	}
	for _, queue := range []*[]*item{&a.urgent, &a.asked} {
		i := slices.IndexFunc(*queue, func(it *item) bool {
			return q != nil && it.kind == Question && it.event == q.event
		})
		if i < 0 {
			continue
		}
		it, asking := &item{kind: Notice, names: another, refuses: refuses, sentences: a.splitWords(w, false), arrived: now}, (*queue)[i]
		isWaiting := i > 0 && (*queue)[i-1].kind == Notice && slices.Equal((*queue)[i-1].sentences, it.sentences)
		if isWaiting || !asking.noteExplained(it.sentences) {
			return true
		}
		asking.postponed = a.saying != nil && a.saying.item == asking
		a.recordItem(it)
		*queue = slices.Insert(*queue, i, it)
		return true
	}
	it := a.addRequested(now, w)
	it.names, it.refuses = another, refuses
	return false
}

// noteExplained records that an explanation is said before the next sentence of a question, and
// reports whether it is new: not yet said since the sentence before.
func (it *item) noteExplained(sentences []Part) (isNew bool) {
	if it.explainedAt != it.next {
		it.explained, it.explainedAt = nil, it.next
	}
	for _, told := range it.explained {
		if slices.Equal(told, sentences) {
			return false
		}
	}
	it.explained = append(it.explained, sentences)
	return true
}

// newItem makes an announcement of a question as it was put.
func (q *openQuestion) newItem(now time.Time) *item {
	return &item{source: q.source, session: q.sessionKey(), kind: Question, event: q.event, names: q,
		named: len(q.putWords), sentences: q.putWords, arrived: now}
}

// putAgain says a question once more, unless it is being said or waits for that.
func (a *Announcer) putAgain(now time.Time, q *openQuestion) {
	asksThis := func(it *item) bool { return it.event == q.event && it.kind == Question }
	if slices.ContainsFunc(a.urgent, asksThis) || slices.ContainsFunc(a.asked, asksThis) {
		return
	}
	repeated := q.newItem(now)
	a.recordItem(repeated)
	a.asked = append(a.asked, repeated)
}

// repeatFrom returns when a question that was silenced before the person had all of it comes again:
// later each time, twice as long up to 64 times. It is zero for one that was heard or not silenced.
func (q *openQuestion) repeatFrom() time.Time {
	if q.silencedAt.IsZero() || !q.heardAt.IsZero() {
		return time.Time{}
	}
	return q.silencedAt.Add(hearing.RepeatAfter << min(q.silenced-1, 6))
}

// repeatSilenced says the question that is put once more where it was silenced, by the person or by
// another program, and the person neither answered nor had all of it since.
func (a *Announcer) repeatSilenced(now time.Time) {
	q := a.questions.firstOpen()
	if q == nil || q.put.IsZero() || !q.sendingSince.IsZero() || a.isTyping || a.saying != nil || q.timeLeft(now) <= 0 {
		return
	}
	if from := q.repeatFrom(); !from.IsZero() && !now.Before(from) {
		q.silencedAt = time.Time{}
		a.putAgain(now, q)
	}
}

// Answered takes the result of sending a Reply, of this Announcer or of another one of the same
// person: nil or the error, once for each Reply. It announces, with the agent's name, what became
// of the answer; of one that was sent, nothing where what came of it was told before. nil and
// closes.ErrLate settle the question; after any other error it stays open, to be answered again, or
// is said to be gone where it closed meanwhile.
func (a *Announcer) Answered(now time.Time, r *Reply, err error) {
	q := r.asked
	if r.by != a {
		if q = a.questions.findByEvent(r.Question); q == nil {
			q = &openQuestion{source: r.Source, event: r.Question}
		}
	} else if q.sendingSince.IsZero() {
		return
	}
	isOpen := slices.Contains(a.questions.all, q)
	w, settles := Words(nil), true
	notSent := phraseIn(a.language, phrase.AnswerNotSent, "")
	unknown := phraseIn(a.language, phrase.OpenUnknown, "")
	switch {
	case err == nil:
		w = a.sentWords(r)
	case errors.Is(err, closes.ErrLate):
		w = phraseIn(a.language, phrase.TimeIsOver, "").And(" ", notSent)
	case errors.Is(err, closes.ErrUnknown):
		w = phraseIn(a.language, phrase.QuestionClosed, "")
	case errors.Is(err, closes.ErrNotSent) && !isOpen:
		w = phraseIn(a.language, phrase.QuestionClosed, "").And(" ", notSent)
	case errors.Is(err, closes.ErrNotSent):
		w, settles = phraseIn(a.language, phrase.OutOfReach, "").And(" ", notSent).And(" ", unknown), false
	case !isOpen:
		w = a.goneWords()
	default:
		w = phraseIn(a.language, phrase.AnswerUnsent, "").And(" ", unknown)
		settles, q.mayHaveArrived = false, true
	}
	if q.sendingSince = (time.Time{}); q == a.sending {
		a.sending = nil
	}
	if err == nil {
		q.scan = scan{}
	} else {
		a.questions.answered = slices.DeleteFunc(a.questions.answered,
			func(sent *openQuestion) bool { return sent == q })
	}
	if isKnown := err == nil && q.outcomeTold; !isKnown {
		a.addBeforeRest(q, a.addNotice(now, a.withSpeaker(q.source, w), true, nil)) // before the next is put
	}
	if !isOpen || !settles {
		a.tellHowToAnswer(q.source)
		a.putReachable(now)
		return
	}
	if err == nil && !r.Untold {
		a.questions.closeAnswered(now, q)
	}
	a.closeQuestion(now, q)
	a.withdrawn = nil // they were told what became of their answer
}

// addBeforeRest moves a notice of what became of the answer to q, which is queued and critical,
// ahead of what belongs behind that and has not begun. Answered calls it.
func (a *Announcer) addBeforeRest(q *openQuestion, notice *item) {
	from := slices.Index(a.urgent, notice)
	to := slices.IndexFunc(a.urgent, func(it *item) bool {
		isSaid := a.saying != nil && a.saying.item == it && !it.postponed
		return it.next == 0 && !isSaid && isBehindAnswer(q, it)
	})
	if to >= 0 && to < from {
		a.urgent = slices.Insert(slices.Delete(a.urgent, from, from+1), to, notice)
	}
}

// goneWords says of a question that it is gone, and that it is not known what became of the
// person's answer.
func (a *Announcer) goneWords() Words {
	return phraseIn(a.language, phrase.QuestionClosed, "").And(" ", phraseIn(a.language, phrase.MayHaveArrived, ""))
}

// Settle closes a question that needs no answer any more: it was answered, or its subscription is
// gone. While an answer to it is on its way, Answered says what became of that; where one may have
// arrived, the person is told so.
func (a *Announcer) Settle(now time.Time, question *aaep.Event) {
	q := a.questions.findByEvent(question)
	switch {
	case q == nil:
		return
	case !q.sendingSince.IsZero():
		a.questions.closeAnswered(now, q)
	case q.mayHaveArrived:
		a.addNotice(now, a.withSpeaker(q.source, a.goneWords()), true, nil)
	}
	a.closeQuestion(now, q)
}

// Lapse closes, as Settle does, a question whose subscription is gone, such as when the agent was
// started again. Where the question was put, the person is told that it is closed and that the
// agent will ask again.
func (a *Announcer) Lapse(now time.Time, question *aaep.Event) {
	q := a.questions.findByEvent(question)
	if q != nil && q.sendingSince.IsZero() && !q.mayHaveArrived && !q.put.IsZero() {
		w := phraseIn(a.language, phrase.QuestionClosed, "").And(" ", phraseIn(a.language, phrase.AsksAgain, ""))
		a.addNotice(now, a.withSpeaker(q.source, w), true, nil)
	}
	a.Settle(now, question)
}

// closeQuestion takes away a question that is open no longer, and puts the next.
func (a *Announcer) closeQuestion(now time.Time, q *openQuestion) {
	a.lastClosed, a.lastOutcome = q, nil
	a.noteWithdrawn(now, q)
	a.questions.removeQuestion(q)
	a.withdrawQuestion(q, now)
	a.keepDraft(now, q)
	a.putNext(now)
}
