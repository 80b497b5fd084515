package shaper_test

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/shaper"
)

// A listener asked for whole sentences, at most one event a second. The agent writes token by
// token, and then asks for help, which is critical and does not wait.
func Example() {
	terms := negotiation.Terms{
		MaxEventsPerSecond: 1,
		Verbosity:          aaep.VerbosityNormal,
		Boundaries:         []aaep.Boundary{aaep.BoundarySentence},
		Filters:            negotiation.Filters{Include: []string{"aaep:agent.*"}},
	}
	s := shaper.New(terms, func(pos uint64, offset int, form uint32) string {
		return "evt_" + strconv.FormatUint(pos, 10) + "x" + strconv.Itoa(offset)
	})

	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	var pos uint64
	push := func(p aaep.Payload) {
		pos++
		s.Push(now, shaper.Entry{Pos: pos, Event: &aaep.Event{SessionID: "sess_1", Timestamp: now, Payload: p}})
	}
	position := int64(0)
	for _, token := range []string{"The door ", "is open. It ", "costs 3.", "14. I am ", "stuck"} {
		push(&aaep.OutputStreaming{OutputID: "out_1", Chunk: token, Position: position})
		position += int64(len(token))
	}
	push(&aaep.HandoffRequested{Reason: "I need help.", TargetKind: aaep.TargetHuman})
	push(&aaep.OutputStreaming{OutputID: "out_1", Chunk: ".", Position: position, Complete: true})

	start := now
	for {
		out, next := s.Pop(now)
		switch {
		case out.Event != nil:
			fmt.Printf("%v: %q\n", now.Sub(start), out.Event.Text(aaep.VerbosityNormal))
		case next.IsZero():
			return
		default:
			now = next // a real listener waits
		}
	}

	// Output:
	// 0s: "The door is open. It costs 3.14. "
	// 0s: "Handing over to human: I need help."
	// 1s: "I am stuck."
}
