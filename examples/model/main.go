// Command model is an agent as there are many: it talks to a language model and runs the tool that
// the model wants. Four lines, which are marked, make it heard while it speaks and let it ask
// before it moves money. It needs no key: its model is made up.
//
//	go run ./examples/model                              # in one terminal
//	go run ./cmd/aaep listen http://127.0.0.1:8080       # in another: hear it, and answer y or n
//
// The agent is in main.go, its requests to the model are in client.go, and the tool and the model
// are in provider.go.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
	"github.com/aaep-go/aaep/producer/serve"
)

type transfer struct{ Amount int }

// describe returns what the user is asked about before a transfer is made.
func describe(in transfer) producer.Tool {
	return producer.Tool{Risk: aaep.RiskHigh, Irreversible: true, Consequence: aaep.Say("The money moves at once and cannot be called back."),
		Action: aaep.Say(fmt.Sprintf("Transfer $%d from checking to savings.", in.Amount))}
}

func main() {
	addr := flag.String("listen", "127.0.0.1:8080", "where the agent can be followed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	// Ctrl-C ends it in words; pressed again, at once
	context.AfterFunc(ctx, stop)
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "assistant", AgentName: "Assistant"}}) // 1
	if err != nil {
		log.Fatal(err)
	}
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	go func() { // 2
		if serve.Serve(context.Background(), ln, p) != nil {
			os.Exit(1) // it has logged why
		}
	}()
	fmt.Printf("Follow me: aaep listen http://%s\n", ln.Addr())
	p.WaitSubscriber(ctx)

	tap := llm.New(p)
	client := &http.Client{Transport: tap.Transport(madeUp{})} // 3; or option.WithMiddleware(tap.Middleware)
	move := llm.Guard(tap, "transfer", describe, moveMoney)    // 4

	messages := []any{object{"role": "user", "content": "Put $500 into my savings."}}
	for {
		said, args, err := ask(ctx, client, messages)
		fmt.Println(said)
		if err != nil {
			log.Println(err)
		}
		if args == "" || err != nil {
			break
		}
		var in transfer
		result := "Those are not the arguments of a transfer." // the user is not asked about a mistake of the model
		if json.Unmarshal([]byte(args), &in) == nil {
			if result, err = move(ctx, in); err != nil {
				result = "The transfer failed."
			}
		}
		messages = append(messages, object{"role": "assistant", "content": said, "tool_calls": []object{{"id": "call_1",
			"type": "function", "function": object{"name": "transfer", "arguments": args}}}},
			object{"role": "tool", "tool_call_id": "call_1", "content": result})
	}
	p.Shutdown(context.Background()) // which waits until the end was sent to everybody, also after Ctrl-C
	if ctx.Err() != nil {
		os.Exit(130)
	}
}
