package producer_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// What an author got wrong is named as they wrote it, beside the member of the wire; a tool without
// a function is an error.
func TestErrorsNameFields(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		s, ctx := st.startSession("Working."), context.Background()
		tool := func(t producer.Tool) error { _, err := s.Tool(ctx, t, succeed); return err }
		ask := func(q producer.Question) error { _, err := s.AskText(ctx, q); return err }
		for want, err := range map[string]error{
			"Tool.Name: ":                     tool(producer.Tool{}),
			"Tool.Risk: ":                     tool(producer.Tool{Name: "pay", Risk: "huge"}),
			"Tool.Action, Tool.Consequence: ": tool(producer.Tool{Name: "pay", Risk: aaep.RiskHigh}),
			"Progress.Percent: ":              s.Progress(aaep.Text{}, aaep.Progress{Percent: new(150.0)}, 0),
			"Progress.Step: ":                 s.Progress(aaep.Text{}, aaep.Progress{Step: 5, TotalSteps: 2}, 0),
			"HandoffRequested.TargetKind: ":   s.Handoff(aaep.Say("Help."), aaep.HandoffRequested{Reason: "R.", TargetKind: "x"}),
			"Question.Text: ":                 ask(producer.Question{}),
		} {
			var invalid *aaep.InvalidError
			if err == nil || !strings.HasPrefix(err.Error(), "producer: "+want) || !errors.As(err, &invalid) || !strings.Contains(err.Error(), " /") {
				t.Errorf("%v, want one that begins with %q and names the member", err, want)
			}
		}
		if err := tool(producer.Tool{Name: "look", RunTimeout: -time.Second}); err == nil || !strings.Contains(err.Error(), "Tool.RunTimeout is negative") {
			t.Errorf("a negative RunTimeout: %v", err)
		}
		never := producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Action: aaep.Say("Pay."), Consequence: aaep.Say("Gone."), Timeout: -time.Second}
		if err := tool(never); err == nil || !strings.Contains(err.Error(), "Tool.Timeout: ") || !strings.Contains(err.Error(), "would be -1s") {
			t.Errorf("a negative Timeout: %v", err)
		}
		named := producer.Config{Agent: aaep.Agent{AgentID: "planner", AgentName: "Plan\x1bner"}}
		if _, err := producer.New(named); err == nil || !strings.HasPrefix(err.Error(), "producer: Config.Agent: ") {
			t.Errorf("a name with a control character: %v", err)
		}
		if _, err := s.Tool(ctx, producer.Tool{Name: "look"}, nil); err == nil || !strings.Contains(err.Error(), "no function") {
			t.Errorf("a tool without a function: %v", err)
		}
	})
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	s, err := p.StartSession(context.Background(), aaep.Say("Working."))
	if err != nil {
		t.Fatal(err)
	}
	late := producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Action: aaep.Say("Pay."), Consequence: aaep.Say("Gone."), Timeout: time.Second}
	if _, err := s.Tool(context.Background(), late, succeed); err == nil || !strings.HasPrefix(err.Error(), "producer: Tool.Timeout: ") {
		t.Errorf("too short a time: %v", err)
	}
}

// An agent hands the errors of its tools to its model: its log says, too, that a tool or a question
// was refused because its fields are not valid, and which; it says nothing of a user's no.
func TestInvalidFieldsAreLogged(t *testing.T) {
	log := new(strings.Builder)
	bubbleWith(t, producer.Config{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))},
		func(t *testing.T, st *stage) {
			s, ctx := st.startSession("Working."), t.Context()
			s.Tool(ctx, producer.Tool{Name: "pay", Irreversible: true, Action: aaep.Say("Pay.")}, succeed)
			s.Confirm(ctx, producer.Tool{Name: "pay all", Irreversible: true, Consequence: aaep.Say("Gone.")})
			s.AskChoice(ctx, producer.Question{Text: aaep.Say("Which?"), Choices: make([]producer.Choice, 40)})
			s.Tool(ctx, producer.Tool{Name: "send", Irreversible: true, Action: aaep.Say("Send."), Consequence: aaep.Say("Gone.")}, succeed)
		})
	for _, want := range []string{"tool=pay error=\"producer: Tool.Consequence: ", "tool=pay_all error=\"producer: Tool.Action: ",
		"question=multiple_choice error=\"producer: Question.Choices: "} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("there is no %q in\n%s", want, log)
		}
	}
	if n := strings.Count(log.String(), "refused, for"); n != 3 {
		t.Errorf("%d warnings:\n%s", n, log)
	}
}

// The type of an extension's event has the prefix once: a name that brings it is an error, not
// another type.
func TestEmitNameAlone(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		s := st.startSession("Working.")
		v := aaep.Vocabulary{Prefix: "med", URI: "https://med.example/v1"}
		if err := s.Emit(v, "med:dose", aaep.Say("Dosing."), struct{}{}); err == nil || !strings.Contains(err.Error(), "the name of the type alone") {
			t.Errorf("Emit = %v", err)
		}
	})
}
