// Package aaepeino asks the user before the tools of an agent that is written with Eino run,
// through AAEP, and tells what came of them.
//
//	tap := llm.New(p) // p is a producer.Producer; its Transport goes into the model's http.Client
//	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Model: model, …,
//		Handlers: []adk.ChatModelAgentMiddleware{aaepeino.Middleware(tap, describe)}})
//
// It is the last of the Handlers: one before it that calls a tool again has each call asked about,
// while what stands behind it is within the yes to one call. A run that is resumed asks about what
// has not run, or not to its end, anew.
package aaepeino

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
)

// Middleware returns a middleware that asks the user of t before an agent's tools run. Describe
// says of a call, whose arguments are JSON, what will be done and what that means, as for
// llm.Guard: nil, and a description of no words, make the question of the tool's name and
// arguments; only what it says is of low or medium risk runs unasked, and is told. A no, silence
// and that nobody can be asked are a result that says so, which the model gets. A tool that
// interrupts its run is told as not done.
func Middleware(t *llm.Tap, describe func(name, args string) producer.Tool) adk.ChatModelAgentMiddleware {
	return &middleware{&adk.BaseChatModelAgentMiddleware{}, t, describe}
}

type middleware struct {
	*adk.BaseChatModelAgentMiddleware
	tap      *llm.Tap
	describe func(name, args string) producer.Tool
}

// BeforeModelRewriteState has the tap announce no tool that the model wants: what asks is told when
// it runs.
func (m *middleware) BeforeModelRewriteState(ctx context.Context, state *adk.ChatModelAgentState, _ *adk.ModelContext) (
	context.Context, *adk.ChatModelAgentState, error) {
	for _, info := range state.ToolInfos {
		if !directsAgents(info.Name) {
			m.guard(info.Name)
		}
	}
	return ctx, state, nil
}

// WrapInvokableToolCall returns run with a question before it. Eino calls it, and the three that
// follow, for the tools of each kind.
func (m *middleware) WrapInvokableToolCall(_ context.Context, run adk.InvokableToolCallEndpoint, t *adk.ToolContext) (
	adk.InvokableToolCallEndpoint, error) {
	return whole(m, t.Name, run, plainArgs, plainResult), nil
}

// WrapEnhancedInvokableToolCall is for tools that take and give structures.
func (m *middleware) WrapEnhancedInvokableToolCall(_ context.Context, run adk.EnhancedInvokableToolCallEndpoint,
	t *adk.ToolContext) (adk.EnhancedInvokableToolCallEndpoint, error) {
	return whole(m, t.Name, run, enhancedArgs, enhancedResult), nil
}

// WrapStreamableToolCall is for tools that give a stream of texts.
func (m *middleware) WrapStreamableToolCall(_ context.Context, run adk.StreamableToolCallEndpoint, t *adk.ToolContext) (
	adk.StreamableToolCallEndpoint, error) {
	return streamed(m, t.Name, run, plainArgs, plainResult), nil
}

// WrapEnhancedStreamableToolCall is for tools that take structures and give a stream of them.
func (m *middleware) WrapEnhancedStreamableToolCall(_ context.Context, run adk.EnhancedStreamableToolCallEndpoint,
	t *adk.ToolContext) (adk.EnhancedStreamableToolCallEndpoint, error) {
	return streamed(m, t.Name, run, enhancedArgs, enhancedResult), nil
}

// plainArgs returns the arguments, in JSON, of a tool that takes a text.
func plainArgs(args string) string { return args }

// plainResult returns the refusal as the result of a tool that gives a text.
func plainResult(refusal string) string { return refusal }

// enhancedArgs returns the arguments, in JSON, of a tool that takes a structure.
func enhancedArgs(args *schema.ToolArgument) string { return args.Text }

// enhancedResult returns the refusal as the result of a tool that gives a structure.
func enhancedResult(refusal string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: refusal}}}
}

// whole returns run, the tool name, with a question before it. text returns the arguments in JSON;
// if the answer is no, the result is what refuse makes of the words for the model.
func whole[A, R any](m *middleware, name string, run func(context.Context, A, ...tool.Option) (R, error),
	text func(A) string, refuse func(string) R) func(context.Context, A, ...tool.Option) (R, error) {
	if directsAgents(name) {
		return run
	}
	return func(ctx context.Context, args A, opts ...tool.Option) (result R, err error) {
		no, err := m.ask(ctx, name, text(args), func(ctx context.Context) (err error) {
			result, err = run(ctx, args, opts...)
			return err
		})
		if no != "" {
			return refuse(no), nil
		}
		return result, err
	}
}

