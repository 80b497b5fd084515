package a2a

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
)

// The types of A2A as far as they are used here, 1.0 and 0.3 in one: members that only one of the
// two has stay empty with the other.

type agentCard struct {
	Name         string           `json:"name"`
	Interfaces   []agentInterface `json:"supportedInterfaces"`
	Capabilities struct {
		Streaming bool `json:"streaming"`
		Push      bool `json:"pushNotifications"`

		Extensions []extension `json:"extensions"`
	} `json:"capabilities"`

	// These are of 0.3.
	URL       string           `json:"url"`
	Version   string           `json:"protocolVersion"`
	Preferred string           `json:"preferredTransport"`
	More      []agentInterface `json:"additionalInterfaces"`
}

type extension struct {
	URI string `json:"uri"`
}

type agentInterface struct {
	URL       string `json:"url"`
	Binding   string `json:"protocolBinding"`
	Version   string `json:"protocolVersion"`
	Transport string `json:"transport"` // of 0.3
}

// listInterfaces returns the ways to speak with the agent that its card offers, in either version's
// form, the best first.
func (c *agentCard) listInterfaces() []agentInterface {
	all := c.Interfaces
	if c.URL != "" {
		all = append(all, agentInterface{URL: c.URL, Binding: cmp.Or(c.Preferred, "JSONRPC"), Version: c.Version})
	}
	for _, i := range c.More {
		all = append(all, agentInterface{URL: i.URL, Binding: cmp.Or(i.Transport, i.Binding),
			Version: cmp.Or(i.Version, c.Version)})
	}
	return all
}

type message struct {
	Kind      string `json:"kind,omitzero"`
	MessageID string `json:"messageId"`
	ContextID string `json:"contextId,omitzero"`
	TaskID    string `json:"taskId,omitzero"`
	Role      string `json:"role"`
	Parts     []part `json:"parts"`
}

type part struct {
	Kind      string         `json:"kind,omitzero"`
	Text      *string        `json:"text,omitzero"`
	Data      jsontext.Value `json:"data,omitzero"`
	Raw       string         `json:"raw,omitzero"`
	URL       string         `json:"url,omitzero"`
	Filename  string         `json:"filename,omitzero"`
	MediaType string         `json:"mediaType,omitzero"`
	File      *struct {
		Name     string `json:"name"`
		MIMEType string `json:"mimeType"`
	} `json:"file,omitzero"` // of 0.3
}

// textOf returns the text of parts, one behind the other. Of data it describes the content in
// brackets, and what is neither text nor data is named there.
func textOf(parts []part) string {
	var b strings.Builder
	for _, p := range parts {
		switch {
		case p.Text != nil:
			b.WriteString(*p.Text)
		case p.Data != nil:
			b.WriteString("(" + describeFile("Data", p.Filename, "") + ": " + bridge.Describe(p.Data) + ".) ")
		case p.File != nil:
			b.WriteString("(" + describeFile("A file", p.File.Name, p.File.MIMEType) + ".) ")
		default:
			b.WriteString("(" + describeFile("A file", p.Filename, p.MediaType) + ".) ")
		}
	}
	return b.String()
}

// describeFile returns a noun with the name and the media type of what it stands for, as far as
// they are known.
func describeFile(noun, name, kind string) string {
	text := noun
	if name = toolwords.Label(name); name != "" {
		text += ", " + name
	}
	if kind = toolwords.Label(kind); kind != "" {
		text += ", of the kind " + kind
	}
	return text
}

