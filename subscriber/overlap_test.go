package subscriber

import (
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// What a resumed stream repeats in other pieces is told once (P6, INV-21); what only looks repeated is told.
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
		{"merged before, in pieces after", []piece{{0, "One. Two. ", false}, resume, {0, "One. ", false}, {5, "Two. ", false}, {10, "Three", true}}, "One. Two. |Three"},
		{"a piece that reaches further", []piece{{0, "One. Two. ", false}, resume, {5, "Two. Three. ", false}, {17, "Four", true}}, "One. Two. |Three. |Four"},
		{"the end alone is new", []piece{{0, "One.", false}, resume, {0, "One.", true}}, "One.|"},
		{"the end is a part", []piece{{0, "One. Two.", false}, resume, {0, "One. ", false}, {5, "Two.", true}}, "One. Two.|"},
		{"code points, not bytes", []piece{{0, "Ọjọ́ ìsinmi. ", false}, resume, {5, "ìsinmi. Rẹ.", true}}, "Ọjọ́ ìsinmi. |Rẹ."},
		{"without a cut nothing is dropped", []piece{{0, "Ha. ", false}, {0, "Ha. ", false}, {0, "Ha.", true}}, "Ha. |Ha. |Ha."},
		{"other text at a place that was told", []piece{{0, "One. ", false}, resume, {0, "Uno. ", false}, {5, "Two.", true}}, "One. |Uno. |Two."},
		{"further back than is remembered", []piece{{10, "Two. ", false}, resume, {5, "One. ", false}, {15, "Three", true}}, "Two. |One. |Three"},
		{"where it was, then a repeat in the text", []piece{{0, "Ha. ", false}, resume, {4, "Ha. ", false}, {4, "Ha. ", false}}, "Ha. |Ha. |Ha. "},
		{"another output begins", []piece{{0, "One.", true}, resume, {0, "One.", true}}, "One.|One."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var o overlap
			var told []string
			for _, p := range tt.pieces {
				if p == resume {
					o.resumed()
					continue
				}
				out := &aaep.OutputStreaming{Chunk: p.text, Position: p.at, Complete: p.complete, OutputID: "out_1"}
				if o.trim(&aaep.Event{SessionID: "sess_1", Payload: out}) {
					told = append(told, out.Chunk)
				}
			}
			if got := strings.Join(told, "|"); got != tt.want {
				t.Errorf("told %q, want %q", got, tt.want)
			}
		})
	}
}

// What is remembered is bounded, and goes with the session (INV-27).
func TestOverlapBounds(t *testing.T) {
	var o overlap
	at := int64(0)
	for range 100 {
		text := strings.Repeat("ọ", 1000)
		o.trim(&aaep.Event{SessionID: "sess_1", Payload: &aaep.OutputStreaming{Chunk: text, Position: at, OutputID: "out_1"}})
		at += 1000
	}
	h := o.outputs[[2]string{"sess_1", "out_1"}]
	if len(h.tail) > maxTail || h.next != at || h.next-h.start != int64(len([]rune(h.tail))) {
		t.Errorf("%d bytes, from %d to %d", len(h.tail), h.start, h.next)
	}
	for i := range 10 * maxOutputs {
		o.trim(&aaep.Event{SessionID: "sess_2", Payload: &aaep.OutputStreaming{Chunk: "x", OutputID: string(rune('a' + i))}})
	}
	if len(o.outputs) > maxOutputs {
		t.Errorf("%d outputs are remembered", len(o.outputs))
	}
	o.trim(&aaep.Event{SessionID: "sess_2", Payload: &aaep.SessionCompleted{}})
	if len(o.outputs) > 1 {
		t.Errorf("%d outputs of a session that ended", len(o.outputs))
	}
}
