package conformance

import (
	"context"

	jsonv2 "github.com/go-json-experiment/json"
)

// Hook is how the runner learns what a person gets, and does what that person would. Both ways it is one JSON object in
// a line; what a target must tell and do is in docs/conformance.md. A target without it can still be judged by what it
// sends, and the cases that need more are inconclusive.
type Hook struct {
	tape *tape
	acts chan []byte
}

// hookLink is the Entry.Link of what passes the hook.
const hookLink = -1

// maxHookLine is the longest line of a hook that is kept, in bytes.
const maxHookLine = 256 << 10

// Tell takes a line from the target: {"event_id":"evt_…","text":"…","kind":"…"} for what it presents, {"log":"…"} for what an
// operator can read. Lines that are neither are ignored, so that a program may print other things too.
func (h *Hook) Tell(line []byte) {
	var o object
	if len(line) > maxHookLine || jsonv2.Unmarshal(line, &o) != nil {
		return
	}
	_, presents := o["event_id"].(string)
	_, logs := o["log"].(string)
	if presents || logs {
		h.tape.add(Entry{Link: hookLink, Data: append([]byte{}, line...)})
	}
}

// Next returns what the user does next, without a line end.
func (h *Hook) Next(ctx context.Context) ([]byte, error) {
	select {
	case act := <-h.acts:
		return act, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Told reports whether the target has used the hook in this play.
func (h *Hook) Told() bool {
	h.tape.mu.Lock()
	defer h.tape.mu.Unlock()
	for _, e := range h.tape.rec.Entries {
		if e.Link == hookLink && !e.Sent {
			return true
		}
	}
	return false
}

// told is what was presented of an event, in order.
func (r *Recording) told(eventID string) (list []message) {
	for _, m := range r.all(hookLink, false) {
		if _, ok := m.m["text"].(string); ok && m.str("event_id") == eventID {
			list = append(list, m)
		}
	}
	return list
}
