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

// responsesRequest reads the calls and the results of tools among the input items of a body of the
// responses format, and whether JSON is wanted. Of a body that cannot be read, it has what was read
// up to there.
func responsesRequest(body []byte) (q request) {
	var in struct {
		Input jsontext.Value `json:"input"`
		Text  struct {
			Format struct {
				Type string `json:"type"`
			} `json:"format"`
		} `json:"text"`
	}
	decodeLenient(body, &in)
	q.json = isJSON(in.Text.Format.Type)
	var items []responsesItem
	if in.Input.Kind() == '[' {
		decodeLenient(in.Input, &items)
	}
	for _, item := range items {
		switch {
		case item.CallID == "":
		case strings.HasSuffix(item.Type, "_output"):
			q.addResult(clipKey(item.CallID), item.Status == "incomplete", item.Output)
		default:
			q.keys = append(q.keys, clipKey(item.CallID))
		}
	}
	return q
}

type responsesAnswer struct{ *answer }

// newResponsesAnswer returns the answerReader of Responses.
func newResponsesAnswer(a *answer, _ request) answerReader { return responsesAnswer{a} }

type responseBody struct {
	Object  string          `json:"object"`
	Status  string          `json:"status"`
	Output  []responsesItem `json:"output"`
	Error   jsontext.Value  `json:"error"`
	Details struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// readEvent reads one event of a streamed answer in the responses format; name is used where data
// has no type.
func (r responsesAnswer) readEvent(name string, data []byte) {
	var in struct {
		Type     string         `json:"type"`
		Delta    jsontext.Value `json:"delta"`
		Item     responsesItem  `json:"item"`
		Code     jsontext.Value `json:"code"`
		Response responseBody   `json:"response"`
	}
	if !decodeLenient(data, &in) {
		in.Type = name
	}
	switch in.Type {
	case "response.output_text.delta", "response.refusal.delta", "response.audio.transcript.delta":
		r.writeText(textOf(in.Delta))
	case "response.output_text.done", "response.refusal.done", "response.audio.transcript.done":
		r.closeOutput()
	case "response.output_item.added":
		r.readItem(in.Item, false)
	case "response.output_item.done":
		r.readItem(in.Item, true)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		in.Response.Status = cmp.Or(in.Response.Status, strings.TrimPrefix(in.Type, "response."))
		r.readStatus(in.Response)
	case "error":
		r.setEnding(endingOfErrorName(textOf(in.Code)))
	}
}

// readWhole reads an answer in one piece, and how it ended; it returns false where data is no such
// answer.
func (r responsesAnswer) readWhole(data []byte) bool {
	var in responseBody
	if !decodeLenient(data, &in) || in.Object != "response" && in.Error == nil {
		return false
	}
	for _, item := range in.Output {
		r.readItem(item, false)
		if item.Type == "message" {
			r.writeText(textOf(item.Content))
			r.writeText(refusalText(item.Content))
			r.closeOutput()
		}
		r.readItem(item, true)
	}
	r.readStatus(in)
	return true
}

// readItem reads an item of an answer when it begins and, with isComplete, when it is whole. A call
// that has a call_id is the agent's to run, unless its output follows; the provider runs the
// others.
func (r responsesAnswer) readItem(item responsesItem, isComplete bool) {
	kind, isCall := strings.CutSuffix(item.Type, "_call")
	switch {
	case strings.HasSuffix(item.Type, "_call_output") && isComplete:
		r.dropCall(item.CallID)
	case !isCall:
	case item.CallID == "" && isComplete:
		r.beginProviderTool(item.ID, cmp.Or(item.Name, kind))
		r.endProviderTool(item.ID, item.Status == "failed" || item.Status == "incomplete")
	case item.CallID == "":
		r.beginProviderTool(item.ID, cmp.Or(item.Name, kind))
	case isComplete:
		r.addCall(item.CallID, cmp.Or(item.Name, kind))
	}
}

// readStatus sets the ending by the status of a response; one that is made in the background ends
// unread.
func (r responsesAnswer) readStatus(in responseBody) {
	switch {
	case in.Error.Kind() == '{':
		r.setEnding(endingOfError(in.Error))
	case in.Status == "failed" || in.Status == "cancelled":
		r.setEnding(endingOfErrorName(""))
	case in.Status == "queued" || in.Status == "in_progress": // it is made in the background
		r.setEnding(ending{words: phrase.AnswerUnread})
	case in.Status == "incomplete" && in.Details.Reason == "content_filter":
		r.setEnding(endedDeclined)
	case in.Status == "incomplete":
		r.setEnding(endedTooLong)
	default:
		r.setEnding(endedWhole)
	}
}

// refusalText returns the words with which a message refuses, or "".
func refusalText(content jsontext.Value) (text string) {
	var parts []struct {
		Refusal string `json:"refusal"`
	}
	if content.Kind() == '[' {
		decodeLenient(content, &parts)
	}
	for _, p := range parts {
		text += p.Refusal
	}
	return text
}
