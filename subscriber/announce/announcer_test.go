package announce

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/hearing"
)

// What comes is said in its order, one thing after the other, and each has its receipt.
func TestInOrder(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.addEvent(&aaep.SessionStarted{}, "Planning your week.")
	r.addSentence("First this. ")
	r.addSentence("Then that.")
	r.addEvent(&aaep.SessionCompleted{}, "All planned.")
	r.passTime(time.Minute)
	r.wantHeard("0.0 Planning your week.", "1.5 First this.", "2.5 Then that.", "3.5 Done.", "4.0 All planned.")
	if got := r.receiptsText(); got != "news heard 1/1, output heard 1/1, output heard 1/1, news heard 2/2" {
		t.Errorf("receipts: %s", got)
	}
}

// P3, LVL-040: what is critical interrupts at once, and what it cut is said again from the last
// sentence that was heard. After a failure it is said that this came before, or it would sound as
// if the agent went on.
func TestCriticalInterrupts(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.addSentence("The first sentence. ")
	r.addSentence("The second sentence is longer than the first.")
	r.passTime(3 * time.Second)
	r.addEvent(&aaep.SessionErrored{}, "It broke.")
	r.passTime(time.Minute)
	r.wantHeard("0.0 The first sentence.", "1.5 The second sentence is longer than the first. /", "3.0 Error.", "3.5 It broke.",
		"4.5 What came before:", "6.0 The second sentence is longer than the first.")

	for about, again := range map[string]string{"Working on a request.": "", "Paying the rent.": "|What came before:|Paying the rent."} {
		r = newRoom(t, Preferences{})
		r.addEvent(&aaep.SessionStarted{}, about)
		r.changeState(idle, think, "Thinking.")
		r.passTime(time.Second)
		r.addEvent(&aaep.SessionErrored{}, "It broke.")
		r.passTime(time.Minute)
		if got, want := r.heardSince("Error."), "Error.|It broke."+again; got != want {
			t.Errorf("of %q is heard %q, want %q", about, got, want)
		}
	}

	r = newRoom(t, Preferences{}) // in its second sentence
	r.addEvent(&aaep.ExtensionPayload{Type: "acme:news"}, "Two are done. There are three of them left to do.")
	r.passTime(3 * time.Second)
	r.addEvent(&aaep.SessionErrored{}, "It broke.")
	r.passTime(time.Minute)
	r.wantSince("There are three of them left to do. /", "Error.", "It broke.", "What came before:", "There are three of them left to do.")

	r = newRoom(t, Preferences{}) // what comes in one moment
	for _, p := range []aaep.Payload{&aaep.SessionStarted{}, &aaep.StateChanged{FromState: idle, ToState: think}} {
		text := map[aaep.Type]string{aaep.TypeSessionStarted: "Working on a request.", aaep.TypeStateChanged: "Thinking."}[p.EventType()]
		ev := &aaep.Event{SessionID: "sess_1", Timestamp: r.now, Payload: p, Summary: aaep.Say(text)}
		r.a.Add(r.now, "Planner", ev, Text(ev, aaep.VerbosityNormal))
	}
	r.passTime(time.Minute)
	r.wantHeard("0.0 Working on a request.", "2.0 Thinking.")
}

// Two critical things do not cut each other.
func TestCriticalQueues(t *testing.T) {
	r := newRoom(t, Preferences{})
	q := &aaep.AwaitingConfirmation{Action: "Pay five dollars.", Consequence: "It is gone.", TimeoutSeconds: 300, RiskLevel: aaep.RiskHigh, DefaultDecision: aaep.Reject}
	r.addEvent(q, "Pay?")
	r.passTime(time.Second)
	r.addEventOf("Bank", "sess_2", &aaep.SessionErrored{}, "It broke.")
	r.passTime(time.Minute)
	if got := strings.Join(r.heard, "|"); strings.Contains(got, "/") || !strings.Contains(got, "Decide: Pay five dollars.") || !strings.Contains(got, "Bank: Error.") {
		t.Errorf("heard %s", got)
	}
}

