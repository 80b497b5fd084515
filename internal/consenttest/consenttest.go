// Package consenttest is the suite that every framework's guard passes: whatever the framework
// does, a tool that needs a yes runs once after one yes, or never. A model of ours wants a transfer
// of money, and one person is asked.
package consenttest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
)

// A Transfer is what the tool is called with.
type Transfer struct {
	Amount int    `json:"amount"`
	Note   string `json:"note,omitempty"`
}

// A Bank is the world of one agent: its model, its tool, and the person who is asked.
type Bank struct {
	Tap      *llm.Tap
	Model    *fakemodel.Server
	Client   *http.Client // the way to the model, through the tap
	Listener *bridgetest.Listener
	Fails    error // what Transfer returns after it moved the money, if not nil

	mu             sync.Mutex
	moved          []int
	withoutSession bool // a tool's context held none
	asked          []string
}

// Answer is what the person says to a question about an amount.
type Answer func(ctx context.Context, sub *bridgetest.Listener, ev *aaep.Event)

// Say returns an Answer that is the same to every question.
func Say(d aaep.Decision) Answer {
	return func(ctx context.Context, l *bridgetest.Listener, ev *aaep.Event) {
		replies.Send(ctx, l.Sub.Question(ev), d, nil)
	}
}

// Open returns a Bank with a model that gives its answers one after the other, and a person who
// says what answer says; nil is one who cannot be asked.
func Open(t *testing.T, answer Answer, answers ...fakemodel.Answer) *Bank {
	t.Helper()
	p := bridgetest.NewProducer(t)
	b := &Bank{Tap: llm.New(p), Model: fakemodel.New(answers...)}
	b.Client = &http.Client{Transport: b.Tap.Transport(b.Model.Transport())}
	var reply func(*bridgetest.Listener, *aaep.Event)
	if answer != nil {
		reply = func(l *bridgetest.Listener, ev *aaep.Event) {
			b.mu.Lock()
			asked := ev.Payload.(*aaep.AwaitingConfirmation)
			b.asked = append(b.asked, asked.Action+" "+asked.Consequence)
			b.mu.Unlock()
			answer(context.Background(), l, ev)
		}
	}
	b.Listener = bridgetest.Listen(t, p, reply)
	return b
}

// Describe is the description of the tool.
func Describe(in Transfer) producer.Tool {
	return producer.Tool{Irreversible: true, Timeout: time.Second, Action: aaep.Say(fmt.Sprintf("Transfer $%d.", in.Amount) + in.Note),
		Consequence: aaep.Say("The money moves at once.")}
}

// Transfer is the tool, which asks no user by itself. It has to find its session in its context.
func (b *Bank) Transfer(ctx context.Context, in Transfer) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.moved = append(b.moved, in.Amount)
	b.withoutSession = b.withoutSession || producer.SessionOf(ctx) == nil
	return fmt.Sprintf("moved $%d", in.Amount), b.Fails
}

// Check fails the test unless so many questions were put, and just these amounts were moved, in any
// order.
func (b *Bank) Check(t *testing.T, questions int, moved ...int) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.withoutSession {
		t.Error("the context of a tool held no session")
	}
	slices.Sort(b.moved)
	if !slices.Equal(b.moved, moved) || len(b.asked) != questions {
		t.Errorf("moved %v and asked %q, want %v and %d questions", b.moved, b.asked, moved, questions)
	}
}

// LastQuestion returns what was asked last, and what that means.
func (b *Bank) LastQuestion() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked[len(b.asked)-1]
}

// Wants returns an answer of the model that calls the tool transfer for each of the amounts, in one
// turn.
func Wants(amounts ...int) fakemodel.Answer {
	a := fakemodel.Answer{Says: []string{"I move it."}}
	for i, amount := range amounts {
		a.Calls = append(a.Calls, fakemodel.Call{ID: fmt.Sprintf("call_%d", i+1), Name: "transfer", Args: fmt.Sprintf(`{"amount":%d}`, amount)})
	}
	return a
}

// WantsHidden is an answer of the model that wants a transfer with characters that hide text, of
// which nobody can be asked.
var WantsHidden = fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "transfer", Args: `{"amount":500,"note":"\u001b[2J"}`}}}

// Done is an answer of the model that wants nothing more.
var Done = fakemodel.Answer{Says: []string{"All is well."}}

// An Agent asks the model of b, through its client, to save money, with a guarded tool named
// transfer, until the model wants no tool any more, and returns what it said last.
type Agent func(ctx context.Context, b *Bank) (string, error)

// Test runs the suite in virtual time.
func Test(t *testing.T, run Agent) { testIn(t, synctest.Test, run) }

// TestInRealTime runs the suite for a framework that cannot be in virtual time, as one whose
// streams are closed by the garbage collector.
func TestInRealTime(t *testing.T, run Agent) {
	testIn(t, func(t *testing.T, f func(*testing.T)) { t.Parallel(); f(t) }, run)
}

