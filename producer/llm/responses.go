package llm

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/phrase"
)

// OpenAI's Responses.

type responsesItem struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"`
	CallID  string         `json:"call_id"`
	Name    string         `json:"name"`
	Status  string         `json:"status"`
	Content jsontext.Value `json:"content"`
	Output  jsontext.Value `json:"output"`
}

func responsesRequest(body []byte) (q request) {
	var in struct {
		Input jsontext.Value `json:"input"`
		Text  struct {
			Format struct {
				Type string `json:"type"`
			} `json:"format"`
		} `json:"text"`
	}
	decode(body, &in)
	q.json = isJSON(in.Text.Format.Type)
	var items []responsesItem
	if in.Input.Kind() == '[' {
		decode(in.Input, &items)
	}
	for _, item := range items {
		switch {
		case item.CallID == "":
		case strings.HasSuffix(item.Type, "_output"):
			q.result(clip(item.CallID), item.Status == "incomplete", item.Output)
		default:
			q.keys = append(q.keys, clip(item.CallID))
		}
	}
	return q
}

type responsesAnswer struct{ *answer }

func newResponsesAnswer(a *answer, _ request) hears { return responsesAnswer{a} }

type response struct {
	Object  string          `json:"object"`
	Status  string          `json:"status"`
	Output  []responsesItem `json:"output"`
	Error   jsontext.Value  `json:"error"`
	Details struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

func (r responsesAnswer) event(name string, data []byte) {
	var in struct {
		Type     string         `json:"type"`
		Delta    jsontext.Value `json:"delta"`
		Item     responsesItem  `json:"item"`
		Code     jsontext.Value `json:"code"`
		Response response       `json:"response"`
	}
	if !decode(data, &in) {
		in.Type = name
	}
	switch in.Type {
	case "response.output_text.delta", "response.refusal.delta", "response.audio.transcript.delta":
		r.text(words(in.Delta))
	case "response.output_text.done", "response.refusal.done", "response.audio.transcript.done":
		r.pause()
	case "response.output_item.added":
		r.item(in.Item, false)
	case "response.output_item.done":
		r.item(in.Item, true)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		in.Response.Status = cmp.Or(in.Response.Status, strings.TrimPrefix(in.Type, "response."))
		r.status(in.Response)
	case "error":
		r.end(faultOf(words(in.Code)))
	}
}

func (r responsesAnswer) whole(data []byte) bool {
	var in response
	if !decode(data, &in) || in.Object != "response" && in.Error == nil {
		return false
	}
	for _, item := range in.Output {
		r.item(item, false)
		if item.Type == "message" {
			r.text(words(item.Content))
			r.text(refusal(item.Content))
			r.pause()
		}
		r.item(item, true)
	}
	r.status(in)
	return true
}

// item is a part of an answer. A call that has a call_id is the agent's to run, unless its output
// follows; the provider runs the others.
func (r responsesAnswer) item(item responsesItem, done bool) {
	kind, isCall := strings.CutSuffix(item.Type, "_call")
	switch {
	case strings.HasSuffix(item.Type, "_call_output") && done:
		r.ran(item.CallID)
	case !isCall:
	case item.CallID == "" && done:
		r.begins(item.ID, cmp.Or(item.Name, kind))
		r.ends(item.ID, item.Status == "failed" || item.Status == "incomplete")
	case item.CallID == "":
		r.begins(item.ID, cmp.Or(item.Name, kind))
	case done:
		r.call(item.CallID, cmp.Or(item.Name, kind))
	}
}

func (r responsesAnswer) status(in response) {
	switch {
	case in.Error.Kind() == '{':
		r.end(errorOf(in.Error))
	case in.Status == "failed" || in.Status == "cancelled":
		r.end(faultOf(""))
	case in.Status == "queued" || in.Status == "in_progress": // it is made in the background
		r.end(ending{words: phrase.AnswerUnread})
	case in.Status == "incomplete" && in.Details.Reason == "content_filter":
		r.end(declined)
	case in.Status == "incomplete":
		r.end(tooLong)
	default:
		r.end(whole)
	}
}

// refusal returns the words with which a message refuses.
func refusal(content jsontext.Value) (said string) {
	var parts []struct {
		Refusal string `json:"refusal"`
	}
	if content.Kind() == '[' {
		decode(content, &parts)
	}
	for _, p := range parts {
		said += p.Refusal
	}
	return said
}
