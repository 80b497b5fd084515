package lifecycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// A trace is written as a list of payloads, whole events and settlements. Payloads get the session
// id and a time one second after the step before.
type (
	trace  []any
	settle struct {
		token aaep.ReplyToken
		d     aaep.Decision
	}
	spoken struct {
		language string
		payload  aaep.Payload
	}
)

var epoch = time.Date(2026, 5, 24, 14, 22, 10, 0, time.UTC)

// apply takes step number n.
func apply(s *Session, n int, step any) error {
	switch step := step.(type) {
	case settle:
		return s.Settled(step.token, step.d)
	case *aaep.Event:
		return s.Next(step)
	case spoken:
		return s.Next(&aaep.Event{SessionID: "sess_1", Timestamp: epoch.Add(time.Duration(n) * time.Second), Payload: step.payload,
			LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: step.language}})
	}
	return s.Next(&aaep.Event{SessionID: "sess_1", Timestamp: epoch.Add(time.Duration(n) * time.Second), Payload: step.(aaep.Payload)})
}

// play takes every step of tr, which must be legal.
func play(t *testing.T, tr trace) *Session {
	t.Helper()
	s := new(Session)
	for i, step := range tr {
		if err := apply(s, i, step); err != nil {
			t.Fatalf("step %d, %T: %v", i+1, step, err)
		}
	}
	return s
}

// broken returns the requirement ids of err in order, such as "EVT-042 SM-005", or "" for nil.
func broken(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	inv, ok := errors.AsType[*aaep.InvalidError](err)
	if !ok {
		t.Fatalf("error is a %T, want *aaep.InvalidError", err)
	}
	var ids []string
	for _, v := range inv.Violations {
		if v.Problem == "" || v.Pointer == "" {
			t.Errorf("%s: without problem or pointer: %+v", v.Requirement, v)
		}
		ids = append(ids, v.Requirement)
	}
	if strings.Contains(err.Error(), "rpl_") {
		t.Errorf("the error shows a token: %v", err)
	}
	return strings.Join(ids, " ")
}

// snapshot returns a copy of s that shares nothing with it.
func snapshot(s *Session) *Session {
	c := *s
	c.calls, c.complete, c.tokens = maps.Clone(s.calls), maps.Clone(s.complete), maps.Clone(s.tokens)
	c.tools, c.outputs, c.questions = slices.Clone(s.tools), slices.Clone(s.outputs), slices.Clone(s.questions)
	return &c
}

func same(a, b *Session) bool { return reflect.DeepEqual(a, b) }

func started() aaep.Payload   { return &aaep.SessionStarted{} }
func completed() aaep.Payload { return &aaep.SessionCompleted{} }
func errored() aaep.Payload   { return &aaep.SessionErrored{ErrorCategory: aaep.ErrorUnknown} }
func cancelled() aaep.Payload { return &aaep.SessionCancelled{CancelledBy: aaep.CancelledByUser} }
func progress() aaep.Payload {
	return &aaep.ProgressUpdated{Progress: aaep.Progress{Step: 1, TotalSteps: 2}}
}
func handoff() aaep.Payload {
	return &aaep.HandoffRequested{Reason: "a hard case", TargetKind: aaep.TargetHuman}
}
func extension() aaep.Payload { return &aaep.ExtensionPayload{Type: "medai:dose.checked"} }

func state(from, to aaep.State) aaep.Payload { return &aaep.StateChanged{FromState: from, ToState: to} }

func invoked(id, tool string) aaep.Payload { return &aaep.ToolInvoked{ToolCallID: id, Tool: tool} }

func irreversible(id, tool string) aaep.Payload {
	return &aaep.ToolInvoked{ToolCallID: id, Tool: tool, Irreversible: new(true)}
}

func risky(id, tool string, r aaep.Risk) aaep.Payload {
	return &aaep.ToolInvoked{ToolCallID: id, Tool: tool, RiskLevel: r}
}

func returned(id, tool string, status aaep.ToolStatus) aaep.Payload {
	return &aaep.ToolCompleted{ToolCallID: id, Tool: tool, Status: status}
}

func chunk(id string, position int64, text string) aaep.Payload {
	return &aaep.OutputStreaming{OutputID: id, Position: position, Chunk: text}
}

func closing(id string, position int64, text string) aaep.Payload {
	return &aaep.OutputStreaming{OutputID: id, Position: position, Chunk: text, Complete: true}
}

func confirm(token aaep.ReplyToken, id, tool string) aaep.Payload {
	return confirmAbout(token, fmt.Sprintf(`{"tool":%q,"tool_call_id":%q}`, tool, id))
}

func confirmAbout(token aaep.ReplyToken, extra string) aaep.Payload {
	return &aaep.AwaitingConfirmation{Action: "Transfer $500.", Consequence: "Funds move at once.", ReplyToken: token,
		TimeoutSeconds: 300, DefaultDecision: aaep.Reject, ExtraContext: json.RawMessage(extra)}
}

func clarify(token aaep.ReplyToken) aaep.Payload {
	return &aaep.AwaitingClarification{Question: "Which age?", ReplyToken: token, TimeoutSeconds: 300}
}

const (
	idle     = aaep.StateIdle
	thinking = aaep.StateThinking
	deciding = aaep.StateDeciding
	calling  = aaep.StateCallingTool
	writing  = aaep.StateWritingOutput
	awaiting = aaep.StateAwaitingInput
)
