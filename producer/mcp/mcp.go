// Package mcp makes the calls of an MCP server's tools heard, and asks the user before those that could destroy something.
//
//	server.AddReceivingMiddleware(mcp.Tools(p, nil)) // p is a producer.Producer
//	client := sdk.NewClient(impl, &sdk.ClientOptions{ElicitationHandler: mcp.Elicit(p)})
//
// Each call is a session; one whose context comes from Session.Context is a part of that session. A tool's annotations decide:
// one that only reads (readOnlyHint) is announced, and so is one that only adds (destructiveHint is false); every other
// asks first, also one without annotations, for so MCP reads them. A no is a tool error that says so.
package mcp

import (
	"bytes"
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
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
)

// Tools returns a middleware for the receiving side of a server: it tells of every call of a tool through p, and asks where
// the tool's annotations say that it must. Describe says of a call what will be done and what that means; what it leaves empty
// is made of the annotations, of the tool's title and of the arguments, so that nil will do. What it returns may ask more than the
// annotations demand, but never less. A call with more to say than 16 KiB is not put to anybody, and does not run, unless describe says
// it in fewer words. A question is in one language: in one that the SDK has no sentences in, say both Action and Consequence, or
// neither.
func Tools(p *producer.Producer, describe func(t *sdk.Tool, args json.RawMessage) producer.Tool) sdk.Middleware {
	languages := languages(p)
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			call, ok := req.(*sdk.CallToolRequest)
			if !ok || method != "tools/call" || call.Params == nil {
				return next(ctx, method, req)
			}
			t, err := find(ctx, next, call)
			if err != nil || t == nil { // the server says what is wrong with the call
				return next(ctx, method, req)
			}
			var tool producer.Tool
			if describe != nil {
				tool = describe(t, call.Params.Arguments)
			}
			tool = complete(tool, t, call.Params.Arguments, languages)
			about := phrase.Text(languages, phrase.Request, "") // the question says what
			if !asks(tool) {                                    // in the same words as the call, which then need not be told twice
				about = phrase.Text(languages, phrase.UsingTool, cmp.Or(tool.Title, tool.Name))
			}
			return run(ctx, p, about, tool, func(ctx context.Context) (sdk.Result, error) { return next(ctx, method, req) })
		}
	}
}

// languages are those of an agent.
func languages(p *producer.Producer) []string {
	m, err := p.Manifest()
	if err != nil {
		return nil
	}
	return m.LanguagesSupported
}

