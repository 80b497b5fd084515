package announce

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/answers"
	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

// This file has switch scanning: a person with one or two switches steps through what they can do
// about the question that is put, hears each as it is reached, and selects one. A list leads to
// another, as a row does to its letters, and at last to the answer as it will be sent, which has to
// be heard before it is. A press is a Step or a Select; see handlePress.

// Step and Select are what a switch gives to Answer in place of a text. No person types or dictates
// them. The first press of either tells the first of what can be selected.
const (
	Step   = "\x00step"   // tells the next of what can be selected; after the last comes the first
	Select = "\x00select" // selects what was told last
)

// scan is how far a person has come with switches at one question.
type scan struct {
	event *aaep.Event // as the question was put when the list was made
	list  []cell      // what is stepped through
	at    int         // index in list
	told  *item       // which told that, the newest

	elsewhere bool // the list is that of another output of the person

	text      string // what was spelled, in NFC
	sent      bool   // it was sent, and the person pressed no switch since
	writes    bool   // the person is spelling
	numeric   bool   // it is the digits of a number
	isCapital bool   // the next letter is one
}

// cell is one of the things that can be selected.
type cell struct {
	act   cellAct
	says  Words  // without the place in the list
	adds  string // what writeCell writes
	sign  bool   // that is a sign, which a voice may not say as it stands
	row   []cell // where rowCell leads
	reply *Reply // what answerCell and sendCell send
}

// cellAct is what selecting a cell does.
type cellAct int

const (
	answerCell  cellAct = iota // has the answer told as it will be sent
	sendCell                   // sends it
	lettersCell                // begins to spell
	digitsCell                 // begins a number
	rowCell
	writeCell
	capitalCell
	deleteCell
	readCell   // tells what is written
	finishCell // has that told as it will be sent
	stakesCell // tells the consequence and the risk, or the context
	againCell
	moreCell
	nextCell
	backCell // to the list before; what is written stays
	stopCell // forgets what is written, and sends nothing
)

const (
	lettersInRow = 6
	mostWords    = 12 // that can be selected whole
)

// handlePress is Answer for a switch: text is Step or Select. A press so soon after another that it
// may be a bounce, or both switches at once, is none; nor is a Select before its cell began to be
// told. Only a cell that tells the whole answer sends it, once that was heard, and a no; the rules
// of Answer hold for both.
func (a *Announcer) handlePress(now, began time.Time, text string) *Reply {
	began, typed := a.timesOfAnswer(now, began)
	isBounce := began.Sub(a.pressedAt) < hearing.Bounce
	defer func() { a.lastKey = now }() // also of a bounce: hands that tremble are not still
	if isBounce {
		return nil
	}
	a.pressedAt = began
	a.endTyping(now)
	q := a.questions.firstOpen()
	if w := a.missedWords(now, began, q); w != nil {
		a.explainAtOnce(now, q, w, a.withdrawn)
		return nil
	}
	switch {
	case q == nil:
		a.answerNothing(now, q, text)
		return nil
	case !q.sendingSince.IsZero():
		if began.Sub(q.sendingSince) >= hearing.StillBefore { // else it is the same press once more
			a.refuseAnswer(now, q, phraseIn(a.language, phrase.AnsweredBefore, ""))
		}
		return nil
	case !q.isReadable(began):
		a.explainAtOnce(now, q, a.withSpeaker(q.source, phraseIn(a.language, phrase.AnsweredTooSoon, "")), nil)
		return nil
	}
	defer a.askMoreInTime(now, q)
	s := &q.scan
	switch {
	case s.event != q.event: // it is new, or came in other words
		a.beginScan(now, q)
	case text == Step:
		s.at = (s.at + 1) % len(s.list)
		a.tellCell(now, q, nil)
	case s.told.receipt.Outcome == Waiting:
	case s.told.receipt.Outcome == Expired || s.told.receipt.Outcome == Unsaid:
		a.tellCell(now, q, nil)
	default:
		return a.selectCell(now, began, typed, q)
	}
	return nil
}

