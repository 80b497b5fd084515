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
	// on. atWords says that the producer waits for the end of a sentence no longer; isFragment
	// that it marked the newest chunk as ending at no boundary, and what is no sentence yet is
	// held until more comes or nothing can (EVT-061). Of what stands before a question that is only
	// restAfter, because the answer may depend on it.
	paused         bool
	rested         bool
	atWords        bool
	isFragment     bool
	beforeQuestion bool

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

	// The first lines that were told as those of a list, and how many others were.
	listLines     []string
	moreListLines int
}

const (
	maxSentence = 2000 // bytes of an utterance
	maxAnswers  = 64   // that go on
)

// addAnswerChunk takes a chunk p of the output of ev, and adds the sentences that are complete by
// it to the queue. The sentences are found here, unless the producer's hint says that the chunk
// ends in one. The last chunk of an output adds all that is left of it. Beyond maxAnswers outputs
// the oldest is dropped.
func (a *Announcer) addAnswerChunk(now time.Time, source string, ev *aaep.Event, p *aaep.OutputStreaming) {
	id := sessionOf(source, ev) + "\x00" + p.OutputID
	ans := a.answers[id]
	if ans == nil {
		a.flushSession(now, source, ev)
		if len(a.answers) >= maxAnswers {
			a.dropOldestAnswer(now)
		}
		ans = &answer{seg: coalesce.NewSegmenter(aaep.BoundarySentence, maxSentence)}
		setEntry(&a.answers, id, ans)
	}
	ans.source, ans.event, ans.newest, ans.paused = source, ev, now, false
	ans.rested, ans.beforeQuestion = false, false
	ans.atWords, ans.isFragment = p.CoalesceHint == aaep.BoundaryWord, p.CoalesceHint == aaep.BoundaryNone
	if tag := cmp.Or(p.Language, ev.Language()); tag != ans.language {
		ans.language = tag
		ans.seg.SetLanguage(tag)
	}
	text := p.Chunk
	if p.ContentType == "application/json" && !a.p.Reads {
		text = ans.data.speakChunk(text)
	}
	pieces := ans.seg.Write(text)
	endsSentence := false
	switch p.CoalesceHint {
	case aaep.BoundarySentence, aaep.BoundaryParagraph, aaep.BoundaryCompletion:
		endsSentence = true
	}
	if p.Complete || endsSentence {
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

// flushSession queues the text that is held back of the answers of an event's session, because the
// event comes between. An event that ends the session ends its answers; before that, a fragment of
// an answer (BoundaryNone) stays held back.
func (a *Announcer) flushSession(now time.Time, source string, ev *aaep.Event) {
	for id, ans := range a.answers {
		if ans.source != source || ans.event.SessionID != ev.SessionID {
			continue
		}
		terminal := ev.Type().Terminal()
		staysHeld := ans.isFragment && !terminal
		if staysHeld {
			a.addPieces(now, ans, ans.seg.Pause())
			if kindOf(ev) == Question {
				ans.newest, ans.rested, ans.beforeQuestion = now, false, true
			}
		} else {
			a.addPieces(now, ans, ans.seg.Flush(terminal))
		}
		a.flushHeldLines(now, ans)
		a.endTable(now, ans)
		switch {
		case terminal:
			delete(a.answers, id)
		case !staysHeld && !ans.code.isOpen():
			ans.seg.Flush(true) // a sentence begins anew
		}
	}
}

// dropOldestAnswer makes room for another answer: of the one that has had no text for the longest
// it queues the text that is held back, and deletes its state. Later text of it begins a new
// sentence.
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

// flushPaused queues text that is held back of answers that have paused: after pauseAfter without
// text what may be a whole sentence, and after restAfter also the beginning of a sentence; a
// fragment only where a question follows. handleTime calls it.
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
			switch {
			case !ans.isFragment:
				a.addPieces(now, ans, ans.seg.Yield())
			case ans.beforeQuestion:
				a.addPieces(now, ans, ans.seg.Flush(false))
			}
			a.endTable(now, ans)
		}
	}
}

// addPieces queues the pieces of an answer, as its Segmenter cut them, as announcements. A block of
// code whose end has not come is announced once, by its number of lines so far, and ans.code counts
// the lines that follow. For a person who reads, the pieces become lines instead.
func (a *Announcer) addPieces(now time.Time, ans *answer, pieces []coalesce.Piece) {
	if a.p.Reads {
		a.addPiecesAsLines(now, ans, pieces)
		return
	}
	uncut := &uncutText{atLine: ans.code}
	open := ans.code
	for i, p := range pieces {
		next := ans.space + p.Text
		if open.endsBefore(next) {
			a.endCode(now, ans, uncut.text.String())
			uncut = &uncutText{atLine: ans.code}
		}
		next, ans.space = splitIndent(next, strings.HasSuffix(uncut.text.String(), "\n"))
		open = uncut.addText(next)
		if isMore := i+1 < len(pieces); open.isOpen() && isMore {
			continue // it is told once, with how much there is
		}
		open = a.addWhole(now, ans, uncut.text.String(), p.Boundary == aaep.BoundaryCompletion)
		uncut = &uncutText{atLine: ans.code}
	}
}