// What is left of a question is not said once it is settled.
func TestSettledQuestion(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.addEvent(&aaep.AwaitingConfirmation{Action: "Pay five dollars.", Consequence: "It is gone.", TimeoutSeconds: 300, RiskLevel: aaep.RiskHigh, DefaultDecision: aaep.Reject}, "Pay?")
	r.passTime(3 * time.Second)
	r.addEvent(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Rejected.")
	r.passTime(time.Minute)
	r.wantHeard("0.0 Decide: Pay five dollars.", "2.0 Consequence: It is gone. /", "3.0 Rejected.")
	if got := r.receiptsText(); got != "question expired 1/5, news heard 1/1" {
		t.Errorf("receipts: %s", got)
	}
}

// Progress waits for all else; only its newest value is said, the last one always, and never more
// than one in a while.
func TestProgress(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.addSentence("Ten words take five seconds to say at this pace.")
	for percent := range 101 {
		r.addEvent(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(float64(percent))}}, "")
		r.passTime(100 * time.Millisecond)
	}
	r.passTime(time.Minute)
	r.wantHeard("0.0 Ten words take five seconds to say at this pace.", "5.0 49 percent.", "11.0 100 percent.")
	if got := strings.Count(r.receiptsText(), "expired"); got != 99 {
		t.Errorf("%d values expired, want 99: %s", got, r.receiptsText())
	}
}

// While the person types nothing is said, but for what is critical; then one sentence tells what
// came, and the rest is there to be asked for.
func TestTyping(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.addSentence("This one is cut by the first key. ")
	r.passTime(time.Second)
	for range 20 {
		r.a.Typing(r.now)
		r.passTime(500 * time.Millisecond)
	}
	r.addSentence("One. ")
	r.addSentence("Two. ")
	r.addEvent(&aaep.ExtensionPayload{Type: "acme:odd"}, "Something new.")
	r.addEvent(&aaep.SessionErrored{}, "It broke.")
	r.passTime(time.Minute)
	r.wantHeard("0.0 This one is cut by the first key. /", "11.0 Error.", "11.5 It broke.",
		"12.5 While you typed, this came: 2 sentences of the answer, 1 announcement.", "18.5 The newest: Something new.",
		"20.5 Ask for details to hear all of it.", "24.5 What came before:", "26.0 This one is cut by the first key.")
	r.heard = nil
	r.a.Details(r.now)
	r.passTime(time.Minute)
	r.wantHeard("71.0 One.", "71.5 Two.", "72.0 Something new.")
}

// What this program says itself is not said twice in a row.
func TestSameNotice(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.addSentence("This comes first. ")
	for range 5 {
		r.a.Tell(r.now, "Once more.", false)
	}
	r.passTime(time.Minute)
	r.a.Tell(r.now, "Once more.", false)
	r.passTime(time.Minute)
	r.wantHeard("0.0 This comes first.", "1.5 Once more.", "60.0 Once more.")
}

// Enter ends the typing at once.
func TestRest(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.a.Typing(r.now)
	r.addSentence("One. ")
	r.passTime(500 * time.Millisecond)
	r.a.Rest(r.now)
	r.passTime(time.Minute)
	r.wantHeard("0.5 One.")
}

// The person's own silence key ends what is said for good, and nothing else.
func TestSilence(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.addSentence("This is silenced. ")
	r.addSentence("This is not.")
	r.passTime(500 * time.Millisecond)
	r.pressSilence()
	r.passTime(time.Minute)
	r.wantHeard("0.0 This is silenced. (silenced)", "0.5 This is not.")
	if got := r.receiptsText(); got != "output cut 0/1, output heard 1/1" {
		t.Errorf("receipts: %s", got)
	}
}

// A question that is silenced before the person had all of it comes again, whole, when it was quiet
// for a while, later each time; not once it was heard, nor once it is answered.
func TestSilencedQuestion(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	q := r.askBriefly("Planner", "sess_1", "Pay five dollars.")
	for i := range 2 {
		r.passTime(time.Second)
		r.pressSilence()
		r.wantQuestion(nil, q)
		r.passTime(hearing.RepeatAfter<<i - 100*time.Millisecond)
		if r.voice != nil {
			t.Error("it comes again too soon")
		}
		r.passTime(100 * time.Millisecond)
	}
	r.passTime(4 * time.Minute)
	r.wantQuestion(q, q)
	if n := strings.Count(r.heardSince(""), "Decide: Pay five dollars."); n != 3 {
		t.Errorf("it comes %d times: %s", n, r.heardSince(""))
	}
}