// beginScan opens the list of what can be done about a question, which is new to the person or came
// in other words. What they wrote for it stays, and is told: that is what they wrote before they
// sent it in vain, over an output that is gone, or for the same question, which was taken away.
func (a *Announcer) beginScan(now time.Time, q *openQuestion) {
	s := &q.scan
	if draft := a.draftOf; s.text == "" && draft != nil && draft.source == q.source && asksSameText(draft.event, q.event) {
		s.text, s.numeric = draft.scan.text, draft.scan.numeric
		a.draftOf = nil
	}
	s.event, s.elsewhere, s.writes, s.sent = q.event, false, false, false
	var written Words
	if s.text != "" {
		written = labelText(q.event.Language(), phrase.ScanWritten, words.Sentence(s.text))
	}
	a.openList(now, q, a.answerCells(q), written)
}

// asksSameText reports whether two events ask for a text or a number in the same words.
func asksSameText(one, other *aaep.Event) bool {
	asked, ok := one.Payload.(*aaep.AwaitingClarification)
	again, alsoOK := other.Payload.(*aaep.AwaitingClarification)
	return ok && alsoOK && asked.Question == again.Question && asked.Context == again.Context
}

// keepDraft keeps what a person wrote for a question that closes, for the case that it is asked
// anew, and tells them that it was not sent, unless they sent it or another answer: Answered says
// what became of that.
func (a *Announcer) keepDraft(now time.Time, q *openQuestion) {
	if q.scan.text == "" {
		return
	}
	a.draftOf = q
	if q.scan.sent || q.mayHaveArrived || !q.sendingSince.IsZero() {
		return
	}
	a.addNotice(now, a.withSpeaker(q.source, phraseIn(a.language, phrase.AnswerNotSent, "")), true, nil)
}

// askMoreInTime has more time asked for while a person scans, before the time of the question is
// almost over, unless its agent gives none.
func (a *Announcer) askMoreInTime(now time.Time, q *openQuestion) {
	left := q.timeLeft(now)
	isAsked := q.limitWhenAsked != 0 || !q.moreGivenAt.IsZero() || now.Sub(q.moreAskedAt) < hearing.RepeatAfter
	if left <= 0 || left >= min(hearing.ScanReserve, q.timeGiven()/2) || isAsked || q.noMoreTime {
		return
	}
	if q.sendingSince.IsZero() && a.questions.isReachable(q) && q == a.questions.firstOpen() {
		q.moreAskedAt, a.wantsMoreTime = now, true
	}
}

// WantsMoreTime reports, once, whether the newest press of a switch wants more time for the
// question that is put: its cell was selected, or the time would be too short to go on. The caller
// asks for it, as AskMore has it.
func (a *Announcer) WantsMoreTime() (wants bool) {
	wants, a.wantsMoreTime = a.wantsMoreTime, false
	return wants
}

// isScanning reports whether a person pressed a switch so lately that what can wait does.
func (a *Announcer) isScanning(now time.Time) bool {
	q := a.questions.firstOpen()
	return q != nil && (q.scan.event == q.event || q.scan.elsewhere) && now.Before(a.pressedAt.Add(answerPause))
}

