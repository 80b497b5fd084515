package announce

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/answers"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

// Text returns the words in which an event is announced at a verbosity; nil for an event without
// words. A question has the whole time it was given. Characters that no voice can say are still in
// it: see aaep.SafeText.
func Text(ev *aaep.Event, v aaep.Verbosity) Words {
	language := ev.Language()
	text := agentText(ev, v)
	switch p := ev.Payload.(type) {
	case *aaep.SessionErrored:
		w := prefixKind(language, phrase.Error, text)
		if p.RemediationHint != "" {
			w = w.endSentence().And(" ", In(language, quoteAgent(language, p.RemediationHint)))
		}
		return w
	case *aaep.SessionCancelled:
		return prefixKind(language, phrase.Cancelled, text)
	case *aaep.SessionCompleted:
		for _, p := range text {
			if sentence, _ := phrase.In(p.Language, phrase.AgentFinished, ""); p.Text == sentence {
				return text // "Done." would say it twice, and may follow that something was not done
			}
		}
		return prefixKind(language, phrase.Done, text)
	case *aaep.HandoffRequested:
		return prefixKind(language, phrase.Handover, text)
	case *aaep.StateChanged:
		// The text is that of the question, which alone would sound as if it were being done.
		waiting, _ := phrase.In(language, phrase.WaitingForAnswer, "")
		spokenText := text.String()
		if p.ToState == aaep.StateAwaitingInput && spokenText != waiting && !strings.HasPrefix(spokenText, "Waiting") {
			return labelText(language, phrase.WaitingFor, text.String())
		}
	case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
		return questionWords(ev, closes.Given(ev))
	}
	return text
}

// agentText returns what the agent says with an event, marked where it would pass for words of
// ours. Where the agent gave no summary, the words of package aaep stand in, in English whatever
// language the agent speaks; the agent's own text within them keeps the agent's language.
func agentText(ev *aaep.Event, v aaep.Verbosity) Words {
	text, language := ev.Text(v), ev.Language()
	if ev.Summary.IsZero() {
		switch p := ev.Payload.(type) {
		case *aaep.OutputStreaming:
		case *aaep.ProgressUpdated:
			if p.Progress.Description == "" {
				language = ownLanguage
			}
		case *aaep.HandoffRequested:
			target, _ := strings.CutSuffix(text, p.Reason)
			return In(ownLanguage, target).And("", In(language, strings.TrimSpace(p.Reason)))
		default:
			language = ownLanguage
		}
	}
	return In(language, quoteAgent(language, strings.TrimSpace(text)))
}

// prefixKind puts the phrase for a kind of announcement in front of the agent's text, unless the
// text begins with it.
func prefixKind(language string, kind phrase.ID, text Words) Words {
	label := phraseIn(language, kind, "")
	rest, ok := strings.CutPrefix(text.String(), strings.TrimSuffix(label.String(), "."))
	if ok && (rest == "" || strings.ContainsAny(rest[:1], ".:,!; ")) {
		return text
	}
	return label.And(" ", text)
}

// questionWords returns the whole question that an event asks, with the time that remains; nil of
// one that asks nothing. A person who has only these words knows what a yes does, and the choices
// by number. No part that the agent wrote can pass for another line of the question.
func questionWords(ev *aaep.Event, remaining time.Duration) Words {
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		return confirmationWords(ev.Language(), p, remaining)
	case *aaep.AwaitingClarification:
		return clarificationWords(ev.Language(), p, remaining)
	}
	return nil
}

// confirmationWords is questionWords for a confirmation, in a language: the action, the
// consequence, the stakes, the time that remains, and what silence means, a line each.
func confirmationWords(language string, p *aaep.AwaitingConfirmation, remaining time.Duration) Words {
	// What it is about comes first: a person may know enough for a no.
	return labelText(language, phrase.ToDecide, words.OneLine(p.Action)).
		And("\n", labelText(language, phrase.ConsequenceIs, words.OneLine(p.Consequence))).
		And("\n", stakesWords(language, p)).
		And("\n", timeToAnswer(language, remaining)).And(" ", silenceWords(language, p))
}

// stakesWords returns, in a language, whether an action can be undone, where that is hard or
// impossible, and its risk. An action whose risk is not given counts as of high risk.
func stakesWords(language string, p *aaep.AwaitingConfirmation) (undo Words) {
	switch {
	case p.IsIrreversible():
		undo = phraseIn(language, phrase.CannotBeUndone, "")
	case p.Reversibility == aaep.ReversibleWithEffort:
		undo = phraseIn(language, phrase.HardToUndo, "")
	}
	risk := phrase.RiskHigh // what is not said is taken as high
	switch p.RiskLevel {
	case aaep.RiskLow:
		risk = phrase.RiskLow
	case aaep.RiskMedium:
		risk = phrase.RiskMedium
	}
	return undo.And(" ", phraseIn(language, risk, ""))
}

// silenceWords returns, in a language, what it means if no answer comes: that the action is done,
// that it is not, that the agent asks elsewhere, or that it is not known.
func silenceWords(language string, p *aaep.AwaitingConfirmation) Words {
	silence := phrase.SilenceUnknown // the agent said something that is neither (D-13)
	switch {
	case closes.AsksElsewhere(p):
		silence = phrase.SilenceElsewhere
	case p.DefaultDecision == aaep.Accept:
		silence = phrase.SilenceAccepts
	case p.DefaultDecision == aaep.Reject:
		silence = phrase.SilenceRejects
	}
	return phraseIn(language, silence, "")
}

// fewChoices is how many choices a person is told of again where an answer is none of them. Of
// more, which fill minutes, they hear before the first how many there are, and then only which
// numbers count.
const fewChoices = 9

// clarificationWords returns the lines of a clarification in a language: the question, its context,
// how many choices there are if they are many, the numbered choices, the time to answer, and what
// silence means where the agent says so. questionWords calls it.
func clarificationWords(language string, p *aaep.AwaitingClarification, remaining time.Duration) Words {
	w := labelText(language, phrase.QuestionIs, words.OneLine(p.Question))
	if p.Context != "" {
		w = w.And("\n", labelText(language, phrase.ContextIs, words.OneLine(p.Context)))
	}
	if n := len(p.Choices); n > fewChoices {
		w = w.And("\n", phraseIn(language, phrase.ChoicesAre, strconv.Itoa(n)))
	}
	silence, kinds := p.DefaultResponse, answers.KindsOf(p)
	for i, c := range p.Choices {
		w = w.And("\n", In(language, fmt.Sprintf("%d: %s", i+1, words.OneLine(c.Label))))
		if c.Value == p.DefaultResponse {
			silence = cmp.Or(words.OneLine(c.Label), c.Value)
			kinds.YesNo = kinds.YesNo && !kinds.Choice // a choice comes first
		}
	}
	w = w.And("\n", timeToAnswer(language, remaining))
	switch {
	case silence == "":
		return w
	case kinds.YesNo && p.DefaultResponse == "true":
		return w.And(" ", phraseIn(language, phrase.SilenceYes, ""))
	case kinds.YesNo && p.DefaultResponse == "false":
		return w.And(" ", phraseIn(language, phrase.SilenceNo, ""))
	}
	return w.And(" ", labelText(language, phrase.SilenceMeans, words.Sentence(words.OneLine(silence))))
}
