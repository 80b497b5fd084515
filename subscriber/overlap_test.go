package subscriber

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/shaper"
)

// What a resumed stream repeats in other pieces is told once (P6, INV-21); what only looks repeated
// is told.
func TestOverlap(t *testing.T) {
	type piece struct {
		at       int64
		text     string
		complete bool
	}
	resume := piece{at: -1}
	for _, tt := range []struct {
		name   string
		pieces []piece
		want   string // pieces told, joined by |
	}{
		{"nothing repeats", []piece{{0, "One. ", false}, {5, "Two.", true}}, "One. |Two."},
		{"merged before, in pieces after", []piece{{0, "One. Two. ", false}, resume, {0, "One. ", false},
			{5, "Two. ", false}, {10, "Three", true}}, "One. Two. |Three"},
		{"a piece that reaches further", []piece{{0, "One. Two. ", false}, resume, {5, "Two. Three. ", false},
			{17, "Four", true}}, "One. Two. |Three. |Four"},
		{"the end alone is new", []piece{{0, "One.", false}, resume, {0, "One.", true}}, "One.|"},
		{"the end is a part", []piece{{0, "One. Two.", false}, resume, {0, "One. ", false}, {5, "Two.", true}},
			"One. Two.|"},
		{"code points, not bytes", []piece{{0, "Ọjọ́ ìsinmi. ", false}, resume, {5, "ìsinmi. Rẹ.", true}},
			"Ọjọ́ ìsinmi. |Rẹ."},
		{"without a cut nothing is dropped", []piece{{0, "Ha. ", false}, {0, "Ha. ", false}, {0, "Ha.", true}},
			"Ha. |Ha. |Ha."},
		{"other text at a place that was told",
			[]piece{{0, "One. ", false}, resume, {0, "Uno. ", false}, {5, "Two.", true}}, "One. |Uno. |Two."},
		{"further back than is remembered", []piece{{10, "Two. ", false}, resume, {5, "One. ", false},
			{15, "Three", true}}, "Two. |One. |Three"},
		{"where it was, then a repeat in the text",
			[]piece{{0, "Ha. ", false}, resume, {4, "Ha. ", false}, {4, "Ha. ", false}}, "Ha. |Ha. |Ha. "},
		{"the end was told", []piece{{0, "One. Two.", true}, resume, {0, "One. ", false}, {5, "Two.", true}},
			"One. Two."},
		{"the end was told alone", []piece{{0, "One.", false}, {4, "", true}, resume, {0, "One.", false},
			{4, "", true}}, "One.|"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var o overlap
			var told []string
			for _, p := range tt.pieces {
				if p == resume {
					o.noteResumed()
					continue
				}
				out := &aaep.OutputStreaming{Chunk: p.text, Position: p.at, Complete: p.complete, OutputID: "out_1"}
				if o.trimKnown(&aaep.Event{SessionID: "sess_1", Payload: out}) {
					told = append(told, out.Chunk)
				}
			}
			if got := strings.Join(told, "|"); got != tt.want {
				t.Errorf("told %q, want %q", got, tt.want)
			}
		})
	}
}

// Where outputs have no names, the next one is another (EVT-058).
func TestOverlapNameless(t *testing.T) {
	var o overlap
	for range 2 {
		if !o.trimKnown(&aaep.Event{SessionID: "sess_1",
			Payload: &aaep.OutputStreaming{Chunk: "One.", Complete: true}}) {
			t.Error("an output was taken for the one before it")
		}
		o.noteResumed()
	}
}

// What left as one, and may come again from the half sentence of another session on, is told once
// (P6, INV-21).
func TestOverlapAfterTheEnd(t *testing.T) {
	terms, err := negotiation.Negotiate(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "x",
		Capabilities: aaep.Capabilities{MaxEventsPerSecond: 3}}, negotiation.Offer{Levels: []int64{1}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var log []*aaep.Event
	for _, p := range []aaep.Payload{
		&aaep.ToolInvoked{Tool: "x"}, &aaep.ToolInvoked{Tool: "x"}, &aaep.ToolInvoked{Tool: "x"},
		&aaep.OutputStreaming{Chunk: "I am still thinking about", OutputID: "out_a"},
		&aaep.OutputStreaming{Chunk: "One. ", OutputID: "out_b"},
		&aaep.OutputStreaming{Chunk: "Two. ", Position: 5, OutputID: "out_b"},
		&aaep.OutputStreaming{Chunk: "Three.", Position: 10, OutputID: "out_b", Complete: true},
		&aaep.SessionCompleted{},
	} {
		ev := &aaep.Event{EventID: fmt.Sprintf("evt_%dx0", len(log)+1), SessionID: "sess_b", Timestamp: now, Payload: p,
			LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: "en"}}
		if out, ok := p.(*aaep.OutputStreaming); ok && out.OutputID == "out_a" {
			ev.SessionID = "sess_a"
		}
		log = append(log, ev)
	}
	shape := shaper.New(terms, func(pos uint64, off int,
		form uint32) string {
		return fmt.Sprintf("evt_%dx%dx%x", pos, off, form)
	})
	s := &Subscription{ctx: t.Context(), questions: map[aaep.ReplyToken]*pendingQuestion{}, seen: map[string]int{},
		accepted: &aaep.SubscriptionAccepted{}}
	var place, sent int
	var told strings.Builder
	follow := func(from int) {
		for i := from; i < len(log); i++ {
			shape.Push(now, shaper.Entry{Pos: uint64(i + 1), Event: log[i]})
		}
		for end := now.Add(3 * time.Second); now.Before(end); now = now.Add(100 * time.Millisecond) {
			for out, _ := shape.Pop(now); out.Event != nil; out, _ = shape.Pop(now) {
				ev := *out.Event
				if out.Resumable {
					fmt.Sscanf(ev.EventID, "evt_%dx", &place)
				}
				p, ok := ev.Payload.(*aaep.OutputStreaming)
				if ok && p.OutputID == "out_b" {
					sent++
				}
				if s.noteEvent(&ev, 0) && s.texts.trimKnown(&ev) && ok && p.OutputID == "out_b" {
					told.WriteString(p.Chunk)
				}
			}
		}
	}
	follow(0)
	before := sent
	shape.Reset(true)
	s.texts.noteResumed()
	follow(place)
	if sent == before {
		t.Fatal("the text did not come again")
	}
	if told.String() != "One. Two. Three." {
		t.Errorf("told %q", told.String())
	}
}