// upperFirst returns a text of ours, which begins with a letter of ASCII, with a capital at its
// beginning; "" stays as it is.
func upperFirst(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

type artifact struct {
	ID    string `json:"artifactId"`
	Name  string `json:"name"`
	Parts []part `json:"parts"`
}

type taskStatus struct {
	State     string   `json:"state"`
	Message   *message `json:"message"`
	Timestamp string   `json:"timestamp"`
}

// The states of a task, as 0.3 writes them.
const (
	submitted     = "submitted"
	working       = "working"
	inputRequired = "input-required"
	authRequired  = "auth-required"
	completed     = "completed"
	canceled      = "canceled"
	failed        = "failed"
	rejected      = "rejected"
)

// stateName is the state as 0.3 writes it: 1.0 has TASK_STATE_INPUT_REQUIRED for input-required.
func (s taskStatus) stateName() string {
	return strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(s.State), "task_state_"), "_", "-")
}

// messageText returns what the agent says with the status, without blanks around it; "" for a
// status without a message.
func (s taskStatus) messageText() string {
	if s.Message == nil {
		return ""
	}
	return strings.TrimSpace(textOf(s.Message.Parts))
}

// statusKey identifies a status among those of its task, so that a repeated one is known; empty
// where the status has neither a message id nor a time.
func (s taskStatus) statusKey() string {
	id := s.Timestamp
	if s.Message != nil {
		id = cmp.Or(s.Message.MessageID, id)
	}
	if id == "" {
		return ""
	}
	return s.stateName() + " " + id
}

type taskObject struct {
	ID        string     `json:"id"`
	ContextID string     `json:"contextId"`
	Status    taskStatus `json:"status"`
	Artifacts []artifact `json:"artifacts"`
	History   []message  `json:"history"`
}

type statusUpdate struct {
	TaskID    string     `json:"taskId"`
	ContextID string     `json:"contextId"`
	Status    taskStatus `json:"status"`
}

type artifactUpdate struct {
	TaskID   string   `json:"taskId"`
	Artifact artifact `json:"artifact"`
	Append   bool     `json:"append"`
	Last     bool     `json:"lastChunk"`
}

// An update is one item of a stream, or the answer to a message: one of its members is set.
type update struct {
	Task     *taskObject     `json:"task"`
	Message  *message        `json:"message"`
	Status   *statusUpdate   `json:"statusUpdate"`
	Artifact *artifactUpdate `json:"artifactUpdate"`

	Unreadable bool `json:"-"` // it came and is none of these, so that something was missed
}

// readUpdate reads an update: 1.0 names what it is by a member, 0.3 by its kind. The error is that
// of JSON; an update of another kind is empty.
func readUpdate(value jsontext.Value) (u update, err error) {
	var of struct {
		Kind string `json:"kind"`
	}
	if err := bridge.Decode(value, &of); err != nil {
		return u, err
	}
	switch of.Kind {
	case "task":
		err = bridge.Decode(value, &u.Task)
	case "message":
		err = bridge.Decode(value, &u.Message)
	case "status-update":
		err = bridge.Decode(value, &u.Status)
	case "artifact-update":
		err = bridge.Decode(value, &u.Artifact)
	default:
		err = bridge.Decode(value, &u)
	}
	return u, err
}

type pushConfig struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

type sendParams struct {
	Message       message `json:"message"`
	Configuration struct {
		AcceptedOutputModes []string    `json:"acceptedOutputModes"`
		Push                *pushConfig `json:"taskPushNotificationConfig,omitzero"`
		Return              bool        `json:"returnImmediately,omitzero"`
		LegacyPush          *pushConfig `json:"pushNotificationConfig,omitzero"`
		Blocking            *bool       `json:"blocking,omitzero"` // of 0.3
	} `json:"configuration"`
}

type taskParams struct {
	ID string `json:"id"`
}

type pushParams struct { // of 1.0
	TaskID string `json:"taskId"`
	pushConfig
}

// methods are the names that 0.3 has for those of 1.0.
var methods = map[string]string{
	"SendMessage":                      "message/send",
	"SendStreamingMessage":             "message/stream",
	"GetTask":                          "tasks/get",
	"CancelTask":                       "tasks/cancel",
	"SubscribeToTask":                  "tasks/resubscribe",
	"CreateTaskPushNotificationConfig": "tasks/pushNotificationConfig/set",
}
