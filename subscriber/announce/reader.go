package announce

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
	"github.com/aaep-go/aaep/internal/answers"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/spoken"
	"github.com/aaep-go/aaep/internal/words"
)

// This file has what holds for a person who reads lines and types, beyond what holds for everyone:
// Preferences.Reads and Unseen. It also has more time to answer.

// isHighImpact reports whether a yes to a question needs more than a key: to what cannot be undone
// or is of high risk, or of one that is not known.
func isHighImpact(p *aaep.AwaitingConfirmation) bool {
	return p.RiskLevel != aaep.RiskLow && p.RiskLevel != aaep.RiskMedium || p.IsIrreversible()
}

// keysUnseen reports whether the keys of what is typed now are not seen.
func (a *Announcer) keysUnseen() bool { return a.p.Unseen != nil && a.p.Unseen() }

// beginAsking chooses how a question that came, or came in other words, is answered.
func (a *Announcer) beginAsking(now time.Time, q *openQuestion) {
	q.acceptWord, q.acceptWordLate = "", false
	if p, ok := q.event.Payload.(*aaep.AwaitingConfirmation); ok && isHighImpact(p) && a.keysUnseen() {
		a.chooseAccept(now, q, false)
	}
	q.answering = a.howToAnswer(q)
}

// howToAnswer returns how a question is answered, with the word for a yes if there is one; nothing
// where it cannot be answered here.
func (a *Announcer) howToAnswer(q *openQuestion) (w Words) {
	if a.p.Answering != nil {
		w = a.p.Answering(q.event)
	}
	cannotAnswer := w != nil && len(w) == 0
	if q.acceptWord != "" && !cannotAnswer {
		return In(a.language, phrase.DecideBy(a.language, q.acceptWord))
	}
	return w
}

// chooseAccept gives a question a word that a person can only type for a yes to it when they know
// it; the microseconds of now draw it. No question before had it, since the person may still mean
// that one, and the question does not say it itself, unless it says so many that its agent could
// tell which is left. Late is whether it comes later than the question.
func (a *Announcer) chooseAccept(now time.Time, q *openQuestion, late bool) {
	const maxRemembered, fewest = 20, 10 // of some 50
	list := slices.DeleteFunc(phrase.Words(a.language), func(word string) bool {
		return slices.ContainsFunc(a.acceptWords, func(used string) bool { return phrase.Is(used, word) })
	})
	spokenText := strings.ToLower(questionWords(q.event, q.timeGiven()).String())
	unsaid := slices.DeleteFunc(slices.Clone(list), func(word string) bool {
		return strings.Contains(spokenText, strings.ToLower(word))
	})
	if len(unsaid) >= fewest {
		list = unsaid
	}
	q.acceptWord, q.acceptWordLate = list[now.Nanosecond()/1000%len(list)], late
	a.acceptWords = append(a.acceptWords, q.acceptWord)
	a.acceptWords = a.acceptWords[max(len(a.acceptWords)-maxRemembered, 0):]
	q.answering = a.howToAnswer(q)
}

// readDecision reads a line as a yes or a no to a question; "" is neither. A line whose keys were
// not seen may have silenced the question, or be meant for another: it is no yes to what is of high
// impact, which from then on asks for a word.
func (a *Announcer) readDecision(now time.Time, q *openQuestion, p *aaep.AwaitingConfirmation,
	text string) aaep.Decision {
	if q.acceptWord != "" && phrase.Is(text, q.acceptWord) {
		return aaep.Accept
	}
	d := answers.Decision(text, q.event.Language(), a.language)
	if d == aaep.Reject || !isHighImpact(p) || !a.keysUnseen() {
		return d
	}
	if q.acceptWord == "" {
		a.chooseAccept(now, q, true)
	}
	return ""
}

// wasShown reports whether all lines of a question had stood there for a moment when a person began
// to answer: a terminal whose output is stopped takes keys all the same.
func (q *openQuestion) wasShown(began time.Time) bool {
	return !q.heardAt.IsZero() && began.Sub(q.shownAt) >= hearing.StillBefore
}

// canHaveRead reports whether a person can have read a question that was shown up to what follows
// from it, as it stands there, before they began to answer: a voice at their pace would have said
// it. How long there is, who asks and the keys are not counted.
func (a *Announcer) canHaveRead(q *openQuestion, began time.Time) bool {
	asked := questionWords(q.event, q.timeGiven()).String()
	asked = asked[:max(strings.LastIndexByte(asked, '\n'), 0)]
	needs := spoken.TimeBy(aaep.SafeText(asked), a.p.pace(), a.p.VoiceLanguages...)
	return began.Sub(q.shownAt) >= needs
}

