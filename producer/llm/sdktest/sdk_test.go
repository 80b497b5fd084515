// Package sdktest runs the real SDKs of the providers through the tap, against a provider of ours.
package sdktest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

type transfer struct {
	Amount int `json:"amount"`
}

// A tool is what an agent runs when its model wants it.
type tool = func(context.Context, transfer) (string, error)

// An agent talks to its model at an address until that wants no more tools, and returns all that its SDK gave it. The tap
// is nil where the agent is as it was.
type agent func(ctx context.Context, address string, tap *llm.Tap, transfer tool) (string, error)

var agents = map[string]agent{
	"openai-go chat":            openaiChat(false),
	"openai-go chat streamed":   openaiChat(true),
	"openai-go responses":       openaiResponses(false),
	"openai-go resp. streamed":  openaiResponses(true),
	"anthropic-sdk-go":          anthropicMessages(false),
	"anthropic-sdk-go streamed": anthropicMessages(true),
	"anthropic-sdk-go runner":   anthropicRunner,
	"genai":                     googleGenai(false),
	"genai streamed":            googleGenai(true),
}

const refused = "Not done: transfer. The user was asked and said no."

func script() *fakemodel.Server {
	s := fakemodel.New(
		fakemodel.Answer{Thinks: "Money.", Says: []string{"I will ", "move it."}, Calls: []fakemodel.Call{{ID: "call_1", Name: "transfer", Args: `{"amount":500}`}}},
		fakemodel.Answer{Status: 429}, // which every SDK here tries again, or is told to
		fakemodel.Answer{Says: []string{"All ", "is well."}},
	)
	s.Piece = 11
	return s
}

// The SDK's own results, and what it sends, are the same with the tap and without it; and the listener hears the turn.
func TestSDKs(t *testing.T) {
	for name, run := range agents {
		for _, decision := range []aaep.Decision{aaep.Accept, aaep.Reject} {
			t.Run(name+"/"+string(decision), func(t *testing.T) {
				t.Parallel()
				result := "moved $500"
				if decision == aaep.Reject {
					result = refused
				}
				plain := script()
				server := httptest.NewServer(plain)
				defer server.Close()
				want, err := run(t.Context(), server.URL, nil, func(_ context.Context, in transfer) (string, error) {
					if in.Amount != 500 {
						t.Errorf("the tool was called with %+v", in)
					}
					return result, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(want, "is well.") {
					t.Fatalf("without the tap the agent got %s", want)
				}

				p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
				if err != nil {
					t.Fatal(err)
				}
				heard := make(chan []string)
				go func() { heard <- listen(p, decision) }()
				p.WaitSubscriber(t.Context())
				followed := script()
				behind := httptest.NewServer(followed)
				defer behind.Close()
				tap := llm.New(p)
				guarded := llm.Guard(tap, "transfer", func(in transfer) producer.Tool {
					return producer.Tool{Irreversible: true, Action: aaep.Say(fmt.Sprintf("Transfer $%d.", in.Amount)), Consequence: aaep.Say("It moves at once.")}
				}, func(context.Context, transfer) (string, error) { return "moved $500", nil })
				got, err := run(t.Context(), behind.URL, tap, guarded)
				if err != nil {
					t.Fatal(err)
				}
				if got != want {
					t.Errorf("the SDK gave\n%s\nwithout the tap, and with it\n%s", want, got)
				}
				if !slices.EqualFunc(plain.Asked(), followed.Asked(), sameJSON) {
					t.Errorf("the SDK sent\n%s\nwithout the tap, and with it\n%s", bytes.Join(plain.Asked(), []byte("\n")), bytes.Join(followed.Asked(), []byte("\n")))
				}
				p.Shutdown(context.Background())
				turn := []string{"Working on a request.", "Thinking.", "Answering.", "I will move it.", "Thinking.", "Transfer $500.", "Transfer $500."} // it waits for the answer, and the question
				if decision == aaep.Accept {
					turn = append(turn, "Using a tool.", "Transfer $500.", "Transfer finished.", "Thinking.")
				} else {
					turn = append(turn, "Rejected, and not done: Transfer $500.")
				}
				turn = append(turn, "The provider of the model is too busy at the moment.", "Answering.", "All is well.", "Thinking.", "The agent finished.")
				if told := <-heard; !slices.Equal(told, turn) {
					t.Errorf("the listener heard\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(turn, "\n"))
				}
			})
		}
	}
}

// sameJSON compares requests: some SDKs write the members of an object in any order.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// pipe is a way to a producer in this process.
type pipe struct{ p *producer.Producer }

func (d pipe) Dial(context.Context) (transports.Conn, error) {
	a, b := transports.Pipe()
	go d.p.ServeConn(b)
	return a, nil
}

// listen answers every question with the decision, and returns what it heard.
func listen(p *producer.Producer, decision aaep.Decision) (heard []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sub, err := subscriber.Dial(ctx, pipe{p}, subscriber.Config{ID: "reader", NoReconnect: true, Capabilities: aaep.Capabilities{
		SupportsConfirmationReply: new(true), CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryCompletion}}})
	if err != nil {
		return []string{err.Error()}
	}
	defer sub.Close()
	for ev, err := range sub.Events(ctx) {
		if err != nil {
			return heard
		}
		if text := ev.Text(aaep.VerbosityNormal); text != "" {
			heard = append(heard, text)
		}
		if _, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok {
			replies.Send(ctx, sub.Question(ev), decision, nil)
		}
	}
	return heard
}
