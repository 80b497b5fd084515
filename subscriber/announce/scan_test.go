package announce

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/hearing"
	"github.com/aaep-go/aaep/internal/phrase"
)

// press has the person press a switch, and the link take what that sends. heard is what is said in
// the time after it.
func (r *room) press(text string, after time.Duration) (sent *Reply, heard string) {
	r.t.Helper()
	from := len(r.heard)
	if sent = r.a.Answer(r.now, r.now, text); sent != nil {
		r.a.Answered(r.now, sent, nil)
	}
	r.passTime(after)
	return sent, r.heardFrom(from)
}

// heardFrom returns what was heard since so many utterances had begun.
func (r *room) heardFrom(n int) string {
	var all []string
	for _, line := range r.heard[n:] {
		_, said, _ := strings.Cut(line, " ")
		all = append(all, said)
	}
	return strings.Join(all, "|")
}

// pressed is one press, and what is heard after it.
type pressed struct{ press, heard string }

// wantPressed presses switches, five seconds apart, and compares what is heard. It returns what the
// last press sends; another that sends something is an error.
func (r *room) wantPressed(list ...pressed) (sent *Reply) {
	r.t.Helper()
	for i, p := range list {
		var heard string
		if sent, heard = r.press(p.press, 5*time.Second); heard != p.heard {
			r.t.Errorf("press %d, %s: heard %q, want %q", i, p.press[1:], heard, p.heard)
		}
		if sent != nil && i+1 < len(list) {
			r.t.Fatalf("press %d sends %+v", i, sent)
		}
	}
	return sent
}

// pressTo presses switches until an answer was sent, and returns it with how many presses it took;
// nil where that cannot be.
func (r *room) pressTo(answer any) (sent *Reply, presses int) {
	r.t.Helper()
	for idle := 0; idle < 60; presses++ {
		press := r.a.PressFor(r.now, answer)
		if press == "" {
			idle++
			r.passTime(time.Second)
			continue
		}
		idle = 0
		if sent, _ = r.press(press, 300*time.Millisecond); sent != nil {
			return sent, presses
		}
	}
	return nil, presses
}

// askText adds a question, and lets it be heard.
func (r *room) ask(p aaep.Payload) *aaep.Event {
	ev := r.addEvent(p, "")
	r.passTime(time.Minute)
	return ev
}

func choices(labels ...string) *aaep.AwaitingClarification {
	p := &aaep.AwaitingClarification{Question: "Which one?", TimeoutSeconds: 3600,
		AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseMultipleChoice}}
	for i, label := range labels {
		p.Choices = append(p.Choices, aaep.Choice{Value: fmt.Sprint("value ", i+1), Label: label})
	}
	return p
}

func textQuestion() *aaep.AwaitingClarification {
	return &aaep.AwaitingClarification{Question: "Which berth?", Context: "The ship is long.", TimeoutSeconds: 3600}
}

// Each thing that can be selected is told as it is reached, with its place; the answer is told
// before it is sent; a no needs no second press, and neither is a yes without one.
func TestScanConfirmation(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	p := payQuestion()
	p.TimeoutSeconds = 3600
	r.ask(p)
	sent := r.wantPressed(
		pressed{Select, "reject, 1 of 6."}, // the first press answers nothing
		pressed{Step, "accept, 2 of 6."},
		pressed{Step, "What follows, and the risk, 3 of 6."},
		pressed{Select, "Consequence: The money is gone.|Medium risk.|No answer: it will not be done."},
		pressed{Step, "The question again, 4 of 6."},
		pressed{Step, "More time, 5 of 6."},
		pressed{Select, ""},
		pressed{Step, "Stop, and send nothing, 6 of 6."},
		pressed{Step, "reject, 1 of 6."},
		pressed{Step, "accept, 2 of 6."},
		pressed{Select, "To send: accept: Pay $20. 1 of 2."},
		pressed{Step, "Back, 2 of 2."},
		pressed{Select, "reject, 1 of 6."},
		pressed{Step, "accept, 2 of 6."},
		pressed{Select, "To send: accept: Pay $20. 1 of 2."},
		pressed{Select, "Answer sent: accept."})
	if sent == nil || sent.Decision != aaep.Accept {
		t.Errorf("sent %+v", sent)
	}
	if !r.a.WantsMoreTime() || r.a.WantsMoreTime() {
		t.Error("more time was selected, and is wanted once")
	}
	r.ask(p)
	if sent := r.wantPressed(pressed{Step, "reject, 1 of 6."}, pressed{Select, "Answer sent: reject."}); sent == nil || sent.Decision != aaep.Reject {
		t.Errorf("sent %+v", sent)
	}
}

