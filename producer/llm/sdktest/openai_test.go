package sdktest

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/aaep-go/aaep/producer/llm"
)

func openaiClient(address string, tap *llm.Tap) openai.Client {
	opts := []option.RequestOption{option.WithAPIKey("none"), option.WithBaseURL(address + "/v1/")}
	if tap != nil {
		opts = append(opts, option.WithMiddleware(tap.Middleware))
	}
	return openai.NewClient(opts...)
}

func openaiChat(stream bool) agent {
	return func(ctx context.Context, address string, tap *llm.Tap, move tool) (string, error) {
		client := openaiClient(address, tap)
		var all strings.Builder
		params := openai.ChatCompletionNewParams{Model: "fake", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Save $500.")}}
		for {
			var message openai.ChatCompletionMessage
			if stream {
				s := client.Chat.Completions.NewStreaming(ctx, params)
				var acc openai.ChatCompletionAccumulator
				for s.Next() {
					all.WriteString(s.Current().RawJSON())
					acc.AddChunk(s.Current())
				}
				if err := s.Err(); err != nil {
					return "", err
				}
				s.Close()
				message = acc.Choices[0].Message
			} else {
				whole, err := client.Chat.Completions.New(ctx, params)
				if err != nil {
					return "", err
				}
				all.WriteString(whole.RawJSON())
				message = whole.Choices[0].Message
			}
			params.Messages = append(params.Messages, message.ToParam())
			for _, call := range message.ToolCalls {
				result, err := moves(ctx, move, call.Function.Arguments)
				if err != nil {
					return "", err
				}
				params.Messages = append(params.Messages, openai.ToolMessage(result, call.ID))
			}
			if len(message.ToolCalls) == 0 {
				return all.String() + message.Content, nil
			}
		}
	}
}

func openaiResponses(stream bool) agent {
	return func(ctx context.Context, address string, tap *llm.Tap, move tool) (string, error) {
		client := openaiClient(address, tap)
		var all strings.Builder
		params := responses.ResponseNewParams{Model: "fake", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Save $500.")}}
		for {
			var whole *responses.Response
			if stream {
				s := client.Responses.NewStreaming(ctx, params)
				for s.Next() {
					all.WriteString(s.Current().RawJSON())
					if s.Current().Type == "response.completed" {
						done := s.Current().Response
						whole = &done
					}
				}
				if err := s.Err(); err != nil {
					return "", err
				}
				s.Close()
			} else {
				var err error
				if whole, err = client.Responses.New(ctx, params); err != nil {
					return "", err
				}
				all.WriteString(whole.RawJSON())
			}
			var results responses.ResponseInputParam
			for _, item := range whole.Output {
				if item.Type != "function_call" {
					continue
				}
				result, err := moves(ctx, move, item.AsFunctionCall().Arguments)
				if err != nil {
					return "", err
				}
				output := responses.ResponseInputItemParamOfFunctionCallOutput(result)
				output.OfFunctionCallOutput.CallID = openai.String(item.CallID)
				results = append(results, output)
			}
			if len(results) == 0 {
				return all.String() + whole.OutputText(), nil
			}
			params.PreviousResponseID = openai.String(whole.ID)
			params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: results}
		}
	}
}

func moves(ctx context.Context, move tool, args string) (string, error) {
	var in transfer
	if err := json.Unmarshal([]byte(args), &in); err != nil {
		return "", err
	}
	return move(ctx, in)
}
