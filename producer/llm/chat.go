package llm

import "github.com/go-json-experiment/json/jsontext"

// OpenAI's chat completions, which most gateways and local servers speak too.

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
	decode(body, &in)
	q.json = isJSON(in.Format.Type)
	for _, m := range in.Messages {
		switch m.Role {
		case "assistant": // what is before it was answered
			q.keys, q.results = nil, nil
		case "tool", "function":
			q.result(keyOf(m.ToolCallID, m.Name, ""), false, m.Content)
		}
	}
	return q
}

func isJSON(format string) bool { return format == "json_object" || format == "json_schema" }

type chatAnswer struct {
	*answer
	calls map[int]*chatCall
	order []*chatCall
	mind  mind
}

type chatCall struct{ id, name string }

func newChatAnswer(a *answer, _ request) hears {
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

func (c *chatAnswer) event(_ string, data []byte) {
	if string(data) == "[DONE]" {
		c.finish(whole)
		return
	}
	var in chatChunk
	if decode(data, &in) {
		c.chunk(in)
	}
}

func (c *chatAnswer) whole(data []byte) bool {
	var in chatChunk
	if !decode(data, &in) || in.Choices == nil && in.Error == nil {
		return false
	}
	c.chunk(in)
	c.finish(whole)
	return true
}

func (c *chatAnswer) chunk(in chatChunk) {
	if in.Error.Kind() == '{' || in.Error.Kind() == '"' {
		c.finish(errorOf(in.Error))
		return
	}
	for _, choice := range in.Choices {
		if choice.Index != 0 { // of several answers the first is told
			continue
		}
		for _, m := range []*chatMessage{choice.Delta, choice.Message} {
			if m != nil {
				c.message(m)
			}
		}
		switch choice.FinishReason {
		case "":
		case "length":
			c.finish(tooLong)
		case "content_filter":
			c.finish(declined)
		default:
			c.finish(whole)
		}
	}
}

func (c *chatAnswer) message(m *chatMessage) {
	c.text(c.mind.aloud(words(m.Content)))
	c.text(words(m.Refusal))
	c.text(m.Audio.Transcript)
	for i, t := range m.ToolCalls {
		if t.Index != nil {
			i = *t.Index
		}
		c.tool(i, t.ID, t.Function.Name+t.Custom.Name)
	}
	if m.FunctionCall != nil {
		c.tool(0, "", m.FunctionCall.Name)
	}
}

// tool collects a call, whose parts come one after the other.
func (c *chatAnswer) tool(index int, id, name string) {
	call := c.calls[index]
	if call == nil {
		if len(c.order) >= maxCalls {
			return
		}
		c.pause()
		call = &chatCall{}
		c.calls[index], c.order = call, append(c.order, call)
	}
	if call.id == "" {
		call.id = clip(id)
	}
	if call.name == "" {
		call.name = clip(name)
	}
}

func (c *chatAnswer) finish(how ending) {
	c.text(c.mind.rest())
	for _, call := range c.order {
		if call.name != "" {
			c.call(keyOf(call.id, call.name, ""), call.name)
		}
	}
	c.order = nil
	c.end(how)
}

// errorOf says what an error object means. Gateways put a number, a name or both in it.
func errorOf(v jsontext.Value) ending {
	var in struct {
		Type   jsontext.Value `json:"type"`
		Code   jsontext.Value `json:"code"`
		Status jsontext.Value `json:"status"`
	}
	decode(v, &in)
	var status int
	if decode(in.Code, &status) && status >= 400 && status < 600 {
		end, _ := endingOf(status)
		return end
	}
	return faultOf(words(in.Type) + " " + words(in.Code) + " " + words(in.Status))
}
