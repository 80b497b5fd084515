package producer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// ENV-034: every event has the urgency that §3.3.2 gives its type, written out. ENV-032: a text of
// three lengths is one event, which goes by no verbosity of its own.
func TestUrgencyOfEachType(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.addRecorder()
		say := aaep.Text{Terse: "Works.", Normal: "It works.", Detailed: "It works on what you asked for."}
		s, err := st.p.StartSession(t.Context(), say)
		if err != nil {
			t.Fatal(err)
		}
		out := s.Output()
		out.WriteString("An answer. ")
		out.Close()
		s.Progress(say, aaep.Progress{Step: 1}, 0)
		paid := callTool(s, pay, &action{})
		l.reply(l.question(), aaep.Accept)
		<-paid
		asked := callLater(func() (any, error) {
			return s.AskText(t.Context(), producer.Question{Text: aaep.Say("Which one?"), Timeout: time.Second})
		})
		<-asked
		s.Handoff(say, aaep.HandoffRequested{})
		s.Complete(say)
		st.startSession("Failing.").Fail(nil, say)
		st.startSession("Leaving.").Cancel(aaep.CancelledByUser, say)
		table := map[aaep.Type]aaep.Urgency{
			aaep.TypeSessionStarted: aaep.UrgencyNormal, aaep.TypeSessionCompleted: aaep.UrgencyNormal, aaep.TypeSessionErrored: aaep.UrgencyCritical,
			aaep.TypeSessionCancelled: aaep.UrgencyNormal, aaep.TypeStateChanged: aaep.UrgencyBackground, aaep.TypeProgressUpdated: aaep.UrgencyBackground,
			aaep.TypeToolInvoked: aaep.UrgencyNormal, aaep.TypeToolCompleted: aaep.UrgencyNormal, aaep.TypeOutputStreaming: aaep.UrgencyNormal,
			aaep.TypeAwaitingConfirmation: aaep.UrgencyCritical, aaep.TypeAwaitingClarification: aaep.UrgencyCritical, aaep.TypeHandoffRequested: aaep.UrgencyCritical,
		}
		seen := map[aaep.Type]int{}
		for _, ev := range l.events() {
			if seen[ev.Type()]++; ev.Urgency != table[ev.Type()] {
				t.Errorf("%s has urgency %q, want %q", ev.Type(), ev.Urgency, table[ev.Type()])
			}
			if ev.Verbosity != "" && ev.Verbosity != aaep.VerbosityNormal {
				t.Errorf("%s says that it is for the verbosity %q", ev.Type(), ev.Verbosity)
			}
		}
		for typ := range table {
			if seen[typ] == 0 {
				t.Errorf("no %s came", typ)
			}
		}
		if seen[aaep.TypeProgressUpdated] != 1 || seen[aaep.TypeSessionCompleted] != 1 || seen[aaep.TypeHandoffRequested] != 1 {
			t.Errorf("a text of three lengths came more than once: %v", seen)
		}
	})
}

// A text in any one of its lengths will do for whatever is said, and all that is told is composed
// (I18N-010).
func TestTextOfOneLength(t *testing.T) {
	const words = "Cafe\u0301."
	for name, text := range map[string]aaep.Text{"terse": {Terse: words}, "normal": {Normal: words}, "detailed": {Detailed: words}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				l := st.addRecorder()
				s, err := st.p.StartSession(t.Context(), text)
				if err != nil {
					t.Fatal(err)
				}
				reserve := pay
				reserve.Action, reserve.Consequence = text, text
				reserved := callTool(s, reserve, &action{})
				l.reply(l.question(), aaep.Accept)
				_, err = s.AskChoice(t.Context(), producer.Question{Text: text, Context: text, Choices: []producer.Choice{{Label: text}, {Value: "other", Label: text}},
					Default: "other", Timeout: time.Second})
				if err := errors.Join((<-reserved).err, err, s.State(aaep.StateDeciding, text), s.Progress(text, aaep.Progress{Description: words}, 0),
					s.Progress(aaep.Text{}, aaep.Progress{Description: words}, 0), s.Handoff(text, aaep.HandoffRequested{}),
					s.Handoff(text, aaep.HandoffRequested{Reason: words}), s.Complete(text)); err != nil {
					t.Error(err)
				}
				if evs := l.events(); len(payloadsOf[*aaep.HandoffRequested](evs)) != 2 || len(payloadsOf[*aaep.SessionCompleted](evs)) != 1 {
					t.Errorf("%d events came", len(evs))
				}
				for _, ev := range l.events() {
					if data, err := aaep.Encode(ev); err != nil || !norm.NFC.IsNormal(data) {
						t.Errorf("%s is not composed; %v", data, err)
					}
				}
			})
		})
	}
}

// EVT-092: two runs of one tool at the same time are told apart by their tool_call_id, although
// neither asks.
func TestParallelCalls(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Looking.")
		var running []<-chan result[string]
		for range 2 {
			running = append(running, callLater(func() (string, error) {
				return s.Tool(t.Context(), look, func(context.Context) (string, error) { time.Sleep(time.Second); return "", nil })
			}))
		}
		for _, r := range running {
			<-r
		}
		synctest.Wait()
		open, most := map[string]bool{}, 0
		for _, ev := range l.events() {
			switch p := ev.Payload.(type) {
			case *aaep.ToolInvoked:
				if p.ToolCallID == "" || open[p.ToolCallID] {
					t.Errorf("a tool is invoked as %q", p.ToolCallID)
				}
				open[p.ToolCallID] = true
				most = max(most, len(open))
			case *aaep.ToolCompleted:
				if !open[p.ToolCallID] {
					t.Errorf("%q was completed, of %v", p.ToolCallID, open)
				}
				delete(open, p.ToolCallID)
			}
		}
		if most != 2 || len(open) != 0 {
			t.Errorf("%d ran at once, and %v were not completed", most, open)
		}
	})
}
