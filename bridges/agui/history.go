package agui

import (
	"cmp"
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/bridge"
)

// A history is the conversation and the state as the web app knows them at a point of a run, which
// the request that resumes it has to say.
type history struct {
	input    *input
	messages []any
	byID     map[string]*message    // those of the run that may still grow
	calls    map[string]*storedCall // in these messages, by ID
	state    any

	messageSize, stateSize int  // bytes that the run has brought, at most
	isTooLong              bool // it is more than a request may have, and kept no longer
}

// partSize is what each event of a history counts beside its text.
const partSize = 64

// A message is one that the run adds.
type message struct {
	ID         string        `json:"id"`
	Role       string        `json:"role"`
	Content    any           `json:"content,omitzero"`
	ToolCalls  []*storedCall `json:"toolCalls,omitzero"`
	ToolCallID string        `json:"toolCallId,omitzero"`

	text []byte // Content, as long as it comes in pieces
}

type storedCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`

	args []byte // Arguments, as long as they come in pieces
}

// newHistory returns the history that a run begins with: the messages and the state of its input.
func newHistory(in *input) *history {
	h := &history{input: in, byID: map[string]*message{}, calls: map[string]*storedCall{}}
	for _, m := range in.Messages {
		h.messages = append(h.messages, m)
	}
	if len(in.State) > 0 {
		bridge.Decode(in.State, &h.state)
	}
	return h
}

// messageByID returns a message of the run, which is the assistant's where it is new.
func (h *history) messageByID(id string) *message {
	m := h.byID[id]
	if m == nil {
		m = &message{ID: id, Role: "assistant"}
		h.byID[id], h.messages = m, append(h.messages, m)
	}
	return m
}

// addCall adds a call of a tool to the message that it belongs to, so that it is in the body of a
// resumption. A call without a name, or that is known, changes nothing.
func (h *history) addCall(e *event) {
	if e.ToolName == "" || h.calls[e.ToolCallID] != nil {
		return
	}
	c := &storedCall{ID: e.ToolCallID, Type: "function"}
	c.Function.Name = e.ToolName
	h.calls[c.ID] = c
	m := h.messageByID(cmp.Or(e.ParentID, e.ToolCallID))
	m.ToolCalls = append(m.ToolCalls, c)
}

// addCallText adds to the arguments of a call.
func (h *history) addCallText(id, text string) {
	if c := h.calls[id]; c != nil {
		c.args = append(c.args, text...)
	}
}

// countEvent counts what an event brings, and forgets a history that is longer than a request may
// be: an agent that goes on without end takes no more memory.
func (h *history) countEvent(e *event) {
	switch e.Type {
	case "STATE_SNAPSHOT":
		h.stateSize = len(e.Snapshot)
	case "STATE_DELTA":
		h.stateSize += partSize + len(e.Delta)
	case "MESSAGES_SNAPSHOT":
		h.messageSize = 0
		for _, m := range e.Messages {
			h.messageSize += partSize + len(m)
		}
	default:
		h.messageSize += partSize + len(e.Delta) + len(e.Content) + len(e.ToolName)
	}
	if h.messageSize+h.stateSize > maxRequest {
		*h = history{input: h.input, isTooLong: true}
	}
}

// recordEvent applies an event to the conversation's messages and state, which a resumed run sends
// back to the agent. chunkOf is the id of the message or call that a chunk without an id belongs
// to.
func (h *history) recordEvent(e *event, chunkOf string) {
	if !h.isTooLong {
		h.countEvent(e)
	}
	if h.isTooLong {
		return
	}
	switch e.Type {
	case "TEXT_MESSAGE_START":
		if m := h.messageByID(e.MessageID); e.Role != "" {
			m.Role = e.Role
		}
	case "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK":
		m := h.messageByID(cmp.Or(e.MessageID, chunkOf))
		m.text = append(m.text, e.contentText()...)
	case "TOOL_CALL_START", "TOOL_CALL_CHUNK":
		if h.addCall(e); e.Type == "TOOL_CALL_CHUNK" {
			h.addCallText(cmp.Or(e.ToolCallID, chunkOf), e.contentText())
		}
	case "TOOL_CALL_ARGS":
		h.addCallText(e.ToolCallID, e.contentText())
	case "TOOL_CALL_RESULT":
		m := h.messageByID(e.MessageID)
		m.Role, m.ToolCallID, m.Content = "tool", e.ToolCallID, e.Content
	case "MESSAGES_SNAPSHOT":
		clear(h.byID)
		clear(h.calls)
		h.messages = nil
		for _, m := range e.Messages {
			h.messages = append(h.messages, m.Clone())
		}
	case "STATE_SNAPSHOT":
		h.state = nil
		bridge.Decode(e.Snapshot, &h.state)
	case "STATE_DELTA":
		var patch []bridge.PatchOperation
		if bridge.Decode(e.Delta, &patch) == nil {
			if state, err := bridge.ApplyPatch(h.state, patch); err == nil {
				h.state = state
			}
		}
	}
}

// resumptionBody returns the body of the request that resumes the run with answers, as a run with
// the id runID: the members of the first request, with the messages and the state as the events
// have changed them.
func (h *history) resumptionBody(runID string, answers []resumeEntry) ([]byte, error) {
	for _, m := range h.byID {
		if len(m.text) > 0 {
			m.Content = string(m.text)
		}
		for _, c := range m.ToolCalls {
			c.Function.Arguments = string(c.args)
		}
	}
	members := map[string]any{}
	for name, value := range h.input.members {
		members[name] = value
	}
	maps.Copy(members, map[string]any{"runId": runID, "messages": h.messages, "resume": answers})
	if h.state != nil {
		members["state"] = h.state
	}
	return json.Marshal(members)
}

// withRunID returns an event, as JSON, with the id of the run that the web app knows.
func withRunID(data jsontext.Value, id string) ([]byte, error) {
	var members map[string]jsontext.Value
	if err := bridge.Decode(data, &members); err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(id)
	if err != nil {
		return nil, err
	}
	members["runId"] = encoded
	return json.Marshal(members)
}
