package llm

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Anthropic's messages.

type messagesBlock struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Text      string         `json:"text"`
	ToolUseID string         `json:"tool_use_id"`
	IsError   bool           `json:"is_error"`
	Content   jsontext.Value `json:"content"`
}

// messagesRequest reads the results and the calls of tools behind the last answer of the
// conversation in a body of the messages format. Of a body that cannot be read, it has what was
// read up to there.
func messagesRequest(body []byte) (q request) {
	var in struct {
		Messages []struct {
			Role    string         `json:"role"`
			Content jsontext.Value `json:"content"`
		} `json:"messages"`
	}
	decodeLenient(body, &in)
	for _, m := range in.Messages {
		if m.Role == "assistant" { // what is before it was answered
			q.keys, q.results = nil, nil
		}
		var blocks []messagesBlock
		if m.Content.Kind() == '[' {
			decodeLenient(m.Content, &blocks)
		}
		for _, b := range blocks {
			switch {
			case b.Type == "tool_result":
				q.addResult(clipKey(b.ToolUseID), b.IsError, b.Content)
			case strings.HasSuffix(b.Type, "tool_use"):
				q.keys = append(q.keys, clipKey(b.ID))
			}
		}
	}
	return q
}

type messagesAnswer struct{ *answer }

// newMessagesAnswer returns the answerReader of Anthropic's messages.
func newMessagesAnswer(a *answer, _ request) answerReader { return messagesAnswer{a} }

// readEvent reads one event of a streamed answer in the messages format; name is used where data
// has no type.
func (m messagesAnswer) readEvent(name string, data []byte) {
	var in struct {
		Type  string        `json:"type"`
		Block messagesBlock `json:"content_block"`
		Delta struct {
			Type       string `json:"type"`
			Text       string `json:"text"`
			StopReason string `json:"stop_reason"`
		} `json:"delta"`
		Error jsontext.Value `json:"error"`
	}
	if !decodeLenient(data, &in) {
		in.Type = name
	}
	switch in.Type {
	case "content_block_start":
		m.readBlock(in.Block)
	case "content_block_delta":
		if in.Delta.Type == "text_delta" {
			m.writeText(in.Delta.Text)
		}
	case "content_block_stop":
		m.closeOutput()
	case "message_delta":
		m.readStopReason(in.Delta.StopReason)
	case "message_stop":
		m.setEnding(endedWhole)
	case "error":
		m.setEnding(endingOfError(in.Error))
	}
}

// readWhole reads an answer in one piece, and how it ended; it returns false where data is no such
// answer.
func (m messagesAnswer) readWhole(data []byte) bool {
	var in struct {
		Type       string          `json:"type"`
		Content    []messagesBlock `json:"content"`
		StopReason string          `json:"stop_reason"`
		Error      jsontext.Value  `json:"error"`
	}
	if !decodeLenient(data, &in) || in.Type != "message" && in.Type != "error" && in.Error == nil {
		return false
	}
	if in.Type == "error" || in.Error.Kind() == '{' { // gateways leave out the type
		m.setEnding(endingOfError(in.Error))
	}
	for _, b := range in.Content {
		m.readBlock(b)
		m.closeOutput()
	}
	m.readStopReason(in.StopReason)
	return true
}

// readBlock reads one block of the content: text, a call, or a tool that the provider runs.
func (m messagesAnswer) readBlock(b messagesBlock) {
	switch {
	case b.Type == "text":
		m.writeText(b.Text)
	case b.Type == "tool_use":
		m.addCall(b.ID, b.Name)
	case strings.HasSuffix(b.Type, "_tool_use"): // server_tool_use, mcp_tool_use
		m.beginProviderTool(b.ID, b.Name)
	case strings.HasSuffix(b.Type, "_tool_result"):
		var problem struct {
			Type string `json:"type"`
		}
		if b.Content.Kind() == '{' {
			decodeLenient(b.Content, &problem)
		}
		m.endProviderTool(b.ToolUseID, b.IsError || strings.HasSuffix(problem.Type, "_error"))
	default: // thinking, and what is not known yet
		m.closeOutput()
	}
}

// readStopReason sets the ending by a stop_reason, before message_stop says that the answer ends.
func (m messagesAnswer) readStopReason(reason string) {
	switch reason {
	case "":
	case "max_tokens", "model_context_window_exceeded":
		m.setEnding(endedTooLong)
	case "refusal":
		m.setEnding(endedDeclined)
	case "pause_turn":
		for key := range m.providerTools { // the next request names these
			m.addCall(key, "")
		}
		m.setEnding(endedWhole)
	default:
		m.setEnding(endedWhole)
	}
}
