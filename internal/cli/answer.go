package cli

import (
	"strconv"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/answers"
	"github.com/aaep-go/aaep/internal/phrase"
)

// answerPrompt says how to answer a question.
func answerPrompt(t uiLanguage, question *aaep.Event) string {
	p, ok := question.Payload.(*aaep.AwaitingClarification)
	if !ok {
		return t.phraseText(phrase.Decide, "")
	}
	var ways []string
	k := answers.KindsOf(p)
	if k.Choice {
		ways = append(ways, t.phraseText(phrase.ANumberTo, strconv.Itoa(len(p.Choices))))
	}
	if k.YesNo {
		ways = append(ways, t.phraseText(phrase.YesOrNo, ""))
	}
	if k.Numeric {
		ways = append(ways, t.phraseText(phrase.ANumber, ""))
	}
	if k.Text {
		ways = append(ways, t.phraseText(phrase.YourAnswer, ""))
	}
	return t.phraseText(phrase.TypeIt, strings.Join(ways, t.phraseText(phrase.Or, "")+" "))
}