// An output that failed says the same again.
func TestFailedOutput(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.addSentence("Once more.")
	r.endUtterance(" (failed)", Waiting)
	r.passTime(time.Minute)
	r.wantHeard("0.0 Once more. (failed)", "0.0 Once more.")
}

// Say again, what is waiting, where are we: at any time, before everything that is not critical.
func TestCommands(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.a.Again(r.now)
	r.a.WhereAreWe(r.now)
	r.a.WhatWaits(r.now)
	r.a.Details(r.now)
	r.passTime(time.Minute)
	r.wantHeard("0.0 Nothing has been said yet.", "2.5 Nothing is going on.", "4.5 No question is open.", "6.5 There is nothing more to hear.")
	r.heard = nil
	r.addEvent(thinking, "Thinking.")
	r.addEvent(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(40.0)}}, "")
	r.passTime(30 * time.Second)
	r.addEvent(&aaep.AwaitingConfirmation{Action: "Pay $5.", Consequence: "Gone.", TimeoutSeconds: 300, DefaultDecision: aaep.Reject}, "Pay?")
	r.passTime(30 * time.Second)
	r.heard = nil
	r.a.Again(r.now)
	r.passTime(30 * time.Second)
	if got := strings.Join(r.heard, " "); !strings.Contains(got, "Decide: Pay $5.") {
		t.Errorf("again: %s", got)
	}
	r.heard = nil
	r.a.WhatWaits(r.now)
	r.passTime(30 * time.Second)
	if got := strings.Join(r.heard, " "); !strings.Contains(got, "One question is open: Pay $5.") {
		t.Errorf("what waits: %s", got)
	}
	r.heard = nil
	r.a.WhereAreWe(r.now)
	r.passTime(30 * time.Second)
	if got := strings.Join(r.heard, " "); !strings.Contains(got, "40 percent.") {
		t.Errorf("where are we: %s", got)
	}
	if n := r.a.questions.countOpen(); n != 1 {
		t.Errorf("%d questions are open", n)
	}
	r.addEvent(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Rejected.")
	if n := r.a.questions.countOpen(); n != 0 {
		t.Errorf("%d questions are open after the answer", n)
	}
}

// Of several agents the one that speaks is named when it is another than before.
func TestSpeakers(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.addEvent(thinking, "Thinking.")
	r.passTime(5 * time.Second)
	r.addEventOf("Bank", "sess_2", thinking, "Looking.")
	r.addEventOf("Bank", "sess_3", working, "Writing.")
	r.addEvent(working, "Back.")
	r.passTime(time.Minute)
	r.addEvent(thinking, "Thinking.")
	r.passTime(time.Minute)
	r.wantHeard("1.5 Thinking.", "6.5 Back.", "7.0 Bank: Looking.", "8.0 Writing.", "66.5 Planner: Thinking.")
}

// I18N: that there is no voice for a language is said once.
func TestNoVoice(t *testing.T) {
	r := newRoom(t, Preferences{Speaks: func(tag string) bool { return tag != "yo" }})
	for _, text := range []string{"Ẹ káàárọ̀. ", "Ó dàbọ̀."} {
		r.addEvent(&aaep.OutputStreaming{Chunk: text, OutputID: "o", Language: "yo", CoalesceHint: aaep.BoundarySentence}, "")
	}
	r.passTime(time.Minute)
	r.wantHeard("0.0 There is no voice for the language Yoruba.", "4.0 It may not be understood.", "6.5 Ẹ káàárọ̀.", "7.5 Ó dàbọ̀.")

	r = newRoom(t, Preferences{Speaks: func(tag string) bool { return tag != "yo" }, Otherwise: func(own string) Words { return In(own, "Se imprime.") }})
	r.a.SetLanguage("es")
	r.addEvent(&aaep.OutputStreaming{Chunk: "Ó dàbọ̀.", OutputID: "o", Language: "yo", CoalesceHint: aaep.BoundarySentence}, "")
	r.passTime(time.Minute)
	r.wantHeard("0.0 No hay voz para el idioma yoruba.", "3.5 Se imprime.", "4.5 Ó dàbọ̀.")
}

