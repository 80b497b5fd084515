package announce

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
	"github.com/aaep-go/aaep/internal/phrase"
)

// A page is a room whose person reads lines, which are there at once.
type page struct{ *room }

func newPage(t *testing.T, p Preferences) page {
	p.Reads = true
	return page{newRoom(t, p)}
}

// pass lets time pass, in which each line is printed when it comes.
func (p page) pass(d time.Duration) {
	p.t.Helper()
	for end := p.now.Add(d); ; {
		for p.takeActions(); p.voice != nil; p.takeActions() {
			p.endUtterance("", Heard)
		}
		if !p.now.Before(end) {
			return
		}
		p.now = p.now.Add(min(end.Sub(p.now), 100*time.Millisecond))
	}
}

// types has the person type a line now, and returns what was sent, and what was printed then.
func (p page) types(text string) (r *Reply, printed string) {
	p.heard = nil
	r = p.a.Answer(p.now, p.now, text)
	p.pass(0)
	return r, p.heardSince("")
}

func highRisk() *aaep.AwaitingConfirmation {
	return &aaep.AwaitingConfirmation{ReplyToken: "rpl_1", Action: "Pay $20.", Consequence: "The money is gone.", TimeoutSeconds: 90,
		DefaultDecision: aaep.Reject, RiskLevel: aaep.RiskHigh}
}

// A voice that has no Arabic names each letter: where it is not known to have it, a yes to what an
// Arabic voice could have read counts when it is given once more.
func TestReadByAnotherVoice(t *testing.T) {
	for _, tc := range []struct {
		voice []string
		after time.Duration
		soon  bool
	}{{nil, 20 * time.Second, true}, {[]string{"en-US"}, 20 * time.Second, true}, {nil, 80 * time.Second, false}, {[]string{"ar"}, 20 * time.Second, false}} {
		p, ask := newPage(t, Preferences{VoiceLanguages: tc.voice}), highRisk()
		ask.Action, ask.Consequence = "ادفع عشرين دولارا لشركة المياه.", "يغادر المال حسابك اليوم."
		p.addEvent(ask, "")
		p.pass(tc.after)
		if r, printed := p.types("y"); (r == nil) != tc.soon {
			t.Errorf("read by a voice of %v, a yes after %v gives %v, says %s", tc.voice, tc.after, r, printed)
		}
	}
}

// An output that returns at once is given the time of the voice that it has: of one that is not
// known to speak the language, that of one which names each letter.
func TestHeardByAnotherVoice(t *testing.T) {
	for _, tc := range []struct {
		speaks func(string) bool
		after  time.Duration
		heard  bool
	}{{nil, 40 * time.Second, false}, {nil, 3 * time.Minute, true}, {func(string) bool { return true }, 40 * time.Second, true}} {
		r := newRoom(t, Preferences{Speaks: tc.speaks})
		ask := highRisk()
		ask.Action, ask.Consequence, ask.TimeoutSeconds = "ادفع عشرين دولارا لشركة المياه.", "يغادر المال حسابك اليوم.", 600
		q := &aaep.Event{EventID: "evt_1", SessionID: "sess_1", Timestamp: r.now, Payload: ask, LocalizationHints: in("ar")}
		r.a.Add(r.now, "", q, Text(q, aaep.VerbosityNormal))
		page{r}.pass(tc.after)
		if _, put := r.a.Question(r.now, aaep.Accept); (put == q) != tc.heard {
			t.Errorf("after %v it can be accepted: %t, where the output speaks it: %t", tc.after, put == q, tc.speaks != nil)
		}
	}
}

