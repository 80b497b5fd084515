package llm

import "github.com/go-json-experiment/json/jsontext"

// Ollama's own chat and generate: a JSON object on each line. Not every server and client keeps the
// ids of calls, so that they are known as Google's are, by the tool's name and what was said
// before.

type ollamaMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Tool    string `json:"tool_name"`
	Calls   []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// ollamaRequest reads the results of tools behind the last answer of the conversation in a body of
// Ollama's format, and whether JSON is wanted. Results without a name are those of the calls, in
// their order.
func ollamaRequest(body []byte) (q request) {
	var in struct {
		Messages []jsontext.Value `json:"messages"`
		Format   jsontext.Value   `json:"format"`
	}
	decodeLenient(body, &in)
	q.json = in.Format.Kind() == '{' || textOf(in.Format) == "json"
	newest, before, whole := splitConversation(in.Messages, func(raw jsontext.Value) bool {
		var m ollamaMessage
		decodeLenient(raw, &m)
		return m.Role == "assistant"
	})
	q.prefix = whole
	var called []string // names of tools: results that name none come in this order
	for _, raw := range newest {
		var m ollamaMessage
		decodeLenient(raw, &m)
		for _, c := range m.Calls {
			called = append(called, c.Function.Name)
		}
		if m.Role == "tool" {
			name := m.Tool
			if len(called) > 0 {
				if name == "" {
					name = called[0]
				}
				called = called[1:]
			}
			q.addResult(callKey("", name, before), false, jsontext.Value(m.Content))
		}
	}
	return q
}

type ollamaAnswer struct {
	*answer
	prefix    string
	reasoning reasoningFilter
}

// newOllamaAnswer returns the answerReader of Ollama's chat and generate.
func newOllamaAnswer(a *answer, q request) answerReader {
	return &ollamaAnswer{answer: a, prefix: q.prefix}
}

type ollamaLine struct {
	Message  *ollamaMessage `json:"message"`
	Response string         `json:"response"` // of generate
	Done     bool           `json:"done"`
	Reason   string         `json:"done_reason"`
	Error    string         `json:"error"`
}

// readEvent reads one line of a streamed answer.
func (o *ollamaAnswer) readEvent(_ string, data []byte) { o.readWhole(data) }

// readWhole reads one line, which is the whole answer where that is not streamed, and reports
// whether the answer is over with it. A line that cannot be read does not end it.
func (o *ollamaAnswer) readWhole(data []byte) bool {
	var in ollamaLine
	if !decodeLenient(data, &in) {
		return false
	}
	o.writeText(o.reasoning.spokenText(in.Response))
	if m := in.Message; m != nil {
		o.writeText(o.reasoning.spokenText(m.Content))
		for _, c := range m.Calls {
			o.addCall(callKey("", c.Function.Name, o.prefix), c.Function.Name)
		}
	}
	if !in.Done && in.Error == "" {
		return false
	}
	o.writeText(o.reasoning.takeHeld())
	switch {
	case in.Error != "":
		o.setEnding(endingOfErrorName(""))
	case in.Reason == "length":
		o.setEnding(endedTooLong)
	default:
		o.setEnding(endedWhole)
	}
	return true
}
