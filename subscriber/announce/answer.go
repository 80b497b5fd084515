package announce

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/coalesce"
	"github.com/aaep-go/aaep/internal/phrase"
)

// answer is the text of one output, on its way to sentences.
type answer struct {
	source   string
	event    *aaep.Event // the newest
	language string
	newest   time.Time
	seg      *coalesce.Segmenter
	data     data   // of an answer that is JSON
	space    string // that the next line begins with

	// What was said though more may come: all that was there, and the words of a sentence that goes
	// on. atWords says that the producer waits no longer for the end of a sentence.
	paused  bool
	rested  bool
	atWords bool

	// Code that goes on. codeUntold says that it has yet to be told, and soFar tells how much there
	// was of it; endedCode is what the next piece tells of, and is the end of.
	code       block
	codeUntold bool
	soFar      *item
	endedCode  *block

	// Lines that may be those of a list, with a mark, or of a diff without fence or header. Which
	// of the two is not known of those that are held.
	heldLines string
	diff      bool
	list      byte // the mark; zero is no list
	table     table
}

const (
	maxSentence = 2000 // bytes of an utterance
	maxAnswers  = 64   // that go on
)

// addAnswerChunk takes a chunk of an output. A producer that cuts at sentences says so, and nothing
// waits; for one that does not, the sentences are found here.
func (a *Announcer) addAnswerChunk(now time.Time, source string, ev *aaep.Event, p *aaep.OutputStreaming) {
	id := sessionOf(source, ev) + "\x00" + p.OutputID
	ans := a.answers[id]
	if ans == nil {
		a.flushSession(now, source, ev)
		if len(a.answers) >= maxAnswers {
			a.dropOldestAnswer(now)
		}
		ans = &answer{seg: coalesce.NewSegmenter(aaep.BoundarySentence, maxSentence)}
		a.answers[id] = ans
	}
	ans.source, ans.event, ans.newest, ans.paused = source, ev, now, false
	ans.rested, ans.atWords = false, p.CoalesceHint == aaep.BoundaryWord
	if tag := cmp.Or(p.Language, ev.Language()); tag != ans.language {
		ans.language = tag
		ans.seg.SetLanguage(tag)
	}
	text := p.Chunk
	if p.ContentType == "application/json" && !a.p.Reads {
		text = ans.data.speakChunk(text)
	}
	pieces := ans.seg.Write(text)
	whole := false
	switch p.CoalesceHint {
	case aaep.BoundarySentence, aaep.BoundaryParagraph, aaep.BoundaryCompletion:
		whole = true
	}
	if p.Complete || whole {
		pieces = append(pieces, ans.seg.Flush(p.Complete)...)
	}
	a.addPieces(now, ans, pieces)
	if p.Complete {
		a.endTable(now, ans)
		delete(a.answers, id)
	}
}

// hasUnsaid reports whether something has come that was not said.
func (ans *answer) hasUnsaid() bool {
	return ans.seg.Held() > 0 || ans.heldLines != "" || ans.codeUntold || ans.table.rows != nil
}

// flushSession says what is held of a session's answers, for something else comes.
func (a *Announcer) flushSession(now time.Time, source string, ev *aaep.Event) {
	for id, ans := range a.answers {
		if ans.source != source || ans.event.SessionID != ev.SessionID {
			continue
		}
		terminal := ev.Type().Terminal()
		a.addPieces(now, ans, ans.seg.Flush(terminal))
		a.flushHeldLines(now, ans)
		a.endTable(now, ans)
		switch {
		case terminal:
			delete(a.answers, id)
		case !ans.code.isOpen():
			ans.seg.Flush(true) // a sentence begins anew
		}
	}
}

// dropOldestAnswer says what is held of the answer that nothing has come of for longest, and
// forgets that: what comes of it begins a sentence.
func (a *Announcer) dropOldestAnswer(now time.Time) {
	var oldest string
	for id, ans := range a.answers {
		if first := a.answers[oldest]; first == nil || ans.newest.Before(first.newest) {
			oldest = id
		}
	}
	a.addPieces(now, a.answers[oldest], a.answers[oldest].seg.Flush(true))
	a.flushHeldLines(now, a.answers[oldest])
	a.endTable(now, a.answers[oldest])
	delete(a.answers, oldest)
}

