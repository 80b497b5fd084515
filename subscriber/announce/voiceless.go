package announce

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
)

// hasVoice reports whether text in a language can be presented.
func (a *Announcer) hasVoice(language string) bool {
	return language == "" || a.p.Speaks == nil || a.p.Speaks(language)
}

// SetLanguage says what this program speaks by itself, beside what it quotes: the first of the
// person's languages that it knows and that can be presented. Without one of them, and before, that
// is English, or another that can be.
func (a *Announcer) SetLanguage(languages ...string) {
	defer a.refreshAnswering()
	voiced := slices.DeleteFunc(slices.Clone(languages), func(tag string) bool { return !a.hasVoice(tag) })
	if a.language = phrase.Best(voiced); a.hasVoice(a.language) {
		return
	}
	if i := slices.IndexFunc(phrase.Languages(), a.hasVoice); i >= 0 {
		a.language = phrase.Languages()[i]
	}
}

// noticeVoiceless queues a notice, ahead of a sentence in a language without a voice, that there is
// none: once for each language, and before each question, problem and outcome, and what names a
// question or warns of its time. Of a question the notice also says, in this program's language,
// what can be said without its words. It reports whether it queued one.
func (a *Announcer) noticeVoiceless(now time.Time, it *item) bool {
	language := it.sentences[it.next].Language
	matters := it.kind == Question || it.kind == Problem || it.outcome || it.names != nil
	if a.hasVoice(language) || a.toldNoVoice[language] && (it.voiceless || !matters) {
		return false
	}
	it.voiceless = true
	setEntry(&a.toldNoVoice, language, true)
	w := noVoiceWords(a.language, language, a.p.Otherwise)
	question := it.event
	if it.names != nil {
		question = it.names.event
	}
	q := a.questions.findByEvent(question)
	if a.hasVoice(phraseIn(language, phrase.QuestionIs, "")[0].Language) {
		q = nil // what this package says of it is heard
	}
	switch {
	case q != nil && it.warns:
		w = phraseIn(a.language, phrase.LittleTimeLeft, phrase.Time(a.language, q.timeLeft(now))).And(" ", w)
	case q != nil:
		w = phraseIn(a.language, phrase.OneQuestionOpen, "").And(" ", w).And("\n", a.bareQuestionWords(now, q))
	case it.event != nil && it.event.Type() == aaep.TypeSessionErrored:
		w = phraseIn(a.language, phrase.Error, "").And(" ", w)
	}
	n := &item{kind: Notice, critical: it.critical, sentences: a.splitWords(w, true), arrived: now, noVoice: it}
	a.recordItem(n)
	if it.critical {
		a.urgent = slices.Insert(a.urgent, 0, n)
	} else {
		a.asked = slices.Insert(a.asked, 0, n)
	}
	return true
}

// bareQuestionWords returns what can be said of an open question without the agent's words, in this
// program's language: how bad it can be, how many choices there are, how much time is left, what
// silence means and how to answer.
func (a *Announcer) bareQuestionWords(now time.Time, q *openQuestion) (w Words) {
	p, decides := q.event.Payload.(*aaep.AwaitingConfirmation)
	if decides {
		w = stakesWords(a.language, p)
	}
	if p, asks := q.event.Payload.(*aaep.AwaitingClarification); asks && len(p.Choices) > 0 {
		w = phraseIn(a.language, phrase.ChoicesAre, strconv.Itoa(len(p.Choices)))
	}
	w = w.And("\n", timeToAnswer(a.language, q.timeLeft(now)))
	if decides {
		w = w.And(" ", silenceWords(a.language, p))
	}
	if len(q.answering) > 0 && a.hasVoice(q.answering[0].Language) {
		w = w.And("\n", q.answering)
	}
	return w
}

// Spell spells, letter by letter, what has no voice for its language: the question that is put, or
// what was said last. A question that was spelled to its end counts as heard.
func (a *Announcer) Spell(now time.Time) {
	it := a.latest
	if it != nil && it.noVoice != nil { // the person need not hear the notice to its end
		it = it.noVoice
	}
	if q := a.questions.firstOpen(); q != nil && !q.put.IsZero() && q.putWords != nil {
		it = q.newItem(now)
	}
	if it == nil || !slices.ContainsFunc(it.sentences, func(p Part) bool { return !a.hasVoice(p.Language) }) {
		a.addRequested(now, phraseIn(a.language, phrase.NothingToSpell, ""))
		return
	}
	spelled := &item{source: it.source, session: it.session, kind: it.kind, event: it.event, about: it.about,
		mayNameAny: it.mayNameAny, names: it.names, named: it.named, arrived: now}
	for _, p := range it.sentences {
		if !a.hasVoice(p.Language) {
			p = Part{Language: a.language, Text: spellText(a.language, p.Text)}
		}
		spelled.sentences = append(spelled.sentences, p)
	}
	a.recordItem(spelled)
	a.asked = append(a.asked, spelled)
}

// markNames are the names of the marks on letters that a voice may not say by itself.
var markNames = map[rune]phrase.ID{'\u0300': phrase.MarkGrave, '\u0301': phrase.MarkAcute, '\u0323': phrase.MarkBelow}

// spellText returns a text letter by letter, with commas between, each mark on a letter by its name
// in a language; a mark without a name there stays on its letter. Words are parted by semicolons.
// Spell says it.
func spellText(language, text string) string {
	var spelled []string
	for _, word := range strings.Fields(norm.NFD.String(text)) {
		var letters []string
		for _, r := range word {
			id, known := markNames[r]
			switch n := len(letters); {
			case known && n > 0:
				name, _ := phrase.In(language, id, "")
				letters[n-1] += " " + name
			case unicode.Is(unicode.Mn, r) && n > 0:
				letters[n-1] = norm.NFC.String(letters[n-1] + string(r))
			default:
				letters = append(letters, string(r))
			}
		}
		spelled = append(spelled, strings.Join(letters, ", "))
	}
	return strings.Join(spelled, "; ") + "."
}
