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

func (f *form) addByte(b byte) {
	if *f == 0 {
		*f = fnvOffset
	}
	*f = (*f ^ form(b)) * fnvPrime
}

// addNumber adds what is zero where the event is as the log has it.
func (f *form) addNumber(n uint64) {
	for ; n != 0; n >>= 8 {
		f.addByte(byte(n))
	}
	if *f != 0 {
		f.addByte(0xff) // the end of the number
	}
}

func (f *form) addText(s string) {
	for i := range len(s) {
		f.addByte(s[i])
	}
	f.addByte(0xff) // no text in UTF-8 has it
}

// addPassage adds the text of an output, unless it is the one that the log has.
func (f *form) addPassage(q, log *aaep.OutputStreaming) {
	if q.Position == log.Position && q.Chunk == log.Chunk && q.Complete == log.Complete &&
		q.CoalesceHint == log.CoalesceHint {
		return
	}
	f.addText(q.Chunk)
	f.addText(string(q.CoalesceHint))
	f.addNumber(uint64(q.Position)<<1 | 1)
	if q.Complete {
		f.addByte(1)
	}
}

// addExtensions adds the data of extensions.
func (f *form) addExtensions(ev *aaep.Event) {
	if len(ev.Extensions) == 0 {
		return
	}
	for _, prefix := range slices.Sorted(maps.Keys(ev.Extensions)) {
		f.addText(prefix)
		f.addText(string(ev.Extensions[prefix]))
	}
	for _, uri := range ev.Context {
		f.addText(uri)
	}
}

// sum is zero where nothing was added, and only there.
func (f form) sum() uint32 {
	if f == 0 {
		return 0
	}
	return max(uint32(f>>32)^uint32(f), 1)
}