// flushPaused says what has stood for a while, if it is a sentence, and the words of one that is
// not after a longer while.
func (a *Announcer) flushPaused(now time.Time) {
	for _, ans := range a.answers {
		if !ans.hasUnsaid() {
			continue
		}
		stood := now.Sub(ans.newest)
		if !ans.paused && stood >= pauseAfter {
			ans.paused = true
			a.addPieces(now, ans, ans.seg.Pause())
			a.flushHeldLines(now, ans)
			if ans.atWords {
				a.addPieces(now, ans, ans.seg.Flush(false))
			}
		}
		if !ans.rested && stood >= restAfter {
			ans.rested = true
			a.addPieces(now, ans, ans.seg.Yield())
			a.endTable(now, ans)
		}
	}
}

// addPieces lets the pieces of an answer wait, but for code that goes on: that is told once, with
// how much there is.
func (a *Announcer) addPieces(now time.Time, ans *answer, pieces []coalesce.Piece) {
	if a.p.Reads {
		a.addPiecesAsLines(now, ans, pieces)
		return
	}
	var text strings.Builder
	read, isRead := ans.code, 0 // what the text is in after as many bytes, which end a line
	begin := func() {
		text.Reset()
		read, isRead = ans.code, 0
	}
	open := ans.code
	for i, p := range pieces {
		next := ans.space + p.Text
		if open.endsBefore(next) {
			a.endCode(now, ans, text.String())
			begin()
		}
		end := strings.LastIndexByte(next, '\n') + 1
		ended := end > 0 || strings.HasSuffix(text.String(), "\n")
		if ans.space = ""; ended && strings.TrimSpace(next[end:]) == "" {
			next, ans.space = next[:end], next[end:]
		}
		text.WriteString(next)
		all := text.String()
		end = strings.LastIndexByte(all, '\n') + 1
		if end > isRead { // each line is read once, however many there are
			read, isRead = read.goOn(all[isRead:end]), end
		}
		if open = read.goOn(all[end:]); open.isOpen() && i+1 < len(pieces) {
			continue // it is told once, with how much there is
		}
		over := p.Boundary == aaep.BoundaryCompletion
		whole, code, blocks := ans.code.continueWith(all, over)
		open, ans.endedCode = code, blocks
		switch {
		case !code.isOpen() && !ans.code.isOpen() && whole == all:
			a.addLines(now, ans, all, over)
		default:
			a.addLines(now, ans, "", true)
			a.endTable(now, ans)
			// Nothing but what follows tells where a diff ends that has no fence.
			if ans.codeUntold = code.diff && code.fence == "" && !over; ans.codeUntold {
				ans.code = code
			} else {
				a.addPiece(now, ans, whole, code, over)
			}
		}
		begin()
	}
}

// endCode tells the code of an answer that ends in a text, before something else. Where all of it
// was told already, that is what Details then tells of.
func (a *Announcer) endCode(now time.Time, ans *answer, text string) {
	whole, _, ended := ans.code.continueWith(text, true)
	a.addLines(now, ans, "", true)
	a.endTable(now, ans)
	ans.endedCode, ans.codeUntold = ended, false
	if told := ans.soFar; text == "" && told != nil && !a.isUntold(told) {
		if told.code = ended; a.toldCode == nil || a.toldCode.arrived.Before(told.arrived) {
			a.toldCode = told
		}
		ans.code, ans.soFar, ans.endedCode = block{}, nil, nil
		return
	}
	a.addPiece(now, ans, whole, block{}, true)
}

// flushHeldLines says what is held of an answer until something follows.
func (a *Announcer) flushHeldLines(now time.Time, ans *answer) {
	a.addLines(now, ans, "", true)
	if ans.codeUntold {
		ans.codeUntold = false
		a.addPiece(now, ans, ans.code.openingText(), ans.code, false)
	}
}

// mostHeld is how many lines that may be those of a list or a diff are held until one tells which.
const mostHeld = 3