// refreshAnswering words anew, after a change of the UI language, how each open question is
// answered, also in what was put but not yet said. SetLanguage calls it.
func (a *Announcer) refreshAnswering() {
	for _, q := range a.questions.all {
		oldWords := a.splitWords(q.answering, true)
		q.answering = a.howToAnswer(q)
		if n := len(q.putWords) - len(oldWords); n >= 0 && slices.Equal(q.putWords[n:], oldWords) {
			q.putWords = append(slices.Clip(q.putWords[:n]), a.splitWords(q.answering, true)...)
		}
	}
}

// askAgain reports whether an answer that came before the question can have been read must not
// count yet, and then asks for it once more: a key silences a screen reader, and what it had yet to
// say is not said again. That is so once for each question, of a yes to what is of high impact, and
// of a choice or a yes that may be one key; not of a no, of a text, or of a word that came with the
// question.
func (a *Announcer) askAgain(now time.Time, q *openQuestion, r *Reply) bool {
	w := phraseIn(a.language, phrase.NotAllHeard, "")
	switch p := q.event.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		needsWord := q.acceptWord != "" && !q.acceptWordLate && a.keysUnseen() // and it came with the question
		if r.Decision != aaep.Accept || q.countsAgain || !isHighImpact(p) || needsWord {
			return false
		}
		language, howTo := q.event.Language(), q.answering
		if q.acceptWord == "" {
			howTo = phraseIn(a.language, phrase.DecideAgain, "")
		}
		w = w.And(" ", labelText(language, phrase.ActionIs, words.Sentence(words.OneLine(p.Action)))).
			And(" ", labelText(language, phrase.ConsequenceIs, words.Sentence(words.OneLine(p.Consequence)))).
			And(" ", howTo)
		q.put = now
	case *aaep.AwaitingClarification:
		_, yesNo := r.Response.(bool)
		if q.countsAgain || r.choice == 0 && !yesNo { // what was typed in full was thought about
			return false
		}
		defer a.putAgain(now, q)
	}
	q.countsAgain = true
	a.refuseAnswer(now, q, w).about = q
	return true
}

// answerNothing reacts to a line that is empty, or that answers no question: a person who listens
// hears what waits; one who reads gets the question once more or, after words with no question
// open, that nothing is asked and how the last one ended. Answer calls it.
func (a *Announcer) answerNothing(now time.Time, q *openQuestion, text string) {
	last := a.lastClosed
	isNewlyAnswered := q == nil && last != nil && now.Sub(last.answeredAt) < replyWithin
	switch {
	case !a.p.Reads && isNewlyAnswered && a.isSentAgain(now, last, now, text):
		// It was pressed twice, and they are told that it was sent.
	case !a.p.Reads:
		a.WhatWaits(now)
	case q != nil && !q.put.IsZero():
		a.putAgain(now, q)
	case q == nil && text != "":
		w := phraseIn(a.language, phrase.NoQuestionOpen, "")
		if a.lastOutcome != nil {
			w = w.And(" ", phraseIn(a.language, phrase.LastQuestion, "")).And("", a.lastOutcome)
		}
		a.addRequested(now, w)
	}
}

// noteOutcome keeps what came of the question that was closed last: a person who answers too late
// may have silenced it.
func (a *Announcer) noteOutcome(it *item) {
	if q := a.lastClosed; q != nil && it.outcome && it.session == q.sessionKey() && !it.event.Type().Terminal() {
		a.lastOutcome = Words(it.sentences)
	}
}

// sentWords says that an answer was sent, and which: a person with a screen reader does not hear a
// single letter that they type. Text and numbers that were typed in full are left out, for they may
// be a secret.
func (a *Announcer) sentWords(r *Reply) Words {
	answer, language := "", a.language
	switch p := r.Question.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		id := phrase.SaidReject
		if r.Decision == aaep.Accept {
			id = phrase.SaidAccept
		}
		answer, _ = phrase.In(a.language, id, "")
	case *aaep.AwaitingClarification:
		switch {
		case r.choice > 0:
			answer, language = words.OneLine(p.Choices[r.choice-1].Label), r.Question.Language()
		case r.Response == true:
			answer, _ = phrase.In(a.language, phrase.SaidYes, "")
		case r.Response == false:
			answer, _ = phrase.In(a.language, phrase.SaidNo, "")
		}
	}
	if answer == "" {
		return phraseIn(a.language, phrase.AnswerSent, "")
	}
	return phraseIn(a.language, phrase.AnswerSentIs, "").And("", In(language, words.Sentence(answer)))
}

// tellsOfMore is how long the agent has to tell of more time in its own words, before the person is
// told without them: they do not reach those who want few events, or none now.
const tellsOfMore = 3 * time.Second

