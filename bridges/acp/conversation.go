package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/producer"
)

// ErrBusy is returned by Prompt while the agent is at work on another prompt.
var ErrBusy = errors.New("acp: the agent is at work")

// A Conversation is one with an agent: prompts, and what the agent does upon them. All its methods
// may be called at once.
type Conversation struct {
	agent *Agent
	p     *producer.Producer
	id    string

	mu       sync.Mutex
	turn     *turn // nil where the agent has nothing to do
	modes    modeState
	models   *modelState
	config   []configOption
	commands []Command
	newest   *call // that Details is about

	terminals    map[string]*terminal
	lastTerminal int
}

// beginTurn starts a session of the Producer with a summary. The error is ErrBusy where a
// turn is open already.
func (c *Conversation) beginTurn(ctx context.Context, summary string) (*turn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn != nil {
		return nil, ErrBusy
	}
	return c.startTurn(ctx, summary)
}

// startTurn starts the session of a turn; summary is the user's text. The caller holds c.mu and has
// seen that no turn is open.
func (c *Conversation) startTurn(ctx context.Context, summary string) (*turn, error) {
	s, err := c.p.StartSession(context.WithoutCancel(ctx),
		aaep.Say(cmp.Or(toolwords.Label(summary), "A message without words.")))
	if err != nil {
		return nil, err
	}
	c.turn = newTurn(c, s)
	return c.turn, nil
}

// Stop sends the agent session/cancel, withdraws its questions, and reports whether it was at work;
// if not, nothing happens. From then on nothing of that turn is allowed. Any goroutine may call it.
func (c *Conversation) Stop() bool {
	c.mu.Lock()
	t := c.turn
	c.mu.Unlock()
	if t == nil {
		return false
	}
	t.stopAgent()
	return true
}

// Busy reports whether the agent is at work.
func (c *Conversation) Busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turn != nil
}

// Commands returns the slash commands that the agent offers now, safe to show; none until it has
// named some.
func (c *Conversation) Commands() (offered []Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, command := range c.commands {
		offered = append(offered, Command{Name: toolwords.Label(command.Name),
			Description: toolwords.Label(command.Description)})
	}
	return offered
}

// safeModes returns a copy of modes whose names and descriptions are safe to show.
func safeModes(modes []Mode) []Mode {
	modes = slices.Clone(modes)
	for i, m := range modes {
		modes[i].Name, modes[i].Description = toolwords.Label(cmp.Or(m.Name, m.ID)), toolwords.Label(m.Description)
	}
	return modes
}

// Modes returns the ways in which the agent can work, and the id of the present one.
func (c *Conversation) Modes() (current string, available []Mode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.modes.Current, safeModes(c.modes.Available)
}

