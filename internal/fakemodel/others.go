package fakemodel

import (
	"encoding/json"
	"io"
	"strings"
)

// messagesStream calls frame with the name and the data of each event of an answer as Anthropic's
// Messages API streams it: a block each for the reasoning, the text and each call of a tool.
func messagesStream(a Answer, frame func(string, object)) {
	frame("message_start", object{"message": messagesObject(array{}, nil)})
	frame("ping", object{})
	index := 0
	block := func(start object, deltas ...object) {
		frame("content_block_start", object{"index": index, "content_block": start})
		for _, d := range deltas {
			frame("content_block_delta", object{"index": index, "delta": d})
		}
		if a.Breaks && start["type"] == "text" {
			return
		}
		frame("content_block_stop", object{"index": index})
		index++
	}
	if a.Thinks != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": a.Thinks}, object{"type": "signature_delta", "signature": "c2ln"})
	}
	if len(a.Says) > 0 {
		var deltas []object
		for _, s := range a.Says {
			deltas = append(deltas, object{"type": "text_delta", "text": s})
		}
		block(object{"type": "text", "text": ""}, deltas...)
	}
	switch {
	case a.Breaks:
		return
	case a.Fails:
		frame("error", object{"error": object{"type": "api_error", "message": "not now"}})
		return
	}
	if !a.Long && !a.Declines {
		for _, c := range a.Calls {
			var deltas []object
			for _, half := range halves(c.Args) {
				deltas = append(deltas, object{"type": "input_json_delta", "partial_json": half})
			}
			block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, deltas...)
		}
	}
	frame("message_delta", object{"delta": object{"stop_reason": messagesStop(a), "stop_sequence": nil}, "usage": object{"output_tokens": 2}})
	frame("message_stop", object{})
}

// messagesWhole returns an answer as the Messages API sends it whole.
func messagesWhole(a Answer) object {
	content := array{}
	if a.Thinks != "" {
		content = append(content, object{"type": "thinking", "thinking": a.Thinks, "signature": "c2ln"})
	}
	if len(a.Says) > 0 {
		content = append(content, object{"type": "text", "text": strings.Join(a.Says, "")})
	}
	for _, c := range a.Calls {
		content = append(content, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Args)})
	}
	return messagesObject(content, messagesStop(a))
}

// messagesStop returns the stop_reason of an answer in the Messages API.
func messagesStop(a Answer) string {
	switch {
	case a.Declines:
		return "refusal"
	case a.Long:
		return "max_tokens"
	case len(a.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

// messagesObject returns a message of the Messages API; stop is nil while it is streamed.
func messagesObject(content array, stop any) object {
	return object{"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": content, "stop_reason": stop,
		"stop_sequence": nil, "usage": object{"input_tokens": 1, "output_tokens": 2}}
}

// geminiStream calls frame with each chunk of an answer as Gemini's streamGenerateContent sends it.
func geminiStream(a Answer, frame func(any)) {
	for _, part := range geminiParts(a, a.Says) {
		frame(geminiObject(array{part}, ""))
	}
	switch {
	case a.Breaks:
	case a.Fails:
		frame(object{"error": object{"code": 500, "message": "not now", "status": "INTERNAL"}})
	default:
		frame(geminiObject(array{object{"text": ""}}, geminiStop(a)))
	}
}

// geminiWhole returns an answer as Gemini's generateContent sends it.
func geminiWhole(a Answer) object {
	return geminiObject(geminiParts(a, []string{strings.Join(a.Says, "")}), geminiStop(a))
}

// geminiParts returns the parts of an answer for Gemini: its reasoning, texts in the place of
// a.Says, and its calls of tools.
func geminiParts(a Answer, texts []string) array {
	parts := array{}
	if a.Thinks != "" {
		parts = append(parts, object{"text": a.Thinks, "thought": true})
	}
	for _, s := range texts {
		parts = append(parts, object{"text": s})
	}
	for _, c := range a.Calls {
		call := object{"name": c.Name, "args": json.RawMessage(c.Args)}
		if c.ID != "" {
			call["id"] = c.ID
		}
		parts = append(parts, object{"functionCall": call})
	}
	return parts
}

// geminiObject returns a response of Gemini with these parts; stop is its finishReason, or "" while
// more comes.
func geminiObject(parts array, stop string) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	if stop != "" {
		candidate["finishReason"] = stop
	}
	return object{"candidates": array{candidate}, "modelVersion": "fake"}
}

// geminiStop returns the finishReason of an answer for Gemini.
func geminiStop(a Answer) string {
	switch {
	case a.Declines:
		return "SAFETY"
	case a.Long:
		return "MAX_TOKENS"
	}
	return "STOP"
}

// ollamaStream writes an answer as Ollama streams it, an object on each line.
func ollamaStream(a Answer, to io.Writer) {
	line := func(data any) { json.NewEncoder(to).Encode(data) }
	if a.Thinks != "" {
		line(object{"model": "fake", "created_at": "2026-01-01T00:00:00Z", "message": object{"role": "assistant", "content": "", "thinking": a.Thinks}, "done": false})
	}
	for _, s := range a.Says {
		line(ollamaObject(Answer{}, s, false))
	}
	switch {
	case a.Breaks:
		return
	case a.Fails:
		line(object{"error": "an error was encountered while running the model"})
		return
	}
	if len(a.Calls) > 0 {
		line(ollamaObject(Answer{Calls: a.Calls}, "", false))
	}
	line(ollamaObject(Answer{Long: a.Long}, "", true))
}

// ollamaObject returns one object of Ollama's chat API with this content, and with the reasoning
// and the calls of a. done marks the last one.
func ollamaObject(a Answer, content string, done bool) object {
	message := object{"role": "assistant", "content": content}
	if a.Thinks != "" {
		message["thinking"] = a.Thinks
	}
	for i, c := range a.Calls {
		calls, _ := message["tool_calls"].(array)
		message["tool_calls"] = append(calls, object{"id": c.ID, "function": object{"index": i, "name": c.Name, "arguments": json.RawMessage(c.Args)}})
	}
	out := object{"model": "fake", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done}
	if done {
		out["done_reason"], out["eval_count"] = "stop", 2
		if a.Long {
			out["done_reason"] = "length"
		}
	}
	return out
}