// A text is spelled by rows, with whole words, corrections and capitals; nothing is lost by a look
// at something else, and all of it is told before it is sent.
func TestScanText(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.ask(textQuestion())
	r.wantPressed(
		pressed{Step, "Spell an answer, 1 of 5."},
		pressed{Select, "Space, correct and finish, 1 of 9."},
		pressed{Step, "Words, 2 of 9."}, pressed{Step, "From a, 3 of 9."}, pressed{Step, "From g, 4 of 9."},
		pressed{Select, "g, 1 of 7."}, pressed{Step, "h, 2 of 7."},
		pressed{Select, "h. Space, correct and finish, 1 of 10."},
		pressed{Select, "Space, 1 of 10."}, pressed{Step, "Finish, 2 of 10."}, pressed{Step, "Delete the last, 3 of 10."},
		pressed{Select, "Space, correct and finish, 1 of 9."},
		pressed{Select, "Capital letter, 1 of 6."},
		pressed{Step, "What follows, and the risk, 2 of 6."}, pressed{Select, "Context: The ship is long."},
		pressed{Step, "The question again, 3 of 6."}, pressed{Step, "More time, 4 of 6."},
		pressed{Step, "Stop, and send nothing, 5 of 6."}, pressed{Step, "Back, 6 of 6."},
		pressed{Select, "Space, correct and finish, 1 of 9."})
	for _, want := range []string{"Ship 12, east (\"left\" pier) @ 3.5%!", "Ẹ káàárọ̀", "İ"} {
		isPossible := !strings.Contains(want, "İ")
		sent, presses := r.pressTo(want)
		if isPossible && (sent == nil || sent.Response != want) || !isPossible && sent != nil {
			t.Errorf("%q: sent %+v", want, sent)
		}
		t.Logf("%q took %d presses", want, presses)
		r.passTime(time.Minute)
		r.ask(textQuestion())
	}
}

// In each language the SDK speaks, every kind of answer can be given, also in its own letters.
func TestScanLanguages(t *testing.T) {
	texts := map[string]string{"ar": "نعم غدا", "de": "Schöne Grüße", "es": "Mañana, señor", "fr": "Ça va, où", "yo": "Ẹ ṣé", "en": "Fine"}
	for _, tag := range phrase.Languages() {
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		r.a.SetLanguage(tag)
		for _, answer := range []any{true, -1.5, texts[tag], "value 2"} {
			p := choices("One", "Two")
			switch answer.(type) {
			case bool:
				p.AcceptedResponseKinds, p.Choices = []aaep.ResponseKind{aaep.ResponseYesNo}, nil
			case float64:
				p.AcceptedResponseKinds, p.Choices = []aaep.ResponseKind{aaep.ResponseNumeric}, nil
			case string:
				if answer != "value 2" {
					p.AcceptedResponseKinds, p.Choices = nil, nil
				}
			}
			ev := r.ask(p)
			ev.LocalizationHints = in(tag)
			if sent, presses := r.pressTo(answer); sent == nil || sent.Response != answer {
				t.Errorf("%s: %v: after %d presses sent %+v; heard %q", tag, answer, presses, sent, r.heard)
			}
			r.passTime(time.Minute)
		}
	}
}

// A choice is the one that was told, whatever its label says: neither a number, nor the words of
// this program, nor those of another choice mislead.
func TestScanHostileChoices(t *testing.T) {
	labels := []string{"5", "1", "2", "Stop, and send nothing, 9 of 9.", "To send: 1", "4: 2", "\x00select", "a\nb", "accept", "\u202eyes"}
	for i := range labels {
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		r.ask(choices(labels...))
		var heard string
		for range i + 1 {
			_, heard = r.press(Step, 8*time.Second)
		}
		if !strings.HasPrefix(heard, fmt.Sprint(i+1, ": ")) || !strings.HasSuffix(heard, fmt.Sprintf(" %d of 13.", i+1)) {
			t.Errorf("choice %d: heard %q", i+1, heard)
		}
		if _, heard := r.press(Select, 8*time.Second); !strings.HasPrefix(heard, fmt.Sprintf("To send: %d: ", i+1)) {
			t.Errorf("choice %d: heard %q", i+1, heard)
		}
		sent, _ := r.press(Select, time.Second)
		if sent == nil || sent.Response != fmt.Sprint("value ", i+1) {
			t.Errorf("choice %d: sent %+v", i+1, sent)
		}
	}
}

