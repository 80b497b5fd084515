package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
)

// An announcer prints what a person should know of each event, one line for each. It may be used by
// several goroutines at once.
type announcer struct {
	mu  sync.Mutex
	out io.Writer
	err error // of the first write that failed
}

// say prints text behind a label, line by line. Nothing of what a peer wrote reaches the terminal unescaped.
func (a *announcer) say(label, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for line := range strings.Lines(aaep.SafeText(text)) {
		line = strings.TrimRight(line, " \n")
		if line == "" {
			continue
		}
		if label != "" {
			line = label + ": " + line
		}
		if _, err := fmt.Fprintln(a.out, line); err != nil && a.err == nil {
			a.err = err
		}
	}
}

// announcement is what is said of an event at a verbosity; "" for nothing.
func announcement(ev *aaep.Event, v aaep.Verbosity) string {
	text := ev.Text(v)
	switch p := ev.Payload.(type) {
	case *aaep.SessionErrored:
		text = "Error. " + text
		if p.RemediationHint != "" {
			text += " " + p.RemediationHint
		}
	case *aaep.SessionCancelled:
		text = "Cancelled. " + strings.TrimPrefix(text, "Cancelled.")
	case *aaep.SessionCompleted:
		text = "Done. " + text
	case *aaep.HandoffRequested:
		text = "Handover. " + text
	case *aaep.AwaitingConfirmation:
		text = confirmation(p)
	case *aaep.AwaitingClarification:
		text = clarification(p)
	}
	return strings.TrimSpace(text)
}

// confirmation puts the whole question: who reads only this must know what a yes does.
func confirmation(p *aaep.AwaitingConfirmation) string {
	var b strings.Builder
	b.WriteString("Please decide. ")
	switch {
	case p.IsIrreversible():
		b.WriteString("This cannot be undone. ")
	case p.Reversibility == aaep.ReversibleWithEffort:
		b.WriteString("This is hard to undo. ")
	}
	switch p.RiskLevel {
	case aaep.RiskLow, aaep.RiskMedium:
		fmt.Fprintf(&b, "Risk: %s. ", p.RiskLevel)
	default: // what is not said is taken as high
		b.WriteString("Risk: high. ")
	}
	fmt.Fprintf(&b, "\nAction: %s\nConsequence: %s\n", p.Action, p.Consequence)
	fmt.Fprintf(&b, "Time to answer: %s. Silence means: %s.", time.Duration(p.TimeoutSeconds)*time.Second, p.DefaultDecision)
	return b.String()
}

func clarification(p *aaep.AwaitingClarification) string {
	var b strings.Builder
	b.WriteString("Question: " + p.Question)
	if p.Context != "" {
		b.WriteString("\n" + p.Context)
	}
	for i, c := range p.Choices {
		fmt.Fprintf(&b, "\n%d: %s", i+1, c.Label)
	}
	fmt.Fprintf(&b, "\nTime to answer: %s.", time.Duration(p.TimeoutSeconds)*time.Second)
	if p.DefaultResponse != "" {
		b.WriteString(" Silence means: " + p.DefaultResponse + ".")
	}
	return b.String()
}
