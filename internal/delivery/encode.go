package delivery

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/transports"
)

// encodedCache keeps events that were encoded lately, so that an event that several subscriptions
// get in the same form is encoded once. Events are spread over its parts, so that no lock is shared
// by all goroutines that deliver.
type encodedCache [32]struct {
	sync.Mutex // guards the part; held while an event is encoded
	messages   map[shaper.Shape][]byte
	size       int // of all messages, in bytes
}

// maxEncoded is how many bytes each part keeps; then it forgets all.
const maxEncoded = 128 << 10

// encodeShaped returns an event as JSON; the result must not be changed. Owners of streams call it,
// on many goroutines at once. It waits for a goroutine that encodes the same event.
func (d *Dispatcher) encodeShaped(out shaper.Out) ([]byte, error) {
	if out.Shape.IsZero() || len(*d.served.Load()) == 1 { // no other subscription gets this form
		return d.marshalEvent(out.Event)
	}
	part := &d.encoded[out.Shape.Hash()%uint64(len(d.encoded))]
	part.Lock() // held while it is encoded: a goroutine that needs the same form waits for it
	defer part.Unlock()
	if msg, ok := part.messages[out.Shape]; ok {
		return msg, nil
	}
	msg, err := d.marshalEvent(out.Event)
	if err != nil {
		return nil, err
	}
	if part.size += len(msg); part.size > maxEncoded || part.messages == nil {
		part.messages, part.size = map[shaper.Shape][]byte{}, len(msg)
	}
	part.messages[out.Shape] = msg
	return msg, nil
}

// marshalEvent encodes an event that was valid when it was appended. If data that an extension
// added since makes it invalid or too long, the event is encoded without extension data: no
// extension may cost a subscriber an event.
func (d *Dispatcher) marshalEvent(ev *aaep.Event) ([]byte, error) {
	msg, err := ev.MarshalJSON()
	if (err != nil || len(msg) > transports.MaxMessage) && ev.Extensions != nil {
		prefixes := strings.Join(slices.Sorted(maps.Keys(ev.Extensions)), " ")
		d.Shield.LogMistake("data of "+prefixes, "extension data left out", "field", "Effect.Data",
			"prefixes", prefixes, "event_id", ev.EventID, "bytes", len(msg), "error", err)
		plain := *ev
		plain.Extensions = nil
		return plain.MarshalJSON()
	}
	return msg, err
}
