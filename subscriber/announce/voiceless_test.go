package announce

import (
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// withoutYoruba is a person with a voice for every language but Yoruba.
func withoutYoruba(t *testing.T) *room {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM, Speaks: func(tag string) bool { return !strings.HasPrefix(tag, "yo") },
		Otherwise: func(own string) Words { return In(own, "It is printed.") }, Answering: answerKeys})
	r.mute = true
	r.a.SetLanguage("yo", "en")
	return r
}

// asksInYoruba asks to pay five dollars.
func (r *room) asksInYoruba() *aaep.Event {
	p := payQuestion()
	p.Action, p.Consequence, p.Irreversible = "San dọ́là márùn-ún.", "Owó náà lọ.", new(true)
	ev := &aaep.Event{EventID: "evt_yo", SessionID: "sess_1", Timestamp: r.now, Payload: p, LocalizationHints: in("yo")}
	r.a.Add(r.now, "Planner", ev, Text(ev, aaep.VerbosityNormal))
	r.takeActions()
	return ev
}

// While the notice that there is no voice is being said, what it is about can be spelled already: a
// question, and a failure.
func TestSpellDuringNotice(t *testing.T) {
	r := withoutYoruba(t)
	r.asksInYoruba()
	r.passTime(time.Second)
	r.a.Spell(r.now)
	r.passTime(2 * time.Minute)
	if got := r.heardSince(""); strings.Contains(got, "nothing to spell") || !strings.Contains(got, "S, a, n; d, o dot below acute") {
		t.Errorf("of the question was heard %s", got)
	}

	r = withoutYoruba(t)
	ev := &aaep.Event{SessionID: "sess_1", Timestamp: r.now, Payload: &aaep.SessionErrored{}, Summary: aaep.Say("Ó kùnà."), LocalizationHints: in("yo")}
	r.a.Add(r.now, "Planner", ev, Text(ev, aaep.VerbosityNormal))
	r.passTime(time.Second)
	r.a.Spell(r.now)
	r.passTime(time.Minute)
	if got := r.heardSince(""); strings.Contains(got, "nothing to spell") || !strings.HasSuffix(got, "O acute; k, u grave, n, a grave, ..") {
		t.Errorf("of the failure was heard %s", got)
	}
}