// addWhole queues text of an answer, prose or code, which is not parted within a block of code. The
// lines and the table that are held back come before code. A diff without a fence is not queued
// until something follows or isLast says that nothing does, for nothing else shows where it ends.
// addWhole returns the block of code that the text ends in, or an empty one.
func (a *Announcer) addWhole(now time.Time, ans *answer, text string, isLast bool) (open block) {
	withOpening, open, ended := ans.code.continueWith(text, isLast)
	ans.endedCode = ended
	hasNoCode := !open.isOpen() && !ans.code.isOpen() && withOpening == text
	if hasNoCode {
		a.addLines(now, ans, text, isLast)
		return open
	}
	a.addLines(now, ans, "", true)
	a.endTable(now, ans)
	ans.codeUntold = open.diff && open.fence == "" && !isLast
	if ans.codeUntold {
		ans.code = open
	} else {
		a.addPiece(now, ans, withOpening, open, isLast)
	}
	return open
}

// uncutText is text of an answer that waits until no block of code goes on at its end. atLine is
// the block that is open after the first read bytes, which are whole lines: so each line is read
// once, however many pieces follow.
type uncutText struct {
	text   strings.Builder
	atLine block
	read   int
}

// addText adds text, and returns the block of code that is open at its end, or an empty one.
func (u *uncutText) addText(text string) (open block) {
	u.text.WriteString(text)
	soFar := u.text.String()
	if end := strings.LastIndexByte(soFar, '\n') + 1; end > u.read {
		u.atLine, u.read = u.atLine.openAfter(soFar[u.read:end]), end
	}
	return u.atLine.openAfter(soFar[u.read:])
}

// splitIndent parts text before blanks at its end with which a line begins, so that they come with
// the rest of that line. atLineStart says that the text begins a line.
func splitIndent(text string, atLineStart bool) (whole, indent string) {
	end := strings.LastIndexByte(text, '\n') + 1
	if (end > 0 || atLineStart) && strings.TrimSpace(text[end:]) == "" {
		return text[:end], text[end:]
	}
	return text, ""
}

// endCode ends the block of code that an answer is in, because what follows is no part of it. The
// lines and the table that are held back come first. text is the part of the code that was not
// announced; it is queued with the block's number of lines. Where the person has heard of all of
// the block already, nothing is queued: Details then reads out its lines, as those of the latest
// code.
func (a *Announcer) endCode(now time.Time, ans *answer, text string) {
	withOpening, _, ended := ans.code.continueWith(text, true)
	a.addLines(now, ans, "", true)
	a.endTable(now, ans)
	ans.codeUntold = false
	soFar := ans.soFar
	if wasAllTold := text == "" && soFar != nil && !a.isUntold(soFar); !wasAllTold {
		ans.endedCode = ended
		a.addPiece(now, ans, withOpening, block{}, true)
		return
	}
	soFar.code = ended
	if isNewest := a.toldCode == nil || a.toldCode.arrived.Before(soFar.arrived); isNewest {
		a.toldCode = soFar
	}
	ans.code, ans.soFar, ans.endedCode = block{}, nil, nil
}

// flushHeldLines queues the lines of an answer that addLines holds back until something follows,
// and the number of lines of code that was not announced yet.
func (a *Announcer) flushHeldLines(now time.Time, ans *answer) {
	a.addLines(now, ans, "", true)
	if ans.codeUntold {
		ans.codeUntold = false
		a.addPiece(now, ans, ans.code.openingText(), ans.code, false)
	}
}

// mostHeld is how many lines that may be those of a list or a diff are held until one tells which.
const mostHeld = 3

