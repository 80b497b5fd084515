// Package aaepadk asks the user before the tools of an agent that is written with Google's Agent
// Development Kit run, through AAEP, and tells what came of them.
//
//	tap := llm.New(p) // p is a producer.Producer; tap.Transport goes into genai.ClientConfig
//	guard, err := aaepadk.Plugin(tap, describe)
//	plugins := runner.PluginConfig{Plugins: []*plugin.Plugin{guard}}
//	r, err := runner.New(runner.Config{Agent: a, PluginConfig: plugins, …})
//
// The plugin stands directly around each tool, below the callbacks of the agent and of other
// plugins: what they change is what is asked about, and what they refuse is not asked. A tool that
// the kit would confirm (RequireConfirmation, RequestConfirmation) gets its answer at once from the
// user's, and the run does not pause. Where a tool's own code requests a confirmation and says why,
// the user is asked with these words, also after a yes that was given without them. A confirmation
// that the program sends by itself, for a run that paused earlier, is no answer of the user's: such
// a call is asked about too.
//
// Two kinds of tools are out of its reach, and are to be guarded with llm.Guard: those of an agent
// that is itself a tool (agenttool), which the kit runs without plugins, and streaming tools in
// live runs, of which the kit tells no plugin.
package aaepadk

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/toolconfirmation"
	"google.golang.org/genai"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
)

// Plugin returns a plugin for a runner, which asks the user of t before the agent's tools run.
// Describe says of a call what will be done and what that means, as for llm.Guard: nil, and a
// description of no words, make the question of the tool's name and arguments; only what it says is
// of low or medium risk, and the kit does not want confirmed, runs unasked, and is told. A no,
// silence and that nobody can be asked are the kit's own error of a rejected call.
func Plugin(t *llm.Tap, describe func(name string, args map[string]any) producer.Tool) (*plugin.Plugin, error) {
	g := &guard{t, describe}
	return plugin.New(plugin.Config{Name: "aaep", BeforeModelCallback: g.wrapTools, BeforeToolCallback: g.runUnwrapped})
}

// ownTools are tools of the kit with which an agent directs itself. They do nothing to the world.
var ownTools = []string{"exit_loop", "finish_task", "load_artifacts", "load_memory", "set_model_response",
	"task_completed", "transfer_to_agent"}

// guard makes guarded tools of tools.
type guard struct {
	tap      *llm.Tap
	describe func(name string, args map[string]any) producer.Tool
}

// functionTool is what the kit calls; streamingTool is called instead where a tool is both.
type functionTool interface {
	tool.Tool
	Declaration() *genai.FunctionDeclaration
	Run(ctx agent.Context, args any) (map[string]any, error)
}

// streamingTool is what the kit calls for a tool whose result comes in parts.
type streamingTool interface {
	tool.Tool
	Declaration() *genai.FunctionDeclaration
	RunStream(ctx agent.Context, args any) iter.Seq2[string, error]
}

// wrapTools replaces the tools of a request by guarded ones: the kit looks them up there when the
// model has answered.
func (g *guard) wrapTools(_ agent.Context, req *model.LLMRequest) (*model.LLMResponse, error) {
	for name, t := range req.Tools {
		if t, ok := g.wrap(t); ok {
			req.Tools[name] = t
		}
	}
	return nil, nil
}

// runUnwrapped runs a tool that the kit did not look up in a request: one of a run that paused
// earlier, or is live. Its result ends the callbacks. For a tool that needs no guard it returns
// nil, so that the kit runs it.
func (g *guard) runUnwrapped(ctx agent.Context, t tool.Tool, args map[string]any) (map[string]any, error) {
	guarded, ok := g.wrap(t)
	if !ok {
		return nil, nil
	}
	result, err := guarded.Run(ctx, args)
	if result == nil && err == nil {
		result = map[string]any{} // without a result the kit would run the tool
	}
	return result, err
}

// wrap returns a tool with a guard, and true; false for a tool that has one, needs none, or cannot
// run.
func (g *guard) wrap(t any) (*guardedTool, bool) {
	guarded := &guardedTool{}
	switch t := t.(type) {
	case *guardedTool:
		return nil, false
	case streamingTool:
		guarded.functionTool = collected{t}
	case functionTool:
		guarded.functionTool = t
	default:
		return nil, false
	}
	name := guarded.Name()
	defers, ok := t.(interface{ DefersResponse() bool })
	if ok && defers.DefersResponse() || slices.Contains(ownTools, name) {
		return nil, false // its result is another agent's, whose own tools are guarded
	}
	guarded.ask = llm.Guard(g.tap, name, func(c *call) producer.Tool {
		tool := producer.Tool{}
		if g.describe != nil {
			tool = g.describe(name, c.args)
		}
		tool.Confirm = tool.Confirm || c.wantsYes
		if c.hint != "" {
			tool.Consequence = aaep.Say(c.hint)
		}
		c.asked = tool.Confirm || tool.Irreversible || tool.Risk == "" || tool.Risk == aaep.RiskHigh
		return tool
	}, func(ctx context.Context, c *call) (string, error) {
		c.ran = true
		return "", c.run(ctx)
	})
	return guarded, true
}

