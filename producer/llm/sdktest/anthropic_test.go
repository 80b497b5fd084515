package sdktest

import (
	"context"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/toolrunner"

	"github.com/aaep-go/aaep/producer/llm"
)

func anthropicClient(address string, tap *llm.Tap) anthropic.Client {
	opts := []option.RequestOption{option.WithAPIKey("none"), option.WithBaseURL(address)}
	if tap != nil {
		opts = append(opts, option.WithMiddleware(tap.Middleware))
	}
	return anthropic.NewClient(opts...)
}

func anthropicMessages(stream bool) agent {
	return func(ctx context.Context, address string, tap *llm.Tap, move tool) (string, error) {
		client := anthropicClient(address, tap)
		var all strings.Builder
		params := anthropic.MessageNewParams{Model: "fake", MaxTokens: 100,
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Save $500."))}}
		for {
			var message anthropic.Message
			if stream {
				s := client.Messages.NewStreaming(ctx, params)
				for s.Next() {
					all.WriteString(s.Current().RawJSON())
					if err := message.Accumulate(s.Current()); err != nil {
						return "", err
					}
				}
				if err := s.Err(); err != nil {
					return "", err
				}
				s.Close()
			} else {
				whole, err := client.Messages.New(ctx, params)
				if err != nil {
					return "", err
				}
				all.WriteString(whole.RawJSON())
				message = *whole
			}
			params.Messages = append(params.Messages, message.ToParam())
			var results []anthropic.ContentBlockParamUnion
			for _, block := range message.Content {
				if block.Type == "tool_use" {
					result, err := moves(ctx, move, string(block.Input))
					if err != nil {
						return "", err
					}
					results = append(results, anthropic.NewToolResultBlock(block.ID, result, false))
				}
			}
			if len(results) == 0 {
				return all.String() + message.Content[0].Text, nil
			}
			params.Messages = append(params.Messages, anthropic.NewUserMessage(results...))
		}
	}
}

// anthropicRunner lets the SDK run the tools.
func anthropicRunner(ctx context.Context, address string, tap *llm.Tap, move tool) (string, error) {
	client := anthropicClient(address, tap)
	transfers, err := toolrunner.NewBetaToolFromJSONSchema("transfer", "Moves money.",
		func(ctx context.Context, in transfer) (anthropic.BetaToolResultBlockParamContentUnion, error) {
			result, err := move(ctx, in)
			return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: result}}, err
		})
	if err != nil {
		return "", err
	}
	runner := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{transfers}, anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: "fake", MaxTokens: 100,
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Save $500."))}},
		MaxIterations: 5,
	})
	message, err := runner.RunToCompletion(ctx)
	if err != nil {
		return "", err
	}
	return message.RawJSON(), nil
}
