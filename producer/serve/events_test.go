package serve_test

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
)

// isA matches the events of a type.
func isA(typ aaep.Type) func(*aaep.Event) bool {
	return func(ev *aaep.Event) bool { return ev.Type() == typ }
}

// hasText matches the events with a text.
func hasText(text string) func(*aaep.Event) bool {
	return func(ev *aaep.Event) bool { return ev.Text(aaep.VerbosityNormal) == text }
}

// isOver matches the end of a session.
func isOver(ev *aaep.Event) bool { return ev.Type().Terminal() }

// summarize writes events in few words, to compare and to read.
func summarize(evs []*aaep.Event) string {
	var b strings.Builder
	for i, ev := range evs {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch p := ev.Payload.(type) {
		case *aaep.StateChanged:
			fmt.Fprintf(&b, "%s>%s", p.FromState, p.ToState)
		case *aaep.ToolInvoked:
			b.WriteString(p.Tool)
		case *aaep.ToolCompleted:
			fmt.Fprintf(&b, "%s:%s", p.Tool, p.Status)
		case *aaep.OutputStreaming:
			fmt.Fprintf(&b, "%q", p.Chunk)
			if p.Complete {
				b.WriteByte('!')
			}
		default:
			b.WriteString(strings.TrimPrefix(string(ev.Type()), "aaep:agent."))
		}
	}
	return b.String()
}

// checkText: the chunks of every output are its text, each piece once, in order, with one end
// (INV-28).
func checkText(evs []*aaep.Event, want ...string) error {
	got := map[string]*strings.Builder{}
	ended := map[string]int{}
	var order []string
	for _, ev := range evs {
		p, isText := ev.Payload.(*aaep.OutputStreaming)
		if !isText {
			continue
		}
		b := got[p.OutputID]
		if b == nil {
			b = new(strings.Builder)
			got[p.OutputID], order = b, append(order, p.OutputID)
		}
		if at := int64(utf8.RuneCountInString(b.String())); p.Position != at {
			return fmt.Errorf("the chunk %q is at %d, want %d", p.Chunk, p.Position, at)
		}
		b.WriteString(p.Chunk)
		if p.Complete {
			ended[p.OutputID]++
		}
	}
	var texts []string
	for _, id := range order {
		texts = append(texts, got[id].String())
		if ended[id] != 1 {
			return fmt.Errorf("the output %q has %d ends", got[id], ended[id])
		}
	}
	slices.Sort(texts)
	slices.Sort(want)
	if !slices.Equal(texts, want) {
		return fmt.Errorf("the texts are %q, want %q", texts, want)
	}
	return nil
}

// checkOnce: no event id came twice (INV-23).
func checkOnce(evs []*aaep.Event) error {
	seen := map[string]bool{}
	for _, ev := range evs {
		if seen[ev.EventID] {
			return fmt.Errorf("%s %s came twice", ev.Type(), ev.EventID)
		}
		seen[ev.EventID] = true
	}
	return nil
}

// countType counts the events of a type.
func countType(evs []*aaep.Event, typ aaep.Type) (n int) {
	for _, ev := range evs {
		if ev.Type() == typ {
			n++
		}
	}
	return n
}
