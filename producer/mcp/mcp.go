// Package mcp makes the calls of an MCP server's tools heard, and asks the user before those that
// could destroy something.
//
//	server.AddReceivingMiddleware(mcp.Tools(p, nil)) // p is a producer.Producer
//	client := sdk.NewClient(impl, &sdk.ClientOptions{ElicitationHandler: mcp.Elicit(p)})
//
// Each call is a session; one whose context comes from Session.Context is a part of that session. A
// tool's annotations decide: one that only reads (readOnlyHint) is announced, and so is one that
// only adds (destructiveHint is false); every other asks first, also one without annotations, for
// so MCP reads them. A no is a tool error that says so.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
)

// Tools returns a middleware for the receiving side of a server: it tells of every call of a tool
// through p, and asks where the tool's annotations say that it must. Describe says of a call what
// will be done and what that means; what it leaves empty is made of the annotations, of the tool's
// title and of the arguments, so that nil will do. What it returns may ask more than the
// annotations demand, but never less. A call with more to say than 16 KiB is put to no person,
// and does not run, unless describe says it in fewer words. A question is in one language: in one
// that the SDK has no sentences in, say both Action and Consequence, or neither.
func Tools(p *producer.Producer, describe func(t *sdk.Tool, args json.RawMessage) producer.Tool) sdk.Middleware {
	languages := agentLanguages(p)
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			call, ok := req.(*sdk.CallToolRequest)
			if !ok || method != "tools/call" || call.Params == nil {
				return next(ctx, method, req)
			}
			t, err := findTool(ctx, next, call)
			if err != nil || t == nil { // the server says what is wrong with the call
				return next(ctx, method, req)
			}
			var tool producer.Tool
			if describe != nil {
				tool = describe(t, call.Params.Arguments)
			}
			tool = completeTool(tool, t, call.Params.Arguments, languages)
			summary := phrase.Text(languages, phrase.Request, "") // the question then says what it is about
			if !mustAsk(tool) {
				// In the same words as the call, which then need not be told twice.
				summary = phrase.Text(languages, phrase.UsingTool, cmp.Or(tool.Title, tool.Name))
			}
			return runTool(ctx, p, summary, tool,
				func(ctx context.Context) (sdk.Result, error) { return next(ctx, method, req) })
		}
	}
}

// agentLanguages returns the languages that the manifest of the agent of p names, or nil where it
// has none.
func agentLanguages(p *producer.Producer) []string {
	m, err := p.Manifest()
	if err != nil {
		return nil
	}
	return m.LanguagesSupported
}

// findTool returns the tool that is called, as the server lists it through next, page by page, or
// nil for one that it does not list. The error is that of listing.
func findTool(ctx context.Context, next sdk.MethodHandler, call *sdk.CallToolRequest) (*sdk.Tool, error) {
	for params := (&sdk.ListToolsParams{}); ; {
		result, err := next(ctx, "tools/list",
			&sdk.ListToolsRequest{Session: call.Session, Params: params, Extra: call.Extra})
		if err != nil {
			return nil, err
		}
		list, ok := result.(*sdk.ListToolsResult)
		if !ok {
			return nil, fmt.Errorf("mcp: tools/list gave %T", result)
		}
		if i := slices.IndexFunc(list.Tools, func(t *sdk.Tool) bool { return t.Name == call.Params.Name }); i >= 0 {
			return list.Tools[i], nil
		}
		if list.NextCursor == "" || list.NextCursor == params.Cursor {
			return nil, nil
		}
		params = &sdk.ListToolsParams{Cursor: list.NextCursor}
	}
}

