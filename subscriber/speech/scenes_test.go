//go:build linux

package speech_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/realtest"
	"github.com/aaep-go/aaep/internal/speechd"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/subscriber/speech"
)

// TestRealScenes: an answer, a question that comes in the middle of it and is silenced, what came
// of it, and a failure, in several languages, through Speech Dispatcher with eSpeak NG. What must
// be heard stands in testdata/scenes.
func TestRealScenes(t *testing.T) {
	realtest.Need(t, speechd.Programs...)
	t.Parallel()
	for _, tc := range []struct{ name, language, answer, action, consequence, outcome, failure string }{
		{"English", "en", "I have looked through all of the bills of this month, and one of them is due today.",
			"Pay $20 to the water company.", "The money leaves your account today.", "Rejected, and not paid.", "The disk is full."},
		{"Spanish", "es", "He mirado todas las facturas de este mes, y una de ellas vence hoy.",
			"Pagar 20 euros a la compañía del agua.", "El dinero sale hoy de su cuenta.", "Rechazado, y no pagado.", "El disco está lleno."},
		{"Arabic", "ar", "نظرت في جميع فواتير هذا الشهر، وواحدة منها تستحق اليوم.",
			"ادفع عشرين دولارا لشركة المياه.", "يغادر المال حسابك اليوم.", "رُفض ولم يُدفع.", "القرص ممتلئ."},
		{"Chinese", "zh-CN", "我看了这个月的所有账单，其中一张今天到期。",
			"向水务公司付款二十元。", "钱今天就会离开你的账户。", "已拒绝，没有付款。", "磁盘已满。"},
	} {
		if testing.Short() && tc.language != "en" && tc.language != "zh-CN" {
			continue
		}
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := startVoiceScene(t, tc.language, tc.action, nil)
			s.add(&aaep.OutputStreaming{Chunk: tc.answer, OutputID: "out_1", CoalesceHint: aaep.BoundarySentence, Complete: true}, "")
			s.awaitContaining(t, s.before, tc.answer, false)
			question := s.add(&aaep.AwaitingConfirmation{Action: tc.action, Consequence: tc.consequence, TimeoutSeconds: 600, RiskLevel: aaep.RiskHigh,
				Irreversible: new(true), DefaultDecision: aaep.Reject, ReplyToken: "rpl_1"}, "")
			s.awaitContaining(t, s.before, tc.action, false)
			s.awaitSilenced(t)
			if s.accepted() != nil {
				t.Error("it can be accepted, and was silenced")
			}
			s.awaitAccepted(t, question)
			s.p.Plan(func(a *announce.Announcer, now time.Time) { a.Settle(now, question) })
			s.add(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, tc.outcome)
			s.awaitContaining(t, s.before, tc.outcome, true)
			s.add(&aaep.SessionErrored{}, tc.failure)
			s.judge(t, "in-"+tc.name)
		})
	}
}

// TestRealSceneWithoutVoice: the agent asks in Yoruba, which eSpeak NG does not speak, and fails.
// The person silences what is said of the question, which comes again; they have it spelled, and
// accept it. Then it asks which of two, which is spelled, too.
func TestRealSceneWithoutVoice(t *testing.T) {
	realtest.Need(t, speechd.Programs...)
	t.Parallel()
	s := startVoiceScene(t, "yo", "Cannot be undone.", func(question *aaep.Event) announce.Words {
		if question.Type() == aaep.TypeAwaitingConfirmation {
			return announce.In("en", "Press y or n.")
		}
		return announce.In("en", "Type a number up to 2.")
	})
	question := s.add(&aaep.AwaitingConfirmation{Action: "San án.", Consequence: "Ó lọ.", TimeoutSeconds: 600, RiskLevel: aaep.RiskHigh,
		Irreversible: new(true), DefaultDecision: aaep.Reject, ReplyToken: "rpl_1"}, "")
	s.awaitSilenced(t)
	s.awaitHeard(t, "No answer: it will not be done.")
	if s.accepted() != nil {
		t.Error("it can be accepted unheard")
	}
	s.p.Spell()
	s.awaitAccepted(t, question)
	s.p.Plan(func(a *announce.Announcer, now time.Time) { a.Settle(now, question) })
	s.add(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "A ti san án.")
	s.add(&aaep.AwaitingClarification{Question: "Àwọ̀ wo?", TimeoutSeconds: 600, ReplyToken: "rpl_2",
		AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseMultipleChoice},
		Choices:               []aaep.Choice{{Value: "r", Label: "Pupa"}, {Value: "b", Label: "Búlúù"}}}, "")
	s.awaitHeard(t, "Type a number up to 2.")
	second := func() (reply *announce.Reply) {
		s.p.Plan(func(a *announce.Announcer, now time.Time) { reply = a.Answer(now, now, "2") })
		return reply
	}
	if second() != nil {
		t.Error("a choice counts unheard")
	}
	s.p.Spell()
	s.awaitHeard(t, "B, u acute, l, u acute, u grave.")
	s.awaitContaining(t, len(s.Messages())-1, "Type a number up to 2.", true)
	for end := time.Now().Add(patience); second() == nil; time.Sleep(3 * time.Second) { // what is tried too early is told to be that
		if time.Now().After(end) {
			t.Fatal("the choice never counts")
		}
	}
	s.add(&aaep.SessionErrored{}, "Ó kùnà.")
	s.judge(t, "in-Yoruba")
}