// streamed does what whole does for a tool whose result is a stream: it is told as finished when
// the stream ends. Asking, and passing the stream on, is done by a goroutine for each call.
func streamed[A, R any](m *middleware, name string,
	run func(context.Context, A, ...tool.Option) (*schema.StreamReader[R], error), text func(A) string,
	refuse func(string) R) func(context.Context, A, ...tool.Option) (*schema.StreamReader[R], error) {
	if directsAgents(name) {
		return run
	}
	return func(ctx context.Context, args A, opts ...tool.Option) (*schema.StreamReader[R], error) {
		// The first result counts. A second one is the error of a tool whose stream has begun, which
		// stays in the channel.
		results := make(chan streamResult[R], 2)
		go func() {
			defer func() {
				if crash := recover(); crash != nil {
					results <- streamResult[R]{err: fmt.Errorf("the tool %s panicked: %v", name, crash)}
				}
			}()
			refusal, err := m.ask(ctx, name, text(args), func(ctx context.Context) error {
				source, err := run(ctx, args, opts...)
				if err != nil {
					return err
				}
				return passStream(source, results)
			})
			if refusal != "" {
				results <- streamResult[R]{stream: schema.StreamReaderFromArray([]R{refuse(refusal)})}
				return
			}
			results <- streamResult[R]{err: err}
		}()
		first := <-results
		return first.stream, first.err
	}
}

// streamResult is what a call of a tool returns whose result is a stream.
type streamResult[R any] struct {
	stream *schema.StreamReader[R]
	err    error
}

// passStream sends a copy of source to results and passes the parts of source on to it until source
// ends or the reader of the copy has gone. It closes source. The error is that of source.
func passStream[R any](source *schema.StreamReader[R], results chan<- streamResult[R]) error {
	defer source.Close()
	stream, copied := schema.Pipe[R](0)
	defer copied.Close()
	results <- streamResult[R]{stream: stream}
	for {
		part, err := source.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if readerGone := copied.Send(part, err); readerGone {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// directsAgents reports whether a tool does nothing but choose which of Eino's agents goes on.
func directsAgents(name string) bool { return name == adk.TransferToAgentToolName || name == "exit" }

// call is one call of a tool.
type call struct {
	args string
	run  func(context.Context) error
	ran  bool
	err  error
}

// MarshalJSON returns the arguments as the model sent them, for the question.
func (c *call) MarshalJSON() ([]byte, error) { return []byte(c.args), nil }

// guard returns the function that asks before the tool with a name runs, with the words of
// m.describe if that is set. A run that is interrupted counts as not done.
func (m *middleware) guard(name string) func(context.Context, *call) (string, error) {
	return llm.Guard(m.tap, name, func(c *call) producer.Tool {
		if m.describe == nil {
			return producer.Tool{}
		}
		return m.describe(name, c.args)
	}, func(ctx context.Context, c *call) (string, error) {
		c.ran = true
		c.err = c.run(ctx)
		if _, interrupted := compose.IsInterruptRerunError(c.err); interrupted {
			return "", producer.ErrRejected // told as not done
		}
		return "", c.err
	})
}

// ask asks, and runs the tool with run if the answer is yes; else it returns what the model is to
// hear. Arguments that can be read in more than one way are not asked about. The error is that of
// the tool, or of asking.
func (m *middleware) ask(ctx context.Context, name, args string, run func(context.Context) error) (
	no string, err error) {
	c := &call{args: args, run: run}
	if m.describe != nil { // the tool reads them by itself
		if err := toolwords.CheckReading([]byte(args)); err != nil {
			return "Not done. The user cannot be asked about these arguments: " + err.Error(), nil
		}
	}
	no, err = m.guard(name)(ctx, c)
	switch {
	case c.ran:
		return "", c.err
	case err == nil:
		return no, nil
	}
	if no = toolwords.CannotAsk(err); no != "" {
		return no, nil
	}
	return "", err
}