// What comes by itself after a cut is not told when its session has ended (INV-21, D-34): no user
// is asked what is settled.
func TestStale(t *testing.T) {
	var o overlap
	of := func(session string, p aaep.Payload) bool {
		return o.isStale(&aaep.Event{SessionID: session, Payload: p})
	}
	if of("sess_1", &aaep.StateChanged{}) || of("sess_1", &aaep.ProgressUpdated{}) ||
		of("sess_1", &aaep.SessionCompleted{}) {
		t.Error("something is not told before the end")
	}
	if !of("sess_1", &aaep.AwaitingConfirmation{}) || !of("sess_1", &aaep.AwaitingClarification{}) ||
		of("sess_2", &aaep.AwaitingConfirmation{}) {
		t.Error("after the end of its session, a question is to be left out")
	}
	if !of("sess_1", &aaep.StateChanged{}) || !of("sess_1", &aaep.ProgressUpdated{}) ||
		of("sess_1", &aaep.ToolCompleted{}) || of("sess_2", &aaep.StateChanged{}) {
		t.Error("after the end, states and progress of that session are to be left out, and no more of what is told")
	}
}

// What is remembered is bounded (INV-27), and a crowd of short outputs does not push out the one
// that is going on.
func TestOverlapBounds(t *testing.T) {
	var o overlap
	at := int64(0)
	for range 100 {
		text := strings.Repeat("ọ", 1000)
		o.trimKnown(&aaep.Event{SessionID: "sess_1",
			Payload: &aaep.OutputStreaming{Chunk: text, Position: at, OutputID: "out_1"}})
		at += 1000
	}
	h := o.outputs[[2]string{"sess_1", "out_1"}]
	if len(h.tail) < maxTail || len(h.tail) > 2*maxTail || h.next != at ||
		h.next-h.start != int64(utf8.RuneCount(h.tail)) {
		t.Errorf("%d bytes, from %d to %d", len(h.tail), h.start, h.next)
	}
	for i := range 10 * maxOutputs {
		o.trimKnown(&aaep.Event{SessionID: "sess_2",
			Payload: &aaep.OutputStreaming{Chunk: "x", OutputID: fmt.Sprint("out_", i), Complete: true}})
		o.trimKnown(&aaep.Event{SessionID: "sess_1",
			Payload: &aaep.OutputStreaming{Chunk: "x", Position: at, OutputID: "out_1"}})
		at++
	}
	for i := range 10 * maxOutputs {
		o.isStale(&aaep.Event{SessionID: fmt.Sprint("sess_", i), Payload: &aaep.SessionCompleted{}})
	}
	for i := range 2 * maxTails / maxTail {
		text := strings.Repeat("x", maxTail)
		o.trimKnown(&aaep.Event{SessionID: "sess_3",
			Payload: &aaep.OutputStreaming{Chunk: text, OutputID: fmt.Sprint("out_", i), Complete: true}})
		o.trimKnown(&aaep.Event{SessionID: "sess_1",
			Payload: &aaep.OutputStreaming{Chunk: "x", Position: at, OutputID: "out_1"}})
		at++
	}
	size := 0
	for _, h := range o.outputs {
		size += len(h.tail)
	}
	if size > maxTails || size != o.size {
		t.Errorf("%d bytes are remembered, and %d counted", size, o.size)
	}
	if len(o.outputs) > maxOutputs || len(o.endedSessions) > maxOutputs {
		t.Errorf("%d outputs and %d ends are remembered", len(o.outputs), len(o.endedSessions))
	}
	if o.outputs[[2]string{"sess_1", "out_1"}] != h {
		t.Error("the output that is going on was forgotten")
	}
}
