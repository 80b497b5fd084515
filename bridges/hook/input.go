package hook

import (
	"cmp"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/toolwords"
)

// MaxInput is how many bytes an input may have. Of one that is longer, Handle can be given the
// beginning: the agent's event is told, as far as that says what it is, and nothing is asked or
// answered.
const MaxInput = 8 << 20

// An input is what an agent gives to a hook, of all events and dialects. Names match exactly, and a
// repeated name is refused.
type input struct {
	Session  string `json:"session_id"`
	Folder   string `json:"cwd"`
	Event    string `json:"hook_event_name"`
	Crush    string `json:"event"` // as Crush calls it
	Source   string `json:"source"`
	Mode     string `json:"mode"`
	Prompt   string `json:"prompt"`
	Tool     string `json:"tool_name"`
	ToolUse  string `json:"tool_use_id"`
	Message  string `json:"message"`
	Kind     string `json:"notification_type"`
	Helper   string `json:"agent_type"`
	HelperAs string `json:"agent_name"`
	Server   string `json:"mcp_server_name"`

	Input    jsontext.Value `json:"tool_input"`
	Response jsontext.Value `json:"tool_response"`
	Error    jsontext.Value `json:"error"` // a text, or an object with a message
	Last     *string        `json:"last_assistant_message"`
	Answer   *string        `json:"prompt_response"`
	Model    jsontext.Value `json:"llm_response"`
	Schema   jsontext.Value `json:"requested_schema"`

	cut bool // it is only the beginning of what the agent gave
}

var errNoEvent = errors.New("it names no event")

// A camelInput is an input as Copilot CLI gives it to a hook whose event is written as preToolUse,
// and not as PreToolUse. It does not name the event.
type camelInput struct {
	Session string         `json:"sessionId"`
	Prompt  *string        `json:"prompt"`
	Tool    string         `json:"toolName"`
	Args    jsontext.Value `json:"toolArgs"` // an object, or a text that holds one
	Result  jsontext.Value `json:"toolResult"`
	Error   jsontext.Value `json:"error"`
	Stopped string         `json:"stopReason"`
	Helper  string         `json:"agentName"`
	Reason  string         `json:"reason"`
	Source  string         `json:"source"`
}

// eventName returns the name of the event, which such an input does not have, by the members that
// it has; "" where they are those of no known event. readCamel asks it.
func (c *camelInput) eventName() string {
	switch {
	case c.Tool != "" && c.Error != nil:
		return "PostToolUseFailure"
	case c.Tool != "" && c.Result != nil:
		return "PostToolUse"
	case c.Tool != "":
		return "PreToolUse"
	case c.Prompt != nil:
		return "UserPromptSubmit"
	case c.Stopped != "" && c.Helper != "":
		return "SubagentStop"
	case c.Stopped != "":
		return "Stop"
	case c.Reason != "":
		return "SessionEnd"
	case c.Source != "":
		return "SessionStart"
	}
	return ""
}

// readCamel fills in from input in camelCase, as one agent writes it. It leaves in unchanged where
// data has no event in that form.
func (in *input) readCamel(data []byte) {
	var c camelInput
	if toolwords.Decode(data, &c) != nil || c.eventName() == "" {
		return
	}
	in.Event, in.Session, in.Tool, in.HelperAs = c.eventName(), c.Session, c.Tool, c.Helper
	in.Input, in.Response = c.Args, c.Result
	var text string
	var object map[string]jsontext.Value
	if c.Args.Kind() == '"' && toolwords.Decode(c.Args, &text) == nil &&
		toolwords.Decode([]byte(text), &object) == nil {
		in.Input = jsontext.Value(text)
	}
	var result struct {
		Type string `json:"resultType"`
		Text string `json:"textResultForLlm"`
	}
	if in.Event == "PostToolUse" && toolwords.Decode(c.Result, &result) == nil && result.Type == "failure" {
		in.Event = "PostToolUseFailure"
		in.Error, _ = jsontext.AppendQuote(nil, result.Text)
	}
}

// readInput reads an input of a dialect. Of one that is too long, the first members are read that
// are simple texts; so too of a call that cannot be read otherwise, where an agent would go on with
// it unasked.
func readInput(data []byte, d *dialect) (*input, error) {
	in := &input{}
	if len(data) >= MaxInput {
		in.cut = true
		in.readBeginning(data)
	} else if err := toolwords.Decode(data, in); err != nil {
		in = &input{cut: true}
		if in.readBeginning(data); !d.isFinal || d.events[in.eventName()] != calling {
			return nil, err
		}
	}
	if d.camel && !in.cut && in.eventName() == "" {
		in.readCamel(data)
	}
	if in.eventName() == "" {
		return nil, errNoEvent
	}
	return in, nil
}

// readBeginning fills in the texts that stand in data before anything else is wrong with it, such
// as that its end is missing, so that a hook whose input was cut is not lost.
func (in *input) readBeginning(data []byte) {
	known := map[string]*string{"session_id": &in.Session, "cwd": &in.Folder, "hook_event_name": &in.Event,
		"event":     &in.Crush,
		"tool_name": &in.Tool, "tool_use_id": &in.ToolUse}
	d := jsontext.NewDecoder(strings.NewReader(string(data)), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' {
			return
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return
		}
		if to := known[key]; to != nil && value.Kind() == '"' {
			toolwords.Decode(value, to)
		}
	}
}

// eventName returns the name of the event, which Crush has in another member.
func (in *input) eventName() string { return cmp.Or(in.Event, in.Crush) }

// conversationKey names the conversation of an input.
func (in *input) conversationKey(d *dialect) string { return d.name + "\x00" + in.Session }

// callKey returns a key that is equal in all events about one call: the tool and its arguments.
// Agents leave the call's id out of some of them.
func (in *input) callKey() string {
	args := in.Input.Clone()
	args.Canonicalize()
	return in.Tool + "\x00" + string(args)
}

// faultText returns why a tool or a turn failed, in the agent's words; "" where it did not.
func (in *input) faultText() string {
	var text string
	var fault struct {
		Message string `json:"message"`
	}
	switch {
	case in.Error.Kind() == '"':
		toolwords.Decode(in.Error, &text)
	case in.Error.Kind() == '{':
		toolwords.Decode(in.Error, &fault)
		text = cmp.Or(fault.Message, "It failed")
	case in.Response.Kind() == '{':
		var response struct {
			Error jsontext.Value `json:"error"`
		}
		toolwords.Decode(in.Response, &response)
		if k := response.Error.Kind(); k == '"' || k == '{' {
			return (&input{Error: response.Error}).faultText()
		}
	}
	return text
}

// answerPiece returns the text in a piece of a model's answer, and whether it is the last one. An
// input without one has no text.
func (in *input) answerPiece() (text string, last bool) {
	var model struct {
		Candidates []struct {
			Content struct {
				Parts []jsontext.Value `json:"parts"`
			} `json:"content"`
			Finish string `json:"finishReason"`
		} `json:"candidates"`
	}
	if toolwords.Decode(in.Model, &model) != nil || len(model.Candidates) == 0 {
		return "", false
	}
	for _, part := range model.Candidates[0].Content.Parts {
		var plain string
		if part.Kind() == '"' && toolwords.Decode(part, &plain) == nil {
			text += plain
		}
	}
	return text, model.Candidates[0].Finish != ""
}
