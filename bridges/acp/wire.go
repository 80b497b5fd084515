package acp

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/toolwords"
)

// The types of ACP v1 as far as they are used here. Names match exactly, and a repeated name is
// refused. What is a union is read by its discriminator alone: a kind that is not known is none of
// the others.

const protocolVersion = 1

type initializeRequest struct {
	ProtocolVersion int                `json:"protocolVersion"`
	Capabilities    clientCapabilities `json:"clientCapabilities"`
	Info            implementation     `json:"clientInfo"`
	// An agent of version 2 reads these, and one of version 1 those above.
	Capabilities2 *clientCapabilities2 `json:"capabilities,omitzero"`
	Info2         *implementation      `json:"info,omitzero"`
}

type clientCapabilities2 struct {
	Elicitation struct {
		Form struct{} `json:"form"`
		URL  struct{} `json:"url"`
	} `json:"elicitation"`
}

type clientCapabilities struct {
	FS struct {
		Read  bool `json:"readTextFile"`
		Write bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal    bool `json:"terminal"`
	Elicitation struct {
		Form struct{} `json:"form"`
		URL  struct{} `json:"url"`
	} `json:"elicitation"`
}

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitzero"`
	Version string `json:"version"`
}

type initializeResponse struct {
	ProtocolVersion int               `json:"protocolVersion"`
	Capabilities    agentCapabilities `json:"agentCapabilities"`
	AuthMethods     []authMethod      `json:"authMethods"`
	Info            implementation    `json:"agentInfo"`
	Info2           implementation    `json:"info"` // of an agent of version 2
}

type agentCapabilities struct {
	LoadSession bool `json:"loadSession"`
	Prompt      struct {
		EmbeddedContext bool `json:"embeddedContext"`
	} `json:"promptCapabilities"`
	Session struct {
		List   *struct{} `json:"list"`
		Resume *struct{} `json:"resume"`
	} `json:"sessionCapabilities"`
}

type authMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

type newSessionRequest struct {
	CWD        string     `json:"cwd"`
	MCPServers []struct{} `json:"mcpServers"`
	SessionID  string     `json:"sessionId,omitzero"` // of one that is to go on
}

type newSessionResponse struct {
	SessionID string         `json:"sessionId"`
	Modes     *modeState     `json:"modes"`
	Models    *modelState    `json:"models"` // as agents offered them before there were settings
	Config    []configOption `json:"configOptions"`
	Commands  []Command      `json:"availableCommands"` // of version 2
}

type modelState struct {
	Current   string `json:"currentModelId"`
	Available []struct {
		ID          string `json:"modelId"`
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"availableModels"`
}

// A configOption is a setting of the agent's. Of the kinds there are, a choice of one value is
// understood here.
type configOption struct {
	ID       string        `json:"id"`
	Category string        `json:"category"`
	Type     string        `json:"type"`
	Current  any           `json:"currentValue"`
	Options  []configValue `json:"options"`
}

// A configValue is a value, or a group of them.
type configValue struct {
	Value       string        `json:"value"`
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Options     []configValue `json:"options"`
}

type configUpdate struct {
	Config []configOption `json:"configOptions"`
}

type listSessionsRequest struct {
	CWD    string `json:"cwd"`
	Cursor string `json:"cursor,omitzero"`
}

type listSessionsResponse struct {
	Sessions []struct {
		ID      string `json:"sessionId"`
		Title   string `json:"title"`
		Updated string `json:"updatedAt"`
	} `json:"sessions"`
	Next string `json:"nextCursor"`
}

type modeState struct {
	Current   string `json:"currentModeId"`
	Available []Mode `json:"availableModes"`
}

// Mode is a way of working that an agent offers, or a model.
type Mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

type promptRequest struct {
	SessionID string         `json:"sessionId"`
	Prompt    []contentBlock `json:"prompt"`
}

type promptResponse struct {
	StopReason string `json:"stopReason"`
}

// A contentBlock is what is said, or shown. Of the kinds there are, text and links are understood
// here.
type contentBlock struct {
	Type        string    `json:"type"`
	Text        string    `json:"text,omitzero"`
	MIMEType    string    `json:"mimeType,omitzero"`
	URI         string    `json:"uri,omitzero"`
	Name        string    `json:"name,omitzero"`
	Title       string    `json:"title,omitzero"`
	Description string    `json:"description,omitzero"`
	Resource    *resource `json:"resource,omitzero"`
}

type resource struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType,omitzero"`
	Text     string `json:"text,omitzero"`
}

type sessionNotification struct {
	SessionID string         `json:"sessionId"`
	Update    jsontext.Value `json:"update"`
}

type contentChunk struct {
	Content   contentBlock `json:"content"`
	MessageID string       `json:"messageId"`
}

// A toolCall is one that begins, or what has changed of one; nil has not changed.
type toolCall struct {
	ID        string         `json:"toolCallId"`
	Title     *string        `json:"title"`
	Name      *string        `json:"name"`
	Kind      *string        `json:"kind"`
	Status    *string        `json:"status"`
	Content   []toolContent  `json:"content"`
	Locations []location     `json:"locations"`
	Input     jsontext.Value `json:"rawInput"`

	folder string // where a command runs, if that is said otherwise; see permissionRequest2
}

type toolContent struct {
	Type       string       `json:"type"`
	Content    contentBlock `json:"content"`
	Path       string       `json:"path"`
	OldText    *string      `json:"oldText"`
	NewText    string       `json:"newText"`
	TerminalID string       `json:"terminalId"`
	Changes    []fileChange `json:"changes"` // of version 2
	Patch      struct {
		Text string `json:"text"`
	} `json:"patch"`
}

type location struct {
	Path string `json:"path"`
}

type plan struct {
	Entries []planEntry `json:"entries"`
}

type planEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

type commandsUpdate struct {
	Commands []Command `json:"availableCommands"`
}

// Command is a slash command that an agent offers. It is used by a prompt that begins with a slash
// and its name.
type Command struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type modeUpdate struct {
	Current string `json:"currentModeId"`
}

type permissionRequest struct {
	SessionID string             `json:"sessionId"`
	ToolCall  toolCall           `json:"toolCall"`
	Options   []permissionOption `json:"options"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// The kinds of options. What is none of them is never selected.
const (
	allowOnce    = "allow_once"
	allowAlways  = "allow_always"
	rejectOnce   = "reject_once"
	rejectAlways = "reject_always"
)

type permissionResponse struct {
	Outcome permissionOutcome `json:"outcome"`
}

type permissionOutcome struct {
	Outcome  string `json:"outcome"`
	OptionID string `json:"optionId,omitzero"`
}

type elicitation struct {
	Mode    string         `json:"mode"`
	Message string         `json:"message"`
	Schema  jsontext.Value `json:"requestedSchema"`
	URL     string         `json:"url"`
}

type notice struct {
	Severity    string `json:"severity"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

type cancelNotification struct {
	SessionID string `json:"sessionId"`
}

type cancelRequest struct {
	RequestID jsontext.Value `json:"requestId"`
}

// decodeParams decodes a value of the wire into what into points to. A value that is missing is an
// error.
func decodeParams(value jsontext.Value, into any) error {
	if value == nil {
		return fmt.Errorf("acp: there are no parameters")
	}
	return toolwords.Decode(value, into)
}

// updateKind returns the discriminator of an update, or "" for one that cannot be read.
func updateKind(update jsontext.Value) string {
	var u struct {
		Kind string `json:"sessionUpdate"`
	}
	if decodeParams(update, &u) != nil {
		return ""
	}
	return u.Kind
}
