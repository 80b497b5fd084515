package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// ask returns what the model says, and the arguments of the tool that it wants.
func ask(ctx context.Context, client *http.Client, messages []any) (said, args string, err error) {
	body, _ := json.Marshal(object{"model": "made-up", "stream": true, "messages": messages})
	req, err := http.NewRequestWithContext(ctx, "POST", "https://model.example/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string                                          `json:"content"`
					ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
				}
			}
		}
		data := strings.TrimPrefix(lines.Text(), "data: ")
		if json.Unmarshal([]byte(data), &chunk) == nil && len(chunk.Choices) > 0 {
			said += chunk.Choices[0].Delta.Content
			for _, c := range chunk.Choices[0].Delta.ToolCalls {
				args += c.Function.Arguments
			}
		}
	}
	return said, args, lines.Err()
}
