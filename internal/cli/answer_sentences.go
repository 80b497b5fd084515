package cli

import (
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// Answers are printed as they come where the agent cuts them at boundaries. Chunks that it says are
// at none, as they come from language models, are held until they are sentences: a line for each
// token is not to be listened to (§4.2.6).

// unfinishedAnswer is the text of an answer that has not come to a boundary.
type unfinishedAnswer struct {
	ev  *aaep.Event // the newest
	seg *coalesce.Segmenter
}

// belongsTo reports whether this is the answer of an output in a session.
func (u *unfinishedAnswer) belongsTo(session, output string) bool {
	return u.ev.SessionID == session && u.ev.Payload.(*aaep.OutputStreaming).OutputID == output
}

const (
	longestLine    = 2000 // bytes of a sentence
	mostUnfinished = 64   // answers; of more, the chunks are printed as they come
)

// printableText returns what to print of a chunk of an answer, which is whole sentences where the
// agent sends no boundaries.
func (f *followedAgent) printableText(ev *aaep.Event, p *aaep.OutputStreaming) string {
	var u *unfinishedAnswer
	i := slices.IndexFunc(f.unfinished, func(u *unfinishedAnswer) bool { return u.belongsTo(ev.SessionID, p.OutputID) })
	if i >= 0 {
		u = f.unfinished[i]
	}
	none := p.CoalesceHint == aaep.BoundaryNone && !p.Complete &&
		!slices.Contains(f.currentTerms().CoalesceBoundaries, aaep.BoundaryNone)
	if u == nil && (!none || len(f.unfinished) >= mostUnfinished) {
		return announce.Text(ev, ev.Verbosity).String()
	}
	if u == nil {
		u = &unfinishedAnswer{seg: coalesce.NewSegmenter(aaep.BoundarySentence, longestLine)}
		f.unfinished = append(f.unfinished, u)
	}
	u.ev = ev
	u.seg.SetLanguage(ev.Language())
	pieces := u.seg.Write(p.Chunk)
	if !none {
		f.unfinished = slices.Delete(f.unfinished, i, i+1)
		pieces = append(pieces, u.seg.Flush(true)...)
	}
	return u.joinPieces(pieces)
}

// flushUnfinished returns what a session has said so far without coming to a boundary. A question
// that is about to be put may be about it.
func (f *followedAgent) flushUnfinished(session string) string {
	var b strings.Builder
	for _, u := range f.unfinished {
		if u.ev.SessionID == session {
			b.WriteString(u.joinPieces(u.seg.Flush(false)) + "\n")
		}
	}
	return b.String()
}

// takeUnfinished returns what a session that is over leaves unfinished, and forgets it.
func (f *followedAgent) takeUnfinished(session string) string {
	text := f.flushUnfinished(session)
	f.unfinished = slices.DeleteFunc(f.unfinished, func(u *unfinishedAnswer) bool { return u.ev.SessionID == session })
	return text
}

// joinPieces returns the text of pieces, a line for each.
func (u *unfinishedAnswer) joinPieces(pieces []coalesce.Piece) string {
	p := *u.ev.Payload.(*aaep.OutputStreaming)
	p.Chunk = ""
	for _, piece := range pieces {
		p.Chunk += strings.TrimSpace(piece.Text) + "\n"
	}
	ev := *u.ev
	ev.Payload = &p
	return announce.Text(&ev, ev.Verbosity).String()
}
