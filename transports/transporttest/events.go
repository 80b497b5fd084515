package transporttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep/transports"
)

// testEvents checks that events that are sent together arrive one by one, in order, and whole
// beside what others send (TR-001, TR-003).
func testEvents(t *testing.T, l Link) {
	sender, ok := l.B.(transports.EventSender)
	if !ok {
		t.Skip("this link sends one event at a time")
	}
	const batches, each, others = 100, 32, 500
	var all sync.WaitGroup
	all.Go(func() {
		for n := range batches {
			batch := make([]transports.Event, each)
			for i := range batch {
				batch[i].Message = fmt.Appendf(nil, `{"e":%d,"pad":%q}`, n*each+i, strings.Repeat("x", i*i*(n%9)))
			}
			if err := sender.SendEvents(t.Context(), batch); err != nil {
				t.Errorf("SendEvents = %v", err)
			}
		}
	})
	all.Go(func() {
		for i := range others {
			mustSend(t, l.B, fmt.Appendf(nil, `{"o":%d}`, i))
		}
	})
	next := map[bool]int{}
	for range batches*each + others {
		got, err := receiveInTime(t, l.A)
		if err != nil {
			t.Fatal(err)
		}
		var m struct{ E, O *int }
		if err := json.Unmarshal(got, &m); err != nil || (m.E == nil) == (m.O == nil) {
			t.Fatalf("got %.80q: %v", got, err)
		}
		event := m.E != nil
		if event {
			m.O = m.E
		}
		if *m.O != next[event] {
			t.Fatalf("got %.80q, want number %d of its kind", got, next[event])
		}
		next[event]++
	}
	all.Wait()
	if err := sender.SendEvents(t.Context(), []transports.Event{{Message: messageOfSize(transports.MaxMessage +
		1)}}); !errors.Is(err, transports.ErrTooLarge) {
		t.Errorf("SendEvents of a byte too much = %v, want ErrTooLarge", err)
	}
}

// testEventsStalled checks that events for a reader that stalls wait, and no longer than the sender
// does (TR-026, P7).
func testEventsStalled(t *testing.T, l Link) {
	sender, ok := l.B.(transports.EventSender)
	if !ok {
		t.Skip("this link sends one event at a time")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	batch := []transports.Event{{Message: messageOfSize(1 << 18)}, {Message: messageOfSize(1 << 18)}}
	began := time.Now()
	for range 100 { // 50 MiB
		if err := sender.SendEvents(ctx, batch); errors.Is(err, context.DeadlineExceeded) {
			if took := time.Since(began); took > patience/4 {
				t.Errorf("it took %v to give up", took)
			}
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("50 MiB were taken from a sender whose peer reads nothing")
}
