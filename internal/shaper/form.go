package shaper

import (
	"maps"
	"slices"

	"github.com/aaep-go/aaep"
)

// A form tells apart the events made of one place of the log: text cut at other places, a later
// stamp, other words after a change of terms. It is part of the event's id, so that an id means the
// same bytes to every subscriber, also after a cut or a restart (INV-23). It depends on the bytes
// alone, so that all processes of an agent give the same event the same id. It is zero for the
// event as the log has it.
type form uint64

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// addByte mixes one byte into the hash (FNV-1a, 64 bits).
func (f *form) addByte(b byte) {
	if *f == 0 {
		*f = fnvOffset
	}
	*f = (*f ^ form(b)) * fnvPrime
}

// addNumber adds n and an end mark. Zero adds nothing: callers pass zero where the event is as the
// log has it.
func (f *form) addNumber(n uint64) {
	for ; n != 0; n >>= 8 {
		f.addByte(byte(n))
	}
	if *f != 0 {
		f.addByte(0xff) // the end of the number
	}
}

// addText adds s and an end mark.
func (f *form) addText(s string) {
	for i := range len(s) {
		f.addByte(s[i])
	}
	f.addByte(0xff) // no text in UTF-8 has it
}

// addPassage adds the text q of an output event as it leaves. Where that is the payload of the
// event of the log, it adds nothing.
func (f *form) addPassage(q, logged *aaep.OutputStreaming) {
	if q.Position == logged.Position && q.Chunk == logged.Chunk && q.Complete == logged.Complete &&
		q.CoalesceHint == logged.CoalesceHint {
		return
	}
	f.addText(q.Chunk)
	f.addText(string(q.CoalesceHint))
	f.addNumber(uint64(q.Position)<<1 | 1)
	if q.Complete {
		f.addByte(1)
	}
}

// addExtensions adds the extension data and the contexts of ev; nothing where it has no such data.
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

// sum folds the form into the 32 bits that an event id has room for: zero if nothing was added, and
// never zero otherwise.
func (f form) sum() uint32 {
	if f == 0 {
		return 0
	}
	return max(uint32(f>>32)^uint32(f), 1)
}
