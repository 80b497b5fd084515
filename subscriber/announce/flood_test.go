package announce

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// addLines adds so many lines of what a program prints, from a number on.
func (r *room) addLines(from, to int) {
	for i := from; i < to; i++ {
		r.addEvent(&aaep.OutputStreaming{Chunk: fmt.Sprintf("Line %d.\n", i), OutputID: "out_1", CoalesceHint: aaep.BoundarySentence}, "")
	}
}

// Of ten thousand lines it is said how many were left out, and the newest; what is left out can be
// asked for, as far as it is kept, and is then not left out again. A long answer is no flood.
func TestFloodIsTold(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.addLines(0, 10000)
	r.passTime(time.Minute)
	r.wantHeard("0.0 Line 0.", "1.0 9,998 lines left out.", "3.0 The newest:", "4.0 Line 9999.")
	r.heard = nil
	r.addLines(10000, 10002)
	r.passTime(time.Minute)
	if got := r.heardSince(""); got != "Line 10001." && got != "Line 10000.|Line 10001." {
		t.Errorf("afterwards is heard %q", got)
	}
	r.heard = nil
	r.a.Details(r.now)
	r.takeActions()
	r.addLines(10002, 10003)
	r.passTime(time.Hour)
	if n := len(r.heard); n != maxHeld+1 || !strings.HasSuffix(r.heard[0], "Line 9499.") {
		t.Errorf("of the details are heard %d, from %q on", n, r.heard[0])
	}

	r = newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	for range 60 {
		r.addSentence("These ten words are a sentence of a long answer. ")
	}
	r.passTime(time.Hour)
	if n := strings.Count(r.heardSince(""), "a long answer"); n != 60 {
		t.Errorf("%d sentences of 60 are heard: %s", n, r.heardSince(""))
	}
}

// Of a program that fails, why and then the end of what it printed come first.
func TestFailureInAFlood(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.addLines(0, 10)
	r.passTime(500 * time.Millisecond)
	r.addLines(10, 100)
	r.addEvent(&aaep.SessionErrored{}, "The compiler failed.")
	r.passTime(time.Minute)
	r.wantHeard("0.0 Line 0. /", "0.5 Error.", "1.0 The compiler failed.", "2.5 What came before:", "4.0 Line 0.", "5.0 96 lines left out.",
		"7.0 The newest:", "8.0 Line 97.", "9.0 Line 98.", "10.0 Line 99.")
}

// So they do where the flood was left out before it failed.
func TestFailureAfterAFlood(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.addEvent(&aaep.SessionStarted{}, "Compiling a program of many thousand files, which may take a long time.")
	r.addLines(0, 1000)
	r.addEvent(&aaep.SessionErrored{}, "The compiler failed.")
	r.passTime(time.Minute)
	if got := r.heardSince("Error."); !strings.HasSuffix(got, "|997 lines left out.|The newest:|Line 997.|Line 998.|Line 999.") {
		t.Errorf("heard %s", got)
	}
}

// Where what is recalled is half of what was left out or more, one summary still tells the rest.
func TestFewLinesAreRecalled(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.addEvent(&aaep.SessionStarted{}, "Compiling a program of many thousand files, which may take a long time.")
	r.addLines(0, 4)
	r.a.leaveOut(1, func(*item) bool { return true })
	r.addEvent(&aaep.SessionErrored{}, "The compiler failed.")
	r.passTime(time.Minute)
	if got := r.heardSince("Error."); strings.Count(got, "left out.") != 1 || strings.Count(got, "Line ") != 3 {
		t.Errorf("heard %s", got)
	}
}

// What came of a question never waits behind text, not even behind a flood; what was said before it
// is called so.
func TestOutcomeInAFlood(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	pay := r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.addLines(0, 20)
	r.passTime(20 * time.Second)
	r.wantQuestion(pay, pay)
	r.heard = r.heard[len(r.heard)-1:]
	r.typeAnswer("n", nil)
	r.changeState(await, think, "Rejected, and not done: Pay five dollars.")
	r.passTime(time.Minute)
	heard := strings.Split(r.heardSince(""), "|")
	if heard = heard[1:]; heard[0] != "Answer sent: reject." || heard[1] != "Rejected, and not done: Pay five dollars." || heard[2] != "What came before:" || heard[len(heard)-1] != "Line 19." {
		t.Errorf("heard %q", heard)
	}
}