// addLines queues text of an answer outside of code, and with it the lines that are held back;
// empty text queues those alone. A line that begins with + or - is held back, up to mostHeld of
// them, until what follows shows whether they belong to a list, whose lines are told as they are,
// or to a diff, whose signs are told in words. force holds nothing back.
func (a *Announcer) addLines(now time.Time, ans *answer, text string, force bool) {
	signed := text != "" && isSigned(text) && strings.Count(strings.TrimSpace(text), "\n") == 0
	switch {
	case signed && (ans.diff || ans.list != 0 && ans.list != text[0]):
		a.correctList(now, ans)
		text = speakSign(text, ans.language)
	case signed && ans.list == 0:
		ans.heldLines += text
		run := strings.FieldsFunc(ans.heldLines, func(r rune) bool { return r == '\n' })
		if ans.diff = isDiff(run); !ans.diff && !force && len(run) <= mostHeld {
			return
		}
		text = ""
	}
	heldLines := ans.heldLines
	ans.heldLines = ""
	switch {
	case ans.diff:
	case heldLines != "":
		ans.list = heldLines[0]
		ans.noteListed(slices.Collect(strings.Lines(heldLines))...)
	case signed:
		ans.noteListed(text)
	}
	for line := range strings.Lines(heldLines) {
		if ans.diff && strings.TrimSpace(line) != "" {
			line = speakSign(line, ans.language)
		}
		a.addPiece(now, ans, line, block{}, false)
	}
	if paused := text == "" && ans.paused; !signed && !paused { // what comes after a pause goes on with them
		ans.diff, ans.list, ans.listLines, ans.moreListLines = false, 0, nil, 0
	}
	if text != "" {
		a.addProse(now, ans, text)
	}
}

// noteListed keeps lines that were announced as those of a list, in case correctList must announce
// them as a diff; beyond mostHeld it only counts them.
func (ans *answer) noteListed(lines ...string) {
	for _, line := range lines {
		if len(ans.listLines) <= mostHeld {
			ans.listLines = append(ans.listLines, line)
		} else {
			ans.moreListLines++
		}
	}
}

// correctList announces again, with their signs in words, lines that were announced as those of a
// list, because a line with the other sign showed that they belong to a diff. Of more than mostHeld
// lines it announces the number.
func (a *Announcer) correctList(now time.Time, ans *answer) {
	lines, all := ans.listLines, len(ans.listLines)+ans.moreListLines
	ans.diff, ans.listLines, ans.moreListLines = true, nil, 0
	if all > len(lines) {
		b := block{diff: true, removed: all}
		if lines[0][0] == '+' {
			b.added, b.removed = all, 0
		}
		a.addPiece(now, ans, b.describeBlock(ans.language, phrase.Code)+"\n", block{}, false)
		return
	}
	for _, line := range lines {
		a.addPiece(now, ans, speakSign(line, ans.language), block{}, false)
	}
}

// addProse queues text of an answer that is neither code nor a line with a sign. Where tables are
// not read row by row, their rows are held back until the table ends; see endTable.
func (a *Announcer) addProse(now time.Time, ans *answer, text string) {
	manner := a.p.Content.Tables
	ans.table.manner = manner
	if isReadByRow := manner == "" || manner == Read; isReadByRow {
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

// endTable queues what is said of a table whose rows an answer holds, and ends the table.
func (a *Announcer) endTable(now time.Time, ans *answer) {
	for line := range strings.Lines(ans.table.endHeld(ans.language)) {
		a.addPiece(now, ans, line, block{}, false)
	}
}

// addPiece queues a piece of an answer as one announcement. code is the block that the piece ends
// in the middle of, or the zero block, and isLast says that the piece ends the answer. Where an
// earlier announcement of the same block's number of lines still waits, this one replaces it.
func (a *Announcer) addPiece(now time.Time, ans *answer, text string, code block, isLast bool) {
	id := phrase.CodeSoFar
	if isLast {
		id, code = phrase.Code, block{}
	}
	part := a.p.Content.markdownPart(text, ans.language, id, true)
	opening := ans.code.openingText()
	if ans.code = code; strings.TrimSpace(part.Text) == "" {
		return
	}
	it, older := a.newItem(now, ans.source, ans.event, Output, []Part{part}), ans.soFar
	it.critical, ans.soFar = false, nil
	it.code, ans.endedCode = ans.endedCode, nil
	blocks := 0
	outside := replaceCode(text, func(block, bool) string { blocks++; return "" })
	if code.isOpen() && blocks == 1 && strings.TrimSpace(outside) == "" {
		ans.soFar = it
	}
	// How much there was says nothing to a person who has not heard it yet.
	i := slices.Index(a.normal, older)
	if i >= 0 && a.isUntold(older) && opening != "" && strings.HasPrefix(text, opening) {
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

// splitSentences returns w in sentences, which are said one at a time. lines says that each line of
// w is heard for itself, as those of a question are.
func (w Words) splitSentences(lines bool) (sentences []Part) {
	for _, p := range w {
		texts := []string{p.Text}
		if lines {
			texts = strings.Split(p.Text, "\n")
		}
		for _, text := range texts {
			part := Content{}.markdownPart(text, p.Language, phrase.Code, false)
			for _, s := range splitText(part.Text, part.Language) {
				sentences = append(sentences, Part{Language: part.Language, Text: s, speaker: p.speaker})
				p.speaker = ""
			}
		}
	}
	return sentences
}

// splitText cuts a whole text into sentences by the rules of its language, none longer than
// maxSentence characters. Text that does not arrive in pieces is cut by it.
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