// CONF-013, INV-58: what cannot be undone is not accepted before it can have been read, but by a
// second yes; no is no at once, and what was asked a moment ago gets no answer at all.
func TestReadTooSoon(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*aaep.AwaitingConfirmation)
		line   string
		after  time.Duration
		soon   bool
	}{
		"at once":  {func(*aaep.AwaitingConfirmation) {}, "y", 1500 * time.Millisecond, true},
		"read":     {func(*aaep.AwaitingConfirmation) {}, "y", 20 * time.Second, false},
		"no":       {func(*aaep.AwaitingConfirmation) {}, "n", 1500 * time.Millisecond, false},
		"low risk": {func(p *aaep.AwaitingConfirmation) { p.RiskLevel = aaep.RiskLow }, "y", 1500 * time.Millisecond, false},
		"irreversible": {func(p *aaep.AwaitingConfirmation) { p.RiskLevel, p.Reversibility = aaep.RiskLow, aaep.Irreversible }, "y",
			1500 * time.Millisecond, true},
		"long words": {func(p *aaep.AwaitingConfirmation) { p.Consequence = strings.Repeat("word ", 60) }, "y", 12 * time.Second, true},
		"Thai": {func(p *aaep.AwaitingConfirmation) {
			p.Action, p.Consequence = "โอนเงินห้าร้อยดอลลาร์จากบัญชีของคุณไปยังเงินออมเพื่อการเกษียณ", "เงินจะถูกโอนทันทีและถอนไม่ได้"
		}, "y", 9 * time.Second, true},
	} {
		p, ask := newPage(t, Preferences{}), highRisk()
		tc.change(ask)
		p.addEvent(ask, "")
		p.pass(400 * time.Millisecond)
		if r, printed := p.types(tc.line); r != nil || !strings.Contains(printed, "That came before the question could be read or heard.") {
			t.Errorf("%s: a line a moment after the question gives %v, says %s", name, r, printed)
		}
		p.pass(tc.after - 400*time.Millisecond)
		r, printed := p.types(tc.line)
		if soon := r == nil; soon != tc.soon || soon != strings.Contains(printed, "Type y again to accept.") {
			t.Errorf("%s: %v, says %s", name, r, printed)
		}
		p.pass(2 * time.Second)
		if r, printed := p.types("y"); tc.soon && (r == nil || r.Decision != aaep.Accept) {
			t.Errorf("%s: the second yes does not count: %s", name, printed)
		}
	}
}

// A terminal that is stopped, or that nothing reads, shows a question late and takes keys
// meanwhile: but for a no, an answer that was begun before all of it stood there is for another,
// however often it comes. INV-60
func TestShownLate(t *testing.T) {
	lowRisk, text := highRisk(), &aaep.AwaitingClarification{ReplyToken: "rpl_1", Question: "Which of all the files that are here?",
		AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseFreetext}, TimeoutSeconds: 600}
	lowRisk.RiskLevel = aaep.RiskLow
	for name, tc := range map[string]struct {
		ask  aaep.Payload
		line string
	}{"high risk": {highRisk(), "y"}, "low risk": {lowRisk, "y"}, "a text": {text, "the one of before"}} {
		p := newPage(t, Preferences{})
		p.addEvent(tc.ask, "")
		p.takeActions() // its first line is written, and does not get out
		p.now = p.now.Add(20 * time.Second)
		began := p.now
		for range 3 {
			p.now = p.now.Add(2 * time.Second)
			if r := p.a.Answer(p.now, p.now, tc.line); r != nil {
				t.Errorf("%s: an answer to what is not shown counts", name)
			}
		}
		p.pass(20 * time.Second)
		if r := p.a.Answer(p.now, began, tc.line); r != nil {
			t.Errorf("%s: an answer that was begun before it was shown counts", name)
		}
		p.pass(20 * time.Second)
		if r, printed := p.types(tc.line); r == nil {
			t.Errorf("%s: an answer to what was shown does not count: %s", name, printed)
		}
	}
	p := newPage(t, Preferences{})
	p.addEvent(highRisk(), "")
	p.takeActions()
	p.now = p.now.Add(20 * time.Second)
	if r := p.a.Answer(p.now, p.now, "n"); r == nil || r.Decision != aaep.Reject {
		t.Error("a no does not count at once")
	}
}