// A voiceScene is one agent, whose events are added, and a person who hears it through a speech
// server of the scene's own.
type voiceScene struct {
	*real
	p        *present.Presenter
	o        *silencedOnce
	language string
	before   int // messages before the scene
	events   int
}

// startVoiceScene starts one for an agent that speaks a language. The person silences all speech
// when a text is said for the first time.
func startVoiceScene(t *testing.T, language, silenced string, answering func(*aaep.Event) announce.Words) *voiceScene {
	t.Helper()
	s := &voiceScene{real: &real{speechd.Start(t)}, language: language}
	s.sayToEnd(t, speech.Options{}, "Hello.") // the first sound of all comes a second late
	s.o = &silencedOnce{Output: s.dialOutput(t, speech.Options{WordsPerMinute: 400}), text: silenced,
		press: func(until <-chan struct{}) { s.pressSilence(t, until) }, presented: make(chan error, 1)}
	s.p = present.New(announce.Preferences{WordsPerMinute: 400, Speaks: s.o.Speaks, Answering: answering})
	s.p.SetLanguage(language, "en")
	s.before = len(s.Messages())
	ctx, cancel := context.WithCancel(t.Context())
	presented := make(chan error, 1)
	go func() { presented <- s.p.Run(ctx, s.o) }()
	t.Cleanup(func() {
		cancel()
		<-presented
		for _, m := range s.all() {
			t.Logf("heard %t: %s", m.Heard(), m.Words())
		}
	})
	return s
}

// all returns what was asked to be said in the scene.
func (s *voiceScene) all() []speechd.Message { return s.Messages()[s.before:] }

// add adds an event of the agent's, with a text for the person, or "".
func (s *voiceScene) add(payload aaep.Payload, text string) *aaep.Event {
	s.events++
	ev := &aaep.Event{EventID: "evt_" + string(rune('a'+s.events)), SessionID: "sess_1", Timestamp: time.Now(), Summary: aaep.Say(text), Payload: payload,
		LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: s.language}}
	s.p.Add("", ev)
	return ev
}

// accepted returns the question that a yes would count for now, or nil.
func (s *voiceScene) accepted() (question *aaep.Event) {
	s.p.Plan(func(a *announce.Announcer, now time.Time) { _, question = a.Question(now, aaep.Accept) })
	return question
}

// awaitSilenced waits until the person has silenced the text that they silence.
func (s *voiceScene) awaitSilenced(t *testing.T) {
	t.Helper()
	if err := <-s.o.presented; err != announce.ErrCut {
		t.Fatalf("it was presented with %v, and was to be silenced", err)
	}
}

// awaitAccepted waits until a yes to a question would count.
func (s *voiceScene) awaitAccepted(t *testing.T, question *aaep.Event) {
	t.Helper()
	for end := time.Now().Add(patience); s.accepted() != question; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it can never be accepted")
		}
	}
}

// awaitHeard waits until a text was heard to its end in the scene.
func (s *voiceScene) awaitHeard(t *testing.T, text string) {
	t.Helper()
	s.awaitContaining(t, s.before, text, true)
}

// judge judges the scene by a file of testdata/scenes, once all of it was heard, or after a minute.
func (s *voiceScene) judge(t *testing.T, name string) {
	t.Helper()
	scene := speechd.ReadScene(t, "testdata/scenes/"+name+".txt")
	for end := time.Now().Add(time.Minute); scene.Missing(s.all()) != "" && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
	}
	for _, fault := range scene.Faults(s.all()) {
		t.Error(fault)
	}
}

// awaitContaining waits until the server has begun to say, or has said to its end, a message that
// contains a text, of those after so many.
func (r *real) awaitContaining(t *testing.T, after int, text string, whole bool) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		for _, m := range r.Messages()[after:] {
			if strings.Contains(m.Words(), text) && (m.Heard() || !whole && !m.Begun.IsZero()) {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("the server did not say %q", text)
		}
	}
}

// silencedOnce is an output at which the person presses the key that silences all speech while a
// text is said for the first time, and never at what follows it.
type silencedOnce struct {
	*speech.Output
	text      string
	press     func(until <-chan struct{})
	silenced  bool
	presented chan error // what came of the text
}

func (s *silencedOnce) Present(ctx context.Context, u announce.Utterance) error {
	if s.silenced || !strings.Contains(u.Text, s.text) {
		return s.Output.Present(ctx, u)
	}
	s.silenced = true
	over, pressed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(pressed)
		s.press(over)
	}()
	err := s.Output.Present(ctx, u)
	close(over)
	<-pressed
	s.presented <- err
	return err
}
