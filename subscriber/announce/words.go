package announce

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
)

// What an Announcer says itself is in English, and tagged so; what it quotes is not.
var (
	nothingMissed = In(ownLanguage, "There is nothing more to hear.")
	nothingSaid   = In(ownLanguage, "Nothing has been said yet.")
)

func noVoice(language, otherwise string) Words {
	return In(ownLanguage, fmt.Sprintf("There is no voice for the language %s. %s", language, cmp.Or(otherwise, "It may not be understood.")))
}

// whileYouTyped is the one sentence that tells what came.
func whileYouTyped(answers, others int, latest Words) Words {
	var came []string
	if answers > 0 {
		came = append(came, words.Count(answers, "sentence")+" of the answer")
	}
	if others > 0 {
		came = append(came, words.Count(others, "announcement"))
	}
	w := In(ownLanguage, "While you typed came "+strings.Join(came, " and "))
	if latest != nil {
		w = w.And(", the newest: ", latest)
	}
	return w.sentence().And(" ", In(ownLanguage, "Ask for details to hear all of it."))
}

// InWords says which questions are open, the first first, and of several agents whose they are.
func (qs *Questions) InWords() Words {
	var w Words
	switch len(qs.all) {
	case 0:
		return In(ownLanguage, "No question is open.")
	case 1:
		w = In(ownLanguage, "One question is open:")
	default:
		w = In(ownLanguage, fmt.Sprintf("%d questions are open.", len(qs.all)))
	}
	several := slices.ContainsFunc(qs.all, func(q *Asked) bool { return q.Source != qs.all[0].Source })
	for i, q := range qs.all {
		if len(qs.all) > 1 {
			w = w.And(" ", In(ownLanguage, fmt.Sprintf("%d:", i+1)))
		}
		if several {
			w = w.And(" ", In(ownLanguage, Speaker(q.Source)))
		}
		w = w.And(" ", In(q.Event.Language(), words.Sentence(words.OneLine(short(q.Event)))))
	}
	return w
}

func whatWaits(questions Words, waiting, missed int) Words {
	if waiting > 0 {
		questions = questions.And(" ", In(ownLanguage, words.Count(waiting, "announcement")+" still to come."))
	}
	if missed > 0 {
		questions = questions.And(" ", In(ownLanguage, words.Count(missed, "announcement")+" to ask for."))
	}
	return questions
}

func whereWeAre(told []Words) (w Words) {
	if len(told) == 0 {
		return In(ownLanguage, "Nothing is going on.")
	}
	for _, t := range told {
		w = w.And(" ", t)
	}
	return w
}

// short is what a question is about.
func short(ev *aaep.Event) string {
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		return p.Action
	case *aaep.AwaitingClarification:
		return p.Question
	}
	return ev.Text(aaep.VerbosityTerse)
}

// kindOf is what an event is about.
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

// count is how many words there are.
func (w Words) count() (n int) {
	for _, p := range w {
		n += len(strings.Fields(p.Text))
	}
	return n
}
