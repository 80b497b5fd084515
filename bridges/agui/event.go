package agui

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/bridge"
)

// An event is what counts here of one of any type.
type event struct {
	Type     string `json:"type"`
	ThreadID string `json:"threadId"`
	RunID    string `json:"runId"`

	MessageID string         `json:"messageId"`
	Role      string         `json:"role"`
	Delta     jsontext.Value `json:"delta"` // a text, or of a state a patch
	Content   jsontext.Value `json:"content"`

	ToolCallID string `json:"toolCallId"`
	ToolName   string `json:"toolCallName"`
	ParentID   string `json:"parentMessageId"`

	StepName string                  `json:"stepName"`
	Activity string                  `json:"activityType"`
	Patch    []bridge.PatchOperation `json:"patch"`

	Snapshot jsontext.Value   `json:"snapshot"`
	Messages []jsontext.Value `json:"messages"`

	Message string         `json:"message"` // of an error
	Outcome jsontext.Value `json:"outcome"` // of a run that finished
}

// interrupts returns what a run ended for, if the event ends it to ask; else nil. One that cannot
// be read has no ID.
func (e *event) interrupts() (all []interrupt) {
	var outcome struct {
		Type       string         `json:"type"`
		Interrupts jsontext.Value `json:"interrupts"`
	}
	if e.Type != "RUN_FINISHED" || len(e.Outcome) == 0 || bridge.Decode(e.Outcome, &outcome) != nil ||
		outcome.Type != "interrupt" {
		return nil
	}
	var each []jsontext.Value
	if len(outcome.Interrupts) == 0 || bridge.Decode(outcome.Interrupts, &each) != nil || len(each) == 0 {
		return []interrupt{{}}
	}
	for _, data := range each {
		var i interrupt
		if bridge.Decode(data, &i) != nil {
			i = interrupt{}
		}
		all = append(all, i)
	}
	return all
}

// An interrupt is a question with which an agent ends a run.
type interrupt struct {
	ID         string         `json:"id"`
	Reason     string         `json:"reason"`
	Message    string         `json:"message"`
	ToolCallID string         `json:"toolCallId"`
	Schema     jsontext.Value `json:"responseSchema"`
	ExpiresAt  string         `json:"expiresAt"`
}

// contentText returns the text of a delta.
func (e *event) contentText() (s string) {
	if e.Delta.Kind() == '"' {
		bridge.Decode(e.Delta, &s)
	}
	return s
}

// A resumeEntry answers an interrupt.
type resumeEntry struct {
	InterruptID string `json:"interruptId"`
	Status      string `json:"status"`
	Payload     any    `json:"payload,omitzero"`
}
