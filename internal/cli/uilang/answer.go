package uilang

import (
	"strconv"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/answers"
	"github.com/aaep-go/aaep/internal/phrase"
)

// AnswerPrompt returns the sentence that says how to answer a question, in the language t: by yes
// or no, a number, a choice or words, as it takes them.
func AnswerPrompt(t Language, question *aaep.Event) string {
	p, ok := question.Payload.(*aaep.AwaitingClarification)
	if !ok {
		return t.PhraseText(phrase.Decide, "")
	}
	var ways []string
	k := answers.KindsOf(p)
	if k.Choice {
		ways = append(ways, t.PhraseText(phrase.ANumberTo, strconv.Itoa(len(p.Choices))))
	}
	if k.YesNo {
		ways = append(ways, t.PhraseText(phrase.YesOrNo, ""))
	}
	if k.Numeric {
		ways = append(ways, t.PhraseText(phrase.ANumber, ""))
	}
	if k.Text {
		ways = append(ways, t.PhraseText(phrase.YourAnswer, ""))
	}
	return t.PhraseText(phrase.TypeIt, strings.Join(ways, t.PhraseText(phrase.Or, "")+" "))
}
