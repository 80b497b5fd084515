package announce

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
)

// What an Announcer says itself is in English, and tagged so.
const (
	ownLanguage   = "en"
	nothingMissed = "There is nothing more to hear."
	nothingSaid   = "Nothing has been said yet."
)

func noVoice(language, otherwise string) string {
	return fmt.Sprintf("There is no voice for the language %s. %s", language, cmp.Or(otherwise, "It may not be understood."))
}

// whileYouTyped is the one sentence that tells what came.
func whileYouTyped(answers, others int, latest string) string {
	var came []string
	if answers > 0 {
		came = append(came, words.Count(answers, "sentence")+" of the answer")
	}
	if others > 0 {
		came = append(came, words.Count(others, "announcement"))
	}
	text := "While you typed came " + strings.Join(came, " and ")
	if latest != "" {
		text += ", the newest: " + latest
	}
	return words.Sentence(text) + " Ask for details to hear all of it."
}

// InWords says which questions are open, the first first, and of several agents whose they are.
func (qs *Questions) InWords() string {
	var b strings.Builder
	switch len(qs.all) {
	case 0:
		return "No question is open."
	case 1:
		b.WriteString("One question is open:")
	default:
		fmt.Fprintf(&b, "%d questions are open.", len(qs.all))
	}
	several := slices.ContainsFunc(qs.all, func(q *Asked) bool { return q.Source != qs.all[0].Source })
	for i, q := range qs.all {
		if len(qs.all) > 1 {
			fmt.Fprintf(&b, " %d:", i+1)
		}
		if several {
			b.WriteString(" " + Speaker(q.Source))
		}
		b.WriteString(" " + words.Sentence(words.OneLine(short(q.Event))))
	}
	return b.String()
}

func whatWaits(questions string, waiting, missed int) string {
	if waiting > 0 {
		questions += " " + words.Count(waiting, "announcement") + " still to come."
	}
	if missed > 0 {
		questions += " " + words.Count(missed, "announcement") + " to ask for."
	}
	return questions
}

func whereWeAre(told []string) string {
	if len(told) == 0 {
		return "Nothing is going on."
	}
	return strings.Join(told, " ")
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

func countWords(s string) int { return len(strings.Fields(s)) }