// A switch that bounces, both at once, and hands that tremble choose nothing that was not heard,
// and send nothing.
func TestScanBounce(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.ask(choices("East", "West"))
	r.wantPressed(pressed{Step, "1: East, 1 of 5."})
	n := len(r.heard)
	for _, press := range []string{Step, Select, Step, Step} { // within ten milliseconds
		r.press(press, 3*time.Millisecond)
	}
	if r.passTime(3 * time.Second); r.heardFrom(n) != "2: West, 2 of 5." {
		t.Errorf("heard %q", r.heard)
	}
	r.wantPressed(pressed{Select, "To send: 2: West. 1 of 2."})
	for i := range 200 {
		if sent, _ := r.press(Select, time.Duration(50+i)*time.Millisecond); sent != nil {
			if i > 0 { // the first is one in its own right
				t.Fatalf("press %d of a hand that trembles sends %+v", i, sent)
			}
			r.ask(choices("East", "West"))
		}
	}
}

// placeTold is how an utterance ends that tells what can be selected.
var placeTold = regexp.MustCompile(` [0-9]+ of [0-9]+\.( /)?$`)

// Whatever is pressed when, in whatever order, and whatever happens meanwhile: what is sent was
// told to its end as what will be sent, or is a no.
func TestScanRandomPresses(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		r.a.Follow("Shop")
		sent := 0
		for range 400 {
			if r.a.questions.firstOpen() == nil || random.IntN(60) == 0 {
				source := []string{"Bank", "Shop"}[random.IntN(2)]
				p := []aaep.Payload{payQuestion(), choices("East", "West"), textQuestion()}[random.IntN(3)]
				r.addEventOf(source, fmt.Sprint("sess_", r.n), p, "")
			}
			if q := r.a.questions.firstOpen(); q != nil && random.IntN(80) == 0 {
				r.a.Settle(r.now, q.event) // answered elsewhere
			}
			if random.IntN(40) == 0 {
				r.addEventOf("Shop", "sess_news", &aaep.ProgressUpdated{}, "News.")
			}
			told := "" // the newest of what can be selected, unless it is still being told
			for _, line := range slices.Backward(r.heard) {
				if placeTold.MatchString(line) {
					told = line
					break
				}
			}
			if r.voice != nil && strings.HasSuffix(told, r.voice.Text) || strings.HasSuffix(told, "/") {
				told = ""
			}
			reply := r.a.Answer(r.now, r.now, []string{Step, Select}[random.IntN(2)])
			if reply != nil {
				sent++
				q := r.shown.Event
				if reply.Question != q {
					t.Fatalf("seed %d: an answer to %v is sent, and the question was %v", seed, reply.Question.Payload, q.Payload)
				}
				if reply.Decision != aaep.Reject && !strings.Contains(told, "To send: ") {
					t.Fatalf("seed %d: %v %v is sent after %q: %q", seed, reply.Decision, reply.Response, told, r.heard[max(0, len(r.heard)-12):])
				}
				r.a.Answered(r.now, reply, nil)
			}
			r.passTime(time.Duration(random.IntN(4000)) * time.Millisecond)
		}
		if seed == 0 && sent == 0 {
			t.Error("nothing was sent")
		}
	}
}

// What is selected before it began to be told is not; what was silenced is told once more.
func TestScanUnheard(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.ask(choices("East", "West"))
	r.wantPressed(pressed{Step, "1: East, 1 of 5."})
	r.addEventOf("Planner", "sess_2", &aaep.SessionErrored{ErrorCode: "x"}, "It failed for a long reason that takes a while.")
	if _, heard := r.press(Step, 500*time.Millisecond); strings.Contains(heard, "West") {
		t.Fatalf("heard %q", heard)
	}
	if _, heard := r.press(Select, 20*time.Second); strings.Contains(heard, "To send") || !strings.Contains(heard, "2: West, 2 of 5.") {
		t.Errorf("before it was told: heard %q", heard)
	}
	r.press(Select, time.Second)
	r.pressSilence()
	if sent := r.wantPressed(pressed{Select, "To send: 2: West. 1 of 2."}); sent != nil {
		t.Errorf("what was silenced is sent: %+v", sent)
	}
	if sent, _ := r.press(Select, 0); sent == nil || sent.Response != "value 2" {
		t.Errorf("sent %+v", sent)
	}
}