// splitWords returns the parts in which words are presented one at a time: sentences for a person
// who listens, lines for one who reads. lines says that the words are a question's, whose lines
// stay whole but for the sentence that tells its time.
func (a *Announcer) splitWords(w Words, lines bool) (parts []Part) {
	if !a.p.Reads {
		return w.splitSentences(lines)
	}
	if len(w) == 0 {
		return nil
	}
	language := w[0].Language
	for line := range strings.SplitSeq(w.String(), "\n") {
		if line = strings.TrimRight(aaep.SafeText(line), " "); line == "" {
			continue
		}
		sentences := splitText(line, language)
		if lines && len(sentences) > 1 && tellsTime(Part{Language: language, Text: sentences[0]}) { // which is told as it is then
			parts = append(parts, Part{Language: language, Text: sentences[0]})
			line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), sentences[0]))
		}
		if line != "" {
			parts = append(parts, Part{Language: language, Text: line})
		}
	}
	if len(parts) > 0 {
		parts[0].speaker = w[0].speaker
	}
	return parts
}

// addPiecesAsLines lets the pieces of an answer wait for a person who reads lines: as they are.
func (a *Announcer) addPiecesAsLines(now time.Time, ans *answer, pieces []coalesce.Piece) {
	var text strings.Builder
	for _, p := range pieces {
		text.WriteString(p.Text)
	}
	if lines := a.splitWords(In(ans.language, text.String()), false); len(lines) > 0 {
		it := a.newItem(now, ans.source, ans.event, Output, lines)
		it.critical = false
		a.appendTo(&a.normal, it)
	}
}

// AskMore is called when the person wants more time, for question or, where that is nil, for the
// one that is put. It returns the agent and the question to call MoreTime of. It returns nil where
// nothing is asked, or more time was asked for already, and the person is told so; of a question
// that is not open any more nothing is said.
func (a *Announcer) AskMore(now time.Time, question *aaep.Event) (source string, _ *aaep.Event) {
	q := a.questions.firstOpen()
	if question != nil {
		q = a.questions.findByEvent(question)
	}
	switch {
	case q == nil && question == nil:
		a.addRequested(now, phraseIn(a.language, phrase.NoQuestionOpen, ""))
		return "", nil
	case q == nil:
		return "", nil
	case q.limitWhenAsked != 0 && q.moreGivenAt.IsZero():
		a.addRequested(now, phraseIn(a.language, phrase.MoreAskedAlready, ""))
		return "", nil
	}
	q.limitWhenAsked = q.timeLimit()
	return q.source, q.event
}

// MoreTime takes the result of Question.MoreTime, nil or its error. The person is told of a failure
// at once, and of more time only where the agent's own event does not say so soon. For a question
// that is closed it does nothing.
func (a *Announcer) MoreTime(now time.Time, question *aaep.Event, err error) {
	q := a.questions.findByEvent(question)
	if q == nil { // what became of it is told
		return
	}
	limit := q.limitWhenAsked
	q.limitWhenAsked = 0
	var w Words
	switch {
	case err == nil:
		if limit == 0 { // another output asked
			limit = q.timeLimit()
		}
		if q.timeLimit() == limit { // else the agent's own words were faster
			q.moreGivenAt = now
		}
		q.extendTime(limit + q.timeGiven())
		return
	case errors.Is(err, closes.ErrNoMoreTime):
		q.noMoreTime = true
		w = phraseIn(a.language, phrase.NoMoreTime, "")
		if left := q.timeLeft(now); left > 0 {
			w = w.And(" ", timeToAnswer(a.language, left))
		}
	case errors.Is(err, closes.ErrUnknown):
		w = phraseIn(a.language, phrase.NoMoreTimeClosed, "")
	default:
		broke, _ := phrase.In(a.language, phrase.LinkBroke, "")
		w = phraseIn(a.language, phrase.NoMoreTimeSoFar, words.Sentence(broke))
	}
	a.addRequested(now, a.withSpeaker(q.source, w)).about = q
}

// noteMoreTime cancels the notice of more time for a question whose remaining time an event of the
// agent states.
func (a *Announcer) noteMoreTime(source string, ev *aaep.Event) {
	if q := a.questions.findTimed(source, ev); q != nil {
		q.moreGivenAt = time.Time{}
	}
}

// tellMoreTime announces that there is more time for a question, where the agent has not said so
// within tellsOfMore.
func (a *Announcer) tellMoreTime(now time.Time) {
	for _, q := range a.questions.all {
		if q.moreGivenAt.IsZero() || now.Before(q.moreGivenAt.Add(tellsOfMore)) {
			continue
		}
		q.moreGivenAt = time.Time{}
		w := phraseIn(a.language, phrase.MoreTime, "").And(" ", timeToAnswer(a.language, q.timeLeft(now)))
		a.addRequested(now, a.withSpeaker(q.source, w)).about = q
	}
}
