package announce

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// An event counts as news of a question's time only where its numbers agree with the question's; it
// never takes time away. CONF-039
func TestTimeIn(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	q := &openQuestion{event: newEvent(payQuestion(), "")} // 90 seconds
	q.event.Timestamp = at
	for _, tt := range []struct {
		name    string
		after   time.Duration
		percent float64
		eta     time.Duration
		want    time.Duration
	}{
		{"half of the time", 45 * time.Second, 50, 45 * time.Second, 90 * time.Second},
		{"more time", 60 * time.Second, 100.0 / 3, 120 * time.Second, 180 * time.Second},
		{"more time, told a little late", 61 * time.Second, 100.0 / 3, 119 * time.Second, 180 * time.Second},
		{"ten times more, at once", 0, 0, 990 * time.Second, 990 * time.Second},
		{"less time", 45 * time.Second, 90, 5 * time.Second, 0},
		{"other work", 60 * time.Second, 80, 120 * time.Second, 0},
		{"other work, nearly done", 60 * time.Second, 99, time.Hour, 0},
		{"of before", -time.Second, 0, 120 * time.Second, 0},
		{"more than a day", 60 * time.Second, 0.1, 30 * time.Hour, 0},
		{"over", 60 * time.Second, 100, 0, 0},
	} {
		ev := newEvent(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: &tt.percent}, ETAMS: new(tt.eta.Milliseconds())}, "")
		ev.Timestamp = at.Add(tt.after)
		limit, ok := q.timeToldBy(ev)
		if ok != (tt.want > 0) || ok && limit != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, limit, ok, tt.want)
		}
		ev.SessionID = "sess_2"
		if _, ok := q.timeToldBy(ev); ok {
			t.Errorf("%s: another session's", tt.name)
		}
	}
	for _, p := range []aaep.Payload{&aaep.ProgressUpdated{ETAMS: new(int64(1))}, &aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(0.0)}}, &aaep.SessionStarted{}} {
		if _, ok := q.timeToldBy(newEvent(p, "")); ok {
			t.Errorf("%+v tells the time", p)
		}
	}
}

// askQuestion lets an agent ask, with a minute and a half to answer.
func (r *room) askQuestion(source, session, action string) *aaep.Event {
	p := payQuestion()
	p.Action = action
	return r.addEventOf(source, session, p, "")
}

// tellTimeLeft lets the agent say how much time is left for a question of a minute and a half, as
// producers of this SDK do.
func (r *room) tellTimeLeft(left time.Duration, urgency aaep.Urgency) {
	limit := 90 * time.Second
	ev := &aaep.Event{EventID: "evt_time", SessionID: "sess_1", Timestamp: r.now, Urgency: urgency, Summary: aaep.Say("Their words."),
		Payload: &aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(100 * (1 - left.Seconds()/limit.Seconds()))}, ETAMS: new(left.Milliseconds())}}
	r.a.Add(r.now, "Planner", ev, Text(ev, aaep.VerbosityNormal))
	r.takeActions()
}

