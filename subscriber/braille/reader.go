package braille

import (
	"slices"
	"time"

	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// What stands in the last two cells of a display that has at least eight.
const (
	markMore  = '⠒' // the text goes on
	markHold  = '⠿' // it stays until you pan on
	markWaits = '⠶' // in the cell before: something else waits
	minMarked = 8
)

const (
	changeInterval    = time.Second      // between two changes that the person did not cause
	reflexTime        = time.Second / 4  // from what a person reads to the key
	minReadingTime    = 2 * time.Second  // for a page, however little is on it
	lingerTime        = 10 * time.Second // how long a text that is over stays, if nothing else comes
	unpluggedPatience = 15 * time.Second // with a display that was unplugged: BRLTTY looks for it every five
	clearDelay        = time.Second / 10 // until what a key ended is cleared away, if nothing takes its place
	maxTexts          = 50               // texts that can be read again
	cellsPerPage      = 40               // cells that take Options.Page to read
)

// A text is one utterance on its way over the display.
type text struct {
	words    []word
	pages    []page // of the width that the display has now
	critical bool
	seen     int             // how many pages stood on the display
	over     func(err error) // called once, with what Present returns
}

// A reader decides what is on the display: it is given utterances, keys and the time, and says what
// to show and when to ask again. It is what a person holds a finger on, so it changes nothing under
// the finger without need.
type reader struct {
	perPage time.Duration
	manual  bool

	cells         int       // of the display; 0 while there is none
	unpluggedAt   time.Time // it was unplugged
	texts         []*text   // oldest first
	current       *text     // the one that is presented, also in texts, or nil
	waiting       int       // what the caller holds back
	at            int       // what is to be read: a place in texts, len(texts) for nothing
	page          int
	movedByPerson bool // the person moved to where they are

	shown     []rune    // what is on the display; nil when it is not ours
	shownAt   spot      // what of
	since     time.Time // the reader began to stand there
	changed   time.Time // the last time that the display changed
	lastAuto  time.Time // the last time that it did so without a key
	turned    bool      // and what the person was reading had to go
	emptied   bool      // by the person: what comes next cannot disturb
	dismissed bool      // what is shown was ended by a key
	clearAt   time.Time // when the display is cleared of that
}

// A spot is a page of a text.
type spot struct {
	of   *text
	page int
}

// pageWidth returns how many cells a page has: all of the display but the two for marks, if it has
// room for those.
func (r *reader) pageWidth() int {
	if r.cells >= minMarked {
		return r.cells - 2
	}
	return max(r.cells, 1)
}

// addText begins to present a text. Its over is called once, with the result. A text that was being
// presented is cut. It is shown at once, unless the person reads something older and it is not
// critical. Beyond maxTexts the oldest is forgotten, other than the one that is read.
func (r *reader) addText(t *text) {
	t.pages = layOutPages(t.words, r.pageWidth())
	if len(r.texts) == maxTexts {
		oldest := 0
		if r.movedByPerson && r.at == 0 {
			oldest = 1 // not the one that is read
		}
		r.texts = slices.Delete(r.texts, oldest, oldest+1)
		if oldest < r.at {
			r.at--
		}
	}
	if r.current != nil {
		r.endPresentation(announce.ErrCut) // Present is for one goroutine at a time
	}
	last := len(r.texts)
	r.texts = append(r.texts, t)
	r.current = t
	if !r.movedByPerson || t.critical || r.at == last { // else the person reads something
		r.moveTo(last, 0, false)
	}
}

// cancelText ends the presentation of a text, which stays on the display until another one comes.
func (r *reader) cancelText(t *text) {
	if r.current == t {
		r.current = nil
	}
}

// moveTo makes a page of a text the one to be read; byKey says that the person asked for it.
func (r *reader) moveTo(at, page int, byKey bool) {
	r.at, r.page, r.movedByPerson = at, page, byKey
}

// textToRead returns the text that is to be read, or nil.
func (r *reader) textToRead() *text {
	if r.at < len(r.texts) {
		return r.texts[r.at]
	}
	return nil
}

// setCells sets how many cells there are, and lays out all texts anew, so that the reader stays at
// the words it was at. Zero, which is no display, leaves the pages as they are; the same number
// changes nothing.
func (r *reader) setCells(cells int, now time.Time) {
	if cells == r.cells {
		return
	}
	if r.cells = cells; cells == 0 {
		r.unpluggedAt = now
		return
	}
	for i, t := range r.texts {
		start := 0
		if i == r.at {
			start = t.pages[r.page].start
		}
		t.pages = layOutPages(t.words, r.pageWidth())
		t.seen = 0
		if i == r.at {
			for r.page = 0; r.page+1 < len(t.pages) && t.pages[r.page+1].start <= start; {
				r.page++
			}
			t.seen = r.page
		}
	}
	if r.shown != nil {
		r.shown, r.shownAt = []rune{}, spot{} // what stands there now is not what we wrote
	}
}

// pressKey does at once what a key asks for: it turns pages, or goes to another text. A key that
// was pressed for what stood there a moment ago, before it changed by itself, does nothing; nor
// does one while nothing is shown.
func (r *reader) pressKey(k key, now time.Time) {
	if r.shown == nil {
		return
	}
	t := r.textToRead()
	last := t != nil && r.page == len(t.pages)-1
	hasJustTurned := r.turned && r.since.Equal(r.lastAuto) && now.Sub(r.lastAuto) < reflexTime // by itself
	isUnseen := t != nil && r.shownAt != spot{t, r.page}
	switch {
	case k == keyForward && hasJustTurned:
		return // pressed for what stood there before: nothing is skipped unread
	case (k == keyForward || k == keyNext) && isUnseen:
		// it waits for its turn and is shown now: nothing is skipped unread
	case k == keyForward && t != nil && !last:
		r.moveTo(r.at, r.page+1, true)
	case k == keyForward || k == keyNext:
		r.leaveText(now)
	case k == keyBack && t != nil && r.page > 0:
		r.moveTo(r.at, r.page-1, true)
	case k == keyBack && r.at > 0:
		r.moveTo(r.at-1, len(r.texts[r.at-1].pages)-1, true)
	case k == keyPrevious && t != nil && r.page > 0:
		r.moveTo(r.at, 0, true)
	case k == keyPrevious && r.at > 0:
		r.moveTo(r.at-1, 0, true)
	case k == keyHome && len(r.texts) > 0:
		r.moveTo(len(r.texts)-1, 0, false)
	default:
		return
	}
	r.updateShown(now, true)
}

// leaveText goes on from the text that is read, to the next one or to nothing, and so dismisses or
// acknowledges it. A critical text that has not stood for armingTime stays: the key was pressed for
// what stood there before. pressKey calls it.
func (r *reader) leaveText(now time.Time) {
	t := r.textToRead()
	if t == nil {
		return
	}
	if t == r.current {
		if t.critical && (r.shownAt != spot{t, r.page} || now.Sub(r.since) < hearing.StillBefore) {
			return // pressed for what stood there before
		}
		var err error
		if !t.critical && t.seen < len(t.pages) {
			err = announce.ErrCut
		}
		r.endPresentation(err)
	}
	r.moveTo(r.at+1, 0, true)
	r.movedByPerson = r.at < len(r.texts)
	if r.emptied = !r.movedByPerson; r.emptied {
		r.dismissed, r.clearAt = true, now.Add(clearDelay)
	}
}

// endPresentation ends the current text, of which there must be one: err is what Present returns.
func (r *reader) endPresentation(err error) {
	t := r.current
	r.current = nil
	t.over(err)
}

// readingTime returns how long the page that is shown stays.
func (r *reader) readingTime() time.Duration {
	n := len(r.textToRead().pages[r.page].cells)
	return max(minReadingTime, r.perPage*time.Duration(n)/cellsPerPage)
}

// advance does what is due, and returns when to be called again; the zero time for not before
// something happens.
func (r *reader) advance(now time.Time) time.Time {
	for {
		next := r.updateShown(now, false)
		due := r.dueAt()
		switch {
		case due.IsZero():
			return next
		case !due.After(now):
			r.turnPage()
		case next.IsZero() || due.Before(next):
			return due
		default:
			return next
		}
	}
}

// dueAt returns when advance is to call turnPage, because the page has stood long enough; the zero
// time for never, as for a critical text, or any text where Options.Manual is set.
func (r *reader) dueAt() time.Time {
	t := r.textToRead()
	standsUntilKey := r.current == nil && r.manual && !r.movedByPerson
	if r.current != nil {
		standsUntilKey = r.current.critical && t == r.current || r.manual && !r.current.critical
	}
	switch {
	case r.cells == 0 && r.current != nil:
		return r.unpluggedAt.Add(unpluggedPatience)
	case r.shown == nil || r.cells == 0:
		return time.Time{}
	case t == nil:
		if r.changed.Before(r.clearAt) {
			return r.clearAt.Add(changeInterval)
		}
		return r.changed.Add(changeInterval) // then the display is given back
	case r.shownAt != spot{t, r.page}, standsUntilKey:
		return time.Time{}
	case r.current == nil:
		return r.since.Add(r.readingTime() + lingerTime)
	}
	return r.since.Add(r.readingTime())
}

// turnPage goes on from what is shown: to the next page of the text, or behind its last one to the
// end of its presentation. Where the text was taken back, nothing is to be read any more, and where
// the person reads in an earlier one, it goes to the newest. Without a display the presentation
// ends with ErrNoDisplay.
func (r *reader) turnPage() {
	t := r.textToRead()
	switch {
	case r.cells == 0:
		r.endPresentation(ErrNoDisplay)
	case r.current == nil:
		r.shown, r.shownAt = nil, spot{}
		r.moveTo(len(r.texts), 0, false)
	case t != r.current: // the person does not read on in what was before
		r.moveTo(len(r.texts)-1, 0, false)
	case r.page < len(t.pages)-1:
		r.moveTo(r.at, r.page+1, false)
	default:
		r.endPresentation(nil)
	}
}

// updateShown puts on the display what is to be read, if it may change now, and returns zero, or
// else when it may. What a key asked for (byKey) changes at once; anything else at most once in
// changeInterval.
func (r *reader) updateShown(now time.Time, byKey bool) time.Time {
	t := r.textToRead()
	if r.cells == 0 || t == nil && r.shown == nil {
		return time.Time{}
	}
	if t == nil && now.Before(r.clearAt) {
		return r.clearAt
	}
	frame := r.displayLine()
	if !slices.Equal(frame, r.shown) {
		resized := r.shown != nil && len(r.shown) == 0
		if !byKey && !resized {
			if next := r.changeFrom(now); next.After(now) {
				return r.clearDismissed(now, next)
			}
		}
		r.shown, r.changed = frame, now
		if !byKey {
			r.lastAuto, r.turned = now, r.shownAt.of != nil && !r.dismissed
		}
		r.emptied, r.dismissed = r.emptied && t == nil, false
	}
	if s := (spot{t, r.page}); t != nil && s != r.shownAt {
		r.shownAt, r.since = s, now
		t.seen = max(t.seen, r.page+1)
	} else if t == nil {
		r.shownAt = spot{}
	}
	return time.Time{}
}

// changeFrom returns from when on the display may change without a key: changeInterval after it
// last did so, and after any other change but the one by which a key emptied it. What empties it by
// a key may come at once.
func (r *reader) changeFrom(now time.Time) (next time.Time) {
	if r.emptied && r.textToRead() == nil {
		return now
	}
	next = r.lastAuto.Add(changeInterval)
	if afterChange := r.changed.Add(changeInterval); !r.emptied && afterChange.After(next) {
		next = afterChange
	}
	return next
}

// clearDismissed clears the display of a text that a key ended, where the next one may come only
// later, and returns when to be called again.
func (r *reader) clearDismissed(now, next time.Time) time.Time {
	switch {
	case !r.dismissed:
		return next
	case now.Before(r.clearAt):
		return r.clearAt
	}
	r.shown, r.changed, r.shownAt, r.dismissed = slices.Repeat([]rune{' '}, r.cells), now, spot{}, false
	return next
}

// displayLine returns the whole line: a page, and in its last two cells the marks of what waits and
// of what goes on or stays. A display of less than minMarked cells has no room for marks.
func (r *reader) displayLine() []rune {
	var text []rune
	t := r.textToRead()
	if t != nil {
		text = t.pages[r.page].cells
	}
	line := make([]rune, r.cells)
	for i := range line {
		line[i] = ' '
	}
	copy(line, text)
	if r.cells < minMarked {
		return line
	}
	if r.waiting > 0 || r.current != nil && t != r.current {
		line[r.cells-2] = markWaits
	}
	switch {
	case t != nil && r.page < len(t.pages)-1:
		line[r.cells-1] = markMore
	case t != nil && t == r.current && t.critical:
		line[r.cells-1] = markHold
	}
	return line
}
