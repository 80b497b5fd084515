package producer_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// What could not be told as it was meant is an error that says what would be right, and names what
// the author wrote; nothing is told.
func TestWrongCallSaysWhatIsRight(t *testing.T) {
	lamp := aaep.Vocabulary{Prefix: "lamp", URI: "https://lamp.example/v1"}
	cfg := producer.Config{Languages: []string{"es"}, Extensions: append(extensions.All(), handshake.Extension{Vocabulary: lamp})}
	bubbleWith(t, cfg, func(t *testing.T, st *stage) {
		l, s := st.addRecorder(), st.startSession("Talking.")
		synctest.Wait()
		before := len(l.events())
		clarify := func(q producer.Question) error {
			_, err := s.AskText(t.Context(), q)
			return err
		}
		choose := func(q producer.Question) error {
			_, err := s.AskChoice(t.Context(), q)
			return err
		}
		yesNo := func(q producer.Question) error {
			_, err := s.AskYesNo(t.Context(), q)
			return err
		}
		tool := func(change func(*producer.Tool)) error {
			changed := pay
			change(&changed)
			_, err := s.Tool(t.Context(), changed, succeed)
			return err
		}
		for name, tc := range map[string]struct {
			err  error
			says string
		}{
			"a blank state":    {s.State("  ", aaep.Text{}), "State"},
			"a state in words": {s.State("going home", aaep.Text{}), "letters"},
			"a question's":     {s.State(aaep.StateAwaitingInput, aaep.Text{}), "AskText"},
			"blanks":           {s.State(aaep.StateDeciding, aaep.Say(" \n")), "blanks"},
			"In without a tag": {s.State(aaep.StateDeciding, aaep.Say("Deciding.").In("", aaep.Say("Decidiendo."))), "tag"},
			"In without words": {s.State(aaep.StateDeciding, aaep.Text{}.In("es", aaep.Text{})), "without words"},
			"In for another":   {s.State(aaep.StateDeciding, aaep.Say("Deciding.").In("fr", aaep.Say("Je réfléchis."))), "aaep.Text.In"},
			"no language":      {s.Output().SetLanguage("xx"), "SetLanguage"},
			"no media type":    {s.Output().SetContentType("nope"), "type/subtype"},
			"a channel":        {s.Output().With(lamp, make(chan int)), "Go chan int"},
			"no members":       {s.Emit(lamp, "on", aaep.Say("On."), nil), "null"},
			"the envelope's":   {s.Emit(lamp, "on", aaep.Say("On."), map[string]any{"session_id": "s"}), "give it another name"},
			"two days":         {tool(func(t *producer.Tool) { t.Timeout = 48 * time.Hour }), "at most a day"},
			"a list":           {s.Emit(lamp, "on", aaep.Say("On."), []int{1}), "a list"},
			"no default": {choose(producer.Question{Text: aaep.Say("Which?"), Default: "c",
				Choices: []producer.Choice{{Label: aaep.Say("a")}, {Label: aaep.Say("b")}}}), `Question.Default: `},
			"the choices": {choose(producer.Question{Text: aaep.Say("Which?"), Default: "c",
				Choices: []producer.Choice{{Label: aaep.Say("a")}, {Label: aaep.Say("b")}}}), `"a", "b"`},
			"a blank question": {clarify(producer.Question{Text: aaep.Say(" ")}), "Question.Text"},
			"a choice": {choose(producer.Question{Text: aaep.Say("Which?"),
				Choices: []producer.Choice{{Label: aaep.Say("a").In("", aaep.Say("x"))}, {Label: aaep.Say("b")}}}), "Question.Choices[0].Label"},
			"choices of yes":  {yesNo(producer.Question{Text: aaep.Say("Which?"), Choices: make([]producer.Choice, 2)}), "Question.Choices"},
			"a default yes":   {tool(func(t *producer.Tool) { t.Default = aaep.Accept }), "Tool.Default"},
			"no object":       {tool(func(t *producer.Tool) { t.ExtraContext = []byte("[]") }), "Tool.ExtraContext"},
			"a consequence":   {tool(func(t *producer.Tool) { t.Consequence = t.Consequence.In("es", aaep.Text{}) }), "Tool.Consequence"},
			"data beside":     {tool(func(t *producer.Tool) { t.Consequence = t.Consequence.With(lamp, struct{}{}) }), "Tool.Action"},
			"a blank outcome": {tool(func(t *producer.Tool) { t.Consequence = aaep.Say(" ") }), "Tool.Consequence"},
		} {
			if tc.err == nil || !strings.Contains(tc.err.Error(), tc.says) {
				t.Errorf("%s: %v, which does not say %q", name, tc.err, tc.says)
			}
		}
		synctest.Wait()
		if got := len(l.events()); got != before {
			t.Errorf("%s was told", storyOf(l.events()[before:]))
		}
	})
}