// find returns the tool that is called, as the server lists it, or nil.
func find(ctx context.Context, next sdk.MethodHandler, call *sdk.CallToolRequest) (*sdk.Tool, error) {
	for params := (&sdk.ListToolsParams{}); ; {
		result, err := next(ctx, "tools/list", &sdk.ListToolsRequest{Session: call.Session, Params: params, Extra: call.Extra})
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

// complete adds to what the author said of a call what its tool's annotations say.
func complete(tool producer.Tool, t *sdk.Tool, args json.RawMessage, languages []string) producer.Tool {
	hints := t.Annotations
	tool.Name, tool.Title = t.Name, cmp.Or(tool.Title, t.Title)
	if hints != nil {
		tool.Title = cmp.Or(tool.Title, hints.Title)
	}
	tool.Title = tidy(tool.Title)
	risk, irreversible := aaep.RiskHigh, true
	switch {
	case hints != nil && hints.ReadOnlyHint:
		risk, irreversible = aaep.RiskLow, false
	case hints != nil && hints.DestructiveHint != nil && !*hints.DestructiveHint:
		risk, irreversible = aaep.RiskMedium, false
	}
	if order := []aaep.Risk{"", aaep.RiskLow, aaep.RiskMedium, aaep.RiskHigh}; slices.Index(order, tool.Risk) < slices.Index(order, risk) && slices.Contains(order, tool.Risk) {
		tool.Risk = risk
	}
	tool.Irreversible = tool.Irreversible || irreversible
	if !asks(tool) {
		return tool // arguments are told where somebody has to know them
	}
	if tool.Action.IsZero() {
		tool.Action = action(tool, args, languages)
	}
	if tool.Consequence.IsZero() {
		tool.Consequence = phrase.Text(languages, phrase.MayDestroy, "")
		if !irreversible {
			tool.Consequence = phrase.Text(languages, phrase.OnlyAdds, "")
		}
	}
	return tool
}

func asks(t producer.Tool) bool { return t.Irreversible || t.Risk == aaep.RiskHigh || t.Confirm }

// action is what will be done, with everything that decides it.
func action(tool producer.Tool, args json.RawMessage, languages []string) aaep.Text {
	with := values(args)
	return phrase.Texts(languages, func(tag string) (string, bool) {
		says, known := phrase.In(tag, phrase.UseTool, cmp.Or(tool.Title, tool.Name))
		if with != "" {
			with, _ := phrase.In(tag, phrase.WithValues, with)
			says = strings.TrimSuffix(says, ".") + with + "."
		}
		return says, known
	})
}

// values says all of a call's arguments, in the order in which they were sent: its author has put first what matters.
func values(args json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	return tidy(value(d, "; "))
}

// value says what comes next, in words: no brackets and quotation marks but where there is nothing else.
func value(d *json.Decoder, between string) string {
	token, err := d.Token()
	kind, ok := token.(json.Delim)
	switch {
	case err != nil:
		return ""
	case token == nil:
		return "null"
	case token == "":
		return `""`
	case !ok:
		return fmt.Sprint(token)
	}
	var parts []string
	for d.More() {
		name := ""
		if kind == '{' {
			key, _ := d.Token()
			name = strings.ReplaceAll(fmt.Sprint(key), "_", " ") + ": "
		}
		part := value(d, ", ")
		parts = append(parts, name+part)
	}
	d.Token()
	said := strings.Join(parts, between)
	switch {
	case between == "; ":
		return said
	case said == "":
		return map[json.Delim]string{'{': "{}", '[': "[]"}[kind]
	case kind == '{':
		return "(" + said + ")"
	}
	return said
}

// tidy shows what a model or a server wrote as it may be shown.
func tidy(s string) string { return aaep.SafeText(strings.ReplaceAll(s, "\r\n", "\n")) }

var errTool = errors.New("the tool's result says that it failed")

// run calls a tool as the rules demand.
func run(ctx context.Context, p *producer.Producer, about aaep.Text, tool producer.Tool, call func(context.Context) (sdk.Result, error)) (result sdk.Result, err error) {
	s := producer.SessionOf(ctx)
	own := s == nil
	if own {
		if s, err = p.StartSession(context.WithoutCancel(ctx), about); err != nil {
			if asks(tool) {
				return nil, err
			}
			return call(ctx) // nobody has to be asked, and nobody can be told
		}
		defer s.Close()
	}
	ran := false
	_, told := s.Tool(ctx, tool, func(ctx context.Context) (string, error) {
		ran = true
		result, err = call(ctx)
		if r, ok := result.(*sdk.CallToolResult); err == nil && ok && r.IsError {
			return "", errTool
		}
		return "", err
	})
	no := ""
	if !ran {
		var invalid *aaep.InvalidError
		switch no = llm.Refusal(tool.Name, told); {
		case no != "":
			told = nil
		case errors.As(told, &invalid): // the model can say it otherwise
			no = "Not done. The user cannot be asked about this call as it is: " + told.Error()
		default:
			err = told
		}
	}
	if own {
		switch {
		case told == nil:
			s.Complete(aaep.Text{})
		case ctx.Err() != nil: // the client waits no longer, as one with a limit of its own
			s.Cancel(aaep.CancelledByProducer, aaep.Text{})
		case errors.Is(told, errTool) && !asks(tool): // models try this and that, and nobody is to be interrupted each time
			s.Complete(aaep.Text{})
		default:
			s.Fail(told, aaep.Text{})
		}
	}
	if no != "" {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: no}}}, nil
	}
	return result, err
}
