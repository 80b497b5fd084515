package rap

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/bridge/toolcall"
	"github.com/aaep-go/aaep/internal/httpguard"
)

// The limits of what is read. A result may hold images.
const (
	maxInvocation = 1 << 20
	maxCallback   = 64 << 20
	maxToolset    = 1 << 20
	maxTools      = 1024
	maxID         = 1024 // bytes of a group's or a call's id
)

// toolset is what a tool server says of itself at its well-known URL.
type toolset struct {
	Name     string `json:"name"`
	Endpoint string `json:"endpoint"`
	Tools    []tool `json:"tools"`
}

// tool is one tool of a toolset.
type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Annotations struct {
		ReadOnly    bool `json:"readOnly"`
		Destructive bool `json:"destructive"`
	} `json:"annotations"`
}

// decodeToolset reads a toolset, with from 1 to maxTools tools of different names. Its endpoint
// must be of the host that it was fetched from, base, for a toolset must not send calls elsewhere.
func decodeToolset(body []byte, base *url.URL) (*toolset, error) {
	var set toolset
	if err := bridge.Decode(body, &set); err != nil {
		return nil, fmt.Errorf("the toolset cannot be read: %w", err)
	}
	if len(set.Tools) == 0 || len(set.Tools) > maxTools {
		return nil, fmt.Errorf("the toolset has %d tools: from 1 to %d are followed", len(set.Tools), maxTools)
	}
	seen := map[string]bool{}
	for _, t := range set.Tools {
		if t.Name == "" || seen[t.Name] {
			return nil, fmt.Errorf("the toolset has the tool %.40q twice, or one without a name", t.Name)
		}
		seen[t.Name] = true
	}
	endpoint, err := base.Parse(set.Endpoint)
	if err != nil || endpoint.Host != base.Host || endpoint.Scheme != base.Scheme {
		return nil, fmt.Errorf("the toolset sends calls to %.80q, which is not at %s", set.Endpoint, base.Host)
	}
	set.Endpoint = endpoint.String()
	return &set, nil
}

// invocation is a call of a tool, as the runtime posts it.
type invocation struct {
	Operation   string         `json:"operation"`
	Arguments   jsontext.Value `json:"arguments"`
	ID          string         `json:"id"`
	CallID      string         `json:"call_id"` // null is none
	CallbackURL string         `json:"callback_url"`
	GroupID     string         `json:"group_id"`
}

// checkInvocation returns an error that says what is missing, too long or wrong in an invocation,
// or nil.
func (in *invocation) checkInvocation() error {
	switch {
	case in.Operation == "" || in.ID == "" || in.GroupID == "":
		return errors.New("operation, id and group_id must be there")
	case len(in.ID) > maxID || len(in.GroupID) > maxID:
		return fmt.Errorf("id and group_id must have at most %d bytes", maxID)
	case in.Operation == reserved:
		return errors.New(reserved + " is a name of the runtime's own, and no tool")
	}
	return checkPeerURL("callback_url", in.CallbackURL)
}

// makeRef returns the reference of a call: what this bridge needs to know of it when its results
// are posted. sealURL puts it into the callback URL.
func (in *invocation) makeRef() callRef {
	sum := sha256.Sum256(in.Arguments)
	return callRef{To: in.CallbackURL, Group: in.GroupID, Call: in.ID, Echo: in.CallID, Tool: in.Operation,
		Sum: hex.EncodeToString(sum[:8])}
}

// checkPeerURL returns an error for a URL that a peer gave, to which its answers are posted, unless
// it is of https, or of http on this machine. name is what the error calls it.
func checkPeerURL(name, text string) error {
	address, err := url.Parse(text)
	if err != nil || address.Host == "" ||
		address.Scheme != "https" && !(address.Scheme == "http" && httpguard.LoopbackName(address.Hostname())) {
		return errors.New(name + " must be a URL of https, or of http on this machine")
	}
	return nil
}

// callback is what a tool posts for a call. Its type says which of the members it has.
type callback struct {
	Type         string  `json:"type"`
	GroupID      string  `json:"group_id"`
	ID           string  `json:"id"`
	ToolCallID   string  `json:"tool_call_id"` // of a subscription_event
	Text         string  `json:"text"`
	Content      []item  `json:"content"`
	DisplayAs    []shown `json:"display_as"`
	Subscription bool    `json:"subscription"`
	Associative  bool    `json:"associative"`
	Final        bool    `json:"final"`

	Prompt      string   `json:"prompt"` // of a user_choice
	Choices     []string `json:"choices"`
	ResponseURL string   `json:"response_url"`
	AuthURL     string   `json:"auth_url"` // of an oauth
}

// item is one part of a result, of which only text is told.
type item struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// shown is how a tool wants its result shown.
type shown struct {
	Type    string         `json:"type"`
	Content jsontext.Value `json:"content"`
}

// The types of callbacks.
const (
	toolResult        = "tool_result"
	subscriptionEvent = "subscription_event"
	userChoice        = "user_choice"
	signIn            = "oauth"
)

// callID returns the id of the call that a callback is about.
func (c *callback) callID() string {
	if c.Type == subscriptionEvent {
		return c.ToolCallID
	}
	return c.ID
}

// resultText returns what a result says in words: its content, or else its text, as the protocol
// has it. Images are counted.
func (c *callback) resultText() string {
	var all []string
	images := 0
	for _, part := range c.Content {
		switch part.Type {
		case "text":
			all = append(all, part.Text)
		case "image":
			images++
		}
	}
	if images > 0 {
		all = append(all, fmt.Sprintf("(and %d images)", images))
	}
	return cmp.Or(strings.Join(all, "\n"), c.Text)
}

// resultFailure returns the error that a result reports, or nil. The protocol marks one by how its
// text begins.
func (c *callback) resultFailure() error {
	if why, failed := strings.CutPrefix(c.resultText(), "Error: "); failed {
		return errors.New(toolcall.Line(why))
	}
	return nil
}

// replaceMember returns a JSON object with the value of one of its members replaced by a string,
// and every other byte as it was. The member must be there once, which Decode has made sure.
func replaceMember(object []byte, name, value string) ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() != '}' {
		key, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		found := key.String() == name
		old, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if found {
			end := int(dec.InputOffset())
			text, err := jsontext.AppendQuote(nil, value)
			if err != nil {
				return nil, err
			}
			return bytes.Join([][]byte{object[:end-len(old)], text, object[end:]}, nil), nil
		}
	}
	return nil, io.ErrUnexpectedEOF
}