// Every method of an Output that nothing made, or that was closed, says so.
func TestOutputThatTakesNothing(t *testing.T) {
	calls := func(o *producer.Output) map[string]error {
		_, written := o.WriteString("text")
		return map[string]error{"WriteString": written, "With": o.With(extensions.HapticVocabulary, struct{}{}),
			"SetLanguage": o.SetLanguage("es"), "SetContentType": o.SetContentType("text/plain")}
	}
	for _, o := range []*producer.Output{nil, {}} {
		for name, err := range calls(o) {
			if !errors.Is(err, producer.ErrNoSession) {
				t.Errorf("%s = %v", name, err)
			}
		}
		if err := o.Close(); !errors.Is(err, producer.ErrNoSession) {
			t.Errorf("Close = %v", err)
		}
	}
	bubble(t, func(t *testing.T, st *stage) {
		s := st.startSession("Talking.")
		o := s.Output()
		o.WriteString("One.")
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		for name, err := range calls(o) {
			if errors.Is(err, producer.ErrSessionOver) || !errors.Is(err, os.ErrClosed) {
				t.Errorf("after Close %s = %v", name, err)
			}
		}
		s.Complete(aaep.Text{})
		for name, err := range calls(o) {
			if !errors.Is(err, producer.ErrSessionOver) {
				t.Errorf("after the session %s = %v", name, err)
			}
		}
	})
}

// A number alone is told in the language of each listener.
func TestProgressInEachLanguage(t *testing.T) {
	bubbleWith(t, producer.Config{Languages: []string{"es"}}, func(t *testing.T, st *stage) {
		english, spanish := st.addRecorder(), st.listen(inLanguages(allEvents(), "es"))
		s := st.startSession("Counting.")
		s.Progress(aaep.Text{}, aaep.Percent(12.34), 0)
		s.Progress(aaep.Text{}, aaep.Progress{Step: 2, TotalSteps: 5}, 0)
		s.Progress(aaep.Text{}, aaep.Progress{Step: 3}, 0)
		synctest.Wait()
		for l, want := range map[*listener]string{
			english: "12.3 percent.|Step 2 of 5.|Step 3.",
			spanish: "12.3 por ciento.|Paso 2 de 5.|Paso 3.",
		} {
			evs := l.events()
			if got := strings.Join(summariesOf(evs[len(evs)-3:]), "|"); got != want {
				t.Errorf("it is told %q, want %q", got, want)
			}
		}
	})
}

// An extension cannot take a prefix that a listener knows as another's, and a log has one writer at
// a time.
func TestNewRefuses(t *testing.T) {
	own := extensions.All()[0]
	taken := own
	taken.URI = "https://lamp.example/v1"
	_, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "a"}, Extensions: []handshake.Extension{taken}})
	if err == nil || !strings.Contains(err.Error(), own.URI) {
		t.Errorf("another's prefix: %v", err)
	}
	kept, err := sqlite.Open(t.TempDir(), sqlite.Options{SurvivesCrash: true})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	cfg := producer.Config{Agent: aaep.Agent{AgentID: "a"}, Log: kept}
	for range 2 { // one after the other is as it should be
		p, err := producer.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := producer.New(cfg); err == nil || !strings.Contains(err.Error(), "Shutdown") {
			t.Errorf("a second writer: %v", err)
		}
		if err := p.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sqlite.Open("", sqlite.Options{}); err == nil {
		t.Error("a log without a folder is opened")
	}
}
