package llm

import "github.com/go-json-experiment/json/jsontext"

// OpenAI's chat completions, which most gateways and local servers speak too.

// chatRequest reads the results of tools behind the last answer of the conversation in a body of
// the chat format, and whether JSON is wanted. A body that cannot be read has none.
func chatRequest(body []byte) (q request) {
	var in struct {
		Messages []struct {
			Role       string         `json:"role"`
			ToolCallID string         `json:"tool_call_id"`
			Name       string         `json:"name"`
			Content    jsontext.Value `json:"content"`
		} `json:"messages"`
		Format struct {
			Type string `json:"type"`
		} `json:"response_format"`
	}
	decodeLenient(body, &in)
	q.json = isJSON(in.Format.Type)
	for _, m := range in.Messages {
		switch m.Role {
		case "assistant": // what is before it was answered
			q.keys, q.results = nil, nil
		case "tool", "function":
			q.addResult(callKey(m.ToolCallID, m.Name, ""), false, m.Content)
		}
	}
	return q
}

// isJSON reports whether the type of a response format asks for JSON.
func isJSON(format string) bool { return format == "json_object" || format == "json_schema" }

// A chatAnswer reads an answer of chat completions. It collects the calls, whose parts come in
// several chunks, until the answer is over.
type chatAnswer struct {
	*answer
	calls     map[int]*chatCall // by their index in the answer
	order     []*chatCall       // in the order in which they began
	reasoning reasoningFilter
}

// A chatCall is one call of a tool, as far as it has come.
type chatCall struct{ id, name string }

// newChatAnswer returns the answerReader of chat completions.
func newChatAnswer(a *answer, _ request) answerReader {
	return &chatAnswer{answer: a, calls: map[int]*chatCall{}}
}

type chatFunction struct {
	Name string `json:"name"`
}

type chatMessage struct {
	Content   jsontext.Value `json:"content"`
	Refusal   jsontext.Value `json:"refusal"`
	ToolCalls []struct {
		Index    *int         `json:"index"`
		ID       string       `json:"id"`
		Function chatFunction `json:"function"`
		Custom   chatFunction `json:"custom"`
	} `json:"tool_calls"`
	FunctionCall *chatFunction `json:"function_call"` // as it was before there were tools
	Audio        struct {
		Transcript string `json:"transcript"`
	} `json:"audio"` // that the model speaks itself: who does not hear reads it
}

type chatChunk struct {
	Choices []struct {
		Index        int          `json:"index"`
		Delta        *chatMessage `json:"delta"`
		Message      *chatMessage `json:"message"`
		FinishReason string       `json:"finish_reason"`
	} `json:"choices"`
	Error jsontext.Value `json:"error"`
}

// readEvent reads one chunk of a streamed answer in the chat format; the event's name is not used.
func (c *chatAnswer) readEvent(_ string, data []byte) {
	if string(data) == "[DONE]" {
		c.finishAnswer(endedWhole)
		return
	}
	var in chatChunk
	if decodeLenient(data, &in) {
		c.readChunk(in)
	}
}

// readWhole reads an answer in one piece, and reports false where data is no such answer.
func (c *chatAnswer) readWhole(data []byte) bool {
	var in chatChunk
	if !decodeLenient(data, &in) || in.Choices == nil && in.Error == nil {
		return false
	}
	c.readChunk(in)
	c.finishAnswer(endedWhole)
	return true
}

// readChunk reads the first of the choices, which may be a part or whole, and how it ended; an
// error ends the answer.
func (c *chatAnswer) readChunk(in chatChunk) {
	if in.Error.Kind() == '{' || in.Error.Kind() == '"' {
		c.finishAnswer(endingOfError(in.Error))
		return
	}
	for _, choice := range in.Choices {
		if choice.Index != 0 { // of several answers the first is told
			continue
		}
		for _, m := range []*chatMessage{choice.Delta, choice.Message} {
			if m != nil {
				c.readMessage(m)
			}
		}
		switch choice.FinishReason {
		case "":
		case "length":
			c.finishAnswer(endedTooLong)
		case "content_filter":
			c.finishAnswer(endedDeclined)
		default:
			c.finishAnswer(endedWhole)
		}
	}
}

// readMessage passes on the text, a refusal and what was spoken, and collects the calls of tools of
// a message or a part of one.
func (c *chatAnswer) readMessage(m *chatMessage) {
	c.writeText(c.reasoning.spokenText(textOf(m.Content)))
	c.writeText(textOf(m.Refusal))
	c.writeText(m.Audio.Transcript)
	for i, t := range m.ToolCalls {
		if t.Index != nil {
			i = *t.Index
		}
		c.collectCall(i, t.ID, t.Function.Name+t.Custom.Name)
	}
	if m.FunctionCall != nil {
		c.collectCall(0, "", m.FunctionCall.Name)
	}
}

// collectCall adds a part of the call index: each of id and name counts when it first comes, and
// may be "". A new call closes the output.
func (c *chatAnswer) collectCall(index int, id, name string) {
	call := c.calls[index]
	if call == nil {
		if len(c.order) >= maxCalls {
			return
		}
		c.closeOutput()
		call = &chatCall{}
		c.calls[index], c.order = call, append(c.order, call)
	}
	if call.id == "" {
		call.id = clipKey(id)
	}
	if call.name == "" {
		call.name = clipKey(name)
	}
}

// finishAnswer writes the text that is held back, adds the collected calls that have a name, and
// sets the ending, at the end of an answer in the chat format.
func (c *chatAnswer) finishAnswer(end ending) {
	c.writeText(c.reasoning.takeHeld())
	for _, call := range c.order {
		if call.name != "" {
			c.addCall(callKey(call.id, call.name, ""), call.name)
		}
	}
	c.order = nil
	c.setEnding(end)
}

// endingOfError returns what an error object means. Gateways put a number, a name or both in it.
func endingOfError(v jsontext.Value) ending {
	var in struct {
		Type   jsontext.Value `json:"type"`
		Code   jsontext.Value `json:"code"`
		Status jsontext.Value `json:"status"`
	}
	decodeLenient(v, &in)
	var status int
	if decodeLenient(in.Code, &status) && status >= 400 && status < 600 {
		end, _ := endingOfStatus(status)
		return end
	}
	return endingOfErrorName(textOf(in.Type) + " " + textOf(in.Code) + " " + textOf(in.Status))
}
