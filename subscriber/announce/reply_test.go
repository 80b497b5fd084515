package announce

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/internal/phrase"
)

// Asking which question an answer would be for changes nothing: what is heard afterwards is the
// same, also where the link is lost then, and no one is told of an answer that they never gave.
func TestAskingChangesNothing(t *testing.T) {
	var heard [2]string
	for asks := range 2 {
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		q := r.addEventOf("Bank", "sess_1", payQuestion(), "")
		for range 40 {
			r.passTime(time.Second)
			for _, d := range []aaep.Decision{aaep.Accept, aaep.Reject, ""} {
				if asks > 0 {
					r.a.Question(r.now, d)
				}
			}
		}
		r.addEventOf("Bank", "sess_2", payQuestion(), "")
		r.a.Settle(r.now, q) // it went with its link
		r.passTime(time.Minute)
		heard[asks] = strings.Join(r.heard, "|")
	}
	if heard[0] != heard[1] || strings.Contains(heard[1], "Nothing shows") {
		t.Errorf("heard\n%s\nand where it was asked which\n%s", heard[0], heard[1])
	}
}

// While an answer is on its way its question takes no other; one that could not be sent may be
// given anew. Where the agent is started again, the person is told that it is not known whether it
// counts.
func TestAnswerMayHaveArrived(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	q := r.addEventOf("Bank", "sess_1", payQuestion(), "")
	r.passTime(30 * time.Second)
	first := r.a.Answer(r.now, r.now, "y")
	if second := r.a.Answer(r.now, r.now, "n"); first == nil || second != nil {
		t.Fatalf("answers %v and %v are sent", first, second)
	}
	r.wantQuestion(nil, nil)
	r.a.Answered(r.now, first, errors.New("the link is cut"))
	r.passTime(hearing.StillBefore)
	r.wantQuestion(q, q)
	r.passTime(19 * time.Second)
	if got := r.heardSince(""); !strings.Contains(got, "You had answered before.|This one was not sent.") {
		t.Errorf("of the second answer was heard %s", got)
	}
	r.heard = nil
	r.a.Settle(r.now, q)
	r.passTime(time.Minute)
	if got := r.heardSince(""); got != "The question is no longer open.|Your answer may have arrived." {
		t.Errorf("heard %s", got)
	}
}

// What is no answer, or comes too soon, says why, in the name of the agent that asks; a question
// that was silenced is put once more, so that it can be answered.
func TestNoAnswer(t *testing.T) {
	keys := func(*aaep.Event) Words { return In("en", "Press y or n.") }
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM, Answering: keys})
	r.a.Follow("Shop")
	says := func(text, want string) {
		t.Helper()
		r.heard = nil
		if r.typeAnswer(text, nil) {
			t.Fatalf("%q is sent", text)
		}
		r.passTime(30 * time.Second)
		if got := r.heardSince(""); !strings.HasPrefix(got, want) {
			t.Errorf("%q: heard %s, want %s", text, got, want)
		}
	}
	says("y", "No question is open.")
	p := payQuestion()
	p.TimeoutSeconds, p.AllowedReplies = 600, []aaep.Decision{aaep.Accept}
	r.addEventOf("Bank", "sess_1", p, "")
	r.passTime(2 * time.Second)
	r.pressSilence()
	says("y", "Bank: You may not have heard all of it.|Bank: Decide: Pay $20.")
	says("maybe", "Bank: That is no answer.|Press y or n.")
	says("n", "Bank: The agent does not take that answer to this question.")
	says(" ", "One question is open: Bank: Pay $20.")
	if !r.typeAnswer("Yes.", nil) {
		t.Error("a yes is not sent")
	}
}

