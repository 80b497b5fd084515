package cli

import (
	"bufio"
	"context"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// decisionOf reads a yes or a no, of English or of some languages, and nothing else.
func decisionOf(line string, languages ...string) aaep.Decision {
	switch yes, ok := phrase.Decision(line, languages...); {
	case !ok:
		return ""
	case yes:
		return aaep.Accept
	}
	return aaep.Reject
}

// prompt says how to answer a question.
func prompt(t tongue, question *aaep.Event) string {
	p, ok := question.Payload.(*aaep.AwaitingClarification)
	if !ok {
		return t.says(phrase.Decide, "")
	}
	var ways []string
	k := announce.KindsOf(p)
	if k.Choice {
		ways = append(ways, t.says(phrase.ANumberTo, strconv.Itoa(len(p.Choices))))
	}
	if k.YesNo {
		ways = append(ways, t.says(phrase.YesOrNo, ""))
	}
	if k.Numeric {
		ways = append(ways, t.says(phrase.ANumber, ""))
	}
	if k.Text {
		ways = append(ways, t.says(phrase.YourAnswer, ""))
	}
	return t.says(phrase.TypeIt, strings.Join(ways, t.says(phrase.Or, "")+" "))
}

// western writes the digits and the decimal mark of an Arabic or a Persian keyboard as numbers are read here.
func western(r rune) rune {
	for _, zero := range []rune{'٠', '۰'} {
		if r >= zero && r <= zero+9 {
			return '0' + r - zero
		}
	}
	if r == '٫' {
		return '.'
	}
	return r
}

var (
	aNumber      = regexp.MustCompile(`^[-+]?(?:\d+\.?\d*|\.\d+)$`)
	decimalComma = regexp.MustCompile(`^([-+]?(?:0|\d+)),(\d{1,2}|\d{4,})$|^([-+]?0),(\d+)$`)
	thousands    = regexp.MustCompile(`^[-+]?[1-9]\d{0,2}\.\d{3}$`)
)

// numberOf reads a number. What is a thousand to one person and one to another, such as 1,000, is none: nor is 1.000 but in English.
func numberOf(line string, languages ...string) (f float64, ok bool) {
	number := decimalComma.ReplaceAllString(strings.Map(western, line), "$1$3.$2$4")
	if !aNumber.MatchString(number) || thousands.MatchString(number) && slices.ContainsFunc(languages, func(tag string) bool {
		return tag != "" && tag != "en" && !strings.HasPrefix(tag, "en-")
	}) {
		return 0, false
	}
	f, err := strconv.ParseFloat(number, 64)
	return f, err == nil
}

// responseOf reads an answer to a clarification, a yes or a no of English or of some languages; nil is none.
func responseOf(p *aaep.AwaitingClarification, line string, languages ...string) any {
	line = strings.TrimSpace(line)
	k := announce.KindsOf(p)
	if k.Choice {
		if n, err := strconv.Atoi(strings.Map(western, line)); err == nil && n >= 1 && n <= len(p.Choices) {
			return p.Choices[n-1].Value
		}
		for _, c := range p.Choices {
			if strings.EqualFold(line, c.Label) || line == c.Value {
				return c.Value
			}
		}
	}
	if k.YesNo {
		if yes, ok := phrase.Answer(line, languages...); ok {
			return yes
		}
	}
	if k.Numeric {
		if f, ok := numberOf(line, languages...); ok {
			return f
		}
	}
	if k.Text && line != "" {
		return line
	}
	return nil
}

// inShort is an answer as it is repeated to whoever gave it: a person with a screen reader does not hear a single
// letter they type. What is typed in full is not repeated, it may be a secret.
func inShort(t tongue, p *aaep.AwaitingClarification, response any) string {
	switch response {
	case true:
		return t.says(phrase.SaidYes, "")
	case false:
		return t.says(phrase.SaidNo, "")
	}
	for _, c := range p.Choices {
		if c.Value == response {
			return words.OneLine(c.Label)
		}
	}
	return ""
}

// typed is a line a person typed, and when; or a key that is not the end of one.
type typed struct {
	text   string
	at     time.Time
	began  time.Time // when the first key of the line was pressed; zero where there is none, or it was not seen
	key    bool
	unseen bool // that the line was begun may be long ago
}

// longestTyped is how much of a line is read: what is longer was pasted by mistake, and is taken as an empty one, upon which a question
// is put again.
const longestTyped = 1 << 20 // bytes

// readLines hands on the lines a person types, until the input ends. A read that waits for a person cannot be
// cancelled; the goroutine ends with the program.
func readLines(ctx context.Context, r io.Reader) <-chan typed {
	lines := make(chan typed, 64) // so that a line knows when it was typed, not when it was wanted
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
			case lines <- typed{text: text, at: time.Now(), unseen: true}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
