package toolcall

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

const (
	// MaxTold is how many bytes of a tool's words are told at once.
	MaxTold = 16 << 10
	// maxCalls is how many calls of a conversation may have no result yet and be told of.
	maxCalls = 4096
	// maxReason is how many characters are told of why a tool failed.
	maxReason = 200
)

// Conversation is one of an agent with its tools, told as one session that begins with the first
// thing to tell. One goroutine at a time may use it.
type Conversation struct {
	p       *producer.Producer
	logger  *slog.Logger
	about   string
	session *producer.Session      // nil until there is something to tell
	calls   map[string]func(error) // what ends each call that was told, by the call's id
}

// NewConversation makes a conversation, whose sessions begin with the summary: what it is, to the
// user.
func NewConversation(p *producer.Producer, logger *slog.Logger, summary string) *Conversation {
	return &Conversation{p: p, logger: logger, about: summary, calls: map[string]func(error){}}
}

// Rename says otherwise what a conversation is, if it has not begun.
func (c *Conversation) Rename(summary string) { c.about = summary }

// Session returns the conversation's session, started if need be, or nil if none can be started,
// which is logged.
func (c *Conversation) Session() *producer.Session {
	if c.session == nil {
		c.session = c.StartSession(c.about)
	}
	return c.session
}

// Begun reports whether there was something to tell.
func (c *Conversation) Begun() bool { return c.session != nil }

// StartSession starts a session for the conversation, or returns nil if it cannot, which is logged.
func (c *Conversation) StartSession(summary string) *producer.Session {
	s, err := c.p.StartSession(context.Background(), bridge.Ours(summary))
	if err != nil {
		c.logger.Error("a conversation with tools cannot be told", "error", err)
		return nil
	}
	return s
}

// Complete ends the session, if one was started. Calls without a result are announced as failed.
func (c *Conversation) Complete(sentence string) {
	for id := range c.calls {
		c.EndCall(id, errors.New("it has no result"))
	}
	if c.session != nil {
		c.Note(c.session.Complete(bridge.Ours(sentence)))
	}
}

// AnnounceNotice announces a sentence of the bridge in the session.
func (c *Conversation) AnnounceNotice(sentence string) {
	if s := c.Session(); s != nil {
		c.Note(bridge.AnnounceNotice(s, sentence))
	}
}

// Note logs an error of a call on a session, unless it says that the session is over.
func (c *Conversation) Note(err error) {
	if err != nil && !errors.Is(err, producer.ErrSessionOver) {
		c.logger.Error("something of a conversation with tools was not told", "error", err)
	}
}

// BeginCall announces a call that was sent on without asking. A call with the id of another is not
// announced.
func (c *Conversation) BeginCall(id string, tool producer.Tool) {
	s := c.Session()
	if _, known := c.calls[id]; s == nil || known || len(c.calls) >= maxCalls {
		return // a call that is made again is told once
	}
	done, err := s.Invoked(tool)
	c.Note(err)
	if err == nil {
		c.calls[id] = done
	}
}

// EndCall announces that a call has ended, and reports false if BeginCall did not announce it, as
// for a held call, which Held.Ask announces.
func (c *Conversation) EndCall(id string, failure error) bool {
	done := c.calls[id]
	delete(c.calls, id)
	if done != nil {
		done(failure)
	}
	return done != nil
}

// Result announces the result of a call: the tool's failure as a notice, or a text as an output, as
// much as may be told. An empty text is not announced.
func (c *Conversation) Result(text string, failure error) {
	if failure != nil {
		c.AnnounceNotice(words.Sentence("The tool says: " + toolwords.Clip(failure.Error(), maxReason)))
		return
	}
	s := c.Session()
	if text = strings.TrimSpace(text); text == "" || s == nil {
		return
	}
	out := s.Output()
	_, err := out.WriteString(words.Fit(text, MaxTold))
	c.Note(errors.Join(err, out.Close()))
}

// Line returns a peer's text in one line that is safe to show.
func Line(text string) string { return toolwords.Clip(bridge.Line(text), 400) }

// ToolName returns what a tool is called to a person. A name of several words stands in quotation
// marks, so that it is not taken for what the bridge says of the tool.
func ToolName(name string) string {
	label := toolwords.Label(name)
	if strings.Contains(label, " ") {
		return strconv.Quote(label)
	}
	return cmp.Or(label, "a tool without a name")
}

// Question completes the question about a held call: the tool, what it does by its description, and
// each argument. The error says why it cannot be asked: the user must hear all of it.
func Question(tool producer.Tool, description string, arguments jsontext.Value) (producer.Tool, error) {
	if toolwords.Label(tool.Name) != tool.Name { // two names could be told alike
		return tool, errors.New("its name cannot be told as it is")
	}
	all, err := toolwords.Arguments(arguments)
	if err != nil {
		return tool, errors.New("its arguments cannot be told")
	}
	consequence := cmp.Or(toolwords.FirstSentence(description), "The toolset does not say what this tool does.")
	for _, argument := range all {
		lines := strings.Split(argument, "\n")
		for i, line := range lines {
			lines[i] = toolwords.Exact(line)
		}
		// A line must not be taken for another argument.
		consequence += " " + words.Sentence(strings.Join(lines, " <new line> "))
	}
	if len(consequence) > MaxTold-100 {
		return tool, errors.New("its arguments are too long to be told")
	}
	tool.Risk, tool.Confirm = aaep.RiskHigh, true
	tool.Action = bridge.Ours(words.Sentence("Use the tool " + tool.Title))
	tool.Consequence = bridge.Ours(consequence)
	return tool, nil
}
