package announce

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/spoken"
	"github.com/aaep-go/aaep/internal/words"
)

// What an Announcer says itself is in the language of its own words; what it quotes is not.

// noVoiceWords say that there is no voice for a language, and what becomes of text in it.
func noVoiceWords(uiLanguage, language string, otherwise func(string) Words) Words {
	w := phraseIn(uiLanguage, phrase.NoVoice, phrase.LanguageName(uiLanguage, language))
	if otherwise == nil {
		return w.And(" ", phraseIn(uiLanguage, phrase.MayBeGarbled, ""))
	}
	return w.And(" ", otherwise(uiLanguage))
}

// typedWords returns the sentence that counts what came while the person typed: answers sentences
// of answers and others other announcements, then the newest, latest, which may be nil.
func typedWords(language string, answers, others int, latest Words) Words {
	var counts []string
	if answers > 0 {
		counts = append(counts, phrase.Counted(language, phrase.AnswerSentences, answers, "sentence"))
	}
	if others > 0 {
		counts = append(counts, phrase.Counted(language, phrase.Announcements, others, "announcement"))
	}
	w := phraseIn(language, phrase.WhileTyped, strings.Join(counts, ", "))
	if latest != nil {
		w = w.And(" ", phraseIn(language, phrase.TheNewest, "")).And("", latest)
	}
	return w.endSentence().And(" ", phraseIn(language, phrase.DetailsTell, ""))
}

// describeOpen returns words, in a language, for how many questions are open and what each is
// about, the first one first. several says that several agents are followed, so that each question
// is said with whose it is. WhatWaits and WhereAreWe say them.
func (qs *questionQueue) describeOpen(language string, several bool) Words {
	var w Words
	switch len(qs.all) {
	case 0:
		return phraseIn(language, phrase.NoQuestionOpen, "")
	case 1:
		w = phraseIn(language, phrase.OneQuestionOpen, "")
	default:
		w = phraseIn(language, phrase.QuestionsOpen, strconv.Itoa(len(qs.all)))
	}
	for i, q := range qs.all {
		if len(qs.all) > 1 {
			w = w.And(" ", In(w[0].Language, fmt.Sprintf("%d:", i+1)))
		}
		if several {
			w = w.And(" ", In(w[0].Language, Speaker(q.source)))
		}
		w = w.And(" ", In(q.event.Language(), words.Sentence(words.OneLine(shortText(q.event)))))
	}
	return w
}

// waitingWords adds to the words for the open questions how many announcements wait and how many
// can be asked for; a number of 0 adds nothing.
func waitingWords(language string, questions Words, waiting, missed int) Words {
	if waiting > 0 {
		questions = questions.And(" ", In(language, phrase.Counted(language, phrase.StillToCome, waiting, "announcement")))
	}
	if missed > 0 {
		questions = questions.And(" ", In(language, phrase.Counted(language, phrase.LeftToAskFor, missed, "announcement")))
	}
	return questions
}

// whereWords joins the words about each session, or says that nothing goes on where there are none.
func whereWords(language string, sessions []Words) (w Words) {
	if len(sessions) == 0 {
		return phraseIn(language, phrase.NothingGoesOn, "")
	}
	for _, t := range sessions {
		w = w.And(" ", t)
	}
	return w
}

// shortText returns the action or the question that an event asks about, or the tersest text of any
// other event.
func shortText(ev *aaep.Event) string {
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		return p.Action
	case *aaep.AwaitingClarification:
		return p.Question
	}
	return ev.Text(aaep.VerbosityTerse)
}

// kindOf returns the Kind of the announcement of an event, by its payload; any that is of no other
// kind is News.
func kindOf(ev *aaep.Event) Kind {
	switch ev.Payload.(type) {
	case *aaep.OutputStreaming:
		return Output
	case *aaep.ProgressUpdated:
		return Progress
	case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
		return Question
	case *aaep.SessionErrored, *aaep.HandoffRequested:
		return Problem
	}
	return News
}

// countWords returns how many words of a pace w is, as spoken.Words counts.
func (w Words) countWords() (n int) {
	for _, p := range w {
		n += spoken.Words(p.Text)
	}
	return n
}
