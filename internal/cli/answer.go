package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/aaep-go/aaep"
)

// responseOf reads an answer to a clarification, or says what would be one.
func responseOf(p *aaep.AwaitingClarification, line string) (response any, problem string) {
	line = strings.TrimSpace(line)
	kinds := p.AcceptedResponseKinds
	accepts := func(k aaep.ResponseKind) bool {
		return slices.Contains(kinds, k) || len(kinds) == 0 && k == aaep.ResponseFreetext
	}
	if accepts(aaep.ResponseMultipleChoice) {
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(p.Choices) {
			return p.Choices[n-1].Value, ""
		}
		for _, c := range p.Choices {
			if strings.EqualFold(line, c.Label) || line == c.Value {
				return c.Value, ""
			}
		}
	}
	if accepts(aaep.ResponseYesNo) {
		if d := decisionOf(line); d != "" {
			return d == aaep.Accept, ""
		}
	}
	if accepts(aaep.ResponseNumeric) {
		if f, err := strconv.ParseFloat(line, 64); err == nil && f-f == 0 {
			return f, ""
		}
	}
	if accepts(aaep.ResponseFreetext) && line != "" {
		return line, ""
	}
	switch {
	case accepts(aaep.ResponseMultipleChoice):
		return nil, fmt.Sprintf("Please type a number from 1 to %d.", len(p.Choices))
	case accepts(aaep.ResponseYesNo):
		return nil, "Please type y or n."
	case accepts(aaep.ResponseNumeric):
		return nil, "Please type a number."
	}
	return nil, "Please type an answer."
}

// readLines hands on the lines a person types, until the input ends. A read that waits for a person cannot be
// cancelled; the goroutine ends with the program.
func readLines(ctx context.Context, r io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		in := bufio.NewScanner(r)
		for in.Scan() {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
