package producer

import (
	"cmp"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/lifecycle"
	"github.com/aaep-go/aaep/internal/phrase"
)

// A toolCall is one of a tool, as the lifecycle knows it, under the name that people hear.
type toolCall struct {
	lifecycle.ToolCall
	title string
}

func (t Tool) call() toolCall {
	name := toolName(t.Name)
	return toolCall{lifecycle.ToolCall{ToolCallID: newID("call_"), Tool: name}, cmp.Or(t.Title, name)}
}

// invoked is the event that tells of a call, with s.mu held.
func (s *Session) invoked(t Tool, call toolCall) (speech, *aaep.ToolInvoked) {
	return s.p.words(t.Action, phrase.UsingTool, call.title), &aaep.ToolInvoked{Tool: call.Tool, ToolCallID: call.ToolCallID,
		RiskLevel: t.Risk, Irreversible: &t.Irreversible}
}