// Where what came before an outcome is skipped, the next outcome of the session is not said to have
// come before something.
func TestOutcomeAfterASkip(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	decide := func(action string, lines int) {
		r.askBriefly("Planner", "sess_1", action)
		r.addLines(0, lines)
		r.passTime(20 * time.Second)
		r.typeAnswer("n", nil)
		r.changeState(await, think, "Rejected, and not done: "+action)
	}
	decide("Pay five dollars.", 20)
	for range 100 {
		if r.voice != nil && r.voice.Text == "What came before:" {
			break
		}
		r.passTime(100 * time.Millisecond)
	}
	r.a.Skip(r.now)
	r.passTime(10 * time.Second)
	r.heard = r.heard[len(r.heard)-1:]
	decide("Send the letter.", 0)
	r.passTime(20 * time.Second)
	if heard := r.heardSince(""); strings.Contains(heard, "What came before:|Rejected") {
		t.Errorf("heard %q", heard)
	}
}

// The newest of what came while the person typed is the last sentence, and no state that came after
// it.
func TestNewestOfWhatCame(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	for range 4 {
		r.a.Typing(r.now)
		r.passTime(500 * time.Millisecond)
	}
	r.addSentence("The bill is due. ")
	r.addSentence("I would pay it. ")
	r.changeState(write, think, "Thinking hard.")
	r.a.Typing(r.now)
	r.passTime(1800 * time.Millisecond) // long enough for a state to be told
	r.a.Rest(r.now)
	r.passTime(time.Minute)
	if got := r.heardSince(""); !strings.Contains(got, "2 sentences of the answer") || !strings.Contains(got, "The newest: I would pay it.") || strings.Contains(got, "Thinking") {
		t.Errorf("heard %s", got)
	}
}

// Skip, Newest and Hush act at once, and leave what is critical, and what came of a question.
func TestSkip(t *testing.T) {
	begin := func() *room {
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		r.addLines(0, 50)
		r.passTime(1200 * time.Millisecond)
		r.heard = r.heard[1:]
		return r
	}
	r := begin()
	r.a.Skip(r.now)
	r.takeActions()
	r.addLines(50, 51)
	r.passTime(time.Minute)
	r.wantHeard("1.0 Line 1. /", "1.2 49 lines left out.", "3.2 Line 50.")
	r.heard = nil
	r.a.Skip(r.now)
	r.passTime(time.Minute)
	r.wantSince("There is nothing more to hear.")

	r = begin()
	r.a.Newest(r.now)
	r.passTime(time.Minute)
	r.wantHeard("1.0 Line 1. /", "1.2 48 lines left out.", "3.2 The newest: Line 49.")
	r.heard = nil
	r.a.Newest(r.now)
	r.passTime(time.Minute)
	r.wantSince("The newest: Line 49.")

	r = begin()
	r.a.Hush(true)
	r.takeActions()
	r.addLines(50, 52)
	r.addEvent(&aaep.SessionErrored{}, "It broke.")
	r.passTime(time.Minute)
	r.wantHeard("1.0 Line 1. /", "1.2 Error.", "1.7 It broke.")
	r.heard = nil
	r.a.Hush(false)
	r.passTime(time.Minute)
	r.wantSince("What came before:", "Line 50.", "Line 51.")

	r = begin()
	r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	r.a.Skip(r.now)
	r.passTime(time.Minute)
	if got := r.heardSince("Decide:"); !strings.Contains(got, "Pay five dollars.") || !strings.Contains(got, "lines left out.") || strings.Contains(got, "Line") {
		t.Errorf("a question and then a skip: %s", got)
	}
	for _, line := range r.heard[1:] {
		if strings.HasSuffix(line, "/") {
			t.Errorf("it cut %q", line)
		}
	}
}

// Lines that stay are all told to a person who reads them, however many come in one event. Where
// more events wait than are kept, the lines in them are counted, and not the events.
func TestFloodOfLinesThatStay(t *testing.T) {
	addEvents := func(r *room, events, lines int) {
		for range events {
			r.addEvent(&aaep.OutputStreaming{Chunk: strings.Repeat("A line of a long list.\n", lines), OutputID: "out_1",
				CoalesceHint: aaep.BoundarySentence}, "")
		}
	}
	r := newRoom(t, Preferences{Reads: true, WordsPerMinute: voiceWPM})
	addEvents(r, 3, 200)
	r.addEvent(&aaep.SessionErrored{}, "The compiler failed.")
	r.passTime(time.Hour)
	if heard := r.heardSince(""); strings.Count(heard, "A line of a long list.") < 600 || strings.Contains(heard, "left out") {
		t.Errorf("%d lines of 600 are told", strings.Count(heard, "A line of a long list."))
	}

	r = newRoom(t, Preferences{Reads: true, WordsPerMinute: voiceWPM})
	addEvents(r, maxHeld+9, 2)
	r.passTime(time.Hour)
	heard := r.heardSince("")
	told := strings.Count(heard, "A line of a long list.")
	if want := fmt.Sprintf("%d lines left out.", 2*(maxHeld+9)-told); told >= 2*(maxHeld+9) || !strings.Contains(heard, want) {
		t.Errorf("%d lines are told, and not %q", told, want)
	}
}
