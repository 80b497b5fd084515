package subscriber

import (
	"bytes"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
)

// An overlap knows the newest text of the newest outputs, so that a resumed stream does not give it
// twice: also of those that have ended, for a stream resumes at the oldest event that was held
// anywhere. Pieces of text that left together before the cut may come one by one after it, under
// other ids; their positions show where they stand (§4.3.3). Only the reading goroutine uses it.
type overlap struct {
	outputs       map[[2]string]*outputTail // by session and output
	pieces        int                       // how many pieces of text came so far
	size          int                       // bytes of all tails
	endedSessions map[string]bool           // sessions whose end was told
}

// An outputTail is the end of what came of one output.
type outputTail struct {
	tail      []byte // its newest text
	start     int64  // where tail begins, in code points
	next      int64  // where it ends
	mayRepeat bool   // the stream was resumed since: what comes may have come before
	ended     bool   // its end was told
	piece     int    // the number of its newest piece
}

const (
	maxTail    = 64 << 10 // bytes of text remembered of an output; twice as many are cut to that
	maxTails   = 1 << 20  // bytes of text remembered of all outputs
	maxOutputs = 256      // outputs remembered
	maxName    = 256      // bytes of the name of one
)

// noteResumed marks every output as one whose text may come again, because the stream begins again,
// perhaps further back.
func (o *overlap) noteResumed() {
	for _, h := range o.outputs {
		h.mayRepeat = true
	}
}

// isStale reports whether a state, progress or question comes after the end of its session, which
// came before the cut and does not come again. The first two were folded into something newer, or
// come under an id of their own; a question comes once more on each subscription, because it may be
// open.
func (o *overlap) isStale(ev *aaep.Event) bool {
	switch t := ev.Type(); {
	case t == aaep.TypeStateChanged, t == aaep.TypeProgressUpdated, t == aaep.TypeAwaitingConfirmation,
		t == aaep.TypeAwaitingClarification:
		return o.endedSessions[ev.SessionID]
	case t.Terminal():
		if len(o.endedSessions) >= maxOutputs || o.endedSessions == nil {
			o.endedSessions = map[string]bool{}
		}
		o.endedSessions[ev.SessionID] = true
	}
	return false
}

// trimKnown cuts from an output event the text that came before, and reports whether anything is
// left. It leaves all other events alone. Text that is not the same as before is never dropped,
// whatever its position says: positions may be counted in other units.
func (o *overlap) trimKnown(ev *aaep.Event) bool {
	p, ok := ev.Payload.(*aaep.OutputStreaming)
	if !ok || len(p.OutputID) > maxName {
		return true
	}
	key := [2]string{ev.SessionID, p.OutputID}
	h := o.outputs[key]
	if h == nil {
		h = &outputTail{start: p.Position, next: p.Position}
		o.addOutput(key, h)
	}
	o.pieces++
	h.piece = o.pieces
	hasNews := h.skipKnown(p)
	if hasNews {
		o.size -= len(h.tail)
		h.addText(p)
		o.size += len(h.tail)
		h.ended = h.ended || p.Complete
	}
	if p.Complete && p.OutputID == "" { // the next output without a name is another
		o.forget(key)
	}
	for o.size > maxTails && len(o.outputs) > 1 {
		o.forgetOldest()
	}
	return hasNews
}

// addOutput remembers an output, and forgets the one that was silent for longest if there are too
// many.
func (o *overlap) addOutput(key [2]string, h *outputTail) {
	if o.outputs == nil {
		o.outputs = map[[2]string]*outputTail{}
	}
	if len(o.outputs) >= maxOutputs {
		o.forgetOldest()
	}
	o.outputs[key] = h
}

// forget forgets an output.
func (o *overlap) forget(key [2]string) {
	o.size -= len(o.outputs[key].tail)
	delete(o.outputs, key)
}

// forgetOldest forgets the output that was silent for longest; there must be one. trimKnown calls
// it to stay within maxTails.
func (o *overlap) forgetOldest() {
	var oldest [2]string
	for k, h := range o.outputs {
		if first := o.outputs[oldest]; first == nil || h.piece < first.piece {
			oldest = k
		}
	}
	o.forget(oldest)
}

// skipKnown cuts from p the text that the tail holds already, and reports whether anything is left
// for the user: text, or the end of the output. It cuts nothing after the first text that goes on
// from the tail, and where the texts differ. trimKnown calls it after a resumption.
func (h *outputTail) skipKnown(p *aaep.OutputStreaming) (hasNews bool) {
	endsOutput := p.Complete && !h.ended
	switch {
	case !h.mayRepeat:
		return true
	case p.Position >= h.next:
		h.mayRepeat = false // the stream is where it was
		return p.Chunk != "" || endsOutput
	case p.Position < h.start:
		return true
	}
	known := h.tail[byteOf(h.tail, p.Position-h.start):]
	common := min(len(known), len(p.Chunk))
	switch {
	case p.Chunk[:common] != string(known[:common]):
		return true
	case common == len(known):
		p.Chunk, p.Position = p.Chunk[common:], h.next
	default:
		p.Chunk, p.Position = "", p.Position+int64(utf8.RuneCountInString(p.Chunk))
	}
	return p.Chunk != "" || endsOutput
}

// addText appends the text of p to the tail, and cuts that to maxTail once it is twice as long.
// Behind a gap the tail begins anew.
func (h *outputTail) addText(p *aaep.OutputStreaming) {
	if p.Position != h.next { // a gap, or another way of counting
		h.tail, h.start = h.tail[:0], p.Position
	}
	h.tail = append(h.tail, p.Chunk...)
	h.next = p.Position + int64(utf8.RuneCountInString(p.Chunk))
	if len(h.tail) > 2*maxTail {
		excess := len(h.tail) - maxTail
		for !utf8.RuneStart(h.tail[excess]) {
			excess++
		}
		h.start += int64(utf8.RuneCount(h.tail[:excess]))
		h.tail = bytes.Clone(h.tail[excess:])
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
