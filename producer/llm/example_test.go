package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// An agent that exists, with its model and its tool, and what is added to it: the tap in its
// client, and the guard around its tool. One person listens, and says yes.
func Example() {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "bank-assistant"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	heard := make(chan struct{})
	go func() { defer close(heard); listen(p) }()
	p.WaitSubscriber(context.Background())

	type transfer struct{ Amount int }
	move := func(_ context.Context, in transfer) (string, error) { return fmt.Sprintf("$%d moved", in.Amount), nil }

	// What is added: two lines, and the words of the question.
	tap := llm.New(p)
	client := &http.Client{Transport: tap.Transport(provider{})} // for openai-go: option.WithMiddleware(tap.Middleware)
	move = llm.Guard(tap, "transfer", func(in transfer) producer.Tool {
		return producer.Tool{Irreversible: true, Action: aaep.Say(fmt.Sprintf("Transfer $%d.", in.Amount)),
			Consequence: aaep.Say("The money moves at once.")}
	}, move)

	// The agent as it was.
	messages := []any{object{"role": "user", "content": "Save $500."}}
	for {
		body, _ := json.Marshal(object{"model": "any", "messages": messages})
		resp, err := client.Post("https://model.example/v1/chat/completions", "application/json", bytes.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return
		}
		var answer struct {
			Choices []struct {
				Message struct {
					Role      string `json:"role"`
					Content   string `json:"content"`
					ToolCalls []struct {
						ID       string `json:"id"`
						Function struct {
							Name      string `json:"name"`
							Arguments string `json:"arguments"`
						} `json:"function"`
					} `json:"tool_calls,omitempty"`
				} `json:"message"`
			} `json:"choices"`
		}
		json.NewDecoder(resp.Body).Decode(&answer)
		resp.Body.Close()
		message := answer.Choices[0].Message
		messages = append(messages, message)
		for _, call := range message.ToolCalls {
			var in transfer
			json.Unmarshal([]byte(call.Function.Arguments), &in)
			result, _ := move(context.Background(), in)
			messages = append(messages, object{"role": "tool", "tool_call_id": call.ID, "content": result})
		}
		if len(message.ToolCalls) == 0 {
			break
		}
	}
	p.Shutdown(context.Background())
	<-heard
	// Output:
	// Working on a request.
	// I move the money.
	// Transfer $500. The money moves at once. (yes)
	// Transfer $500.
	// Transfer finished.
	// It is saved.
	// The agent finished.
}

// provider stands for a provider of language models.
type provider struct{}

func (provider) RoundTrip(r *http.Request) (*http.Response, error) {
	asked, _ := io.ReadAll(r.Body)
	answer := `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"I move the money.",
		"tool_calls":[{"id":"call_1","type":"function","function":{"name":"transfer","arguments":"{\"amount\":500}"}}]}}]}`
	if strings.Contains(string(asked), "$500 moved") {
		answer =
			`{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"It is saved."}}]}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// listen is a person who says yes.
func listen(p *producer.Producer) {
	ctx := context.Background()
	sub, err := subscriber.Dial(ctx, pipe{p},
		subscriber.Config{ID: "reader", NoReconnect: true, Capabilities: aaep.Capabilities{
			SupportsConfirmationReply: new(true), CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryCompletion}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sub.Close()
	for ev, err := range sub.Events(ctx) {
		if err != nil {
			return
		}
		switch q := ev.Payload.(type) {
		case *aaep.StateChanged:
		case *aaep.AwaitingConfirmation:
			fmt.Println(q.Action, q.Consequence, "(yes)")
			sub.Question(ev).Accept(ctx)
		default:
			fmt.Println(ev.Text(aaep.VerbosityNormal))
		}
	}
}

// pipe is a way to a producer in this process.
type pipe struct{ p *producer.Producer }

func (d pipe) Dial(context.Context) (transports.Conn, error) {
	theirs, ours := transports.Pipe()
	go d.p.ServeConn(ours)
	return theirs, nil
}