// selectCell does what the cell that was told does, and returns an answer to send, or nil. An
// answer other than a no is sent only once all of it was heard, and the hands were still.
func (a *Announcer) selectCell(now, began, typed time.Time, q *openQuestion) *Reply {
	s := &q.scan
	switch c := s.list[s.at]; c.act {
	case answerCell:
		if c.reply.Decision == aaep.Reject {
			return a.sendScanned(now, began, typed, q, c.reply)
		}
		a.openList(now, q, a.sendCells(q, c.reply, c.says), nil)
	case sendCell:
		if a.heardBefore(s.told, began) && isStill(began, typed) {
			return a.sendScanned(now, began, typed, q, c.reply)
		}
		if !a.isWaiting(s.told) { // it was silenced, or the hands are not still
			a.tellCell(now, q, nil)
		}
	case lettersCell, digitsCell:
		if numeric := c.act == digitsCell; numeric != s.numeric {
			s.text, s.numeric = "", numeric
		}
		s.writes = true
		a.openList(now, q, a.writingCells(q), nil)
	case rowCell:
		a.openList(now, q, append(slices.Clip(c.row), a.newCell(backCell, phrase.ScanBack)), nil)
	case writeCell, capitalCell, deleteCell:
		edited := a.editText(q, c) // before the cells, which depend on it
		a.openList(now, q, a.writingCells(q), edited)
	case readCell:
		a.tellCell(now, q, In(q.event.Language(), words.Sentence(s.text)))
	case finishCell:
		a.finishText(now, q)
	case stakesCell:
		a.addRequested(now, a.withSpeaker(q.source, stakesOf(q.event))).about = q
	case againCell:
		a.putAgain(now, q)
	case moreCell:
		a.wantsMoreTime = true
	case nextCell:
		a.NextQuestion(now)
	case backCell:
		list := a.answerCells(q)
		if s.writes {
			list = a.writingCells(q)
		}
		a.openList(now, q, list, nil)
	case stopCell:
		a.dropTold(now)
		q.scan = scan{}
		a.addRequested(now, a.withSpeaker(q.source, phraseIn(a.language, phrase.AnswerNotSent, ""))).about = q
	}
	return nil
}

// editText changes what is written as a cell says, and returns what is told of that: the newest
// word, or the cell itself where it makes none.
func (a *Announcer) editText(q *openQuestion, c cell) Words {
	s := &q.scan
	switch c.act {
	case writeCell:
		s.addText(c.adds)
		if isSpace := lastWord(s.text) == ""; isSpace {
			return c.says.endSentence()
		}
	case capitalCell:
		s.isCapital = true
		return c.says.endSentence()
	case deleteCell:
		s.deleteLast()
	}
	return a.lastWritten(q)
}

// finishText has what is written told as the answer that can be sent. A number that is none, such
// as a sign alone, is refused.
func (a *Announcer) finishText(now time.Time, q *openQuestion) {
	text := q.scan.text
	r := &Reply{Source: q.source, Question: q.event, Response: text, asked: q, by: a}
	if q.scan.numeric {
		number, ok := answers.Number(text)
		if !ok {
			a.refuseAnswer(now, q, phraseIn(a.language, phrase.NoAnswer, "")).about = q
			return
		}
		r.Response = number
	}
	a.openList(now, q, a.sendCells(q, r, In(q.event.Language(), text)), nil)
}

// sendScanned returns the answer that was selected, if it counts by the rules of Answer, and ends
// the scanning; else the person is told why not, and nil is returned.
func (a *Announcer) sendScanned(now, began, typed time.Time, q *openQuestion, chosen *Reply) *Reply {
	r := a.takeAnswer(now, began, typed, q, Select, chosen)
	if r != nil {
		q.scan = scan{text: q.scan.text, numeric: q.scan.numeric, sent: true} // until it has arrived
	}
	return r
}

// openList has a person step through other cells from now on, and tells the first, behind words
// that may be nil.
func (a *Announcer) openList(now time.Time, q *openQuestion, list []cell, before Words) {
	q.scan.list, q.scan.at = list, 0
	a.tellCell(now, q, before)
}