// EVT-061: tokens without any hint, or with that there is no boundary, become sentences, once each,
// and the last is not waited for longer than a pause.
func TestTokens(t *testing.T) {
	r := newRoom(t, Preferences{})
	for _, token := range []string{"The ", "plan ", "is ", "ready. ", "It ", "has ", "two ", "parts."} {
		r.addEvent(&aaep.OutputStreaming{Chunk: token, OutputID: "o", CoalesceHint: aaep.BoundaryNone}, "")
		r.passTime(100 * time.Millisecond)
	}
	r.passTime(time.Minute)
	r.wantHeard("0.4 The plan is ready.", "2.4 It has two parts.")
}

// The person does not wait for the end of a sentence for ever, and least where the producer does
// not.
func TestSentenceWithoutEnd(t *testing.T) {
	r := newRoom(t, Preferences{})
	for _, token := range []string{"I looked ", "at your acc"} {
		r.addEvent(&aaep.OutputStreaming{Chunk: token, OutputID: "o"}, "")
	}
	r.passTime(time.Minute)
	r.addEvent(&aaep.OutputStreaming{Chunk: "ounts and found ", OutputID: "o", CoalesceHint: aaep.BoundaryWord}, "")
	r.passTime(time.Minute)
	r.addEvent(&aaep.OutputStreaming{Chunk: "three bills.", OutputID: "o", CoalesceHint: aaep.BoundarySentence}, "")
	r.passTime(time.Minute)
	r.wantHeard("5.0 I looked at your", "61.0 accounts and found", "120.0 three bills.")
}

// EVT-061: what its producer marks as ending at no boundary is heard with the rest of its sentence,
// however long that takes and whatever else its session says meanwhile. Nothing of it is lost where
// the rest never comes, and a question finds it said.
func TestFragmentIsHeld(t *testing.T) {
	say := func(r *room, output, text string, hint aaep.Boundary) {
		r.addEvent(&aaep.OutputStreaming{Chunk: text, OutputID: output, CoalesceHint: hint, Complete: hint == aaep.BoundaryCompletion}, "")
		r.passTime(10 * time.Second)
	}
	for name, between := range map[string]struct {
		play func(r *room)
		said []string
	}{
		"nothing": {func(r *room) { r.passTime(20 * time.Second) }, nil},
		"another output": {func(r *room) {
			say(r, "p", "The other plan", aaep.BoundaryNone)
			say(r, "p", " works.", aaep.BoundaryCompletion)
		}, []string{"20.0 The other plan works."}},
		"another event": {func(r *room) {
			r.addEvent(&aaep.ToolCompleted{ToolCallID: "call_1"}, "The file was read.")
			r.passTime(20 * time.Second)
		}, []string{"10.0 The file was read."}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, Preferences{})
			say(r, "o", "I looked. Of your acc", aaep.BoundaryNone)
			between.play(r)
			say(r, "o", "ounts two are empty.", aaep.BoundaryCompletion)
			r.wantHeard(append(append([]string{"0.0 I looked."}, between.said...), "30.0 Of your accounts two are empty.")...)
		})
	}

	r := newRoom(t, Preferences{})
	say(r, "o", "I will delete the old", aaep.BoundaryNone)
	r.addEvent(&aaep.SessionCompleted{}, "Done.")
	r.passTime(time.Minute)
	r.wantHeard("10.0 I will delete the old", "12.5 Done.")

	// Before a question it has five seconds to become whole.
	for _, tt := range []struct {
		rest   bool
		wanted string
	}{{true, "I will delete the page."}, {false, "I will delete"}} {
		r = newRoom(t, Preferences{})
		say(r, "o", "I will delete [the page](https://bank.exam", aaep.BoundaryNone)
		r.addEvent(&aaep.AwaitingConfirmation{Action: "Delete.", Consequence: "Gone.", TimeoutSeconds: 300, DefaultDecision: aaep.Reject}, "Delete?")
		r.passTime(2 * time.Second)
		if tt.rest {
			say(r, "o", "ple/?a=b).", aaep.BoundaryCompletion)
		}
		r.passTime(30 * time.Second)
		if heard := strings.Join(r.heard, "\n"); !strings.Contains(heard, tt.wanted) {
			t.Errorf("with the rest %t, %q is not heard before the question is called to mind:\n%s", tt.rest, tt.wanted, heard)
		}
	}
}

