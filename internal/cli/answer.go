package cli

import (
	"bufio"
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/answers"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
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

// repeatAnswer returns an answer as it is repeated to the person who gave it, who with a screen
// reader does not hear a single letter that they type. What is typed in full is not repeated: it
// may be a secret.
func repeatAnswer(t uiLanguage, p *aaep.AwaitingClarification, response any) string {
	switch response {
	case true:
		return t.phraseText(phrase.SaidYes, "")
	case false:
		return t.phraseText(phrase.SaidNo, "")
	}
	for _, c := range p.Choices {
		if c.Value == response {
			return words.OneLine(c.Label)
		}
	}
	return ""
}

// typedLine is a line that a person typed, and when; or a key that does not end one.
type typedLine struct {
	text   string
	at     time.Time
	began  time.Time // when the first key of the line was pressed; zero where there is none, or it was not seen
	key    bool
	unseen bool // that the line was begun may be long ago
}

// longestTyped is how much of a line is read: what is longer was pasted by mistake, and is taken as
// an empty one, upon which a question is put again.
const longestTyped = 1 << 20 // bytes

// readLines hands on the lines a person types, until the input ends. A read that waits for a person
// cannot be cancelled; the goroutine ends with the program.
func readLines(ctx context.Context, r io.Reader) <-chan typedLine {
	lines := make(chan typedLine, 64) // so that a line knows when it was typed, not when it was wanted
	go func() {
		defer close(lines)
		in := bufio.NewReader(r)
		for over := false; !over; {
			text := ""
			for more := true; more; {
				piece, goesOn, err := in.ReadLine()
				if more, over = goesOn, err != nil; over && text == "" {
					return
				}
				if len(text) <= longestTyped {
					text += string(piece)
				}
			}
			if len(text) > longestTyped {
				text = ""
			}
			select {
			case lines <- typedLine{text: text, at: time.Now(), unseen: true}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
