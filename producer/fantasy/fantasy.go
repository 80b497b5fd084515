// Package aaepfantasy asks the user before a tool of an agent that is written with charm.land/fantasy
// runs, through AAEP, and tells what came of it.
//
//	tap := llm.New(p) // p is a producer.Producer; its Transport goes into the provider's http.Client
//	agent := fantasy.NewAgent(model, fantasy.WithTools(aaepfantasy.Guard(tap, transfer, describe)))
//
// The guard is around the tool's Run, so that whatever calls it asks: a step that Fantasy tries
// again puts a question of its own, and so does each of several calls at once. Nothing runs without
// a yes to that one call.
package aaepfantasy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "charm.land/fantasy"

	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
)

// Guard returns a tool that asks the user before it runs; In is what the tool takes. Describe says
// of a call what will be done and what that means, as for llm.Guard: nil, and a description of no
// words, make the question of the tool's name and arguments; only what it says is of low or medium
// risk runs unasked, and is told. A no, silence and that nobody can be asked are an error response,
// which the model gets and which does not end the run.
func Guard[In any](t *llm.Tap, tool sdk.AgentTool, describe func(In) producer.Tool) sdk.AgentTool {
	g := &guardedTool[In]{AgentTool: tool}
	ofCall := func(c *call[In]) producer.Tool {
		if describe == nil {
			return producer.Tool{}
		}
		return describe(c.in)
	}
	g.describes = describe != nil
	g.run = llm.Guard(t, tool.Info().Name, ofCall, func(ctx context.Context, c *call[In]) (string, error) {
		var err error
		c.ran = true
		if c.response, err = tool.Run(ctx, c.params); err == nil && c.response.IsError {
			return "", errFailed
		}
		return "", err
	})
	return g
}

// errFailed is what a call's end is reported with where its response says that it failed.
var errFailed = errors.New("the tool's response says that it failed")

// guardedTool is a tool whose calls ask first.
type guardedTool[In any] struct {
	sdk.AgentTool
	describes bool // of what In has of the arguments
	run       func(context.Context, *call[In]) (string, error)
}

// call is one call of a tool, and what came of it.
type call[In any] struct {
	in       In
	params   sdk.ToolCall
	ran      bool
	response sdk.ToolResponse
}

// MarshalJSON returns the arguments as the model sent them, for the question.
func (c *call[In]) MarshalJSON() ([]byte, error) { return []byte(c.params.Input), nil }

// Run asks the user, and runs the tool if the answer is yes. Any other outcome, and parameters that
// cannot be read, is a response that says so to the model.
func (g *guardedTool[In]) Run(ctx context.Context, params sdk.ToolCall) (sdk.ToolResponse, error) {
	c := &call[In]{params: params}
	err := json.Unmarshal([]byte(params.Input), &c.in)
	if err == nil && g.describes { // the tool reads them by itself
		err = toolwords.CheckReading([]byte(params.Input))
	}
	if err != nil {
		return sdk.NewTextErrorResponse(fmt.Sprintf("invalid parameters: %s", err)), nil
	}
	no, err := g.run(ctx, c)
	switch {
	case c.ran && errors.Is(err, errFailed):
		return c.response, nil
	case c.ran:
		return c.response, err
	case err == nil:
		return sdk.NewTextErrorResponse(no), nil
	}
	if no = toolwords.CannotAsk(err); no != "" {
		return sdk.NewTextErrorResponse(no), nil
	}
	return sdk.ToolResponse{}, err
}
