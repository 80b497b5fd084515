package eventlog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/eventlog"
	"github.com/aaep-go/aaep/producer/log"
)

const mebi = 1 << 20

// heavyEvents returns events of one mebibyte each, wherever an agent can put so many words.
func heavyEvents(t *testing.T) (all []*aaep.Event) {
	long := strings.Repeat("x", mebi)
	for _, p := range []aaep.Payload{&aaep.SessionStarted{}, &aaep.SessionCompleted{}, &aaep.SessionErrored{},
		&aaep.SessionCancelled{}, &aaep.ProgressUpdated{},
		&aaep.ToolInvoked{}, &aaep.ToolCompleted{}, &aaep.OutputStreaming{}, &aaep.AwaitingConfirmation{},
		&aaep.AwaitingClarification{}, &aaep.HandoffRequested{}} {
		v := reflect.ValueOf(p).Elem()
		if _, ok := p.(*aaep.ProgressUpdated); ok {
			v = v.FieldByName("Progress")
		}
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case f.Type == reflect.TypeFor[string]() && !strings.HasSuffix(f.Name, "ID") && f.Name != "ContentType" &&
				f.Name != "Language":
				fresh := reflect.New(reflect.TypeOf(p).Elem())
				at := fresh.Elem()
				if v.Type() != at.Type() {
					at = at.FieldByName("Progress")
				}
				at.Field(i).SetString(long)
				all = append(all,
					&aaep.Event{CorrelationID: fmt.Sprintf("%T.%s", p, f.Name),
						Payload: fresh.Interface().(aaep.Payload)})
			case f.Type == reflect.TypeFor[json.RawMessage]():
				fresh := reflect.New(v.Type())
				fresh.Elem().Field(i).SetBytes([]byte(long))
				all = append(all,
					&aaep.Event{CorrelationID: fmt.Sprintf("%T.%s", p, f.Name),
						Payload: fresh.Interface().(aaep.Payload)})
			}
		}
	}
	raw := json.RawMessage(long)
	all = append(all,
		&aaep.Event{CorrelationID: "tools", Payload: &aaep.SessionStarted{ToolsAvailable: []string{long}}},
		&aaep.Event{CorrelationID: "choices",
			Payload: &aaep.AwaitingClarification{Choices: []aaep.Choice{{Label: long}}}},
		&aaep.Event{CorrelationID: "summary", Summary: aaep.Say(long)},
		&aaep.Event{CorrelationID: "terse", Summary: aaep.Text{Terse: long}},
		&aaep.Event{CorrelationID: "detailed", Summary: aaep.Text{Detailed: long}},
		&aaep.Event{CorrelationID: "unknown", Unknown: raw},
		&aaep.Event{CorrelationID: "extensions", Extensions: map[string]json.RawMessage{"x": raw}},
		&aaep.Event{CorrelationID: "translated", Translations: []aaep.Translation{{Summary: aaep.Say(long)}}},
		&aaep.Event{CorrelationID: "translated words",
			Translations: []aaep.Translation{{Payload: &aaep.OutputStreaming{Chunk: long}}}})
	if len(all) < 30 {
		t.Fatalf("only %d places for words were found", len(all))
	}
	return all
}

// P10: whatever an agent fills its events with, memory has an end; the newest of them are there,
// and of the others it is said that they are gone.
func TestBytes(t *testing.T) {
	for _, ev := range heavyEvents(t) {
		l := eventlog.New(4096)
		for range 100 {
			copied := *ev
			l.Append(&copied)
		}
		if kept := l.End() - l.Start(); kept < 60 || kept > 64 {
			t.Errorf("of 100 events of 1 MiB in %s, %d are kept; 64 MiB have room for 63", ev.CorrelationID, kept)
		}
		if _, _, err := l.Read(l.Start()-1, 1); !errors.Is(err, log.ErrTrimmed) {
			t.Errorf("the one before them: %v", err)
		}
		events, _, err := l.Read(l.Start(), 100)
		if err != nil || len(events) != int(l.End()-l.Start()) || events[0] == nil ||
			events[len(events)-1].EventID == "" {
			t.Fatalf("%d events, %v", len(events), err)
		}
	}
	l, most := eventlog.New(10), strings.Repeat("x", 65*mebi)
	for range 100 {
		l.Append(&aaep.Event{Summary: aaep.Say(most)})
	}
	if l.End() != 100 || l.Start() != 99 {
		t.Errorf("of events too large for memory %d to %d are kept, want the newest", l.Start(), l.End())
	}
}

// What is a day older than the newest goes with that.
func TestAge(t *testing.T) {
	l := eventlog.New(100)
	for hour := range 60 {
		l.Append(&aaep.Event{Timestamp: time.Unix(0, 0).Add(time.Duration(hour) * time.Hour)})
		if want := uint64(max(hour-24, 0)); l.Start() != want {
			t.Fatalf("after %d hours it starts after %d, want %d", hour, l.Start(), want)
		}
	}
}

// What the store has yet to take is not let go of, however much it is; afterwards it comes from
// there.
func TestBytesWithStore(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes and reads 70 MiB of events: make test-all runs it")
	}
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		m := &memory{}
		l := openLog(t, m, 4096)
		m.mu.Lock()
		m.hang = hang
		m.mu.Unlock()
		const n = 70
		long := aaep.Say(strings.Repeat("x", mebi))
		for i := range n {
			ev := numberedEvent(i)
			ev.Summary = long
			l.Append(ev)
		}
		close(hang)
		l.Flush()
		if start, end := m.Bounds(); end-start != n {
			t.Fatalf("the store has %d events, want all %d", end-start, n)
		}
		last := numberedEvent(n)
		last.Timestamp = last.Timestamp.Add(48 * time.Hour)
		l.Append(last)
		l.Flush()
		got := 0
		for cursor := l.Start(); cursor < l.End(); {
			events, _, err := l.Read(cursor, 64)
			if err != nil {
				t.Fatal(err)
			}
			cursor += uint64(len(events))
			for _, ev := range events {
				if ev.CorrelationID != fmt.Sprint(got) {
					t.Fatalf("event %d is %s", got, ev.CorrelationID)
				}
				got++
			}
		}
		if got != n+1 {
			t.Errorf("%d events can be read, want %d", got, n+1)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		m.mu.Lock()
		m.hang = nil
		m.mu.Unlock()
		again := openLog(t, m, 4096) // which reads no more into memory than fits
		if events, _, err := again.Read(0, 1); err != nil || events[0].CorrelationID != "0" {
			t.Errorf("after a restart: %v, %v", events, err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	})
}
