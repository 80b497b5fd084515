package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
)

// An announcer prints what a person should know of each event, one line for each. It may be used by
// several goroutines at once.
type announcer struct {
	mu   sync.Mutex
	out  io.Writer
	err  error  // of the first write that failed
	gone func() // called once then, if set
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
		a.print(line)
	}
}

// line prints a line as it is.
func (a *announcer) line(s string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.print(s)
}

// print writes a line, with a.mu held. Where nobody reads any more, it does nothing.
func (a *announcer) print(line string) {
	if a.err != nil {
		return
	}
	if _, a.err = io.WriteString(a.out, line+"\n"); a.err != nil && a.gone != nil {
		a.gone()
	}
}

// failed reports whether nobody reads any more.
func (a *announcer) failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err != nil
}

// announcement is what is said of an event at a verbosity; "" for nothing. A question has the whole time it
// was given.
func announcement(ev *aaep.Event, v aaep.Verbosity) string {
	text := ev.Text(v)
	switch p := ev.Payload.(type) {
	case *aaep.SessionErrored:
		text = "Error. " + text
		if p.RemediationHint != "" {
			text = sentence(text) + " " + p.RemediationHint
		}
	case *aaep.SessionCancelled:
		if !strings.HasPrefix(text, "Cancelled") {
			text = "Cancelled. " + text
		}
	case *aaep.SessionCompleted:
		text = "Done. " + text
	case *aaep.HandoffRequested:
		text = "Handover. " + text
	case *aaep.StateChanged:
		// The text is that of the question, which alone would sound as if it were being done.
		if p.ToState == aaep.StateAwaitingInput && !strings.HasPrefix(text, "Waiting") {
			text = "Waiting for an answer: " + text
		}
	case *aaep.AwaitingConfirmation:
		return confirmation(p, time.Duration(p.TimeoutSeconds)*time.Second)
	case *aaep.AwaitingClarification:
		return clarification(p, time.Duration(p.TimeoutSeconds)*time.Second)
	}
	return quoted(strings.TrimSpace(text))
}

// labels begin lines of ours, and mean something. Who hears them must be able to rely on them.
var labels = []string{"aaep:", "please decide.", "accepted, and being done:", "action:", "consequence:", "question:", "context:"}

// quoted is an agent's text, with a word before each line that would otherwise pass for one of ours.
func quoted(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		start := strings.ToLower(strings.TrimSpace(line))
		if slices.ContainsFunc(labels, func(l string) bool { return strings.HasPrefix(start, l) }) {
			b.WriteString("The agent says: ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// confirmation puts the whole question: who reads only this must know what a yes does. Its parts cannot
// pretend to be other lines of it.
func confirmation(p *aaep.AwaitingConfirmation, left time.Duration) string {
	risk := p.RiskLevel
	if risk != aaep.RiskLow && risk != aaep.RiskMedium {
		risk = aaep.RiskHigh // what is not said is taken as high
	}
	undo := ""
	switch {
	case p.IsIrreversible():
		undo = " This cannot be undone."
	case p.Reversibility == aaep.ReversibleWithEffort:
		undo = " This is hard to undo."
	}
	silence := "nobody knows what will happen" // the agent said something that is neither (D-13)
	switch p.DefaultDecision {
	case aaep.Accept:
		silence = "it will be done"
	case aaep.Reject:
		silence = "it will not be done"
	}
	return fmt.Sprintf("Please decide.%s The risk is %s.\nAction: %s\nConsequence: %s\nYou have %s to answer. Without an answer %s.",
		undo, risk, oneLine(p.Action), oneLine(p.Consequence), spoken(left), silence)
}

func clarification(p *aaep.AwaitingClarification, left time.Duration) string {
	var b strings.Builder
	b.WriteString("Question: " + oneLine(p.Question))
	if p.Context != "" {
		b.WriteString("\nContext: " + oneLine(p.Context))
	}
	silence, kinds := p.DefaultResponse, kindsOf(p)
	for i, c := range p.Choices {
		fmt.Fprintf(&b, "\n%d: %s", i+1, oneLine(c.Label))
		if c.Value == p.DefaultResponse {
			silence = cmp.Or(oneLine(c.Label), c.Value)
			kinds.yesNo = kinds.yesNo && !kinds.choice // a choice comes first
		}
	}
	fmt.Fprintf(&b, "\nYou have %s to answer.", spoken(left))
	switch {
	case silence == "":
	case kinds.yesNo && p.DefaultResponse == "true":
		b.WriteString(" No answer means yes.")
	case kinds.yesNo && p.DefaultResponse == "false":
		b.WriteString(" No answer means no.")
	default:
		b.WriteString(" No answer means: " + sentence(oneLine(silence)))
	}
	return b.String()
}

// ends reports whether an event says that a question of its session is no longer open. Changes of state may
// have been merged on their way, so that what counts is where they lead, after the question was asked.
func ends(question, ev *aaep.Event) bool {
	if ev.SessionID != question.SessionID {
		return false
	}
	p, ok := ev.Payload.(*aaep.StateChanged)
	if !ok {
		return ev.Type().Terminal()
	}
	return p.ToState != aaep.StateAwaitingInput &&
		(p.FromState == aaep.StateAwaitingInput || ev.Timestamp.After(question.Timestamp))
}
