package producer

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/shaper"
	"github.com/aaep-go/aaep/transports"
)

// encoded keeps what was written lately, so that what several subscriptions get alike is encoded once. Events
// are spread over its parts, so that no lock is shared by all who deliver.
type encoded [32]struct {
	sync.Mutex
	messages map[shaper.Shape][]byte
	size     int
}

// maxEncoded is how many bytes each part keeps.
const maxEncoded = 128 << 10

// encode returns an event as JSON; the result must not be changed.
func (p *Producer) encode(out shaper.Out) ([]byte, error) {
	if out.Shape.IsZero() || len(*p.audience.Load()) == 1 { // nobody else gets it
		return p.marshal(out.Event)
	}
	part := &p.encoded[out.Shape.Hash()%uint64(len(p.encoded))]
	part.Lock() // whoever wants the same waits for it to be encoded
	defer part.Unlock()
	if msg, ok := part.messages[out.Shape]; ok {
		return msg, nil
	}
	msg, err := p.marshal(out.Event)
	if err != nil {
		return nil, err
	}
	if part.size += len(msg); part.size > maxEncoded || part.messages == nil {
		part.messages, part.size = map[shaper.Shape][]byte{}, len(msg)
	}
	part.messages[out.Shape] = msg
	return msg, nil
}

// marshal writes an event that was valid when it was appended. What an extension added since may not be: then the
// event goes without it, for no extension may cost a listener an event.
func (p *Producer) marshal(ev *aaep.Event) ([]byte, error) {
	msg, err := ev.MarshalJSON()
	if (err != nil || len(msg) > transports.MaxMessage) && ev.Extensions != nil {
		prefixes := strings.Join(slices.Sorted(maps.Keys(ev.Extensions)), " ")
		p.shield.complain("data of "+prefixes, "extension data left out", "field", "Effect.Data", "prefixes", prefixes, "event_id", ev.EventID, "bytes", len(msg), "error", err)
		plain := *ev
		plain.Extensions = nil
		return plain.MarshalJSON()
	}
	return msg, err
}