// A choice is not taken before all of them were heard. A number means the choice that is labelled
// with it; where another is in that place, the person is asked.
func TestChoiceByNumber(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.addEvent(&aaep.AwaitingClarification{Question: "How many?", TimeoutSeconds: 600,
		AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseMultipleChoice},
		Choices:               []aaep.Choice{{Value: "five", Label: "5"}, {Value: "one", Label: "1"}, {Value: "two", Label: "2"}}}, "")
	r.passTime(1500 * time.Millisecond)
	if r.typeAnswer("5", nil) {
		t.Error("a choice is taken before it was heard")
	}
	r.passTime(time.Minute)
	r.heard = nil
	if r.typeAnswer("1", nil) {
		t.Error("1 is sent, which may mean two")
	}
	r.passTime(20 * time.Second)
	if got := r.heardSince(""); got != "That may mean two of the choices.|Given once more, it means this one: 1." {
		t.Errorf("heard %s", got)
	}
	if reply := r.a.Answer(r.now, r.now, "2"); reply != nil {
		t.Errorf("another that may mean two is taken as %v", reply.Response)
	}
	r.passTime(time.Second)
	if reply := r.a.Answer(r.now, r.now, "2"); reply != nil {
		t.Errorf("it is taken before the person heard what it means, as %v", reply.Response)
	}
	r.passTime(20 * time.Second)
	reply := r.a.Answer(r.now, r.now, "2")
	if reply == nil || reply.Response != "two" {
		t.Fatalf("it means %+v", reply)
	}
}

// Of many choices a person hears first how many there are, and after an answer that is none of them
// which numbers count: all of them once more would fill another minute.
func TestManyChoices(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	p := &aaep.AwaitingClarification{Question: "Which?", TimeoutSeconds: 600,
		AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseMultipleChoice}}
	for i := range 32 {
		p.Choices = append(p.Choices, aaep.Choice{Value: fmt.Sprint("v", i), Label: fmt.Sprint("Box ", i)})
	}
	r.addEvent(p, "")
	r.passTime(3 * time.Minute)
	if got := r.heardSince(""); !strings.HasPrefix(got, "Question: Which?|Choices: 32.|1: Box 0|") {
		t.Errorf("heard %s", got)
	}
	r.heard = nil
	r.typeAnswer("33", nil)
	r.passTime(time.Minute)
	if got := r.heardSince(""); got != "That is no answer.|Right would be: a number from 1 to 32." {
		t.Errorf("heard %s", got)
	}
}

// What is no answer to a number or a choice says what would be one.
func TestWantedAnswer(t *testing.T) {
	for want, kind := range map[string]aaep.ResponseKind{
		"That is no answer.|Right would be: a number such as 12.5.": aaep.ResponseNumeric,
		"That is no answer.|Right would be: 1: Checking.|2: Sav.":   aaep.ResponseMultipleChoice,
	} {
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		r.addEvent(&aaep.AwaitingClarification{Question: "Which?", TimeoutSeconds: 600, AcceptedResponseKinds: []aaep.ResponseKind{kind},
			Choices: []aaep.Choice{{Value: "a", Label: "Checking"}, {Value: "b", Label: "Sav"}}}, "")
		r.passTime(time.Minute)
		r.heard = nil
		r.typeAnswer("perhaps", nil)
		r.passTime(20 * time.Second)
		if got := r.heardSince(""); got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
	}
}

// What a doubtful choice means is not said of the next question.
func TestChoiceMeantOfASettledQuestion(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	q := r.addEvent(&aaep.AwaitingClarification{Question: "How many?", TimeoutSeconds: 600,
		AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseMultipleChoice},
		Choices:               []aaep.Choice{{Value: "two", Label: "2"}, {Value: "one", Label: "1"}}}, "")
	r.passTime(time.Minute)
	r.heard = nil
	r.typeAnswer("1", nil)
	r.askQuestion("Planner", "sess_2", "Send it.")
	r.a.Settle(r.now, q)
	r.passTime(time.Minute)
	if got := strings.Join(r.heard, "|"); strings.Contains(got, "Given once more") || !strings.Contains(got, "Send it.") {
		t.Errorf("heard %s", got)
	}
}