// CONF-038, CONF-039, WCAG 2.2.1: that the time ends is told once: by the agent, or else by the
// clock here, so that twenty seconds are left when it was heard, or a tenth; more time is heeded,
// and what is settled is not warned of.
func TestTimeEnds(t *testing.T) {
	const ours = "62.0 The time to answer is almost over: you have about 25 seconds."
	warnings := func(r *room) (all []string) {
		for _, line := range r.heard {
			if strings.Contains(line, "almost over") || strings.Contains(line, "Their words") {
				all = append(all, line)
			}
		}
		return all
	}
	for name, tc := range map[string]struct {
		then func(r *room)
		want []string
	}{
		"the agent says nothing": {func(r *room) {}, []string{ours}},
		"the agent says it":      {func(r *room) { r.passTime(time.Second); r.tellTimeLeft(29*time.Second, aaep.UrgencyCritical) }, []string{"61.0 Their words."}},
		"the agent says it later": {func(r *room) { r.passTime(5 * time.Second); r.tellTimeLeft(25*time.Second, aaep.UrgencyCritical) },
			[]string{ours}},
		"the agent tells the half": {func(r *room) { r.tellTimeLeft(30*time.Second, aaep.UrgencyBackground) },
			[]string{"60.0 Their words.", ours}},
		"more time": {func(r *room) { r.a.MoreTime(r.now, r.a.questions.firstOpen().event, nil) }, nil},
		"it is over": {func(r *room) {
			r.addEvent(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Rejected.")
		}, nil},
		"it is answered": {func(r *room) { r.a.Settle(r.now, r.a.questions.firstOpen().event) }, nil},
	} {
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		r.askQuestion("Planner", "sess_1", "Pay $20.")
		r.passTime(time.Minute)
		tc.then(r)
		r.passTime(29 * time.Second)
		if got := warnings(r); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// The time that is left is told as it is when it is told, however long that had to wait; when the
// question is settled, not at all.
func TestTimeIsTrue(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.addSentence(strings.TrimSpace(strings.Repeat("word ", 20)) + ".")
	r.askQuestion("Planner", "sess_1", "Pay $20.")
	r.passTime(55 * time.Second)
	long := r.addEventOf("Bank", "sess_1", &aaep.SessionErrored{}, strings.TrimSpace(strings.Repeat("word ", 30))+".") // fifteen seconds
	r.tellTimeLeft(34*time.Second, aaep.UrgencyCritical)                                                               // "Their words.", which will not be true any more
	r.passTime(20 * time.Second)
	if got := r.heard[len(r.heard)-1]; !strings.HasSuffix(got, "The time to answer is almost over: you have 19 seconds.") {
		t.Errorf("heard %q", r.heard)
	}
	r = newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.addEventOf("Bank", "sess_1", long.Payload, strings.TrimSpace(strings.Repeat("word ", 60))+".") // half a minute
	q := r.askQuestion("Planner", "sess_1", "Pay $20.")
	r.passTime(40 * time.Second)
	if got := strings.Join(r.heard, "|"); !strings.Contains(got, "36.0 You have about 55 seconds to answer.") {
		t.Errorf("heard %s", got)
	}
	r.addEventOf("Bank", "sess_2", long.Payload, strings.TrimSpace(strings.Repeat("word ", 60))+".")
	r.tellTimeLeft(50*time.Second, aaep.UrgencyCritical)
	r.a.Settle(r.now, q)
	r.heard = r.heard[len(r.heard)-1:]
	r.passTime(time.Minute)
	if got := strings.Join(r.heard, "|"); strings.Contains(got, "time to answer") || strings.Contains(got, "Their words") {
		t.Errorf("after it was settled: %s", got)
	}
}

// A question that an output holds until the person has noticed it makes room for another once its
// time is over, even if no one says that it was answered; and a person who has not had all of a
// question is told why.
func TestQuestionMakesRoom(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.askQuestion("Planner", "sess_1", "Pay $20.")
	hold := func() { r.until = r.now.Add(time.Hour) }
	hold() // a display, until a key is pressed
	r.passTime(50 * time.Second)
	r.askQuestion("Planner", "sess_1", "Pay $30.")
	r.passTime(39 * time.Second)
	if n := len(r.heard); n != 1 {
		t.Fatalf("before the time was over: %q", r.heard)
	}
	r.passTime(2 * time.Second)
	if n := len(r.heard); n < 2 || !strings.HasSuffix(r.heard[0], " /") || !strings.HasPrefix(r.heard[1], "90.0 ") {
		t.Fatalf("when the time was over: %q", r.heard)
	}
	r.passTime(49 * time.Second)
	if all := strings.Join(r.heard, "|"); !strings.Contains(all, "Pay $30.") || !strings.Contains(all, "The question is no longer open.") {
		t.Errorf("heard %q", r.heard)
	}
	r.askQuestion("Planner", "sess_1", "Pay $40.") // as the last one, it stays
	hold()
	r.passTime(10 * time.Minute)
	if last := r.heard[len(r.heard)-1]; strings.HasSuffix(last, " /") {
		t.Errorf("nothing waits, and yet it made room: %q", r.heard)
	}
}

// Agents ask in turns: one that asks more than can be answered crowds out itself, and what one does
// closes nothing of another, though it uses the same names.
func TestQuestionsOfSeveral(t *testing.T) {
	var qs questionQueue
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ask := func(source string) *openQuestion {
		ev := newEvent(payQuestion(), "")
		ev.Timestamp = at
		return qs.addQuestion(at, source, ev)
	}
	for range mostAsked {
		if ask("Noise") == nil {
			t.Fatal("a question was refused too soon")
		}
	}
	if ask("Noise") != nil {
		t.Error("there is no end of questions")
	}
	bank, post := ask("Bank"), ask("Post")
	first := qs.firstOpen()
	if qs.addQuestion(at, "Noise", first.event) != first || qs.countOpen() != mostAsked+2 {
		t.Error("a question that is put again is another one")
	}
	if closed, _ := qs.handleEvent(at, "Bank", newEvent(&aaep.SessionCompleted{}, "")); !slices.Equal(closed, []*openQuestion{bank}) {
		t.Errorf("the end of the bank's session closed %d questions", len(closed))
	}
	qs.removeQuestion(first)
	if qs.firstOpen() != post {
		t.Error("who asks most is put first")
	}
	qs.moveFirstBehind()
	if qs.firstOpen() == post || qs.listOpen()[qs.countOpen()-1] != post {
		t.Error("what is put aside is not the last")
	}
}

// Of an agent that asks without end, and whose calls never begin or never end, the newest calls are
// remembered, and no more than it may have questions.
func TestExpectedCallsAreBounded(t *testing.T) {
	var qs questionQueue
	for i := range 3 * mostAsked {
		qs.expectCall(expectedCall{session: "sess_1", call: fmt.Sprint("call_", i)})
	}
	if n := len(qs.expected); n != mostAsked {
		t.Errorf("%d calls are expected, want %d", n, mostAsked)
	}
	for i := range 3 * mostAsked {
		call := expectedCall{session: "sess_1", call: fmt.Sprint("call_", i)}
		qs.expectCall(call)
		if !qs.beginExpected(call) {
			t.Fatalf("%s was not expected", call.call)
		}
	}
	if n := len(qs.doing); n != mostAsked {
		t.Errorf("%d calls are under way, want %d", n, mostAsked)
	}
}

// A question that could not be answered, for its agent has too many open, is not put: that there is
// one more is said instead, once.
func TestAsksTooMuch(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.addEvent(&aaep.SessionStarted{}, "Working.")
	for i := range mostAsked + 3 {
		r.askQuestion("Noise", fmt.Sprint("sess_", i), fmt.Sprintf("Pay $%d.", i+1))
	}
	r.passTime(2 * time.Hour)
	heard := strings.Join(r.heard, "\n")
	for text, want := range map[string]int{
		"Decide: Pay $1.": 1,
		fmt.Sprintf("Decide: Pay $%d.", mostAsked+1):                               0,
		"Noise: This agent asks too much at a time.":                               1,
		"One of its questions is not asked here; it is decided without an answer.": 1,
	} {
		if got := strings.Count(heard, text); got != want {
			t.Errorf("%q was heard %d times, want %d", text, got, want)
		}
	}
}

// However much other agents say, a question that was heard can be accepted. INV-58
func TestArmedInAFlood(t *testing.T) {
	r := newRoom(t, Preferences{})
	q := r.askQuestion("Bank", "sess_1", "Pay $20.")
	r.passTime(time.Minute)
	for i := range 2 * maxKept {
		r.addEventOf("Noise", fmt.Sprint("sess_", i), &aaep.StateChanged{ToState: aaep.StateThinking}, "Noise.")
	}
	if questionFor(r.a, r.now, aaep.Accept) != q {
		t.Error("the question cannot be accepted any more")
	}
	if questionFor(r.a, r.began, aaep.Accept) != nil {
		t.Error("it could have been before it was heard")
	}
}

// One agent that says more than can be heard crowds out itself: another is heard within a turn,
// whole, and is up to date.
func TestTurns(t *testing.T) {
	r := newRoom(t, Preferences{})
	for range 2 * maxHeld {
		r.addEventOf("Noise", "sess_1", &aaep.OutputStreaming{Chunk: "Noise and noise. ", OutputID: "o", CoalesceHint: aaep.BoundarySentence}, "")
	}
	r.passTime(10 * time.Second)
	for range 2 * maxHeld {
		r.addEventOf("Noise", "sess_1", &aaep.OutputStreaming{Chunk: "Noise and noise. ", OutputID: "o", CoalesceHint: aaep.BoundarySentence}, "")
	}
	for _, text := range []string{"One word. ", "Another word. "} {
		r.addEventOf("Bank", "sess_1", &aaep.OutputStreaming{Chunk: text, OutputID: "o", CoalesceHint: aaep.BoundarySentence}, "")
	}
	r.heard = r.heard[len(r.heard)-1:]
	r.passTime(20 * time.Second)
	got := strings.Join(r.heard, "\n")
	if !strings.Contains(got, "Bank: One word.\n") || !strings.Contains(got, " Another word.") || !strings.Contains(got, " lines left out.\n") {
		t.Errorf("heard\n%s", got)
	}
	if s := r.a.Standing("Bank"); s.Waiting+s.LeftOut+s.Missed > 0 {
		t.Errorf("the bank: %+v", s)
	}
	if s := r.a.Standing("Noise"); s.Waiting > maxHeld || s.Missed == 0 || s.Behind > time.Minute {
		t.Errorf("the noise: %+v", s)
	}
}

// What one agent does is not taken for what another does that uses the same session and output ids.
func TestSameIDs(t *testing.T) {
	r := newRoom(t, Preferences{})
	q := r.askQuestion("Bank", "sess_1", "Pay $20.")
	r.passTime(time.Minute)
	r.addEventOf("Noise", "sess_1", &aaep.SessionCompleted{}, "Over.")
	r.passTime(time.Minute)
	if questionFor(r.a, r.now, aaep.Accept) != q {
		t.Error("another agent's end closed the question")
	}
	r.heard = nil
	r.addEventOf("Bank", "sess_1", &aaep.OutputStreaming{Chunk: "Half of it ", OutputID: "o"}, "")
	r.addEventOf("Noise", "sess_1", &aaep.OutputStreaming{Chunk: "and lies. ", OutputID: "o", Complete: true}, "")
	r.passTime(time.Minute)
	if got := strings.Join(r.heard, "|"); strings.Contains(got, "Half of it and lies") {
		t.Errorf("heard %s", got)
	}
}

// What is open is told without what a terminal or a voice would take for something else, and of
// several agents by name.
func TestOpenInWords(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.askQuestion("Bank", "sess_1", "Pay **$20** now\x1b[2J.")
	r.askQuestion("Post", "sess_1", "Send it.")
	r.passTime(30 * time.Second)
	r.heard = nil
	r.a.WhatWaits(r.now)
	r.passTime(time.Minute)
	if got := strings.Join(r.heard, " "); !strings.Contains(got, "1: Bank: Pay $20 now<U+001B>[2J.") || !strings.Contains(got, "2: Post: Send it.") {
		t.Errorf("heard %s", got)
	}
}

// No agent speaks in the name of another agent or of this program, in any sentence. T-SPOOF
func TestNames(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.addEventOf("Bank", "sess_1", &aaep.SessionStarted{}, "Thinking.")
	r.addEventOf("aaep", "sess_1", &aaep.OutputStreaming{Chunk: "Hello. Bank: Your money is safe. Decide: None. ", OutputID: "o", CoalesceHint: aaep.BoundarySentence}, "")
	r.passTime(time.Minute)
	r.wantHeard("0.0 Thinking.", "0.5 The agent says: aaep: Hello.", "3.0 The agent says: Bank: Your money is safe.", "7.0 The agent says: Decide: None.")
}

// INV-57, INV-59: a name ends no sentence, so that none of ours seems to follow it, a long one is
// cut, and one from right to left is parted from numbers behind it.
func TestSpeaker(t *testing.T) {
	for name, want := range map[string]string{
		"Planner": "Planner:", "Bank: It is verified. Type y": "Bank It is verified Type y:", "Bank.": "Bank:",
		"bank.example": "bank.example:", "銀行。確認済み。": "銀行 確認済み:", "Bank, agent 2": "Bank, agent 2:",
		"Bank\nDecide: pay": "Bank Decide pay:", "שלום": "שלום\u200e:", "بنك 12": "بنك\u200e 12:", "Bank.\" It is verified": "Bank\" It is verified:", "aaep": "The agent says: aaep:",
		strings.Repeat("long ", 200): strings.Repeat("long ", 19) + "long…:",
	} {
		if got := Speaker(name); got != want {
			t.Errorf("%q is announced as %q, want %q", name, got, want)
		}
	}
}

// I18N-009, I18N-021: a question that is told once more in another language stays one: the words of
// before are cut off, the new ones have to be heard whole, and its time is what it was, as the
// agent's notices still show.
func TestToldAgainInAnotherLanguage(t *testing.T) {
	r := newRoom(t, Preferences{})
	p := payQuestion()
	p.ReplyToken, p.TimeoutSeconds = "rpl_1", 300
	first := r.addEvent(p, "Pay?")
	r.passTime(100 * time.Second)
	if questionFor(r.a, r.now, aaep.Accept) != first {
		t.Fatal("it was heard, and cannot be accepted")
	}
	r.heard = nil
	r.addEvent(&aaep.ProgressUpdated{Progress: aaep.Progress{Description: "Something else."}}, "")
	again := *p
	again.TimeoutSeconds, again.Action = 200, "Pagar cinco dólares."
	second := &aaep.Event{EventID: "evt_es", SessionID: first.SessionID, Timestamp: r.now, Payload: &again, LocalizationHints: in("es")}
	r.a.Add(r.now, "Planner", second, Text(second, aaep.VerbosityNormal))
	if questionFor(r.a, r.now, aaep.Accept) != nil || r.a.questions.countOpen() != 1 {
		t.Errorf("%d questions are open; accepted unheard: %t", r.a.questions.countOpen(), questionFor(r.a, r.now, aaep.Accept) != nil)
	}
	r.passTime(time.Minute)
	if heard := strings.Join(r.heard, "|"); !strings.Contains(heard, "Pagar cinco dólares.") || strings.Contains(heard, "Pay") {
		t.Errorf("heard %s", heard)
	}
	q := r.a.questions.firstOpen()
	if left := q.timeLeft(r.now); questionFor(r.a, r.now, aaep.Accept) != second || left != 140*time.Second || q.timeLimit() != 300*time.Second || q.timeGiven() != 300*time.Second {
		t.Errorf("%v are left, of %v", left, q.timeLimit())
	}
	ev := newEvent(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(50.0)}, ETAMS: new((150 * time.Second).Milliseconds())}, "")
	ev.Timestamp, ev.SessionID = first.Timestamp.Add(150*time.Second), first.SessionID
	if limit, ok := q.timeToldBy(ev); !ok || limit != 300*time.Second {
		t.Errorf("half of the time: %v, %v", limit, ok)
	}
	longer := *second
	stretched := again
	stretched.TimeoutSeconds = 540 // more was given elsewhere
	longer.EventID, longer.Timestamp, longer.Payload = "evt_en", r.now, &stretched
	r.a.Add(r.now, "Planner", &longer, nil)
	if left := q.timeLeft(r.now); left != 540*time.Second {
		t.Errorf("%v are left, want 9m", left)
	}
}

// While a question is being said, its words in the language of before end at once.
func TestToldAgainCutsOff(t *testing.T) {
	r := newRoom(t, Preferences{})
	p := payQuestion()
	p.ReplyToken = "rpl_1"
	first := r.addEvent(p, "Pay?")
	again := *p
	again.Action = "Pagar cinco dólares."
	second := &aaep.Event{EventID: "evt_es", SessionID: first.SessionID, Timestamp: r.now, Payload: &again, LocalizationHints: in("es")}
	r.a.Add(r.now, "Planner", second, Text(second, aaep.VerbosityNormal))
	r.passTime(time.Minute)
	if heard := strings.Join(r.heard, "|"); !strings.HasPrefix(heard, "0.0 Decide: Pay $20. /|0.0 Decida: Pagar cinco dólares.") || strings.Count(heard, "Pay") != 1 {
		t.Errorf("heard %s", heard)
	}
}
