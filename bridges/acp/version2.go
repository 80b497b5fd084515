package acp

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
)

// The draft of version 2 of the protocol, where Config.Version2 asks for it and the agent speaks
// it. What differs from version 1 is here: a prompt is answered at once, and the turn ends with a
// state; messages and calls are updated by their ids; a permission says what it is about in a
// title, a description and a subject; files and commands are the agent's own. The draft can still
// change.

const protocolVersion2 = 2

// useVersion2 takes over what an agent of version 2 says of itself. Its conversations can be listed
// and gone on with in any case.
func (h *initializeResponse) useVersion2() {
	h.Info = h.Info2
	h.Capabilities.Session.List, h.Capabilities.Session.Resume = new(struct{}), new(struct{})
}

// stateUpdate says what a conversation does. At the end of a turn it is idle, for a reason.
type stateUpdate struct {
	State  string  `json:"state"`
	Reason *string `json:"stopReason"`
}

// wholeMessage is a message as it is now. Nil content has not changed.
type wholeMessage struct {
	MessageID string         `json:"messageId"`
	Content   []contentBlock `json:"content"`
}

type callContentChunk struct {
	ID      string      `json:"toolCallId"`
	Content toolContent `json:"content"`
}

type planUpdate struct {
	Plan struct {
		Type    string      `json:"type"`
		Entries []planEntry `json:"entries"`
	} `json:"plan"`
}

type permissionRequest2 struct {
	SessionID   string             `json:"sessionId"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Subject     permissionSubject  `json:"subject"`
	Options     []permissionOption `json:"options"`
}

type permissionSubject struct {
	Type     string   `json:"type"`
	ToolCall toolCall `json:"toolCall"`
	Command  string   `json:"command"`
	CWD      string   `json:"cwd"`
	CallID   string   `json:"toolCallId"`
}

// A fileChange is what a part of the kind diff does to one file.
type fileChange struct {
	Operation string `json:"operation"`
	Path      string `json:"path"`
	OldPath   string `json:"oldPath"`
}

// applyUpdate2 applies an update that only version 2 has. A kind that is not known is reported
// once. The error says that it cannot be read. It runs on the goroutine that reads.
func (t *turn) applyUpdate2(kind string, update jsontext.Value) (err error) {
	switch kind {
	case "state_update":
		var u stateUpdate
		if err = decodeParams(update, &u); err == nil {
			t.noteState(u)
		}
	case "agent_message", "agent_thought":
		var u wholeMessage
		if err = decodeParams(update, &u); err == nil && (kind == "agent_message" || t.c.agent.cfg.Thoughts) {
			t.writeWhole(kind+"_chunk", u)
		}
	case "tool_call_content_chunk":
		var u callContentChunk
		if err = decodeParams(update, &u); err == nil {
			t.mu.Lock()
			var before []toolContent
			if c := t.calls[u.ID]; c != nil {
				before = c.content
			}
			t.mu.Unlock()
			t.reportCall(toolCall{ID: u.ID, Content: append(before[:len(before):len(before)], u.Content)})
		}
	case "plan_update":
		var u planUpdate
		if err = decodeParams(update, &u); err == nil && u.Plan.Type == "items" {
			t.reportPlan(u.Plan.Entries)
		}
	case "user_message", "terminal_update", "terminal_output_chunk": // of these nothing is told
	default:
		t.reportUnknownKind(kind)
	}
	return err
}

// noteState takes in a state of the agent in version 2, and ends the turn when it is idle. An idle
// without a reason that comes before the agent has begun is about what was before, and is passed
// over. It takes t.mu.
func (t *turn) noteState(u stateUpdate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case u.State == "running" || u.State == "requires_action":
		t.running = true
	case u.State != "idle" || u.Reason == nil && !t.running:
	default:
		reason := "end_turn"
		if u.Reason != nil {
			reason = *u.Reason
		}
		select {
		case t.idle <- reason:
		default:
		}
	}
}

// writeWhole writes a whole message of a kind, unless it was written in chunks.
func (t *turn) writeWhole(kind string, u wholeMessage) {
	t.mu.Lock()
	written := t.written[kind+" "+u.MessageID]
	t.mu.Unlock()
	if written {
		return
	}
	for _, block := range u.Content {
		t.writeChunk(kind, contentChunk{Content: block, MessageID: u.MessageID})
	}
}

// asVersion1 converts a request for permission of version 2, with all its texts, to version 1. id
// is that of the request; it names a call that has no id.
func (p permissionRequest2) asVersion1(id string) permissionRequest {
	call := p.Subject.ToolCall
	texts := []string{p.Title, p.Description}
	switch p.Subject.Type {
	case "tool_call":
		if call.Title == nil || *call.Title == "" {
			call.Title = &p.Title
		}
	case "command":
		call = toolCall{ID: p.Subject.CallID, Title: &p.Subject.Command, Kind: new(toolwords.Execute),
			folder: p.Subject.CWD}
	default:
		call = toolCall{Title: &p.Title, Kind: new("")}
		if p.Subject.Type != "" {
			texts = append(texts, "What it is about is of a kind that is not known here, "+p.Subject.Type)
		}
	}
	if call.ID == "" {
		call.ID = "permission " + id
	}
	var content []toolContent
	for _, text := range texts {
		if strings.TrimSpace(text) != "" && text != *call.Title {
			content = append(content, toolContent{Type: "content", Content: contentBlock{Type: "text", Text: text}})
		}
	}
	call.Content = append(content, call.Content...)
	return permissionRequest{SessionID: p.SessionID, ToolCall: call, Options: p.Options}
}

// describeChanges returns a sentence for each file that a part of the kind diff changes, and, where
// it has a patch, one with the lines added and removed in all.
func (c toolContent) describeChanges(cfg Config) (says []string) {
	for _, change := range c.Changes {
		place := strings.TrimSuffix(cfg.describePath(change.Path), ",")
		from := strings.TrimSuffix(cfg.describePath(change.OldPath), ",")
		switch change.Operation {
		case "add":
			says = append(says, "A new file: "+words.Sentence(place))
		case "delete":
			says = append(says, words.Sentence("Deleted is "+place))
		case "modify":
			says = append(says, words.Sentence("Changed is "+place))
		case "move":
			says = append(says, words.Sentence("Moved is "+from+", to "+place))
		case "copy":
			says = append(says, words.Sentence("Copied is "+from+", to "+place))
		default:
			says = append(says, words.Sentence("In a way that is not known here, changed is "+place))
		}
	}
	added, removed := 0, 0
	for _, line := range toolwords.SplitLines(c.Patch.Text) {
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	if c.Patch.Text != "" {
		says = append(says, fmt.Sprintf("%s added, %d removed.", words.Count(added, "line"), removed))
	}
	return says
}
