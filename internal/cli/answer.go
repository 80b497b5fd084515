package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber/announce"
)

const promptDecision = "Type y to accept or n to reject, then press Enter."

// decisionOf reads a yes or a no, and nothing else.
func decisionOf(line string) aaep.Decision {
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return aaep.Accept
	case "n", "no":
		return aaep.Reject
	}
	return ""
}

// offerAgain ends a line that may have silenced the question.
const offerAgain = " Enter alone puts the question again."

// prompt says how to answer a clarification.
func prompt(p *aaep.AwaitingClarification) string {
	var ways []string
	k := announce.KindsOf(p)
	if k.Choice {
		ways = append(ways, fmt.Sprintf("a number from 1 to %d", len(p.Choices)))
	}
	if k.YesNo {
		ways = append(ways, "y for yes or n for no")
	}
	if k.Numeric {
		ways = append(ways, "a number such as 12.5")
	}
	if k.Text {
		ways = append(ways, "your answer")
	}
	return "Type " + strings.Join(ways, ", or ") + ", then press Enter."
}

// responseOf reads an answer to a clarification; nil is none.
func responseOf(p *aaep.AwaitingClarification, line string) any {
	line = strings.TrimSpace(line)
	k := announce.KindsOf(p)
	if k.Choice {
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(p.Choices) {
			return p.Choices[n-1].Value
		}
		for _, c := range p.Choices {
			if strings.EqualFold(line, c.Label) || line == c.Value {
				return c.Value
			}
		}
	}
	if k.YesNo {
		if d := decisionOf(line); d != "" {
			return d == aaep.Accept
		}
	}
	if k.Numeric && strings.Trim(line, "0123456789.+-") == "" {
		if f, err := strconv.ParseFloat(line, 64); err == nil {
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
func inShort(p *aaep.AwaitingClarification, response any) string {
	switch response {
	case true:
		return "yes"
	case false:
		return "no"
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
	text string
	at   time.Time
	key  bool
}

// readLines hands on the lines a person types, until the input ends. A read that waits for a person cannot be
// cancelled; the goroutine ends with the program.
func readLines(ctx context.Context, r io.Reader) <-chan typed {
	lines := make(chan typed, 64) // so that a line knows when it was typed, not when it was wanted
	go func() {
		defer close(lines)
		in := bufio.NewScanner(r)
		for in.Scan() {
			select {
			case lines <- typed{text: in.Text(), at: time.Now()}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