// SetMode has the agent work in the mode with an id, one of Modes. The error is the agent's, in
// plain words; the mode stays then.
func (c *Conversation) SetMode(ctx context.Context, id string) error {
	set := struct {
		SessionID string `json:"sessionId"`
		ModeID    string `json:"modeId"`
	}{c.id, id}
	if err := c.agent.peer.callMethod(ctx, "session/set_mode", set, nil); err != nil {
		return c.agent.explainError(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.modes.Current = id
	return nil
}

// keepOffers keeps the modes, models, settings and commands that the agent named when the
// conversation began or was resumed. What it left out of modes and commands stays as it was.
func (c *Conversation) keepOffers(offers newSessionResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if offers.Modes != nil {
		c.modes = *offers.Modes
	}
	c.models, c.config = offers.Models, offers.Config
	if offers.Commands != nil {
		c.commands = offers.Commands
	}
}

// modelOption returns the agent's setting that chooses the model, or nil where there is none. The
// caller holds c.mu.
func (c *Conversation) modelOption() *configOption {
	for i, o := range c.config {
		if o.Category == "model" && (o.Type == "select" || o.Type == "") {
			return &c.config[i]
		}
	}
	return nil
}

// Models returns the models that the agent offers, and the id of the present one; none where it
// offers no choice. What the agent calls them is safe to show.
func (c *Conversation) Models() (current string, available []Mode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.modelOption(); o != nil {
		current, _ = o.Current.(string)
		for _, v := range o.Options {
			for _, v := range append(slices.Clone(v.Options), v) {
				if v.Value != "" {
					available = append(available, Mode{ID: v.Value, Name: v.Name, Description: v.Description})
				}
			}
		}
		return current, safeModes(available)
	}
	if c.models == nil {
		return "", nil
	}
	for _, m := range c.models.Available {
		available = append(available, Mode{ID: m.ID, Name: m.Name, Description: m.Description})
	}
	return c.models.Current, safeModes(available)
}

// SetModel has the agent use the model with an id, one of Models. The error is the agent's, in
// plain words; the model stays then.
func (c *Conversation) SetModel(ctx context.Context, id string) error {
	c.mu.Lock()
	method, set := "session/set_model", map[string]string{"sessionId": c.id, "modelId": id}
	if o := c.modelOption(); o != nil {
		method, set = "session/set_config_option", map[string]string{"sessionId": c.id, "configId": o.ID, "value": id}
	}
	c.mu.Unlock()
	var now configUpdate
	if err := c.agent.peer.callMethod(ctx, method, set, &now); err != nil {
		return c.agent.explainError(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Config != nil {
		c.config = now.Config
	}
	if c.models != nil {
		c.models.Current = id
	}
	return nil
}

// applyUpdate applies a session/update of the agent. It runs on the goroutine that reads. One that
// cannot be read is announced as that; one of no turn is left out, for it was told before.
func (c *Conversation) applyUpdate(params jsontext.Value) {
	var n sessionNotification
	if err := decodeParams(params, &n); err != nil {
		c.agent.reportLost("an update that cannot be read")
		return
	}
	var err error
	switch kind := updateKind(n.Update); kind {
	case "available_commands_update":
		var u commandsUpdate
		if err = decodeParams(n.Update, &u); err == nil {
			c.mu.Lock()
			c.commands = u.Commands
			c.mu.Unlock()
		}
	case "config_option_update":
		var u configUpdate
		if err = decodeParams(n.Update, &u); err == nil {
			c.mu.Lock()
			c.config = u.Config
			c.mu.Unlock()
		}
	case "current_mode_update":
		var u modeUpdate
		if err = decodeParams(n.Update, &u); err == nil {
			c.setReportedMode(u.Current)
		}
	default:
		c.mu.Lock()
		t := c.turn
		c.mu.Unlock()
		if t == nil { // what was said before is sent again when a session goes on
			return
		}
		err = t.applyUpdate(kind, n.Update)
	}
	if err != nil {
		c.reportNews("The agent sent news that cannot be read, of the kind " + toolwords.Label(updateKind(n.Update)) +
			".")
	}
}

// setReportedMode stores the mode that the agent reports, and announces it where it is new, since
// the user did not ask for it.
func (c *Conversation) setReportedMode(id string) {
	c.mu.Lock()
	same := c.modes.Current == id
	c.modes.Current = id
	name := toolwords.Label(id)
	for _, m := range c.modes.Available {
		if m.ID == id {
			name = toolwords.Label(m.Name)
			if m.Description != "" {
				name += ": " + toolwords.Label(m.Description)
			}
		}
	}
	c.mu.Unlock()
	if !same {
		c.reportNews("The agent now works in the mode " + name + ".")
	}
}

// reportNews announces a sentence that belongs to no answer: as a notice in the open turn, or,
// without one, in a session of its own, which ends at once.
func (c *Conversation) reportNews(text string) {
	c.mu.Lock()
	t := c.turn
	c.mu.Unlock()
	if t != nil {
		t.reportNotice(text)
		return
	}
	if s, err := c.p.StartSession(context.Background(), englishText("News of the agent.")); err == nil {
		s.Complete(englishText(text))
	}
}

// englishText marks a sentence of this package as English, whatever language the agent speaks.
func englishText(text string) aaep.Text { return aaep.Text{}.In("en", aaep.Say(text)) }

// pathInFolder makes a path absolute and clean. A path that names something outside the folder is
// an error; links are not followed here.
func (cfg Config) pathInFolder(path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(cfg.Folder, path)
	}
	path = filepath.Clean(path)
	rel, err := filepath.Rel(cfg.Folder, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("acp: %s is not in the folder %s", path, cfg.Folder)
	}
	return path, nil
}

// describePath returns a path as a person is told it: relative to the folder, or whole with a
// remark that it is not in there.
func (cfg Config) describePath(path string) string { return toolwords.Place(cfg.Folder, path) }