// What cannot be said of a question in its language is said to be so in one that can be spoken,
// with the risk, the time and the keys; each time it is put. It can be rejected, and accepted when
// it was spelled to its end. I18N-021, INV-58
func TestQuestionWithoutVoice(t *testing.T) {
	r := withoutYoruba(t)
	q := r.asksInYoruba()
	r.passTime(time.Minute)
	want := "One question is open: There is no voice for the language Yoruba.|It is printed.|Cannot be undone.|Medium risk.|You have 1 minute 30 seconds to answer.|" +
		"No answer: it will not be done.|Press y or n.|Pinnu: San dọ́là márùn-ún. (unsaid)|"
	if got := r.heardSince(""); !strings.HasPrefix(got, want) {
		t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
	r.wantQuestion(nil, q)

	r = withoutYoruba(t)
	q = r.asksInYoruba()
	r.passTime(25 * time.Second)
	r.heard = nil
	r.a.Spell(r.now)
	r.passTime(10 * time.Second)
	r.wantQuestion(nil, q)
	r.passTime(2 * time.Minute)
	if got := r.heardSince(""); !strings.HasPrefix(got, "P, i, n, n, u, :; S, a, n; d, o dot below acute, l, a grave; m, a acute, r, u grave, n, -, u acute, n, ..|") {
		t.Errorf("spelled is %s", got)
	}
	r.wantQuestion(q, q)

	r = withoutYoruba(t)
	for range 2 { // each time
		ev := &aaep.Event{SessionID: "sess_1", Timestamp: r.now, Payload: &aaep.SessionErrored{}, Summary: aaep.Say("Ó kùnà."), LocalizationHints: in("yo")}
		r.a.Add(r.now, "Planner", ev, Text(ev, aaep.VerbosityNormal))
		r.passTime(time.Minute)
	}
	if n := strings.Count(r.heardSince(""), "Error.|There is no voice for the language Yoruba.|It is printed."); n != 2 {
		t.Errorf("of two failures are told %d: %s", n, r.heardSince(""))
	}
	r.a.Spell(r.now)
	r.passTime(time.Minute)
	if got := r.heardSince(""); !strings.HasSuffix(got, "O acute; k, u grave, n, a grave, ..") {
		t.Errorf("spelled is %s", got)
	}
	r.addSentence("In English.")
	r.passTime(time.Minute)
	r.a.Spell(r.now)
	r.passTime(time.Minute)
	r.wantSince("There is nothing to spell.")
}

// What there is no voice for cannot be named again after another agent spoke: a no counts all the
// same, because it does nothing, and a yes does not.
func TestUnvoicedQuestionIsRejected(t *testing.T) {
	r := newRoom(t, Preferences{Speaks: func(tag string) bool { return tag != "yo" }})
	r.mute = true
	ev := &aaep.Event{EventID: "evt_q", SessionID: "sess_1", Timestamp: r.now, Payload: payQuestion(), LocalizationHints: in("yo")}
	r.a.Add(r.now, "Bank", ev, Text(ev, aaep.VerbosityNormal))
	r.passTime(20 * time.Second)
	no := func() *Reply { return r.a.Answer(r.now, r.now, "n") }
	r.addEventOf("Coder", "sess_2", &aaep.OutputStreaming{Chunk: "It compiles the whole project. ", OutputID: "out_2", CoalesceHint: aaep.BoundarySentence}, "")
	for range 300 {
		if r.voice != nil && strings.HasPrefix(r.voice.Text, "Coder") {
			break
		}
		r.passTime(100 * time.Millisecond)
	}
	if r.voice == nil || no() != nil {
		t.Error("a no counts while another agent speaks: ", r.heard)
	}
	r.passTime(20 * time.Second)
	if r.a.Answer(r.now, r.now, "y") != nil {
		t.Error("a yes counts, and nothing of the question was heard")
	}
	r.passTime(20 * time.Second)
	if reply := no(); reply == nil || reply.Decision != aaep.Reject {
		t.Error("a no does not count:", r.a.Refused(), r.heard)
	}
}

// Of a choice that has no voice it is said how many there are, what it is about counts once it was
// spelled, and that its time is almost over is said in a language that can be spoken.
func TestChoiceWithoutVoice(t *testing.T) {
	r := withoutYoruba(t)
	r.a.p.Answering = func(*aaep.Event) Words { return In("en", "Type a number up to 2.") }
	p := &aaep.AwaitingClarification{Question: "Àwọ̀ wo?", TimeoutSeconds: 180, ReplyToken: "rpl_1",
		AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseMultipleChoice},
		Choices:               []aaep.Choice{{Value: "r", Label: "Pupa"}, {Value: "b", Label: "Búlúù"}}}
	ev := &aaep.Event{EventID: "evt_yo", SessionID: "sess_1", Timestamp: r.now, Payload: p, LocalizationHints: in("yo")}
	r.a.Add(r.now, "Planner", ev, Text(ev, aaep.VerbosityNormal))
	r.passTime(25 * time.Second)
	want := "One question is open: There is no voice for the language Yoruba.|It is printed.|Choices: 2.|You have 3 minutes to answer.|Type a number up to 2.|"
	if got := r.heardSince(""); !strings.HasPrefix(got, want) {
		t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
	if r.typeAnswer("2", nil) {
		t.Error("a choice counts unheard")
	}
	r.passTime(3 * time.Minute)
	want = "The time to answer is almost over.|Time left: about 25 seconds.|There is no voice for the language Yoruba.|It is printed.|"
	if got := r.heardSince(""); !strings.Contains(got, want) {
		t.Errorf("heard\n%s\nwant\n%s", got, want)
	}

	r = withoutYoruba(t)
	r.a.Add(r.now, "Planner", ev, Text(ev, aaep.VerbosityNormal))
	r.passTime(25 * time.Second)
	r.a.Spell(r.now)
	r.passTime(2 * time.Minute)
	if got := r.heardSince(""); !strings.Contains(got, "|1, :; P, u, p, a.|2, :; B, u acute, l, u acute, u grave.|") {
		t.Errorf("spelled is %s", got)
	}
	if !r.typeAnswer("2", nil) {
		t.Error("a choice that was spelled to its end does not count:", r.a.Refused())
	}
}

// What names a question again that has no voice says of it what it said at first.
func TestNamedWithoutVoice(t *testing.T) {
	r := withoutYoruba(t)
	r.asksInYoruba()
	r.passTime(25 * time.Second)
	r.heard = nil
	r.addEventOf("Coder", "sess_2", &aaep.OutputStreaming{Chunk: "It compiles. ", OutputID: "out_2", CoalesceHint: aaep.BoundarySentence}, "")
	r.passTime(40 * time.Second)
	want := "Coder: It compiles.|One question is open: There is no voice for the language Yoruba.|It is printed.|Cannot be undone.|Medium risk.|"
	if got := r.heardSince(""); !strings.HasPrefix(got, want) {
		t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
}

// What is said of a question without a voice comes again when the person silenced it, like one that
// has a voice.
func TestSilencedWithoutVoice(t *testing.T) {
	r := withoutYoruba(t)
	r.asksInYoruba()
	r.passTime(time.Second)
	r.pressSilence()
	r.passTime(15 * time.Second)
	r.heard = nil
	r.passTime(20 * time.Second)
	want := "One question is open: There is no voice for the language Yoruba.|It is printed.|Cannot be undone.|Medium risk.|You have about 1 minute 10 seconds to answer.|"
	if got := r.heardSince(""); !strings.HasPrefix(got, want) {
		t.Errorf("heard\n%s\nwant\n%s", got, want)
	}
}