// Whose question is open is said wherever several agents are followed, be it one question, and be
// the other agent gone.
func TestWhoseQuestionWaits(t *testing.T) {
	for agents, want := range map[string]string{
		"Bank":      "One question is open: Pay $20.",
		"Bank Shop": "One question is open: Bank: Pay $20.",
	} {
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		for _, name := range strings.Fields(agents) {
			r.a.Follow(name)
		}
		p := payQuestion()
		p.TimeoutSeconds = 600
		r.addEventOf("Bank", "sess_1", p, "")
		r.a.Leave(r.now, "Shop", nil)
		r.passTime(30 * time.Second)
		r.heard = nil
		r.a.WhatWaits(r.now)
		r.passTime(10 * time.Second)
		if got := r.heardSince(""); got != want {
			t.Errorf("of %s: heard %s, want %s", agents, got, want)
		}
	}
}

// An answer is for the question that was named last, by the agent that the Utterance names,
// whatever agents ask and tell and whatever the person hears, silences and types. Where they listen
// to the end, the question that is put can be answered.
func TestAnswerIsForWhatWasPresentedLast(t *testing.T) {
	seeds := uint64(1500)
	if testing.Short() {
		seeds = 200
	}
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 1))
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM, Answering: answerKeys})
		if random.IntN(4) == 0 {
			r.a.p.Verbosity = aaep.VerbosityDetailed
		}
		var asked []*aaep.Event
		isFor := func() (question *aaep.Event) {
			source, question := r.a.Question(r.now, aaep.Reject)
			if question == nil {
				return nil
			}
			if shown := r.shown; shown == nil || shown.Event != question || shown.Source != source || !slices.Contains(asked, question) {
				t.Fatalf("seed %d: an answer is for %v of %s, and what was presented last is %+v", seed, question, source, shown)
			}
			action := question.Payload.(*aaep.AwaitingConfirmation).Action
			if named := r.namedLast(action); named != action {
				t.Fatalf("seed %d: an answer is for %q, and heard last was %q: %q", seed, action, named, r.heard)
			}
			return question
		}
		for range 60 {
			switch random.IntN(16) {
			case 0, 1:
				p := payQuestion()
				p.Action = "Do " + string(rune('A'+len(asked)%26))
				p.TimeoutSeconds = 30 + random.Int64N(60)
				source := []string{"Bank", "Shop"}[random.IntN(2)]
				if random.IntN(3) == 0 {
					r.addEventOf(source, "sess_"+p.Action, &aaep.StateChanged{FromState: aaep.StateThinking, ToState: aaep.StateAwaitingInput}, p.Action)
				}
				asked = append(asked, r.addEventOf(source, "sess_"+p.Action, p, ""))
			case 2:
				r.a.NextQuestion(r.now)
			case 3:
				r.a.Again(r.now)
			case 4:
				r.a.WhatWaits(r.now)
			case 5:
				if len(asked) > 0 {
					r.a.Settle(r.now, asked[random.IntN(len(asked))])
				}
			case 6:
				r.addEventOf("Shop", "sess_news", &aaep.ExtensionPayload{Type: "acme:news"}, "News.")
			case 7:
				switch n := random.IntN(4); {
				case r.voice == nil:
				case n == 0:
					r.pressSilence()
				case n == 1: // another output goes on
					r.endUtterance(" /", Waiting)
				default: // a display that takes several lines for it
					r.until = r.until.Add(5 * time.Second)
				}
			case 8:
				r.a.WhereAreWe(r.now)
			case 9:
				r.typeAnswer([]string{"y", "n"}[random.IntN(2)], []error{nil, errors.New("cut")}[random.IntN(2)])
			case 10:
				r.a.Newest(r.now)
			case 11:
				r.a.Details(r.now)
			case 12:
				r.a.Typing(r.now)
			case 13:
				r.a.Hush(random.IntN(2) == 0)
			case 14:
				if len(asked) > 0 {
					ev := asked[random.IntN(len(asked))]
					r.addEventOf([]string{"Bank", "Shop"}[random.IntN(2)], ev.SessionID, &aaep.ProgressUpdated{ETAMS: new(int64(20_000))}, "")
				}
			case 15:
				r.passTime(20 * time.Second)
			}
			for range random.IntN(12) {
				r.passTime(500 * time.Millisecond)
				isFor()
			}
		}
		r.a.Hush(false)
		r.a.Rest(r.now)
		for range min(3, len(asked)) {
			r.a.Settle(r.now, asked[random.IntN(len(asked))])
		}
		p := payQuestion()
		p.Action, p.TimeoutSeconds = "Do Z", 3600
		asked = append(asked, r.addEventOf("Bank", "sess_Z", p, ""))
		r.passTime(4 * time.Minute)
		if isFor() != asked[len(asked)-1] {
			t.Fatalf("seed %d: what is put cannot be answered: %q", seed, r.heard)
		}
	}
}

