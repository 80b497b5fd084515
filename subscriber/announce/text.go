package announce

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/answers"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

// Text is what is said of an event at a verbosity; nothing for nothing. A question has the whole
// time it was given. What no voice can say is still in it: see aaep.SafeText.
func Text(ev *aaep.Event, v aaep.Verbosity) Words {
	theirs := ev.Language()
	text := agentText(ev, v)
	switch p := ev.Payload.(type) {
	case *aaep.SessionErrored:
		w := prefixKind(theirs, phrase.Error, text)
		if p.RemediationHint != "" {
			w = w.endSentence().And(" ", In(theirs, quoteAgent(theirs, p.RemediationHint)))
		}
		return w
	case *aaep.SessionCancelled:
		return prefixKind(theirs, phrase.Cancelled, text)
	case *aaep.SessionCompleted:
		for _, p := range text {
			if says, _ := phrase.In(p.Language, phrase.AgentFinished, ""); p.Text == says {
				return text // "Done." would say it twice, and may follow that something was not done
			}
		}
		return prefixKind(theirs, phrase.Done, text)
	case *aaep.HandoffRequested:
		return prefixKind(theirs, phrase.Handover, text)
	case *aaep.StateChanged:
		// The text is that of the question, which alone would sound as if it were being done.
		waiting, _ := phrase.In(theirs, phrase.WaitingForAnswer, "")
		said := text.String()
		if p.ToState == aaep.StateAwaitingInput && said != waiting && !strings.HasPrefix(said, "Waiting") {
			return labelText(theirs, phrase.WaitingFor, text.String())
		}
	case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
		return questionWords(ev, closes.Given(ev))
	}
	return text
}

// agentText is what the agent says. Without a word of its own it is said in English, whatever it
// speaks.
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
			to, _ := strings.CutSuffix(text, p.Reason)
			return In(ownLanguage, to).And("", In(language, strings.TrimSpace(p.Reason)))
		default:
			language = ownLanguage
		}
	}
	return In(language, quoteAgent(language, strings.TrimSpace(text)))
}

// prefixKind puts what kind of thing is told in front of the agent's text, unless that begins with
// it.
func prefixKind(language string, kind phrase.ID, text Words) Words {
	says := phraseIn(language, kind, "")
	rest, ok := strings.CutPrefix(text.String(), strings.TrimSuffix(says.String(), "."))
	if ok && (rest == "" || strings.ContainsAny(rest[:1], ".:,!; ")) {
		return text
	}
	return says.And(" ", text)
}

// questionWords are the whole question, with the time that is left. A person who has only these
// knows what a yes does, and the choices by number. Its parts cannot pretend to be other lines of
// it.
func questionWords(ev *aaep.Event, left time.Duration) Words {
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		return confirmationWords(ev.Language(), p, left)
	case *aaep.AwaitingClarification:
		return clarificationWords(ev.Language(), p, left)
	}
	return nil
}

// confirmationWords are questionWords of what is to be confirmed.
func confirmationWords(theirs string, p *aaep.AwaitingConfirmation, left time.Duration) Words {
	// What it is about comes first: a person may know enough for a no.
	return labelText(theirs, phrase.ToDecide, words.OneLine(p.Action)).
		And("\n", labelText(theirs, phrase.ConsequenceIs, words.OneLine(p.Consequence))).
		And("\n", stakesWords(theirs, p)).
		And("\n", timeToAnswer(theirs, left)).And(" ", silenceWords(theirs, p))
}

// stakesWords says in a language how bad what is to be decided can be.
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

// silenceWords says in a language what no answer means.
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

// clarificationWords are questionWords of what is to be made clear.
func clarificationWords(theirs string, p *aaep.AwaitingClarification, left time.Duration) Words {
	w := labelText(theirs, phrase.QuestionIs, words.OneLine(p.Question))
	if p.Context != "" {
		w = w.And("\n", labelText(theirs, phrase.ContextIs, words.OneLine(p.Context)))
	}
	silence, kinds := p.DefaultResponse, answers.KindsOf(p)
	for i, c := range p.Choices {
		w = w.And("\n", In(theirs, fmt.Sprintf("%d: %s", i+1, words.OneLine(c.Label))))
		if c.Value == p.DefaultResponse {
			silence = cmp.Or(words.OneLine(c.Label), c.Value)
			kinds.YesNo = kinds.YesNo && !kinds.Choice // a choice comes first
		}
	}
	w = w.And("\n", timeToAnswer(theirs, left))
	switch {
	case silence == "":
		return w
	case kinds.YesNo && p.DefaultResponse == "true":
		return w.And(" ", phraseIn(theirs, phrase.SilenceYes, ""))
	case kinds.YesNo && p.DefaultResponse == "false":
		return w.And(" ", phraseIn(theirs, phrase.SilenceNo, ""))
	}
	return w.And(" ", labelText(theirs, phrase.SilenceMeans, words.Sentence(words.OneLine(silence))))
}