// Code that is long in coming is told while it comes, with how much there is so far, and never read
// out as prose.
func TestCodeThatGoesOn(t *testing.T) {
	say := func(r *room, text string, hint aaep.Boundary) {
		r.addEvent(&aaep.OutputStreaming{Chunk: text, OutputID: "o", CoalesceHint: hint}, "")
		r.passTime(15 * time.Second)
	}
	r := newRoom(t, Preferences{})
	say(r, "```go\na := 1\nb := 2\n", aaep.BoundaryWord)
	r.addEvent(&aaep.StateChanged{FromState: aaep.StateThinking, ToState: aaep.StateWritingOutput}, "") // something else of the agent's comes between
	say(r, "c. Or d.\n\n", aaep.BoundaryWord)
	say(r, "e()\n```\n", aaep.BoundarySentence)
	say(r, "It is short. ", aaep.BoundarySentence)
	r.wantHeard("1.0 Go, 2 lines so far.", "16.0 Go, 3 lines so far.", "30.0 Go, 4 lines.", "45.0 It is short.")

	r = newRoom(t, Preferences{})
	say(r, "> ```go\n> a := 1\n> b\n", aaep.BoundaryWord)
	say(r, "> c\n", aaep.BoundaryWord)
	say(r, "> d\n> ```\n", aaep.BoundarySentence)
	say(r, "> It is short. ", aaep.BoundarySentence)
	r.wantHeard("1.0 Go, 2 lines so far.", "16.0 Go, 3 lines so far.", "30.0 Go, 4 lines.", "45.0 It is short.")

	// Nothing behind it is taken for code: not behind a quotation that ends first, nor behind a
	// fence within a longer one.
	r = newRoom(t, Preferences{})
	say(r, "> ```go\n> a := 1\n> b\n\n", aaep.BoundaryParagraph)
	say(r, "It is short.\n", aaep.BoundarySentence)
	say(r, "````md\n```\na\n", aaep.BoundaryWord)
	say(r, "```\nb\n````\n", aaep.BoundarySentence)
	say(r, "It is long. ", aaep.BoundarySentence)
	r.wantHeard("0.0 Go, 2 lines.", "15.0 It is short.", "31.0 Code, 2 lines so far.", "45.0 Code, 4 lines.", "60.0 It is long.")

	// All at once it is told once, also where it is too long for one utterance.
	r = newRoom(t, Preferences{})
	say(r, "```\n"+strings.Repeat("fmt.Println(\"Hi. There.\")\n", 200)+"```\n", aaep.BoundarySentence)
	say(r, "It is long. ", aaep.BoundarySentence)
	r.wantHeard("0.0 Code, 200 lines.", "15.0 It is long.")

	// Of what waits for something longer only the newest is told.
	r = newRoom(t, Preferences{})
	r.addEvent(&aaep.OutputStreaming{Chunk: strings.Repeat("word ", 149) + "end. ", OutputID: "long", CoalesceHint: aaep.BoundarySentence}, "")
	say(r, "Look:\n```go\na := 1\n", aaep.BoundaryWord)
	say(r, "b := 2\n", aaep.BoundaryWord)
	say(r, "c\n", aaep.BoundaryWord)
	say(r, "d\n```\nIt is short. ", aaep.BoundarySentence)
	r.passTime(time.Minute)
	r.wantHeard("0.0 "+strings.Repeat("word ", 149)+"end.", "75.0 Look:", "75.5 Go, 4 lines.", "77.0 It is short.")

	// It ends with the answer.
	r = newRoom(t, Preferences{})
	say(r, "~~~\na\n", aaep.BoundaryWord)
	r.addEvent(&aaep.OutputStreaming{Chunk: "b\n", OutputID: "o", Complete: true, CoalesceHint: aaep.BoundaryCompletion}, "")
	say(r, "Prose. ", aaep.BoundarySentence)
	r.wantHeard("1.0 Code, 1 line so far.", "15.0 Code, 2 lines.", "16.5 Prose.")
}