// namedLast is the action that was named last in what was presented, "Do" and a letter. One counts
// from where its name begins, but the one that an answer is for counts once it was heard whole, if
// another was named since it was put.
func (r *room) namedLast(answered string) (action string) {
	for n, heard := range r.heard {
		i := strings.LastIndex(heard, "Do ")
		if i < 0 || len(heard) < i+4 {
			continue
		}
		named := heard[i : i+4]
		if whole := (r.voice == nil || n < len(r.heard)-1) && !strings.HasSuffix(heard, "/") && !strings.HasSuffix(heard, ")"); whole ||
			named != answered || strings.Contains(heard, "Decide: ") {
			action = named
		}
	}
	return action
}

// Where a person is says how each session is doing; of the questions, what waits in short, and last
// the one that an answer is for, with the time that is left now. Nothing is said of a question that
// is settled, and of its time.
func TestWhereAreWeWithQuestions(t *testing.T) {
	keys := func(*aaep.Event) Words { return In("en", "Press y or n.") }
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM, Answering: keys})
	ask := func(source, action string) *aaep.Event {
		p := payQuestion()
		p.Action, p.TimeoutSeconds = action, 300
		return r.addEventOf(source, "sess_"+source, p, "")
	}
	where := func() string {
		t.Helper()
		r.heard = nil
		r.a.WhereAreWe(r.now)
		r.passTime(40 * time.Second)
		return r.heardSince("")
	}
	r.addEventOf("Ada", "sess_Ada", &aaep.StateChanged{FromState: aaep.StateThinking, ToState: aaep.StateAwaitingInput}, "Waiting for you.")
	ada, bob := ask("Ada", "Pay five dollars."), ask("Bob", "Send it.")
	r.passTime(2 * time.Minute)
	want := "2 questions are open.|1: Ada: Pay five dollars.|2: Bob: Send it.|Ada: The question is: Pay five dollars.|" +
		"You have about 2 minutes 30 seconds to answer.|Press y or n."
	if got := where(); got != want {
		t.Errorf("heard %s\nwant  %s", got, want)
	}
	r.wantQuestion(ada, ada)
	r.a.WhereAreWe(r.now)
	r.passTime(time.Second)
	r.wantQuestion(nil, nil) // what is heard may be of Bob's
	r.passTime(40 * time.Second)
	if !r.typeAnswer("y", nil) {
		t.Fatal("the answer is not sent")
	}
	r.passTime(50 * time.Second)
	if got := where(); strings.Contains(got, "five dollars") || !strings.HasPrefix(got, "Bob: The question is: Send it.|"+
		"You have about 45 seconds to answer.|Press y or n.") {
		t.Errorf("after an answer: heard %s", got)
	}
	r.a.Settle(r.now, bob)
	if got := where(); strings.Contains(got, "Send it") || strings.Contains(got, "to answer") {
		t.Errorf("after all is settled: heard %s", got)
	}
}

// Where each key is told of, a line counts by its first key: one that was begun when the question
// had been heard counts though its last key was just pressed, and one that was begun before does
// not though it ended after.
func TestAnswerTypedKeyByKey(t *testing.T) {
	for name, tc := range map[string]struct {
		begins time.Duration // after the question came
		stray  bool          // a key for something else, shortly before
		counts bool
	}{
		"after it was heard":                {20 * time.Second, false, true},
		"while it was said":                 {5 * time.Second, false, false},
		"after a key that was for the chat": {20 * time.Second, true, false},
	} {
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		r.addEvent(&aaep.AwaitingClarification{Question: "Where shall the letter be sent to, and when?", TimeoutSeconds: 600}, "")
		r.passTime(tc.begins - 300*time.Millisecond)
		if tc.stray {
			r.a.Typing(r.now)
			r.a.Rest(r.now)
		}
		r.passTime(300 * time.Millisecond)
		for range 40 { // keys
			r.a.Typing(r.now)
			r.passTime(250 * time.Millisecond)
		}
		if reply := r.a.Answer(r.now, time.Time{}, "To the house of my mother, at noon"); (reply != nil) != tc.counts {
			t.Errorf("begun %s: %v is sent", name, reply)
		}
	}
}

