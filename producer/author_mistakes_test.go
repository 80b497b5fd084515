package producer_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
)

// A producer without a Logger logs to slog.Default what went wrong, and no word of its trail.
func TestNoLogger(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	bubbleWith(t, producer.Config{}, func(t *testing.T, st *stage) {
		l := st.listen(mayAnswer(allEvents()))
		s := st.startSession("Paying.")
		go s.Tool(t.Context(), pay, func(context.Context) (string, error) { return "", errors.New("the bank is closed") })
		l.reply(l.question(), aaep.Accept)
		synctest.Wait()
	})
	if got := log.String(); !strings.Contains(got, "the bank is closed") || strings.Contains(got, "level=INFO") {
		t.Errorf("logged %s", got)
	}
}

// What a handoff would not carry on the wire is refused, with what carries it.
func TestHandoffOfWhatIsOnlyRead(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		s := st.startSession("Booking.")
		for _, h := range []aaep.HandoffRequested{{Target: "Bob"}, {ContextSummary: "All of it."}} {
			if err := s.Handoff(aaep.Say("Bob takes over."), h); err == nil || !strings.Contains(err.Error(), "PackagedContext") {
				t.Errorf("%+v: %v", h, err)
			}
		}
	})
}

// Choices that the agent could not tell apart, or the user could not hear, are refused by name.
func TestChoicesThatCannotBeTold(t *testing.T) {
	keep, remove := aaep.Say("Keep"), aaep.Say("Delete")
	for name, tc := range map[string]struct {
		choices []producer.Choice
		want    string
	}{
		"none":                 {nil, "AskChoice needs 2 to 32 Choices, and there are 0"},
		"one alone":            {[]producer.Choice{{Label: keep}}, "AskChoice needs 2 to 32 Choices, and there are 1"},
		"one value":            {[]producer.Choice{{Value: "v", Label: keep}, {Value: "v", Label: remove}}, `choices/1/value: is "v", as that of choice 0`},
		"a label that is one":  {[]producer.Choice{{Label: keep}, {Value: "Keep", Label: remove}}, `is "Keep", as that of choice 0`},
		"the same twice":       {[]producer.Choice{{Label: keep}, {Label: keep}}, `is "Keep", as that of choice 0`},
		"no label":             {[]producer.Choice{{Value: "a", Label: keep}, {Value: "b"}}, "choices/1/label: is empty"},
		"neither has a label":  {[]producer.Choice{{Value: "a"}, {Value: "b"}}, "choices/0/label: is empty"},
		"one value of a third": {[]producer.Choice{{Label: keep}, {Label: remove}, {Label: remove}}, "as that of choice 1"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				st.listen(mayAnswer(allEvents()))
				s := st.startSession("Asking.")
				_, err := s.AskChoice(t.Context(), producer.Question{Text: aaep.Say("Which?"), Choices: tc.choices})
				var invalid *aaep.InvalidError
				if !errors.As(err, &invalid) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "Question.Choices") {
					t.Errorf("AskChoice: %v", err)
				}
			})
		})
	}
}

// A question of which only some texts are translated is put in the agent's own language, and the
// log says which languages that leaves out.
func TestHalfTranslated(t *testing.T) {
	var log bytes.Buffer
	bubbleWith(t, producer.Config{Languages: []string{"de"}, Logger: slog.New(slog.NewTextHandler(&log, nil)), Audit: audit.Slog(slog.New(slog.DiscardHandler))},
		func(t *testing.T, st *stage) {
			st.listen(mayAnswer(allEvents()))
			s := st.startSession("Asking.")
			which := aaep.Say("Which?").In("de", aaep.Say("Welche?"))
			labels := []producer.Choice{{Label: aaep.Say("A").In("de", aaep.Say("Ah"))}, {Label: aaep.Say("B").In("de", aaep.Say("Beh"))}}
			ask := func() {
				ctx, cancel := context.WithCancel(t.Context())
				go s.AskChoice(ctx, producer.Question{Text: which, Choices: labels})
				synctest.Wait()
				cancel()
				synctest.Wait()
			}
			ask()
			if strings.Contains(log.String(), "WARN") {
				t.Errorf("a whole translation: %s", &log)
			}
			labels[1].Label = aaep.Say("B")
			ask()
			if got := log.String(); !strings.Contains(got, "languages=[de]") || strings.Contains(got, "Welche") {
				t.Errorf("half a translation: %s", got)
			}
			log.Reset()
			half := producer.Tool{Name: "pay", Irreversible: true, Risk: aaep.RiskHigh, Consequence: aaep.Say("It is gone."), Action: which}
			ctx, cancel := context.WithCancel(t.Context())
			go s.Tool(ctx, half, func(context.Context) (string, error) { return "", nil })
			synctest.Wait()
			cancel()
			synctest.Wait()
			if got := log.String(); !strings.Contains(got, "tool=pay languages=[de]") {
				t.Errorf("half a tool: %s", got)
			}
		})
}