// completeTool fills in what the author has not said of a call from its tool's annotations, and
// raises its risk to what they demand. t is the tool as it is listed. Without annotations it is of
// high risk and irreversible. Only where the user must be asked are its arguments put into words,
// in one of the languages.
func completeTool(tool producer.Tool, t *sdk.Tool, args json.RawMessage, languages []string) producer.Tool {
	hints := t.Annotations
	tool.Name, tool.Title = t.Name, cmp.Or(tool.Title, t.Title)
	if hints != nil {
		tool.Title = cmp.Or(tool.Title, hints.Title)
	}
	tool.Title = makeSafe(tool.Title)
	risk, irreversible := aaep.RiskHigh, true
	switch {
	case hints != nil && hints.ReadOnlyHint:
		risk, irreversible = aaep.RiskLow, false
	case hints != nil && hints.DestructiveHint != nil && !*hints.DestructiveHint:
		risk, irreversible = aaep.RiskMedium, false
	}
	if order := []aaep.Risk{"", aaep.RiskLow, aaep.RiskMedium, aaep.RiskHigh}; slices.Index(order,
		tool.Risk) < slices.Index(order, risk) && slices.Contains(order, tool.Risk) {
		tool.Risk = risk
	}
	tool.Irreversible = tool.Irreversible || irreversible
	if !mustAsk(tool) {
		return tool // arguments are told where a person has to decide by them
	}
	if tool.Action.IsZero() {
		tool.Action = toolwords.Use(languages, cmp.Or(tool.Title, tool.Name), args)
	}
	if tool.Consequence.IsZero() {
		tool.Consequence = phrase.Text(languages, phrase.MayDestroy, "")
		if !irreversible {
			tool.Consequence = phrase.Text(languages, phrase.OnlyAdds, "")
		}
	}
	return tool
}

// mustAsk reports whether a tool may run only after a confirmation.
func mustAsk(t producer.Tool) bool { return t.Irreversible || t.Risk == aaep.RiskHigh || t.Confirm }

// makeSafe returns what a model or a server wrote as it may be shown.
func makeSafe(s string) string { return aaep.SafeText(strings.ReplaceAll(s, "\r\n", "\n")) }

// errTool is what a tool's end is reported with where its result says that it failed.
var errTool = errors.New("the tool's result says that it failed")

// runTool runs call as a tool of the context's session, or of a session of its own with a summary,
// which it also ends. A call that was not allowed, or could not be asked about, returns a result
// that says so. Where no session can begin, only a call that need not be asked about is made.
func runTool(ctx context.Context, p *producer.Producer, summary aaep.Text, tool producer.Tool,
	call func(context.Context) (sdk.Result, error)) (result sdk.Result, err error) {
	s := producer.SessionOf(ctx)
	ownsSession := s == nil
	if ownsSession {
		if s, err = p.StartSession(context.WithoutCancel(ctx), summary); err != nil {
			if mustAsk(tool) {
				return nil, err
			}
			return call(ctx) // nothing has to be asked, and nothing can be told
		}
		defer s.Close()
	}
	ran := false
	_, toolErr := s.Tool(ctx, tool, func(ctx context.Context) (string, error) {
		ran = true
		result, err = call(ctx)
		if r, ok := result.(*sdk.CallToolResult); err == nil && ok && r.IsError {
			return "", errTool
		}
		return "", err
	})
	refusal := "" // what the model is told instead of a result
	if !ran {
		if refusal = llm.Refusal(tool.Name, toolErr); refusal != "" {
			toolErr = nil
		} else if refusal = toolwords.CannotAsk(toolErr); refusal == "" {
			err = toolErr
		}
	}
	if ownsSession {
		endSession(ctx, s, tool, toolErr)
	}
	if refusal != "" {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: refusal}}}, nil
	}
	return result, err
}

// endSession ends a session that was begun for one call of a tool, as that ended. A call without a
// question whose result is an error completes it too: models try this and that, and the person is
// not to be interrupted each time.
func endSession(ctx context.Context, s *producer.Session, tool producer.Tool, toolErr error) {
	isHarmless := errors.Is(toolErr, errTool) && !mustAsk(tool)
	switch {
	case toolErr == nil:
		s.Complete(aaep.Text{})
	case ctx.Err() != nil: // the client waits no longer, as one with a limit of its own
		s.Cancel(aaep.CancelledByProducer, aaep.Text{})
	case isHarmless:
		s.Complete(aaep.Text{})
	default:
		s.Fail(toolErr, aaep.Text{})
	}
}
