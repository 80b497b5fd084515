package eventlog_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/eventlog"
	"github.com/aaep-go/aaep/producer/log"
)

// placeAt returns the place of a whole event as it is.
func placeAt(pos uint64) eventlog.Place { return eventlog.Place{Pos: pos} }

var idForm = regexp.MustCompile(`^evt_[0-9a-f]{32}$`)

// D-44, INV-23, ENV-014: ids are evt_ and 32 lower-case hex digits, and the log finds its own
// again.
func TestEventIDProperty(t *testing.T) {
	const events = 1000
	l, other := filledLog(10, events), filledLog(10, events)
	rapid.Check(t, func(t *rapid.T) {
		pos := rapid.Uint64Range(1, events).Draw(t, "pos")
		at := eventlog.Place{Pos: pos, Offset: rapid.IntRange(0, 1<<24-1).Draw(t, "offset"),
			Form: rapid.Uint32().Draw(t, "form")}
		id := l.EventID(at)
		if !idForm.MatchString(id) {
			t.Fatalf("EventID(%v) = %q", at, id)
		}
		if got, lost, ok := l.Locate(id); !ok || lost || got != at {
			t.Fatalf("Locate(EventID(%v)) = %v, %v, %v", at, got, lost, ok)
		}
		if got, _, ok := other.Locate(id); ok || got != (eventlog.Place{}) {
			t.Fatalf("another log located %q at %v", id, got)
		}
		if other.EventID(at) == id {
			t.Fatalf("two logs gave %q", id)
		}
	})
}

// Whatever a peer says as its Last-Event-ID, only an id of ours is taken, in the one spelling we
// gave it (ENV-015).
func TestLocateRefuses(t *testing.T) {
	l := filledLog(10, 100)
	id := l.EventID(placeAt(7))
	if _, _, ok := l.Locate(id); !ok {
		t.Fatalf("Locate(%q) refused its own id", id)
	}
	for name, bad := range map[string]string{
		"nothing":                  "",
		"the prefix alone":         "evt_",
		"truncated":                id[:len(id)-1],
		"half":                     id[:20],
		"too long":                 id + "0",
		"too long by a byte":       id + "00",
		"upper case":               "evt_" + strings.ToUpper(id[4:]),
		"upper-case prefix":        "EVT_" + id[4:],
		"another prefix":           "sub_" + id[4:],
		"without the prefix":       id[4:],
		"spaces around":            " " + id[:len(id)-1],
		"no hex":                   id[:len(id)-1] + "g",
		"a digit changed":          flipLast(id),
		"an id of another log":     filledLog(10, 100).EventID(placeAt(7)),
		"zeroes":                   "evt_" + strings.Repeat("0", 32),
		"position zero":            l.EventID(placeAt(0)),
		"not yet appended":         l.EventID(placeAt(101)),
		"far from being appended":  l.EventID(placeAt(1<<40 - 1)),
		"letters that look like":   "evt_" + strings.Repeat("а", 16), // Cyrillic, 32 bytes
		"a NUL at the end":         id[:len(id)-1] + "\x00",
		"as long, but all letters": strings.Repeat("x", len(id)),
	} {
		if got, _, ok := l.Locate(bad); ok || got != (eventlog.Place{}) {
			t.Errorf("%s: Locate(%q) = %v, %v", name, bad, got, ok)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`evt_[0-9a-fA-F]{32}`)).Draw(t, "id")
		if _, _, ok := l.Locate(s); ok {
			t.Fatalf("Locate(%q) = ok", s)
		}
	})
}

// flipLast changes the last digit of an id.
func flipLast(id string) string {
	last := "0"
	if id[len(id)-1] == '0' {
		last = "1"
	}
	return id[:len(id)-1] + last
}

// A trimmed event is still known by its id; reading after it says that it is gone.
func TestLocateTrimmed(t *testing.T) {
	l := filledLog(3, 10)
	got, _, ok := l.Locate(l.EventID(placeAt(2)))
	if !ok || got.Pos != 2 {
		t.Fatalf("Locate = %v, %v", got, ok)
	}
	if _, _, err := l.Read(got.Pos, 1); err != log.ErrTrimmed {
		t.Errorf("Read(%d) = %v; want ErrTrimmed", got.Pos, err)
	}
}

// INV-23: no id is given twice, over a million events and parts of events; Append gives the id
// EventID tells.
func TestIDsAreUnique(t *testing.T) {
	l := eventlog.New(1)
	seen := make(map[string]bool, 1_000_000)
	for len(seen) < 1_000_000 {
		var ev aaep.Event
		pos := l.Append(&ev)
		if ev.EventID != l.EventID(placeAt(pos)) {
			t.Fatalf("Append gave %q to event %d; EventID says %q", ev.EventID, pos, l.EventID(placeAt(pos)))
		}
		for _, place := range []eventlog.Place{placeAt(pos), {Pos: pos, Offset: 1}, {Pos: pos, Offset: int(pos) + 1},
			{Pos: pos, Offset: 1<<24 - 1}, {Pos: pos, Form: 1}, {Pos: pos, Form: 1 << 31}} {
			id := l.EventID(place)
			if seen[id] {
				t.Fatalf("%q was given twice", id)
			}
			seen[id] = true
		}
	}
}