// tellCell tells the cell that the person is at, and which of how many it is, at once; what was
// told of another cell ends. before are words that come first, or nil.
func (a *Announcer) tellCell(now time.Time, q *openQuestion, before Words) {
	s := &q.scan
	c := s.list[s.at]
	w := c.says
	if !c.sign {
		place := phraseIn(a.language, phrase.OfSteps, strconv.Itoa(len(s.list)))
		place[0].Text = strconv.Itoa(s.at+1) + " " + place[0].Text
		w = before.And(" ", w).And(", ", place)
		if c.act == sendCell { // is a question of its own
			w = before.And(" ", c.says.endSentence()).And(" ", place)
		}
	}
	it := &item{session: q.sessionKey(), kind: Notice, event: q.event, about: q, scans: true, verbatim: c.sign,
		sentences: w, arrived: now}
	if !c.sign {
		it.sentences = w.oneLine().endSentence()
	}
	a.tellScanned(now, it)
	s.told = it
}

// tellScanned queues what is told of a cell, in place of what was told of another.
func (a *Announcer) tellScanned(now time.Time, it *item) {
	a.dropTold(now)
	a.recordItem(it)
	a.asked = append(a.asked, it)
}

// dropTold ends what is told of a cell, also while it is being said.
func (a *Announcer) dropTold(now time.Time) {
	a.asked = slices.DeleteFunc(a.asked, func(it *item) bool {
		if it.scans {
			it.cancelled = true
			a.endItem(it, now, Expired)
		}
		return it.scans
	})
}

// Scanned is what the newest press of a switch had told, for the other outputs of the person, and
// what they wrote, for the case that they go on over one of those.
type Scanned struct {
	item    *item
	text    string
	numeric bool
}

// Scanned returns what is told of the cell that the person is at; the zero value where they scan
// nothing.
func (a *Announcer) Scanned() Scanned {
	if q := a.questions.firstOpen(); q != nil && q.scan.event == q.event {
		return Scanned{q.scan.told, q.scan.text, q.scan.numeric}
	}
	return Scanned{}
}

// ShowScanned tells what another Announcer of the same person tells of a cell. Nothing can be
// selected here.
func (a *Announcer) ShowScanned(now time.Time, told Scanned) {
	q, from := a.questions.firstOpen(), told.item
	if from == nil {
		a.dropTold(now)
		if q != nil {
			q.scan = scan{}
		}
		return
	}
	if q == nil || q.event != from.event {
		return
	}
	a.pressedAt = now
	q.scan = scan{text: told.text, numeric: told.numeric, elsewhere: true}
	a.tellScanned(now, &item{session: from.session, kind: Notice, event: from.event, about: q, scans: true,
		verbatim: from.verbatim, sentences: from.sentences, arrived: now})
}

// newCell returns a cell that says a phrase in this program's language.
func (a *Announcer) newCell(act cellAct, id phrase.ID) cell {
	return cell{act: act, says: phraseIn(a.language, id, "")}
}

// answerCells returns what can be done about a question: the answers first, a no before a yes.
func (a *Announcer) answerCells(q *openQuestion) (list []cell) {
	language := q.event.Language()
	reply := func(says Words, r Reply) {
		r.Source, r.Question, r.asked, r.by = q.source, q.event, q, a
		list = append(list, cell{act: answerCell, says: says, reply: &r})
	}
	switch p := q.event.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		takes := func(d aaep.Decision) bool { return p.AllowedReplies == nil || slices.Contains(p.AllowedReplies, d) }
		if takes(aaep.Reject) {
			reply(phraseIn(a.language, phrase.SaidReject, ""), Reply{Decision: aaep.Reject})
		}
		if takes(aaep.Accept) {
			reply(phraseIn(a.language, phrase.SaidAccept, ""), Reply{Decision: aaep.Accept})
		}
	case *aaep.AwaitingClarification:
		kinds := answers.KindsOf(p)
		if kinds.Choice {
			for i, c := range p.Choices { // with its number, as the question has it
				label := strconv.Itoa(i+1) + ": " + words.OneLine(aaep.SafeTextIn(c.Label, language))
				reply(In(language, label), Reply{Response: c.Value, choice: i + 1})
			}
		}
		if kinds.YesNo {
			reply(phraseIn(a.language, phrase.SaidNo, ""), Reply{Response: false})
			reply(phraseIn(a.language, phrase.SaidYes, ""), Reply{Response: true})
		}
		if kinds.Numeric {
			list = append(list, a.newCell(digitsCell, phrase.ScanNumber))
		}
		if kinds.Text {
			list = append(list, a.newCell(lettersCell, phrase.ScanLetters))
		}
	}
	return append(list, a.otherCells(q)...)
}

