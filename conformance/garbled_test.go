package conformance_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep/conformance"
)

// However events are broken, the runner does not wait for what cannot come any more, and says what
// did come.
func TestBrokenEventsTakeNoTime(t *testing.T) {
	events := func(garble func([]byte) []byte) mutant {
		return mutant{raw: func(msg []byte) []byte {
			if bytes.Contains(msg, []byte(`"session_id"`)) {
				return garble(msg)
			}
			return msg
		}}
	}
	without := func(name string) mutant {
		return mutant{out: func(_ *proxy, o object) []object {
			if o["session_id"] != nil {
				delete(o, name)
			}
			return []object{o}
		}}
	}
	for _, tt := range []struct {
		name   string
		m      mutant
		level  int
		within time.Duration
		said   string
	}{
		{"cut short", events(func(msg []byte) []byte { return msg[:len(msg)-1] }), 1, 10 * time.Second,
			"messages that are no JSON objects"},
		{"no session_id", without("session_id"), 1, 10 * time.Second, "messages that are no JSON objects"},
		{"no type", without("type"), 1, time.Minute, "messages that are no JSON objects"},
		{"all of it lost", events(func([]byte) []byte { return []byte("?") }), 1, time.Minute,
			"messages that are no JSON objects"},
		{"no end", mutant{out: dropMessages(func(o object) bool {
			return strings.HasPrefix(shortName(o), "session.") && shortName(o) != "session.started"
		})}, 1, time.Minute, ""},
		{"cut short, everything", events(func(msg []byte) []byte { return msg[:len(msg)-1] }), 3, 3 * time.Minute,
			"messages that are no JSON objects"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var began time.Time
			r := inBubble(t, func(g *target) conformance.ProducerRun {
				began = time.Now()
				return conformance.ProducerRun{Dialer: mutantTarget{g, &tt.m, new(sync.Map), new(int)}, Driver: g,
					Level: tt.level}
			})
			if r == nil || r.Verdict != conformance.Fail {
				t.Fatalf("%+v", r)
			}
			if took := r.Date.Sub(began); took > tt.within {
				t.Errorf("it took %v", took)
			}
			for _, res := range r.Results {
				if res.Verdict == conformance.Inconclusive && strings.HasPrefix(res.Seen, "no event came") &&
					!strings.HasPrefix(res.Seen, "no event came to the subscriber") &&
					!strings.Contains(res.Seen, tt.said) {
					t.Errorf("%s: %s", res.Case.Name, res.Seen)
				}
				if strings.Contains(res.Seen, "the link ended") {
					t.Errorf("%s: %s, and it is the runner that left", res.Case.Name, res.Seen)
				}
			}
		})
	}
}
