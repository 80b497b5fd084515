package producer_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/lifecycle"
	"github.com/aaep-go/aaep/schemas"
)

// checkTrace checks what a subscriber that sees everything received: each event alone (P9, INV-39),
// and their order (INV-20, INV-29); no session has the id of another (ENV-019). A subscriber that
// is not asked cannot tell whether a risky tool was accepted. One that came late is checked from
// the first session that it saw begin.
func checkTrace(t *testing.T, got []arrival, asked bool) {
	t.Helper()
	machines := map[string]*lifecycle.Session{}
	ids := map[string]bool{}
	for _, a := range got {
		if err := aaep.Validate(a.msg); err != nil {
			t.Errorf("%v\n%s", err, a.raw)
		}
		if err := schemas.Validate(a.raw); err != nil {
			t.Errorf("%v\n%s", err, a.raw)
		}
		ev, ok := a.msg.(*aaep.Event)
		if !ok {
			continue
		}
		if ids[ev.EventID] { // INV-23
			t.Errorf("event id %s came twice", ev.EventID)
		}
		ids[ev.EventID] = true
		m := machines[ev.SessionID]
		if m == nil {
			if ev.Type() != aaep.TypeSessionStarted {
				continue
			}
			m = &lifecycle.Session{}
			machines[ev.SessionID] = m
		}
		m.Infer(ev)
		if ev.Type().Terminal() { // what is open is withdrawn
			for _, token := range m.OpenQuestions() {
				m.Settled(token, aaep.Reject)
			}
		}
		if err := m.Next(withoutRisk(ev, asked)); err != nil {
			t.Errorf("out of order: %v\n%s", err, a.raw)
		}
		if p, ok := ev.Payload.(*aaep.StateChanged); ok && !asked && p.ToState == aaep.StateAwaitingInput {
			hidden := *ev // the question, which it is not shown; other work may go on beside it
			hidden.EventID = "evt_hidden" + ev.EventID
			hidden.Payload = &aaep.AwaitingClarification{ReplyToken: aaep.ReplyToken("rpl_hidden" + ev.EventID),
				Question: "?", TimeoutSeconds: 30}
			if err := m.Next(&hidden); err != nil {
				t.Errorf("the question that is hidden: %v", err)
			}
		}
	}
	for id, m := range machines {
		if !m.Over() { // INV-29
			t.Errorf("session %s has no end", id)
		}
	}
}

// withoutRisk returns the event as of low risk if the subscriber was not asked about its call.
func withoutRisk(ev *aaep.Event, asked bool) *aaep.Event {
	p, ok := ev.Payload.(*aaep.ToolInvoked)
	if !ok || asked {
		return ev
	}
	harmless, without := *p, *ev
	harmless.RiskLevel, harmless.Irreversible = aaep.RiskLow, nil
	without.Payload = &harmless
	return &without
}

// checkText checks that the chunks of an output are the text: joined, in order, positions in code
// points, one end (INV-28, P6).
func checkText(evs []*aaep.Event, id, want string) error {
	var b strings.Builder
	complete := 0
	for _, p := range payloadsOf[*aaep.OutputStreaming](evs) {
		if p.OutputID != id {
			continue
		}
		if at := int64(utf8.RuneCountInString(b.String())); p.Position != at {
			return fmt.Errorf("a chunk is at %d; %d code points came before it", p.Position, at)
		}
		if complete > 0 {
			return fmt.Errorf("the chunk %q comes after the complete one", p.Chunk)
		}
		if p.Complete {
			complete++
		}
		b.WriteString(p.Chunk)
	}
	if got := b.String(); got != want {
		return fmt.Errorf("the chunks joined are %q, want %q", got, want)
	}
	if complete != 1 {
		return fmt.Errorf("%d chunks are complete, want 1", complete)
	}
	return nil
}

// outputIDs returns the ids of the outputs, in the order of their first chunks.
func outputIDs(evs []*aaep.Event) (ids []string) {
	for _, p := range payloadsOf[*aaep.OutputStreaming](evs) {
		if !slices.Contains(ids, p.OutputID) {
			ids = append(ids, p.OutputID)
		}
	}
	return ids
}

// onlyText is checkText for a trace with one output.
func onlyText(evs []*aaep.Event, want string) error {
	ids := outputIDs(evs)
	if len(ids) != 1 {
		return fmt.Errorf("%d outputs, want 1", len(ids))
	}
	return checkText(evs, ids[0], want)
}

// mostInOneSecond returns how many events that are not critical came in the fullest second (INV-25,
// P4).
func mostInOneSecond(got []arrival) (most int) {
	var times []time.Time
	for _, a := range got {
		if ev, ok := a.msg.(*aaep.Event); ok && !ev.Critical() {
			times = append(times, a.at)
		}
	}
	for i, first := 0, 0; i < len(times); i++ {
		for times[i].Sub(times[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// storyOf is a trace in short words, for comparing whole traces.
func storyOf(evs []*aaep.Event) string {
	var words []string
	for _, ev := range evs {
		w := strings.TrimPrefix(string(ev.Type()), "aaep:agent.")
		switch p := ev.Payload.(type) {
		case *aaep.StateChanged:
			w = string(p.FromState) + ">" + string(p.ToState)
		case *aaep.ToolCompleted:
			w = "tool." + string(p.Status)
		case *aaep.SessionErrored:
			w += ":" + string(p.ErrorCategory)
		case *aaep.SessionCancelled:
			w += ":" + string(p.CancelledBy)
		case *aaep.OutputStreaming:
			w = fmt.Sprintf("%q", p.Chunk)
			if p.Complete {
				w += "!"
			}
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// wantStory compares a trace in short words.
func wantStory(t *testing.T, evs []*aaep.Event, want string) {
	t.Helper()
	if got := storyOf(evs); got != want {
		t.Errorf("events\n got %s\nwant %s", got, want)
	}
}

// toolEvents are the tool events in order, by call: each must be there, once (D-51).
func toolEvents(evs []*aaep.Event) (all []string) {
	for _, ev := range evs {
		switch p := ev.Payload.(type) {
		case *aaep.ToolInvoked:
			all = append(all, "invoked "+p.ToolCallID)
		case *aaep.ToolCompleted:
			all = append(all, cmp.Or(string(p.Status), "?")+" "+p.ToolCallID)
		}
	}
	return all
}