// A choice is asked for once more before it can have been read; what is typed in full counts.
func TestChoseTooSoon(t *testing.T) {
	ask := func(p page, kind aaep.ResponseKind) {
		p.addEvent(&aaep.AwaitingClarification{ReplyToken: "rpl_1", Question: "How many pages shall be printed of all that is there?",
			AcceptedResponseKinds: []aaep.ResponseKind{kind}, TimeoutSeconds: 600,
			Choices: []aaep.Choice{{Value: "a", Label: "All"}, {Value: "o", Label: "One"}}}, "")
		p.pass(1500 * time.Millisecond)
	}
	for kind, line := range map[aaep.ResponseKind]string{aaep.ResponseMultipleChoice: "2", aaep.ResponseYesNo: "n"} {
		p := newPage(t, Preferences{})
		ask(p, kind)
		r, printed := p.types(line)
		if r != nil || !strings.HasPrefix(printed, "You may not have heard all of it.|Question: How many") {
			t.Errorf("%s: %v, says %s", kind, r, printed)
		}
		p.pass(2 * time.Second)
		if r, printed = p.types(line); r == nil {
			t.Errorf("%s: the second %s does not count: %s", kind, line, printed)
		}
	}
	p := newPage(t, Preferences{})
	ask(p, aaep.ResponseFreetext)
	if r, printed := p.types("twelve"); r == nil || r.Response != "twelve" {
		t.Errorf("a text: %v, says %s", r, printed)
	}
}

var acceptWord = regexp.MustCompile(`Type (\S+) to accept`)

// A word that was said with one question is a yes to no other, so that it cannot be meant for a
// question that was withdrawn. INV-60
func TestWordOfAnother(t *testing.T) {
	p, last := newPage(t, Preferences{Unseen: func() bool { return true }}), map[string]int{}
	for i := range 400 {
		p.heard = nil
		ev := p.addEvent(highRisk(), "")
		p.pass(2 * time.Second)
		word := acceptWord.FindStringSubmatch(p.heardSince(""))[1]
		if at, ok := last[word]; ok && i-at <= 20 {
			t.Fatalf("question %d has the word of question %d: %q", i, at, word)
		}
		last[word] = i
		if r, _ := p.types("y"); r != nil {
			t.Fatal("a y whose keys were not seen accepts what is of high risk")
		}
		if r, printed := p.types(word); r == nil || r.Decision != aaep.Accept {
			t.Fatalf("the word does not count: %s", printed)
		} else {
			p.a.Answered(p.now, r, nil)
		}
		p.a.Settle(p.now, ev)
		p.pass(time.Minute)
	}
}

// An agent that says all words but one in its question does not choose by that which word is a yes.
// INV-60
func TestWordIsNotTheAgents(t *testing.T) {
	drawn := map[string]bool{}
	for i := range 40 {
		p, ask := newPage(t, Preferences{Unseen: func() bool { return true }}), highRisk()
		p.now = p.now.Add(time.Duration(i) * 137 * time.Microsecond)
		ask.Consequence = strings.Join(phrase.Words("en")[1:], " ")
		p.addEvent(ask, "")
		p.pass(2 * time.Second)
		drawn[acceptWord.FindStringSubmatch(p.heardSince(""))[1]] = true
	}
	if len(drawn) < 10 {
		t.Errorf("only %d words were asked for", len(drawn))
	}
}

// What was pasted is no yes to what is of high risk, and asks for a word; one that comes later than
// the question does not say that the question was read.
func TestPastedYes(t *testing.T) {
	unseen := false
	p := newPage(t, Preferences{Unseen: func() bool { return unseen }})
	p.addEvent(highRisk(), "")
	p.pass(2 * time.Second)
	if acceptWord.MatchString(p.heardSince("")) {
		t.Fatalf("a word is asked for where keys are seen: %s", p.heardSince(""))
	}
	unseen = true
	r, printed := p.types("y")
	if word := acceptWord.FindStringSubmatch(printed); r != nil || word == nil || word[1] == "y" {
		t.Fatalf("what was pasted: %v, says %s", r, printed)
	}
	unseen = false
	p.pass(time.Second)
	if r, printed := p.types(acceptWord.FindStringSubmatch(printed)[1]); r != nil || !strings.Contains(printed, "You may not have heard all of it.") {
		t.Errorf("the word before the question can have been read: %v, says %s", r, printed)
	}
}

