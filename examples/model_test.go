package examples

import (
	"runtime"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/sse"
)

// What the model says is heard as it says it; its tool runs on a yes, and the model hears of a no.
func TestModel(t *testing.T) {
	t.Parallel()
	for decision, end := range map[aaep.Decision]string{aaep.Accept: "Five hundred dollars are in your savings.", aaep.Reject: "Nothing was moved, as you wish."} {
		t.Run(string(decision), func(t *testing.T) {
			t.Parallel()
			agent := start(t, nil, "model", "-listen", "127.0.0.1:0")
			unhurried := subscriber.ScreenReader("en-US").With(aaep.Capabilities{MaxEventsPerSecond: 1000}) // else the question overtakes text that the rate holds
			heard := follow(t, agent.address(), unhurried, func(sub *subscriber.Subscription, ev *aaep.Event) {
				if err := replies.Send(t.Context(), sub.Question(ev), decision, nil); err != nil {
					t.Error(err)
				}
			})
			contains(t, heard, "I will put five hundred dollars into your savings.", "You will be asked first.",
				"Transfer $500 from checking to savings.", end, "The agent finished.")
			contains(t, agent.end(), "You will be asked first.", end)
		})
	}
}

// interrupted follows an agent, presses Ctrl-C at an event, and returns what was said in answers,
// and how it ended.
func interrupted(t *testing.T, agent *program, at func(*aaep.Event) bool) (text string, end *aaep.Event) {
	t.Helper()
	capabilities := subscriber.ScreenReader("en-US").With(aaep.Capabilities{CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryWord}, MaxEventsPerSecond: 1000})
	sub, err := subscriber.Dial(t.Context(), sse.Dialer{URL: agent.address()}, subscriber.Config{ID: "test", Capabilities: capabilities})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	pressed := false
	for ev, err := range sub.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := ev.Payload.(*aaep.OutputStreaming); ok {
			text += p.Chunk
		}
		if !pressed && at(ev) {
			pressed = true
			if err := agent.interrupt(); err != nil {
				t.Fatal(err)
			}
		}
		if ev.Type().Terminal() {
			end = ev
			break
		}
	}
	agent.end()
	if _, ok := end.Payload.(*aaep.SessionCancelled); !ok || agent.code() != 130 {
		t.Errorf("the end is %s, and the exit code %d", end.Type(), agent.code())
	}
	return text, end
}

// Ctrl-C in the middle of a sentence, or of a question: what was said is heard, and then one end.
// Nothing is done.
func TestInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no program can press Ctrl-C for another there")
	}
	t.Parallel()
	asks := func(ev *aaep.Event) bool { return ev.Type() == aaep.TypeAwaitingConfirmation }
	for name, at := range map[string]func(*aaep.Event) bool{
		"in a sentence": func(ev *aaep.Event) bool { return ev.Type() == aaep.TypeOutputStreaming },
		"in a question": asks,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := start(t, nil, "model", "-listen", "127.0.0.1:0")
			text, _ := interrupted(t, agent, at)
			said := strings.Split(agent.end(), "\n")[1]
			if text == "" || strings.TrimSpace(text) != strings.TrimSpace(said) || strings.Contains(text, "Done.") {
				t.Errorf("heard %q, and it said %q", text, said)
			}
		})
	}
	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		bank := start(t, nil, "bank", "-listen", "127.0.0.1:0")
		slow := subscriber.ScreenReader("en-US").With(aaep.Capabilities{MaxEventsPerSecond: 1}) // whom Shutdown waits for
		sub, err := subscriber.Dial(t.Context(), sse.Dialer{URL: bank.address()}, subscriber.Config{ID: "test", NoReconnect: true, Capabilities: slow})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		for ev, err := range sub.Events(t.Context()) {
			if err != nil {
				break // it has ended
			}
			if asks(ev) {
				bank.until("it ends", func() bool { return bank.interrupt() != nil })
			}
		}
		if bank.end(); bank.code() != -1 {
			t.Errorf("the exit code is %d; it is ended by the second Ctrl-C", bank.code())
		}
	})
	t.Run("bank", func(t *testing.T) {
		t.Parallel()
		bank := start(t, nil, "bank", "-listen", "127.0.0.1:0")
		_, end := interrupted(t, bank, asks)
		contains(t, end.Text(aaep.VerbosityNormal), "The bank was stopped. No money was moved.")
		contains(t, bank.end(), "Checking: $800. Savings: $100.")
	})
}