// testIn runs the suite for the agent that run starts, each case in a bubble of the caller's: of
// virtual time, or a parallel test in real time. A case says what the model answers and what the
// person answers, and what must have been moved and told then.
func testIn(t *testing.T, bubble func(*testing.T, func(*testing.T)), run Agent) {
	const refused = "Not done: transfer. "
	for _, tt := range []consentCase{
		{"yes", Say(aaep.Accept), []fakemodel.Answer{Wants(500), Done}, 1, []int{500}, "moved $500", "Transfer finished."},
		{"no", Say(aaep.Reject), []fakemodel.Answer{Wants(500), Done}, 1, nil, refused + "The user was asked and said no.", ""},
		{"silence", func(context.Context, *bridgetest.Listener, *aaep.Event) {}, []fakemodel.Answer{Wants(500), Done}, 1, nil,
			refused + "The user was asked and did not answer in time.", ""},
		{"no listener who can answer", nil, []fakemodel.Answer{Wants(500), Done}, 0, nil,
			refused + "Only the user can allow this, and nobody could be asked.", ""},
		{"several at once", acceptOnlyTwo, []fakemodel.Answer{Wants(1, 2, 3), Done}, 3, []int{2}, "moved $2",
			"Transfer finished."},
		{"the same call twice at once", SayInTurn(aaep.Accept, aaep.Reject), []fakemodel.Answer{Wants(500, 500), Done}, 2, []int{500},
			refused + "The user was asked and said no.", "Transfer finished."},
		{"the same call once more", SayInTurn(aaep.Accept, aaep.Reject), []fakemodel.Answer{Wants(500), Wants(500), Done}, 2, []int{500},
			refused + "The user was asked and said no.", "Transfer finished."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) { tt.check(t, run) })
		})
	}
	for name, check := range map[string]func(*testing.T, Agent){
		"a call that cannot be told": checkUntellable,
		"given up":                   checkGivenUp,
		"a tool that fails":          checkFailingTool,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) { check(t, run) })
		})
	}
}

// consentCase is one dialogue of the model, the tool and the person.
type consentCase struct {
	name      string
	answer    Answer
	answers   []fakemodel.Answer // of the model
	questions int
	moved     []int
	told      string // in what the model got back
	heard     string
}

// check runs the agent, and compares what was asked, moved, told to the model and heard.
func (tt consentCase) check(t *testing.T, run Agent) {
	b := Open(t, tt.answer, tt.answers...)
	said, err := run(t.Context(), b)
	if err != nil || !strings.Contains(said, "All is well.") {
		t.Fatalf("the agent said %q, %v", said, err)
	}
	b.Check(t, tt.questions, tt.moved...)
	asked := b.Model.Asked()
	if last := string(asked[len(asked)-1]); !strings.Contains(last, tt.told) {
		t.Errorf("the model got\n%s\nwant in it %q", last, tt.told)
	}
	var announced []aaep.Type
	heard := b.Listener.Await(t, func(_ string, kinds []aaep.Type) bool {
		ended := slices.Contains(kinds, aaep.TypeSessionCompleted)
		announced = slices.DeleteFunc(kinds, func(kind aaep.Type) bool { return kind != aaep.TypeToolInvoked })
		return ended
	})
	if !strings.Contains(heard, tt.heard) || len(announced) != len(tt.moved) {
		t.Errorf("%d tools were announced, heard:\n%s", len(announced), heard)
	}
}

// acceptOnlyTwo is an Answer that accepts a transfer of two dollars, and no other.
func acceptOnlyTwo(ctx context.Context, l *bridgetest.Listener, ev *aaep.Event) {
	decision := aaep.Reject
	if strings.Contains(ev.Payload.(*aaep.AwaitingConfirmation).Action, "$2.") {
		decision = aaep.Accept
	}
	replies.Send(ctx, l.Sub.Question(ev), decision, nil)
}

// checkUntellable checks that a call with what cannot be told is not run. Whether the agent then
// returns an error is the framework's business.
func checkUntellable(t *testing.T, run Agent) {
	b := Open(t, Say(aaep.Accept), WantsHidden, Done)
	run(t.Context(), b)
	b.Check(t, 0)
}

// checkGivenUp checks that a call is not run if the agent's context ends while the person is asked.
func checkGivenUp(t *testing.T, run Agent) {
	ctx, cancel := context.WithCancel(t.Context())
	b := Open(t, func(context.Context, *bridgetest.Listener, *aaep.Event) { cancel() }, Wants(500), Done)
	run(ctx, b) // with or without an error, as the framework has it
	b.Check(t, 1)
}

// checkFailingTool checks that a tool which fails after it did something is run once, and that the
// failure is heard.
func checkFailingTool(t *testing.T, run Agent) {
	b := Open(t, Say(aaep.Accept), Wants(500), Done, Done)
	b.Fails = errors.New("no such account")
	run(t.Context(), b)
	b.Check(t, 1, 500)
	b.Listener.AwaitHeard(t, "Transfer failed.")
}

// SayInTurn returns an Answer that says one decision after the other; it is asked no more often
// than it has decisions.
func SayInTurn(ds ...aaep.Decision) Answer {
	return func(ctx context.Context, l *bridgetest.Listener, ev *aaep.Event) {
		d := ds[0]
		ds = ds[1:]
		replies.Send(ctx, l.Sub.Question(ev), d, nil)
	}
}