// Where the person types messages too, a line is an answer while a question is open, where one was
// when it was begun, and for a minute after where it is a yes or a no; it is in doubt where it was
// begun before there was a question, or the question has gone.
func TestIsAnswer(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	is := func(began time.Duration, text string, isAnswer, inDoubt bool) {
		t.Helper()
		if is, doubt := r.a.IsAnswer(r.now, r.now.Add(-began), text); is != isAnswer || is && doubt != inDoubt {
			t.Errorf("%q, begun %v ago: %v, in doubt %v", text, began, is, doubt)
		}
	}
	is(0, "y", false, false)
	r.passTime(time.Minute)
	q := r.addEventOf("Bank", "sess_1", payQuestion(), "")
	r.passTime(30 * time.Second)
	is(time.Second, "y", true, false)
	is(time.Second, "hello", true, false)
	is(40*time.Second, "hello", true, true)
	r.a.Settle(r.now, q)
	r.passTime(10 * time.Second)
	is(11*time.Second, "hello", true, true)
	is(time.Second, "hello", false, false)
	is(time.Second, "n", true, true)
	r.passTime(49 * time.Second)
	is(0, "n", true, true)
	r.passTime(2 * time.Second)
	is(0, "n", false, false)
	if is, doubt := r.a.IsAnswer(r.now, time.Time{}, "y"); is || !doubt {
		t.Error("the zero time is not now")
	}
	r.passTime(time.Hour)
	q = r.addEventOf("Bank", "sess_1", payQuestion(), "")
	is(0, "hello", true, false)
	r.now = r.now.Add(30 * time.Second) // nothing is called meanwhile
	r.a.Settle(r.now, q)
	is(time.Second, "hello", true, true)
}

// Where a question's subscription is gone, the person who was asked is told that the agent will ask
// again; but not where their answer is on its way, or may have arrived.
func TestLapse(t *testing.T) {
	asksAgain, _ := phrase.In("en", phrase.AsksAgain, "")
	for name, tt := range map[string]struct {
		answer func(r *room)
		told   bool
	}{
		"asked":            {func(*room) {}, true},
		"answering":        {func(r *room) { r.a.Answer(r.now, r.now, "n") }, false},
		"may have arrived": {func(r *room) { r.typeAnswer("n", errors.New("the link is lost")) }, false},
	} {
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		q := r.askQuestion("Bank", "sess_1", "Pay $5.")
		r.passTime(20 * time.Second)
		tt.answer(r)
		r.a.Lapse(r.now, q)
		r.passTime(20 * time.Second)
		if told := strings.Contains(r.heardTexts(), asksAgain); told != tt.told {
			t.Errorf("%s: told %v in %s", name, told, r.heardTexts())
		}
	}
}

// What an agent says while its question waits for another comes after that question.
func TestTextAfterWaitingQuestion(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	first := r.askQuestion("Bank", "sess_1", "Pay $5.")
	r.askQuestion("Bank", "sess_2", "Pay $9.")
	r.addEventOf("Bank", "sess_2", &aaep.OutputStreaming{Chunk: "The sun shines. ", OutputID: "out_2",
		CoalesceHint: aaep.BoundarySentence}, "")
	r.a.Settle(r.now, first)
	r.passTime(40 * time.Second)
	heard := r.heardTexts()
	if question, text := strings.Index(heard, "Pay $9."), strings.Index(heard, "The sun shines."); question < 0 || text < question {
		t.Error(heard)
	}
}