// otherCells returns what can be done about a question beside answering it.
func (a *Announcer) otherCells(q *openQuestion) (list []cell) {
	if stakesOf(q.event) != nil {
		list = append(list, a.newCell(stakesCell, phrase.ScanStakes))
	}
	list = append(list, a.newCell(againCell, phrase.ScanAgain), a.newCell(moreCell, phrase.ScanMoreTime))
	if a.questions.countOpen() > 1 {
		list = append(list, a.newCell(nextCell, phrase.ScanNext))
	}
	return append(list, a.newCell(stopCell, phrase.ScanStop))
}

// stakesOf returns what follows from a yes, whether it can be undone, the risk, and what silence
// means, or the context of what is asked; nil is none.
func stakesOf(question *aaep.Event) Words {
	language := question.Language()
	switch p := question.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		return labelText(language, phrase.ConsequenceIs, words.Sentence(words.OneLine(p.Consequence))).
			And(" ", stakesWords(language, p)).And(" ", silenceWords(language, p))
	case *aaep.AwaitingClarification:
		if p.Context != "" {
			return labelText(language, phrase.ContextIs, words.Sentence(words.OneLine(p.Context)))
		}
	}
	return nil
}

// sendCells returns the list that ends in an answer, which says tells: the whole of it, and the way
// back.
func (a *Announcer) sendCells(q *openQuestion, r *Reply, says Words) []cell {
	w := phraseIn(a.language, phrase.ScanSend, "").And("", says)
	if p, decides := q.event.Payload.(*aaep.AwaitingConfirmation); decides {
		w = w.And(": ", In(q.event.Language(), words.OneLine(aaep.SafeTextIn(p.Action, q.event.Language()))))
	}
	w = a.withSpeaker(q.source, w)
	return []cell{{act: sendCell, says: w, reply: r}, a.newCell(backCell, phrase.ScanBack)}
}

// letterRows returns the rows of the letters of the question's language and of the person's own, as
// capitals where the next letter is to be one.
func (a *Announcer) letterRows(q *openQuestion) (rows []cell) {
	for _, alphabet := range phrase.Alphabets(q.event.Language(), a.language) {
		for letters := range slices.Chunk(alphabet.Letters, lettersInRow) {
			var row []cell
			for _, letter := range letters {
				if q.scan.isCapital {
					letter = strings.ToUpper(letter)
				}
				row = append(row, newWriteCell(alphabet.Tag, letter))
			}
			rows = append(rows, cell{act: rowCell, says: labelText(alphabet.Tag, phrase.ScanFrom, letters[0]), row: row})
		}
	}
	return rows
}