// guardedTool is a tool whose calls ask first.
type guardedTool struct {
	functionTool
	ask func(context.Context, *call) (string, error)
}

// Run asks the user, and runs the tool if the answer is yes, once more asking where its code
// requests a confirmation. Any other outcome is an error that the model reads.
func (t *guardedTool) Run(ctx agent.Context, args any) (map[string]any, error) {
	if confirmation := ctx.ToolConfirmation(); confirmation != nil && !confirmation.Confirmed {
		return nil, fmt.Errorf("%s: %w", t.Name(), tool.ErrConfirmationRejected)
	}
	c := &call{ctx: ctx, tool: t.functionTool}
	c.args, _ = args.(map[string]any)
	no, err := t.ask(ctx, c)
	if c.asksAgain {
		c.ran, c.asksAgain = false, false
		no, err = t.ask(sessionContext{ctx, c.session.Context()}, c)
	}
	if err == nil && !c.ran {
		return nil, fmt.Errorf("%w: %s", tool.ErrConfirmationRejected, no)
	}
	return c.result, err
}

// call is one call of a tool.
type call struct {
	ctx      agent.Context
	tool     functionTool
	args     map[string]any
	asked    bool   // the user is asked before it runs
	wantsYes bool   // the tool has said that it is to be confirmed
	hint     string // why, in the tool's own words
	ran      bool
	result   map[string]any

	asksAgain bool              // the tool wants a yes that the user has not given
	session   *producer.Session // in which it was called
}

// kitsHint stands in the words with which the kit itself requests confirmations. They are for
// programs, and say nothing of the call.
const kitsHint = "by responding with a FunctionResponse"

// MarshalJSON returns the arguments, for the question.
func (c *call) MarshalJSON() ([]byte, error) { return json.Marshal(c.args) }

// run runs the tool. One that then wants to be confirmed has done nothing yet: if the user was
// asked in its words, it gets that yes and runs again; else it is told as not done, and the user is
// to be asked.
func (c *call) run(ctx context.Context) (err error) {
	c.session = producer.SessionOf(ctx)
	toolCtx := &toolContext{Context: c.ctx, done: ctx}
	skips := c.ctx.Actions().SkipSummarization
	c.result, err = c.tool.Run(toolCtx, c.args)
	if toolCtx.request == nil {
		return err
	}
	c.ctx.Actions().SkipSummarization = skips // the tool set it, since one that waits for a confirmation ends the turn
	hint := toolCtx.request.Hint
	if strings.Contains(hint, kitsHint) {
		hint = ""
	}
	if isNew := hint != c.hint; isNew || !c.asked {
		c.wantsYes, c.hint, c.asksAgain = true, hint, true
		return producer.ErrRejected
	}
	toolCtx.request.Confirmed = true
	toolCtx.confirmation, toolCtx.request = toolCtx.request, nil
	c.result, err = c.tool.Run(toolCtx, c.args)
	return err
}

// sessionContext is a call's context in a session.
type sessionContext struct {
	context.Context
	session context.Context
}

// Value returns the call's value, or else the session's.
func (c sessionContext) Value(key any) any {
	if value := c.Context.Value(key); value != nil {
		return value
	}
	return c.session.Value(key)
}

// toolContext is what a tool runs with. Its confirmation is the user's, and a request for one does
// not reach the kit.
type toolContext struct {
	agent.Context
	done         context.Context                    // the session's
	confirmation *toolconfirmation.ToolConfirmation // the user's yes, or nil
	request      *toolconfirmation.ToolConfirmation // what the tool wants to be confirmed, or nil
}

// Deadline is the session's, as are the next three.
func (c *toolContext) Deadline() (time.Time, bool) { return c.done.Deadline() }

// Done is closed when the session's context ends.
func (c *toolContext) Done() <-chan struct{} { return c.done.Done() }

// Err is why the session's context has ended.
func (c *toolContext) Err() error { return c.done.Err() }

// Value is that of the session's context.
func (c *toolContext) Value(key any) any { return c.done.Value(key) }

// ToolConfirmation is the yes that the user gave to a request of the tool, or nil.
func (c *toolContext) ToolConfirmation() *toolconfirmation.ToolConfirmation { return c.confirmation }

// RequestConfirmation keeps a request of the tool, which run then puts to the user.
func (c *toolContext) RequestConfirmation(hint string, payload any) error {
	c.request = &toolconfirmation.ToolConfirmation{Hint: hint, Payload: payload}
	return nil
}

// collected is a streaming tool whose parts are one result, as the kit makes it of them.
type collected struct{ streamingTool }

// Run runs the streaming tool to its end, and returns its parts as one result. An error in between
// is returned without them.
func (t collected) Run(ctx agent.Context, args any) (map[string]any, error) {
	var result strings.Builder
	for part, err := range t.RunStream(ctx, args) {
		if err != nil {
			return nil, err
		}
		result.WriteString(part)
	}
	return map[string]any{"result": result.String()}, nil
}