// Of an answer that is spelled while its question goes, nothing is for the next, whose list begins
// anew. One that is asked in other words keeps what was spelled.
func TestScanQuestionGoes(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.ask(textQuestion())
	r.pressTo("hello there") // sent: the next one is to be interrupted
	first := r.ask(textQuestion())
	for range 12 {
		r.press(r.a.PressFor(r.now, "hello"), 2*time.Second)
	}
	next := r.addEvent(choices("Delete all", "Keep"), "")
	r.a.Settle(r.now, first)
	if _, heard := r.press(Select, 200*time.Millisecond); strings.Contains(heard, "To send") {
		t.Errorf("heard %q", heard)
	}
	r.passTime(time.Minute)
	if sent := r.wantPressed(pressed{Select, "1: Delete all, 1 of 5."}, pressed{Step, "2: Keep, 2 of 5."}); sent != nil {
		t.Errorf("sent %+v", sent)
	}
	r.a.Settle(r.now, next)
	r.passTime(time.Minute)
	if sent, heard := r.press(Select, 5*time.Second); sent != nil || heard != "No question is open." {
		t.Errorf("without a question: sent %+v, heard %q", sent, heard)
	}

	p := textQuestion()
	p.ReplyToken = "rpl_1"
	r.ask(p)
	for r.a.questions.firstOpen().scan.text != "hel" {
		r.press(r.a.PressFor(r.now, "hello"), time.Second)
	}
	again := *p
	again.Question = "Quel quai ?"
	r.addEvent(&again, "")
	r.passTime(time.Minute)
	if sent, _ := r.pressTo("hello"); sent == nil || sent.Response != "hello" {
		t.Errorf("sent %+v", sent)
	}
}

// spellTo presses switches on the way to an answer, until so much of it is written.
func (r *room) spellTo(answer, written string) {
	r.t.Helper()
	for range 200 {
		if r.a.questions.firstOpen().scan.text == written {
			return
		}
		if press := r.a.PressFor(r.now, answer); press != "" {
			r.press(press, time.Second)
		}
		r.passTime(time.Second)
	}
	r.t.Fatalf("%q is never written; heard %q", written, r.heard)
}

// What a person has written is not lost without a word: where the question goes, they are told that
// nothing was sent, and where it is asked anew, they go on where they were, once. What was sent in
// vain stays, and what arrived is gone.
func TestScanDraft(t *testing.T) {
	for name, goes := range map[string]func(r *room, q *aaep.Event){
		"Lapse":  func(r *room, q *aaep.Event) { r.a.Lapse(r.now, q) },
		"Settle": func(r *room, q *aaep.Event) { r.a.Settle(r.now, q) },
		"an event": func(r *room, _ *aaep.Event) {
			r.addEvent(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Nobody answered.")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
			first := r.ask(textQuestion())
			r.spellTo("hello", "hel")
			n := len(r.heard)
			goes(r, first)
			r.passTime(20 * time.Second)
			if heard := r.heardFrom(n); strings.Count(heard, "Your answer was not sent.") != 1 {
				t.Errorf("where the question goes: heard %q", heard)
			}
			other := r.ask(&aaep.AwaitingClarification{Question: "Which port?", TimeoutSeconds: 3600})
			r.wantPressed(pressed{Step, "Spell an answer, 1 of 4."})
			r.a.Settle(r.now, other)
			r.passTime(time.Minute)
			again := r.ask(textQuestion())
			r.wantPressed(pressed{Step, "Written: hel. Spell an answer, 1 of 5."})
			if sent, _ := r.pressTo("hello"); sent == nil || sent.Response != "hello" || sent.Question != again {
				t.Errorf("sent %+v", sent)
			}
			r.passTime(time.Minute)
			r.ask(textQuestion())
			r.wantPressed(pressed{Step, "Spell an answer, 1 of 5."})
		})
	}
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.ask(textQuestion())
	r.spellTo("hello", "hello")
	var reply *Reply
	for range 20 {
		if press := r.a.PressFor(r.now, "hello"); press != "" {
			reply = cmp.Or(reply, r.a.Answer(r.now, r.now, press))
		}
		r.passTime(time.Second)
	}
	if reply == nil {
		t.Fatalf("nothing was sent; heard %q", r.heard)
	}
	r.a.Answered(r.now, reply, closes.ErrNotSent)
	r.passTime(time.Minute)
	if sent := r.wantPressed(pressed{Step, "Written: hello. Spell an answer, 1 of 5."}); sent != nil {
		t.Errorf("sent %+v", sent)
	}
	if sent, _ := r.pressTo("hello"); sent == nil || sent.Response != "hello" {
		t.Errorf("after it was sent in vain: sent %+v", sent)
	}
}