// writingCells returns what is stepped through to write a text: rows of what can be done with it,
// of words, and then of letters, digits, signs and accents, without those that would be empty; or
// to write a number: digits, and what can be done with it.
func (a *Announcer) writingCells(q *openQuestion) (list []cell) {
	s := &q.scan
	var edit []cell
	if s.text != "" {
		edit = append(edit, a.newCell(finishCell, phrase.ScanFinish), a.newCell(deleteCell, phrase.ScanDelete),
			a.newCell(readCell, phrase.ScanRead))
	}
	if s.numeric {
		list = writeEach("0123456789.")
		if s.text == "" {
			list = append(list, newWriteCell(ownLanguage, "-"))
		}
		return slices.Concat(list, edit, a.otherCells(q))
	}
	if s.text != "" {
		space := a.newCell(writeCell, phrase.ScanSpace)
		space.adds = " "
		edit = slices.Insert(edit, 0, space)
	}
	if !s.isCapital {
		edit = append(edit, a.newCell(capitalCell, phrase.ScanCapital))
	}
	addRow := func(says Words, row []cell) {
		if len(row) > 0 {
			list = append(list, cell{act: rowCell, says: says, row: row})
		}
	}
	addRow(phraseIn(a.language, phrase.ScanEdit, ""), append(edit, a.otherCells(q)...))
	var whole []cell
	for _, word := range s.listWords(q) {
		whole = append(whole, newWriteCell(q.event.Language(), word))
	}
	addRow(phraseIn(a.language, phrase.ScanWords, ""), whole)
	list = append(list, a.letterRows(q)...)
	signs := writeEach(".,?!'\"-:;@/()_&+=%#*<>$€")
	for i := range signs {
		signs[i].sign = true
	}
	addRow(labelText(ownLanguage, phrase.ScanFrom, "0"), writeEach("0123456789"))
	addRow(phraseIn(a.language, phrase.ScanSigns, ""), signs)
	addRow(phraseIn(a.language, phrase.ScanAccents, ""), a.accentCells(s.text))
	return list
}

// newWriteCell returns a cell that writes a text, and says it in a language.
func newWriteCell(language, text string) cell {
	return cell{act: writeCell, says: In(language, text), adds: text}
}

// writeEach returns a cell that writes it for each of the characters, said in English.
func writeEach(characters string) (list []cell) {
	for _, r := range characters {
		list = append(list, newWriteCell(ownLanguage, string(r)))
	}
	return list
}

// accentCells returns the marks that the last letter of a text can have, each said as the letter
// with it.
func (a *Announcer) accentCells(text string) (list []cell) {
	decomposed := []rune(norm.NFD.String(text))
	i := len(decomposed) - 1
	for i > 0 && unicode.Is(unicode.Mn, decomposed[i]) {
		i--
	}
	if i < 0 || !unicode.Is(unicode.Latin, decomposed[i]) {
		return nil
	}
	letter := string(decomposed[i:])
	for _, mark := range phrase.LatinMarks() {
		marked := norm.NFC.String(letter + string(mark))
		isWritten := len([]rune(norm.NFC.String(string(decomposed[i])+string(mark)))) == 1
		if strings.ContainsRune(letter, mark) || !isWritten && markNames[mark] == "" {
			continue
		}
		says := strings.TrimSuffix(spellText(a.language, marked), ".")
		list = append(list, cell{act: writeCell, says: In(a.language, says), adds: string(mark)})
	}
	return list
}

// listWords returns the words that can be selected whole: those that were written, the newest
// first, and those of the question, each once and mostWords at most. A confirmation has none.
func (s *scan) listWords(q *openQuestion) (list []string) {
	p, ok := q.event.Payload.(*aaep.AwaitingClarification)
	if !ok {
		return nil
	}
	isNoPart := func(r rune) bool { return !isLetterOrDigit(r) && !unicode.Is(unicode.Mn, r) }
	written, _ := strings.CutSuffix(s.text, lastWord(s.text)) // of one that is begun, more may come
	found := strings.FieldsFunc(written, isNoPart)
	slices.Reverse(found)
	asked := strings.FieldsFunc(p.Question+" "+p.Context, isNoPart)
	for _, word := range append(found, asked...) {
		if n := len([]rune(word)); n > 1 && n <= 30 && !slices.Contains(list, word) && len(list) < mostWords {
			list = append(list, word)
		}
	}
	return list
}

// isLetterOrDigit reports whether r is one.
func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// lastWord returns what follows the last space of a text, or "".
func lastWord(text string) string { return text[strings.LastIndexByte(text, ' ')+1:] }

// addText writes a letter, a mark, a sign or a word behind what is written; a whole word is parted
// from the one before by a space.
func (s *scan) addText(adds string) {
	if isWord := utf8.RuneCountInString(adds) > 1 && lastWord(s.text) != ""; isWord {
		adds = " " + adds
	}
	s.text, s.isCapital = norm.NFC.String(s.text+adds), false
}

