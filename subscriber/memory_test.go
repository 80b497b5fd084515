package subscriber

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// Whatever a producer fills its messages with, a subscription that hands them on keeps little of
// them. P10
func TestMemoryOfLargeMessages(t *testing.T) {
	const size = 1000 << 10
	long := func() string { return strings.Repeat("x", size) }
	for name, event := range map[string]func(n int) *aaep.Event{
		"questions": func(n int) *aaep.Event {
			return &aaep.Event{Payload: &aaep.AwaitingConfirmation{ReplyToken: aaep.ReplyToken(fmt.Sprint("rpl_", n)),
				Action: long()}}
		},
		"types": func(n int) *aaep.Event {
			return &aaep.Event{Payload: &aaep.ExtensionPayload{Type: aaep.Type(fmt.Sprint("acme:", n, long()))},
				Diagnostics: []aaep.Violation{{Requirement: "ENV-026", Pointer: "/urgency"}}}
		},
		"outputs": func(n int) *aaep.Event {
			return &aaep.Event{Payload: &aaep.OutputStreaming{OutputID: fmt.Sprint("out_", n), Chunk: long()}}
		},
		"names of outputs": func(n int) *aaep.Event {
			return &aaep.Event{Payload: &aaep.OutputStreaming{OutputID: fmt.Sprint("out_", n, long()), Chunk: "x"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Subscription{cfg: Config{Logger: slog.New(slog.DiscardHandler)}, inbox: newInbox(),
				numbers: map[string]int64{},
				ctx:     t.Context(), questions: map[aaep.ReplyToken]*pendingQuestion{}, seen: map[string]int{},
				accepted: &aaep.SubscriptionAccepted{SubscriptionID: "sub_1"}}
			before := heapBytes()
			for n := range 60 {
				ev := event(n)
				ev.EventID = fmt.Sprint("evt_", n)
				if err := s.handleEvent(nil, ev, size); err != nil {
					t.Fatal(err)
				}
				if got, _ := s.inbox.takeOldest(false); got == nil {
					t.Fatal("it was not handed on")
				}
			}
			if kept := heapBytes() - before; kept > 2*waitingBytes {
				t.Errorf("%d MiB are kept of 60 messages of 1 MiB", kept>>20)
			}
			runtime.KeepAlive(s)
		})
	}
}

// heapBytes returns how many bytes are in use.
func heapBytes() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Text is not copied over and over to remember the end of it.
func TestOverlapCost(t *testing.T) {
	const sentence = "A sentence of a usual length, it is. "
	var o overlap
	position := int64(0)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10000 {
		o.trimKnown(&aaep.Event{SessionID: "sess_1",
			Payload: &aaep.OutputStreaming{OutputID: "out_1", Chunk: sentence, Position: position}})
		position += int64(len(sentence))
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
		t.Errorf("%d MiB were allocated for %d KiB of text", got>>20, position>>10)
	}
}