// addLines takes text that is no code. Lines that begin with a sign are held until they are known
// for those of a list or a diff, or are to be said in any case.
func (a *Announcer) addLines(now time.Time, ans *answer, text string, force bool) {
	signed := text != "" && isSigned(text) && strings.Count(strings.TrimSpace(text), "\n") == 0
	switch {
	case signed && (ans.diff || ans.list != 0 && ans.list != text[0]):
		text = speakSign(text, ans.language)
	case signed && ans.list == 0:
		ans.heldLines += text
		run := strings.FieldsFunc(ans.heldLines, func(r rune) bool { return r == '\n' })
		if ans.diff = isDiff(run); !ans.diff && !force && len(run) <= mostHeld {
			return
		}
		if !ans.diff {
			ans.list = run[0][0]
		}
		text = ""
	}
	held := ans.heldLines
	ans.heldLines = ""
	for line := range strings.Lines(held) {
		if ans.diff && strings.TrimSpace(line) != "" {
			line = speakSign(line, ans.language)
		}
		a.addPiece(now, ans, line, block{}, false)
	}
	if !signed {
		ans.diff, ans.list = false, 0
	}
	if text != "" {
		a.addProse(now, ans, text)
	}
}

// addProse takes text that is neither code nor a list that is held. A table that is not read row by
// row is told once it is over.
func (a *Announcer) addProse(now time.Time, ans *answer, text string) {
	manner := a.p.Content.Tables
	if ans.table.manner = manner; manner == "" || manner == Read {
		a.addPiece(now, ans, ans.table.speakRows(text), block{}, false)
		return
	}
	prose := ""
	for line := range strings.Lines(text) {
		if row.MatchString(strings.TrimRight(line, "\r\n")) {
			if prose != "" {
				a.addPiece(now, ans, prose, block{}, false)
				prose = ""
			}
			ans.table.speakRows(line)
			continue
		}
		a.endTable(now, ans)
		prose += line
	}
	a.addPiece(now, ans, prose, block{}, false)
}

// endTable tells what an answer holds of a table until that is over, and ends it.
func (a *Announcer) endTable(now time.Time, ans *answer) {
	for line := range strings.Lines(ans.table.endHeld(ans.language)) {
		a.addPiece(now, ans, line, block{}, false)
	}
}

// addPiece lets a piece of an answer wait, of which the code goes on.
func (a *Announcer) addPiece(now time.Time, ans *answer, whole string, code block, over bool) {
	id := phrase.CodeSoFar
	if over {
		id, code = phrase.Code, block{}
	}
	part := a.p.Content.markdownPart(whole, ans.language, id, true)
	before := ans.code.openingText()
	if ans.code = code; strings.TrimSpace(part.Text) == "" {
		return
	}
	it, older := a.newItem(now, ans.source, ans.event, Output, []Part{part}), ans.soFar
	it.critical, ans.soFar = false, nil
	it.code, ans.endedCode = ans.endedCode, nil
	blocks := 0
	text := replaceCode(whole, func(block, bool) string { blocks++; return "" })
	if code.isOpen() && blocks == 1 && strings.TrimSpace(text) == "" {
		ans.soFar = it
	}
	// How much there was says nothing to a person who has not heard it yet.
	i := slices.Index(a.normal, older)
	if i >= 0 && a.isUntold(older) && before != "" && strings.HasPrefix(whole, before) {
		a.endItem(older, now, Expired)
		a.normal[i] = it
		return
	}
	if a.p.UntilDone {
		a.leaveUntilDone(now, it)
		return
	}
	a.appendTo(&a.normal, it)
	if it.code != nil && a.p.Content.ofBlock(it.code) == Read {
		if lines := a.codeItemOf(now, it); lines != nil {
			lines.wanted = false // it may be left out in a flood
			a.appendTo(&a.normal, lines)
		}
	}
}

// splitSentences are what is said one at a time. Of a question, each line is heard for itself.
func (w Words) splitSentences(lines bool) (all []Part) {
	for _, p := range w {
		texts := []string{p.Text}
		if lines {
			texts = strings.Split(p.Text, "\n")
		}
		for _, text := range texts {
			part := Content{}.markdownPart(text, p.Language, phrase.Code, false)
			for _, s := range splitText(part.Text, part.Language) {
				all = append(all, Part{part.Language, s})
			}
		}
	}
	return all
}

// splitText cuts a text into sentences.
func splitText(text, language string) (sentences []string) {
	seg := coalesce.NewSegmenter(aaep.BoundarySentence, maxSentence)
	seg.SetLanguage(language)
	for _, p := range append(seg.Write(text), seg.Flush(true)...) {
		if s := strings.TrimSpace(p.Text); s != "" {
			sentences = append(sentences, s)
		}
	}
	return sentences
}
