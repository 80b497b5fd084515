package fakemodel

import "strings"

// chatStream calls frame with each event of an answer as the Chat Completions API streams it.
func chatStream(a Answer, frame func(any)) {
	chunk := func(delta object, finish any) {
		frame(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake",
			"choices": array{object{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	if a.Thinks != "" {
		chunk(object{"reasoning_content": a.Thinks}, nil)
	}
	for _, s := range a.Says {
		chunk(object{"content": s}, nil)
	}
	switch {
	case a.Breaks:
		return
	case a.Fails:
		frame(object{"error": object{"message": "not now", "type": "server_error", "code": nil}})
		return
	case a.Declines:
		chunk(object{}, "content_filter")
	case a.Long:
		chunk(object{}, "length")
	case len(a.Calls) > 0:
		for i, c := range a.Calls {
			chunk(object{"tool_calls": array{object{"index": i, "id": c.ID, "type": "function",
				"function": object{"name": c.Name, "arguments": ""}}}}, nil)
			for _, half := range halves(c.Args) {
				chunk(object{"tool_calls": array{object{"index": i, "function": object{"arguments": half}}}}, nil)
			}
		}
		chunk(object{}, "tool_calls")
	default:
		chunk(object{}, "stop")
	}
	frame(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake", "choices": array{},
		"usage": object{"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}})
	frame("[DONE]")
}

// chatWhole returns an answer as the Chat Completions API sends it whole.
func chatWhole(a Answer) object {
	message := object{"role": "assistant", "content": strings.Join(a.Says, "")}
	finish := "stop"
	for _, c := range a.Calls {
		calls, _ := message["tool_calls"].(array)
		message["tool_calls"] = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Args}})
		finish = "tool_calls"
	}
	switch {
	case a.Declines:
		finish = "content_filter"
	case a.Long:
		finish = "length"
	}
	return object{"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "fake",
		"choices": array{object{"index": 0, "message": message, "finish_reason": finish}},
		"usage":   object{"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}
}

// responsesStream calls frame with the name and the data of each event of an answer as the
// Responses API streams it: first the reasoning, then the message, then each call of a tool.
func responsesStream(a Answer, frame func(string, object)) {
	seq, out := 0, array{}
	send := func(name string, members object) {
		members["sequence_number"] = seq
		seq++
		frame(name, members)
	}
	send("response.created", object{"response": responsesObject("in_progress", out)})
	if a.Thinks != "" {
		item := object{"type": "reasoning", "id": "rs_1", "summary": array{object{"type": "summary_text", "text": a.Thinks}}}
		send("response.output_item.added", object{"output_index": len(out), "item": item})
		send("response.reasoning_summary_text.delta", object{"output_index": len(out), "item_id": "rs_1", "summary_index": 0, "delta": a.Thinks})
		send("response.output_item.done", object{"output_index": len(out), "item": item})
		out = append(out, item)
	}
	if len(a.Says) > 0 {
		inOutput := func(members object) object {
			members["output_index"], members["item_id"], members["content_index"] = len(out), "msg_1", 0
			return members
		}
		send("response.output_item.added", object{"output_index": len(out),
			"item": object{"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": array{}}})
		send("response.content_part.added", inOutput(object{"part": object{"type": "output_text", "text": "", "annotations": array{}}}))
		for _, s := range a.Says {
			send("response.output_text.delta", inOutput(object{"delta": s, "logprobs": array{}}))
		}
		if a.Breaks {
			return
		}
		item := responsesMessage(a)
		send("response.output_text.done", inOutput(object{"text": strings.Join(a.Says, ""), "logprobs": array{}}))
		send("response.output_item.done", object{"output_index": len(out), "item": item})
		out = append(out, item)
	}
	if a.Fails {
		send("error", object{"code": "server_error", "message": "not now", "param": nil})
		return
	}
	if !a.Long && !a.Declines {
		for _, c := range a.Calls {
			inOutput := object{"output_index": len(out), "item_id": "fc_" + c.ID}
			send("response.output_item.added", object{"output_index": len(out), "item": responsesCall(c, "")})
			for _, half := range halves(c.Args) {
				send("response.function_call_arguments.delta", merge(inOutput, object{"delta": half}))
			}
			send("response.function_call_arguments.done", merge(inOutput, object{"arguments": c.Args, "name": c.Name}))
			send("response.output_item.done", object{"output_index": len(out), "item": responsesCall(c, c.Args)})
			out = append(out, responsesCall(c, c.Args))
		}
	}
	end := responsesEnd(a, out)
	send("response."+end["status"].(string), object{"response": end})
}

// responsesWhole returns an answer as the Responses API sends it whole.
func responsesWhole(a Answer) object {
	out := array{}
	if a.Thinks != "" {
		out = append(out, object{"type": "reasoning", "id": "rs_1", "summary": array{object{"type": "summary_text", "text": a.Thinks}}})
	}
	if len(a.Says) > 0 {
		out = append(out, responsesMessage(a))
	}
	for _, c := range a.Calls {
		out = append(out, responsesCall(c, c.Args))
	}
	return responsesEnd(a, out)
}

// responsesEnd returns the response object that ends an answer whose output items are out:
// completed, or incomplete where the answer is cut off or declined.
func responsesEnd(a Answer, out array) object {
	end := responsesObject("completed", out)
	switch {
	case a.Declines:
		end["status"], end["incomplete_details"] = "incomplete", object{"reason": "content_filter"}
	case a.Long:
		end["status"], end["incomplete_details"] = "incomplete", object{"reason": "max_output_tokens"}
	}
	return end
}

// responsesObject returns a response object of the Responses API with a status and output items.
func responsesObject(status string, out array) object {
	return object{"id": "resp_1", "object": "response", "created_at": 1, "model": "fake", "status": status, "output": out,
		"error": nil, "incomplete_details": nil, "tools": array{}, "parallel_tool_calls": true}
}

// responsesMessage returns the output item that holds the text of an answer.
func responsesMessage(a Answer) object {
	return object{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
		"content": array{object{"type": "output_text", "text": strings.Join(a.Says, ""), "annotations": array{}}}}
}

// responsesCall returns the output item of a tool call, with these of its arguments.
func responsesCall(c Call, args string) object {
	return object{"type": "function_call", "id": "fc_" + c.ID, "call_id": c.ID, "name": c.Name, "arguments": args, "status": "completed"}
}

// halves returns s in two parts, as arguments are streamed.
func halves(s string) []string { return []string{s[:len(s)/2], s[len(s)/2:]} }

// merge adds the members of a to b, and returns b.
func merge(a, b object) object {
	for k, v := range a {
		b[k] = v
	}
	return b
}
