//go:build linux

package speech_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/speechd"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/subscriber/speech"
)

// TestRealScenes: an answer, a question that comes in the middle of it and is silenced, what came
// of it, and a failure, in several languages, through Speech Dispatcher with eSpeak NG. What must
// be heard stands in testdata/scenes.
func TestRealScenes(t *testing.T) {
	requirePrograms(t, speechd.Programs...)
	r := &real{speechd.Start(t)}
	r.sayToEnd(t, speech.Options{}, "Hello.") // the first sound of all comes a second late
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
			o := r.dialOutput(t, speech.Options{WordsPerMinute: 400})
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
			r.silenceOneOf(t, before, tc.action, tc.consequence)
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

// silenceOneOf presses the key that silences all speech while a message is said that contains the
// first text, of those after so many, and if the busy server missed that, while the next is said.
// It returns once one of them was cut. The key is never pressed at what follows them, which the
// presenter would not say again.
func (r *real) silenceOneOf(t *testing.T, after int, texts ...string) {
	t.Helper()
	isCut := func(text string) bool {
		return slices.ContainsFunc(r.Messages()[after:], func(m speechd.Message) bool {
			return strings.Contains(m.Words(), text) && m.Cut
		})
	}
	isOver := func(text string) bool {
		return slices.ContainsFunc(r.Messages()[after:], func(m speechd.Message) bool {
			return strings.Contains(m.Words(), text) && !m.Over.IsZero()
		})
	}
	for _, text := range texts {
		r.awaitContaining(t, after, text, false)
		if slices.ContainsFunc(texts, isCut) {
			return
		}
		r.pressSilence(t)
		for end := time.Now().Add(patience); !isOver(text); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the server did not end %q", text)
			}
		}
		if slices.ContainsFunc(texts, isCut) {
			return
		}
	}
	t.Fatalf("none of %q was cut", texts)
}