// A person who presses at a pace across the end of a question and into the next answers only what
// they have heard: nothing goes to the next before all of its action was said, and nothing to the
// first.
func TestScanPressesPastEnd(t *testing.T) {
	ends := map[string]func(r *room, q *aaep.Event){
		"Lapse":  func(r *room, q *aaep.Event) { r.a.Lapse(r.now, q) },
		"Settle": func(r *room, q *aaep.Event) { r.a.Settle(r.now, q) },
		"a state": func(r *room, _ *aaep.Event) {
			r.addEvent(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Nobody answered.")
		},
		"the next question": func(*room, *aaep.Event) {},
	}
	for name, end := range ends {
		for _, pattern := range [][]string{{Select}, {Step, Select}, {Step, Step, Select}} {
			for phase := range 12 {
				r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
				p := payQuestion()
				p.TimeoutSeconds, p.ReplyToken = 60, "rpl_1"
				first := r.addEvent(p, "")
				r.passTime(20 * time.Second)
				for _, press := range []string{Step, Step, Select} { // the answer is told as it will be sent
					r.press(press, 5*time.Second)
				}
				r.passTime(time.Minute)
				end(r, first)
				q := *p
				q.ReplyToken, q.Action = "rpl_2", "Delete all files"
				next := r.addEvent(&q, "")
				n := len(r.heard) - 1 // next may have begun
				r.passTime(time.Duration(phase) * 250 * time.Millisecond)
				for i := range 40 {
					wasSaid := r.heardFrom(n)
					if r.voice != nil {
						wasSaid = strings.TrimSuffix(wasSaid, r.voice.Text)
					}
					sent, _ := r.press(pattern[i%len(pattern)], 900*time.Millisecond)
					if sent == nil {
						continue
					}
					if sent.Question != next || !strings.Contains(wasSaid, "Delete all files|") {
						t.Errorf("%s, phase %d, %q: %v is sent for %v after %q", name, phase, pattern, sent.Decision, sent.Question.Payload, wasSaid)
					}
					break
				}
			}
		}
	}
}

// While a person scans, more time is asked for before what is left is too little, unless the agent
// gives none, and never for one who presses nothing. When the time is over, nothing is sent.
func TestScanTime(t *testing.T) {
	for _, given := range []bool{true, false} {
		r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
		p := textQuestion()
		p.TimeoutSeconds = 120
		ev := r.addEvent(p, "")
		r.passTime(30 * time.Second)
		asked := 0
		for range 40 {
			r.press(Step, 5*time.Second)
			if !r.a.WantsMoreTime() {
				continue
			}
			asked++
			if _, q := r.a.AskMore(r.now, nil); q != ev {
				t.Fatalf("more time is asked for %v", q)
			}
			if given {
				r.a.MoreTime(r.now, ev, nil)
			} else {
				r.a.MoreTime(r.now, ev, closes.ErrNoMoreTime)
			}
		}
		if _, _, left := r.a.OpenQuestion(r.now); given && (asked != 2 || left < time.Minute) || !given && asked != 1 {
			t.Errorf("given %v: asked %d times, %v left", given, asked, left)
		}
	}
}

// Others wait while a person scans, and are told when they pause; what another agent said is not
// taken for the question.
func TestScanTwoAgents(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.a.Follow("Shop")
	r.addEventOf("Bank", "sess_1", choices("East", "West"), "")
	r.passTime(time.Minute)
	r.wantPressed(pressed{Step, "1: East, 1 of 5."}, pressed{Select, "Bank: To send: 1: East. 1 of 2."})
	r.addEventOf("Shop", "sess_2", choices("Buy", "Sell"), "") // waits, which is told
	r.addEventOf("Shop", "sess_2", &aaep.OutputStreaming{Chunk: "Shall I sell all? ", OutputID: "o", CoalesceHint: aaep.BoundarySentence}, "")
	n := len(r.heard)
	r.passTime(answerPause - 6*time.Second)
	if heard := r.heardFrom(n); strings.Contains(heard, "sell") {
		t.Errorf("while they scan: heard %q", heard)
	}
	r.passTime(time.Minute)
	if heard := r.heardFrom(n); !strings.Contains(heard, "Shop: Shall I sell all?") {
		t.Errorf("after it: heard %q", heard)
	}
	sent, _ := r.press(Select, time.Minute)
	if sent != nil && sent.Source != "Bank" {
		t.Errorf("sent %+v", sent)
	}
}

// A press is for the question that was there a second before it.
func TestScanTooSoon(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.addEvent(choices("East", "West"), "")
	r.passTime(hearing.StillBefore / 2)
	if sent, heard := r.press(Select, 2*time.Second); sent != nil || !strings.Contains(heard, "before the question could be") {
		t.Errorf("sent %+v, heard %q", sent, heard)
	}
}
