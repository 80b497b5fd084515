// Command model is an agent as there are many: it talks to a language model and runs the tool that the model wants. Four lines,
// which are marked, make it heard while it speaks and let it ask before it moves money. It needs no key: its model is made up.
//
//	go run ./examples/model                              # in one terminal
//	go run ./cmd/aaep listen http://127.0.0.1:8080       # in another: hear it, and answer y or n
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
	"github.com/aaep-go/aaep/producer/serve"
)

type transfer struct{ Amount int }

func describe(in transfer) producer.Tool {
	return producer.Tool{Risk: aaep.RiskHigh, Irreversible: true, Consequence: aaep.Say("The money moves at once and cannot be called back."),
		Action: aaep.Say(fmt.Sprintf("Transfer $%d from checking to savings.", in.Amount))}
}

func main() {
	addr := flag.String("listen", "127.0.0.1:8080", "where the agent can be followed")
	flag.Parse()
	p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "assistant", AgentName: "Assistant"}}) // 1
	if err != nil {
		log.Fatal(err)
	}
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	go serve.Serve(context.Background(), ln, p) // 2
	defer p.Shutdown(context.Background())      // which waits until everybody has heard the end
	fmt.Printf("Follow me: aaep listen http://%s\n", ln.Addr())
	p.WaitSubscriber(context.Background())

	tap := llm.New(p)
	client := &http.Client{Transport: tap.Transport(madeUp{})} // 3; or option.WithMiddleware(tap.Middleware)
	move := llm.Guard(tap, "transfer", describe, moveMoney)    // 4

	messages := []any{object{"role": "user", "content": "Put $500 into my savings."}}
	for {
		said, args := ask(client, messages)
		fmt.Println(said)
		if args == "" {
			return
		}
		var in transfer
		json.Unmarshal([]byte(args), &in)
		result, err := move(context.Background(), in)
		if err != nil {
			result = "The transfer failed."
		}
		messages = append(messages, object{"role": "assistant", "content": said, "tool_calls": []object{{"id": "call_1",
			"type": "function", "function": object{"name": "transfer", "arguments": args}}}},
			object{"role": "tool", "tool_call_id": "call_1", "content": result})
	}
}

// ask returns what the model says, and the arguments of the tool that it wants.
func ask(client *http.Client, messages []any) (said, args string) {
	body, _ := json.Marshal(object{"model": "made-up", "stream": true, "messages": messages})
	resp, err := client.Post("https://model.example/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
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
	return said, args
}
