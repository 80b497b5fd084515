package subscriber

import (
	"bytes"
	"time"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
)

// overlap knows the newest text of the newest outputs, so that a resumed stream does not tell it twice: also of those
// that have ended, for a stream resumes at the oldest event that was held anywhere. Pieces of text that left together
// before the cut may come one by one after it, under other ids; their positions show where they stand (§4.3.3). Only
// the reading goroutine uses it.
type overlap struct {
	outputs map[[2]string]*heard // by session and output
	pieces  int                  // came so far
	newest  map[[2]string]*last  // state and progress, by session and type
}

// last is the newest state or progress of a session.
type last struct {
	stamp time.Time
	state aaep.State
	again bool // the stream was resumed since
}

// heard is the end of what came of one output.
type heard struct {
	tail  []byte // its newest text
	start int64  // where tail begins, in code points
	next  int64  // where it ends
	again bool   // the stream was resumed since: what comes may have come before
	ended bool   // its end was told
	piece int    // the number of its newest piece
}

const (
	maxTail    = 64 << 10 // bytes of text remembered of an output; twice as many are cut to that
	maxOutputs = 256      // outputs remembered
	maxName    = 256      // bytes of the name of one
)

// resumed says that the stream begins again, perhaps further back.
func (o *overlap) resumed() {
	for _, h := range o.outputs {
		h.again = true
	}
	for _, l := range o.newest {
		l.again = true
	}
}

// stale reports whether a state or progress comes after one that took its place before the cut: what had been folded into
// one may come one by one after it, under other ids, and a user would take the oldest of them for what is so now.
func (o *overlap) stale(ev *aaep.Event) bool {
	var from, to aaep.State
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		from, to = p.FromState, p.ToState
	case *aaep.ProgressUpdated:
	default:
		return false
	}
	key := [2]string{ev.SessionID, string(ev.Type())}
	l := o.newest[key]
	switch {
	case l == nil:
		if len(o.newest) >= maxOutputs || o.newest == nil {
			o.newest = map[[2]string]*last{}
		}
		o.newest[key] = &last{stamp: ev.Timestamp, state: to}
		return false
	case l.again && (ev.Timestamp.Before(l.stamp) || ev.Timestamp.Equal(l.stamp) && from != l.state):
		return true
	}
	*l = last{ev.Timestamp, to, l.again && ev.Timestamp.Equal(l.stamp)}
	return false
}

// trim takes from an output event what came before, and reports whether anything is left to tell. Text that is
// not the same as before is never dropped, whatever its position says: positions may be counted in other units.
func (o *overlap) trim(ev *aaep.Event) bool {
	p, ok := ev.Payload.(*aaep.OutputStreaming)
	if !ok || len(p.OutputID) > maxName {
		return true
	}
	key := [2]string{ev.SessionID, p.OutputID}
	h := o.outputs[key]
	if h == nil {
		h = &heard{start: p.Position, next: p.Position}
		o.remember(key, h)
	}
	o.pieces++
	h.piece = o.pieces
	tell := h.skip(p)
	if tell {
		h.add(p)
		h.ended = h.ended || p.Complete
	}
	if p.Complete && p.OutputID == "" { // the next output without a name is another
		delete(o.outputs, key)
	}
	return tell
}

// remember forgets the output that was silent for longest, if there are too many.
func (o *overlap) remember(key [2]string, h *heard) {
	if o.outputs == nil {
		o.outputs = map[[2]string]*heard{}
	}
	if len(o.outputs) >= maxOutputs {
		var oldest [2]string
		for k, h := range o.outputs {
			if first := o.outputs[oldest]; first == nil || h.piece < first.piece {
				oldest = k
			}
		}
		delete(o.outputs, oldest)
	}
	o.outputs[key] = h
}

// skip takes from p what h holds already.
func (h *heard) skip(p *aaep.OutputStreaming) (tell bool) {
	ends := p.Complete && !h.ended
	switch {
	case !h.again:
		return true
	case p.Position >= h.next:
		h.again = false // the stream is where it was
		return p.Chunk != "" || ends
	case p.Position < h.start:
		return true
	}
	before := h.tail[byteOf(h.tail, p.Position-h.start):]
	common := min(len(before), len(p.Chunk))
	switch {
	case p.Chunk[:common] != string(before[:common]):
		return true
	case common == len(before):
		p.Chunk, p.Position = p.Chunk[common:], h.next
	default:
		p.Chunk, p.Position = "", p.Position+int64(utf8.RuneCountInString(p.Chunk))
	}
	return p.Chunk != "" || ends
}

func (h *heard) add(p *aaep.OutputStreaming) {
	if p.Position != h.next { // a gap, or another way of counting
		h.tail, h.start = h.tail[:0], p.Position
	}
	h.tail = append(h.tail, p.Chunk...)
	h.next = p.Position + int64(utf8.RuneCountInString(p.Chunk))
	if len(h.tail) > 2*maxTail {
		over := len(h.tail) - maxTail
		for !utf8.RuneStart(h.tail[over]) {
			over++
		}
		h.start += int64(utf8.RuneCount(h.tail[:over]))
		h.tail = bytes.Clone(h.tail[over:])
	}
}

// byteOf returns the index of a code point, or the length of text.
func byteOf(text []byte, codePoint int64) int {
	i := 0
	for ; codePoint > 0 && i < len(text); codePoint-- {
		_, size := utf8.DecodeRune(text[i:])
		i += size
	}
	return i
}