// deleteLast takes away the last letter of what is written, with its marks.
func (s *scan) deleteLast() {
	runes := []rune(norm.NFD.String(s.text))
	for len(runes) > 0 {
		last := runes[len(runes)-1]
		if runes = runes[:len(runes)-1]; !unicode.Is(unicode.Mn, last) {
			break
		}
	}
	s.text = norm.NFC.String(string(runes))
}

// lastWritten returns the newest word of what is written, to be told after a letter.
func (a *Announcer) lastWritten(q *openQuestion) Words {
	return In(q.event.Language(), strings.TrimSpace(lastWord(q.scan.text))).endSentence()
}

// PressFor returns the press, Step or Select, that brings a person nearer to an answer: a decision,
// or the response to a clarification. "" is none: no such answer is taken, or a press would come
// too soon, before the question was there or the answer to send was heard. It is for programs that
// are judged, which do with their switches what a suite wants.
func (a *Announcer) PressFor(now time.Time, answer any) (press string) {
	q := a.questions.firstOpen()
	if !q.isReadable(now) || now.Sub(a.pressedAt) < hearing.Bounce {
		return ""
	}
	s := &q.scan
	if s.event != q.event {
		return Step
	}
	best, most := -1, 0
	for i, c := range s.list {
		if gain := s.gainOf(c, answer); gain > most {
			best, most = i, gain
		}
	}
	if best < 0 {
		best = slices.IndexFunc(s.list, func(c cell) bool { return c.act == backCell })
	}
	switch best {
	case -1:
		return ""
	case s.at:
		if s.list[best].act == sendCell && !(a.heardBefore(s.told, now) && q.mayCount(now, a.lastKey)) {
			return ""
		}
		return Select
	}
	return Step
}

// answerText returns how an answer is written, and false for one that is not, such as a yes.
func answerText(answer any) (text string, isText bool) {
	switch answer := answer.(type) {
	case string:
		return answer, true
	case aaep.Decision:
		return string(answer), true
	case float64:
		return strconv.FormatFloat(answer, 'f', -1, 64), true
	}
	return "", false
}

// gainOf returns how much nearer a cell brings to an answer: most for one that gives or sends it,
// less for one that leads to writing it or finishes that, and for what writes, by how much; zero is
// not at all. A row is as good as the best of its cells.
func (s *scan) gainOf(c cell, answer any) (gain int) {
	const whole = 1 << 30
	text, isText := answerText(answer)
	written, wanted := norm.NFD.String(s.text), norm.NFD.String(text)
	rest, isPrefix := strings.CutPrefix(wanted, written)
	switch c.act {
	case answerCell, sendCell:
		hasResponse := c.reply.Response != nil && c.reply.Response == answer
		hasDecision := text != "" && string(c.reply.Decision) == text
		if hasResponse || hasDecision {
			return whole
		}
	case lettersCell, digitsCell:
		if isText {
			return whole / 2
		}
	case rowCell:
		for _, in := range c.row {
			gain = max(gain, s.gainOf(in, answer))
		}
	case writeCell:
		next := scan{text: s.text}
		next.addText(c.adds)
		after := norm.NFD.String(next.text)
		missing, isOnTheWay := strings.CutPrefix(wanted, after)
		isPartOfWord := utf8.RuneCountInString(c.adds) > 1 && strings.IndexFunc(missing, isLetterOrDigit) == 0
		if isOnTheWay && isPrefix && len(after) > len(written) && !isPartOfWord {
			return len(after) - len(written)
		}
	case capitalCell:
		if r := []rune(rest); isPrefix && len(r) > 0 && unicode.IsUpper(r[0]) {
			return 1
		}
	case finishCell:
		if isPrefix && rest == "" && isText {
			return whole / 2
		}
	case deleteCell:
		if !isPrefix {
			return 1
		}
	}
	return gain
}
