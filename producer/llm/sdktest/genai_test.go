package sdktest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"google.golang.org/genai"

	"github.com/aaep-go/aaep/producer/llm"
)

func googleGenai(stream bool) agent {
	return func(ctx context.Context, address string, tap *llm.Tap, move tool) (string, error) {
		config := &genai.ClientConfig{APIKey: "none", Backend: genai.BackendGeminiAPI,
			HTTPOptions: genai.HTTPOptions{BaseURL: address}, HTTPClient: &http.Client{}}
		if tap != nil {
			config.HTTPClient.Transport = tap.Transport(nil)
		}
		client, err := genai.NewClient(ctx, config)
		if err != nil {
			return "", err
		}
		var all strings.Builder
		contents := genai.Text("Save $500.")
		for try := 0; ; {
			var parts []*genai.Part
			take := func(r *genai.GenerateContentResponse) {
				r.SDKHTTPResponse = nil // the headers have the time in them
				said, _ := json.Marshal(r)
				all.Write(said)
				parts = append(parts, r.Candidates[0].Content.Parts...)
			}
			if stream {
				for r, streamErr := range client.Models.GenerateContentStream(ctx, "fake", contents, nil) {
					if err = streamErr; err != nil {
						break
					}
					take(r)
				}
			} else {
				var r *genai.GenerateContentResponse
				if r, err = client.Models.GenerateContent(ctx, "fake", contents, nil); err == nil {
					take(r)
				}
			}
			if err != nil {
				if try++; try > 1 {
					return "", err
				}
				continue // it does not try again by itself
			}
			contents = append(contents, &genai.Content{Role: genai.RoleModel, Parts: parts})
			var results []*genai.Part
			for _, part := range parts {
				if call := part.FunctionCall; call != nil {
					args, _ := json.Marshal(call.Args)
					result, err := moves(ctx, move, string(args))
					if err != nil {
						return "", err
					}
					results = append(results, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: call.ID, Name: call.Name, Response: map[string]any{"output": result}}})
				}
			}
			if len(results) == 0 {
				return all.String(), nil
			}
			contents = append(contents, genai.NewContentFromParts(results, genai.RoleUser))
		}
	}
}
