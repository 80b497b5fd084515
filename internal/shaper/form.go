package shaper

import (
	"maps"
	"slices"

	"github.com/aaep-go/aaep"
)

// A form tells apart the events that are made of one place of the log: their texts cut elsewhere,
// with a later stamp, in other words than before a change of terms. It is part of their ids, so
// that an id means the same bytes to a listener, after a cut or a restart too, and to all others
// who hear in the same words (INV-23). The form of the event as the log has it is zero. It depends
// on nothing but what differs: all processes of an agent, and later ones, give the same event the
// same id.
type form uint64

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func (f *form) octet(b byte) {
	if *f == 0 {
		*f = fnvOffset
	}
	*f = (*f ^ form(b)) * fnvPrime
}

// number adds what is zero where the event is as the log has it.
func (f *form) number(n uint64) {
	for ; n != 0; n >>= 8 {
		f.octet(byte(n))
	}
	if *f != 0 {
		f.octet(0xff) // the end of the number
	}
}

func (f *form) text(s string) {
	for i := range len(s) {
		f.octet(s[i])
	}
	f.octet(0xff) // no text in UTF-8 has it
}

// passage adds the text of an output, unless it is the one that the log has.
func (f *form) passage(q, log *aaep.OutputStreaming) {
	if q.Position == log.Position && q.Chunk == log.Chunk && q.Complete == log.Complete &&
		q.CoalesceHint == log.CoalesceHint {
		return
	}
	f.text(q.Chunk)
	f.text(string(q.CoalesceHint))
	f.number(uint64(q.Position)<<1 | 1)
	if q.Complete {
		f.octet(1)
	}
}

// extensions adds the data of extensions.
func (f *form) extensions(ev *aaep.Event) {
	if len(ev.Extensions) == 0 {
		return
	}
	for _, prefix := range slices.Sorted(maps.Keys(ev.Extensions)) {
		f.text(prefix)
		f.text(string(ev.Extensions[prefix]))
	}
	for _, uri := range ev.Context {
		f.text(uri)
	}
}

// sum is zero where nothing was added, and only there.
func (f form) sum() uint32 {
	if f == 0 {
		return 0
	}
	return max(uint32(f>>32)^uint32(f), 1)
}