// The pace is what was really heard.
func TestPace(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: 300})
	if _, ok := r.a.Pace(); ok {
		t.Error("a pace is known before anything was heard")
	}
	for range 10 {
		r.addSentence("Five words are in here. ")
	}
	if behind := r.a.Behind(); behind != 10*time.Second {
		t.Errorf("behind %v, want 10 s at the pace that was asked for", behind)
	}
	r.passTime(time.Minute)
	if wpm, ok := r.a.Pace(); !ok || wpm != voiceWPM {
		t.Errorf("the pace is %d, %t; want %d", wpm, ok, voiceWPM)
	}
}

// A change of voice shows, though much was heard before.
func TestPaceOfAnotherVoice(t *testing.T) {
	a := New(Preferences{})
	for _, pause := range []time.Duration{12 * time.Second, 3 * time.Second} { // 100 and 400 words a minute
		for range 2 * manyWords / 20 {
			a.pace.addHeard(20, pause)
		}
	}
	if wpm, _ := a.Pace(); wpm < 300 {
		t.Errorf("the pace is %d, want about 400", wpm)
	}
}

// A flood waits within bounds, loses nothing critical, and the oldest of it is there to be asked
// for.
func TestFlood(t *testing.T) {
	r := newRoom(t, Preferences{})
	for i := range 1500 {
		r.addEventOf(fmt.Sprint("agent ", i%100), fmt.Sprint("sess_", i), &aaep.OutputStreaming{Chunk: "Noise. ", OutputID: "o", CoalesceHint: aaep.BoundarySentence}, "")
	}
	r.addEvent(&aaep.HandoffRequested{Reason: "Help."}, "Help.")
	if len(r.a.normal) > maxHeld+1 || len(r.a.missed) > maxHeld || len(r.a.kept) > maxKept || len(r.a.agents) > maxAgents {
		t.Errorf("%d wait, %d are to be asked for, %d kept, %d sessions", len(r.a.normal), len(r.a.missed), len(r.a.kept), len(r.a.agents))
	}
	if last := r.heard[len(r.heard)-1]; !strings.Contains(last, "Hand") {
		t.Errorf("the last is %q", last)
	}
}

// P10, T4: so does one of which nothing ever ends, each time in another session and output; and
// what is critical waits within bounds too, but every question that is open is put.
func TestFloodWithoutEnd(t *testing.T) {
	r := newRoom(t, Preferences{})
	ask := func() *aaep.Event {
		return r.addEvent(&aaep.AwaitingConfirmation{Action: "Pay.", Consequence: "It is gone.", TimeoutSeconds: 86400, RiskLevel: aaep.RiskHigh, DefaultDecision: aaep.Reject}, "Pay?")
	}
	questions := []*aaep.Event{ask(), ask()}
	for i := range 2000 {
		session := fmt.Sprint("sess_", i)
		r.addEventOf("Planner", session, &aaep.ProgressUpdated{Progress: aaep.Progress{Step: 1}}, "One step.")
		r.addEventOf("Planner", session, &aaep.OutputStreaming{Chunk: "Noise. And ", OutputID: fmt.Sprint("out_", i)}, "")
		r.addEventOf("Planner", session, &aaep.HandoffRequested{Reason: "Help."}, "Help.")
	}
	a := r.a
	for name, n := range map[string]int{"critical": len(a.urgent), "waiting": len(a.normal), "missed": len(a.missed), "answers": len(a.answers), "sessions": len(a.agents),
		"progress": len(a.soFar)} {
		if n > maxHeld {
			t.Errorf("%s: %d are kept", name, n)
		}
	}
	r.passTime(6 * time.Hour)
	for i, q := range questions {
		if questionFor(a, r.now, aaep.Accept) != q {
			t.Errorf("question %d was not heard", i+1)
		}
		a.Settle(r.now, q)
		r.passTime(time.Hour)
	}
	if len(a.urgent)+len(a.normal)+len(a.soFar) > 0 {
		t.Errorf("after hours %d, %d and %d wait", len(a.urgent), len(a.normal), len(a.soFar))
	}
}
