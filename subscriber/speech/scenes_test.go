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
			r := &real{speechd.Start(t)}
			r.sayToEnd(t, speech.Options{}, "Hello.") // the first sound of all comes a second late
			o := &silencedOnce{Output: r.dialOutput(t, speech.Options{WordsPerMinute: 400}), text: tc.action,
				press: func(until <-chan struct{}) { r.pressSilence(t, until) }, presented: make(chan error, 1)}
			p := present.New(announce.Preferences{WordsPerMinute: 400, Speaks: o.Speaks})
			p.SetLanguage(tc.language, "en")
			before := len(r.Messages())
			all := func() []speechd.Message { return r.Messages()[before:] }
			defer func() {
				for _, m := range all() {
					t.Logf("heard %t: %s", m.Heard(), m.Words())
				}
			}()
			n := 0
			add := func(payload aaep.Payload, text string) *aaep.Event {
				n++
				ev := &aaep.Event{EventID: "evt_" + string(rune('a'+n)), SessionID: "sess_1", Timestamp: time.Now(), Summary: aaep.Say(text), Payload: payload,
					LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: tc.language}}
				p.Add("", ev)
				return ev
			}
			ctx, cancel := context.WithCancel(t.Context())
			presented := make(chan error, 1)
			go func() { presented <- p.Run(ctx, o) }()
			defer func() { cancel(); <-presented }()

			add(&aaep.OutputStreaming{Chunk: tc.answer, OutputID: "out_1", CoalesceHint: aaep.BoundarySentence, Complete: true}, "")
			r.awaitContaining(t, before, tc.answer, false)
			question := add(&aaep.AwaitingConfirmation{Action: tc.action, Consequence: tc.consequence, TimeoutSeconds: 600, RiskLevel: aaep.RiskHigh,
				Irreversible: new(true), DefaultDecision: aaep.Reject, ReplyToken: "rpl_1"}, "")
			accepts := func() (question *aaep.Event) {
				p.Plan(func(a *announce.Announcer, now time.Time) { _, question = a.Question(now, aaep.Accept) })
				return question
			}
			r.awaitContaining(t, before, tc.action, false)
			if err := <-o.presented; err != announce.ErrCut {
				t.Fatalf("the question was presented with %v, and was to be silenced", err)
			}
			if accepts() != nil {
				t.Error("it can be accepted, and was silenced")
			}
			for end := time.Now().Add(patience); accepts() != question; time.Sleep(100 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("it can never be accepted")
				}
			}
			p.Plan(func(a *announce.Announcer, now time.Time) { a.Settle(now, question) })
			add(&aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, tc.outcome)
			r.awaitContaining(t, before, tc.outcome, true)
			add(&aaep.SessionErrored{}, tc.failure)
			scene := speechd.ReadScene(t, "testdata/scenes/in-"+tc.name+".txt")
			for end := time.Now().Add(time.Minute); scene.Missing(all()) != "" && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			}
			for _, fault := range scene.Faults(all()) {
				t.Error(fault)
			}
		})
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
