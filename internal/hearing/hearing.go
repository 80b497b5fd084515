// Package hearing has the times by which a person hears and answers, each once: package announce,
// the outputs and the page in the browser go by them. It does nothing; Script gives the page its
// table.
package hearing

import (
	"fmt"
	"strings"
	"time"
)

const (
	// StillBefore is without a key, until an acceptance is one: a key that was under the finger
	// when the question came accepts nothing.
	StillBefore = time.Second
	// StillFor is without a key, until the person no longer types, and what waits is told. On a
	// page it is PageStillFor: each move of the focus or of a reading cursor counts as a key there,
	// and the next follows sooner than the next word that is typed.
	StillFor     = 2 * time.Second
	PageStillFor = 1500 * time.Millisecond
	// Bounce is between two presses of a switch: one that comes sooner is none.
	Bounce = 200 * time.Millisecond
	// ScanReserve is how little time is left when more is asked for a person who answers by
	// switches; of a question with less than twice as much, half its time.
	ScanReserve = 2 * time.Minute
	// SentFirst is of sending an answer, until what comes of it is told before that it was sent.
	SentFirst = time.Second
	// ConfirmWithin is how long an agent that got an answer may take to tell something of it. It
	// does so at once, but that may have to wait for its turn, or for a link that is made again.
	ConfirmWithin = 15 * time.Second
	// RepeatAfter is how long after it was silenced a question comes again; then twice as long, and
	// so on. A page does not learn what was silenced: it counts from when the question can have
	// been heard, and stops after the second time, for it may have been heard each time.
	RepeatAfter = 20 * time.Second
	// SoonAgain is how soon a question is called to mind once more, where its session goes on and
	// on.
	SoonAgain = 30 * time.Second
	// ClocksDiffer is by how much two clocks differ that show the same time (D-35).
	ClocksDiffer = 2 * time.Second
	// MaxBehind is how much text of one agent may wait; of more, all but the newest is left out. On
	// a page all of it stands to be read at once, and the voice is that of the screen reader, which
	// the person needs for everything else too: there it is PageBehind.
	MaxBehind  = 5 * time.Minute
	PageBehind = time.Minute
	// OutageAfter is how long a link may be broken until the person is told: most cuts are mended
	// sooner, and would only disturb.
	OutageAfter = 3 * time.Second
	// ProgressEvery is between two reports of how far one session has come.
	ProgressEvery = 5 * time.Second
	// CuesApart is between the beginnings of two patterns that are felt or heard, and CueAgain
	// between two for the same event, or for work that goes on.
	CuesApart = time.Second
	CueAgain  = 10 * time.Second
)

// Script returns the times of this package as a JavaScript module for the web page, in
// milliseconds.
func Script() string {
	var b strings.Builder
	b.WriteString("// Written by the SDK's package hearing.\n")
	for _, each := range []struct {
		name string
		time time.Duration
	}{
		{"still", StillBefore}, {"stillFor", PageStillFor}, {"sentFirst", SentFirst}, {"confirmWithin", ConfirmWithin}, {"repeatAfter", RepeatAfter},
		{"soonAgain", SoonAgain}, {"clocksDiffer", ClocksDiffer}, {"behind", PageBehind}, {"cuesApart", CuesApart},
		{"cueAgain", CueAgain}, {"progressEvery", ProgressEvery},
	} {
		fmt.Fprintf(&b, "export const %s = %d;\n", each.name, each.time.Milliseconds())
	}
	return b.String()
}