// Enter alone repeats the question; who answers when nothing is asked hears what came of the last.
func TestReadAgain(t *testing.T) {
	p := newPage(t, Preferences{})
	p.changeState(aaep.StateThinking, aaep.StateAwaitingInput, "Pay $20.")
	ev := p.addEvent(highRisk(), "")
	p.pass(30 * time.Second)
	if r, printed := p.types(""); r != nil || !strings.HasPrefix(printed, "Decide: Pay $20.|") || !strings.Contains(printed, "You have 1 minute to answer.") {
		t.Errorf("Enter alone: %v, says %s", r, printed)
	}
	p.changeState(aaep.StateAwaitingInput, aaep.StateThinking, "Nobody answered in time, so this was not done: Pay $20.")
	p.a.Settle(p.now, ev)
	p.pass(time.Second)
	if r, printed := p.types("y"); r != nil || printed != "No question is open. What came of the last one: Nobody answered in time, so this was not done: Pay $20." {
		t.Errorf("a late yes: %v, says %s", r, printed)
	}
	if _, printed := p.types(""); printed != "" {
		t.Errorf("Enter alone where nothing is asked says %s", printed)
	}
}

// CONF-036: more time is told by the agent, or else here after a moment; asked for twice, it is
// asked of the agent once.
func TestMoreTimeIsTold(t *testing.T) {
	for name, tc := range map[string]struct {
		err   error
		tells bool // the agent
		want  string
		limit time.Duration
	}{
		"told by the agent": {nil, true, "More time.", 180 * time.Second},
		"told here":         {nil, false, "There is more time. You have about 2 minutes 30 seconds to answer.", 180 * time.Second},
		"none":              {closes.ErrNoMoreTime, false, "The agent gives no more time for this question. You have 1 minute 10 seconds to answer.", 90 * time.Second},
		"closed":            {closes.ErrUnknown, false, "There is no more time: the question is no longer open.", 90 * time.Second},
		"lost":              {errors.New("no link"), false, "No more time so far: the link broke.", 90 * time.Second},
	} {
		p := newPage(t, Preferences{})
		ev := p.addEvent(highRisk(), "")
		p.pass(20 * time.Second)
		p.heard = nil
		if source, question := p.a.AskMore(p.now, nil); source != "Planner" || question != ev {
			t.Fatalf("%s: asked of %s for %v", name, source, question)
		}
		if _, question := p.a.AskMore(p.now, nil); question != nil {
			t.Errorf("%s: more time is asked for twice at once", name)
		}
		p.pass(0)
		p.heard = nil
		if tc.tells {
			p.addEvent(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(100 * 20. / 180)}, ETAMS: new(int64(160_000))}, "More time.")
		}
		p.a.MoreTime(p.now, ev, tc.err)
		p.pass(5 * time.Second)
		if got := p.heardSince(""); tc.want != "" && got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
		if got := p.a.questions.firstOpen().timeLimit(); got != tc.limit {
			t.Errorf("%s: there are %v, want %v", name, got, tc.limit)
		}
	}
}

// A question that cannot be answered here says no word for a yes; one of which it is not said how
// it is answered does.
func TestNoWordWhereNothingCounts(t *testing.T) {
	for _, tc := range []struct {
		answering Words
		says      bool
	}{{Words{}, false}, {nil, true}} {
		p := newPage(t, Preferences{Unseen: func() bool { return true }, Answering: func(*aaep.Event) Words { return tc.answering }})
		p.addEvent(highRisk(), "")
		p.addSentence("It is the bill of last month. ")
		p.pass(time.Minute)
		if says := strings.Contains(p.heardSince(""), "to accept or n to reject"); says != tc.says {
			t.Errorf("after %#v is heard %s", tc.answering, p.heardSince(""))
		}
	}
}
