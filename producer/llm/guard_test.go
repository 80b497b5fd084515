package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
)

type transfer struct{ Amount int }

// bank is a tool that counts what it did.
type bank struct {
	moved int
	err   error
}

func (b *bank) transfer(_ context.Context, in transfer) (string, error) {
	b.moved += in.Amount
	return fmt.Sprintf("moved $%d", in.Amount), b.err
}

func describe(in transfer) producer.Tool {
	return producer.Tool{Irreversible: true, Risk: aaep.RiskHigh,
		Action:      aaep.Say(fmt.Sprintf("Transfer $%d.", in.Amount)),
		Consequence: aaep.Say("The money moves at once.")}
}

var (
	wantsTransfer = fakemodel.Answer{Says: []string{"I move it."},
		Calls: []fakemodel.Call{{ID: "call_1", Name: "transfer", Args: `{"amount":500}`}}}
	isDone = fakemodel.Answer{Says: []string{"Done."}}
)

// A guarded tool is not announced when the model wants it, but when the user has said yes, right
// before it runs. (CONF-001, EVT-042, EVT-093, SM-009, SM-013)
func TestGuardAccepted(t *testing.T) {
	everyWay(t, []fakemodel.Answer{wantsTransfer, isDone}, func(st *stage, dialect string, stream bool) {
		var b bank
		guarded := llm.Guard(st.tap, "transfer", describe, b.transfer)
		st.answer = aaep.Accept
		st.ask(dialect, stream, user("Pay."))
		st.heard("start: Working on a request.", "thinking", "writing_output", "say: I move it.", "thinking")
		got, err := guarded(st.t.Context(), transfer{500})
		if got != "moved $500" || err != nil || b.moved != 500 {
			st.t.Errorf("the tool gave %q, %v, and moved %d", got, err, b.moved)
		}
		st.heard("awaiting_input", "ask: Transfer $500.", "calling_tool", "invoked: transfer", "done: transfer success",
			"thinking")
		st.ask(dialect, stream, user("Pay."), model(wantsTransfer), gives("call_1", "transfer", got))
		st.heard("writing_output", "say: Done.", "thinking", "session.completed: The agent finished.")
	})
}

// What is not allowed is not done, no event says that it was, and the model hears why not. (SM-009,
// D-31, P1)
func TestGuardRefused(t *testing.T) {
	for _, tt := range []struct {
		answer aaep.Decision
		says   string
	}{
		{aaep.Reject, "Not done: transfer. The user was asked and said no."},
		{"", "Not done: transfer. The user was asked and did not answer in time."},
	} {
		play(t, func(st *stage) {
			var b bank
			guarded := llm.Guard(st.tap, "transfer", describe, b.transfer)
			st.answer = tt.answer
			st.ask(fakemodel.Chat, true, user("Pay."))
			got, err := guarded(st.t.Context(), transfer{500})
			if got != tt.says || err != nil || b.moved != 0 {
				t.Errorf("after %q the tool gave %q, %v, and moved %d", tt.answer, got, err, b.moved)
			}
			st.ask(fakemodel.Chat, true, user("Pay."), model(wantsTransfer), gives("call_1", "transfer", got))
			synctest.Wait()
			for _, line := range st.told {
				if line == "invoked: transfer" {
					t.Errorf("after %q it was announced", tt.answer)
				}
			}
			if last := st.told[len(st.told)-1]; last != "session.completed: The agent finished." {
				t.Errorf("after %q the session ended with %q", tt.answer, last)
			}
		}, wantsTransfer, isDone)
	}
}

// What a yes was given to is what runs: arguments that changed meanwhile are not run, and nothing
// is told as done. (P1)
func TestGuardArgumentsChange(t *testing.T) {
	play(t, func(st *stage) {
		ran, in := false, map[string]any{"amount": 5}
		guarded := llm.Guard(st.tap, "transfer", func(in map[string]any) producer.Tool {
			return producer.Tool{Action: aaep.Say(fmt.Sprintf("Transfer $%d.", in["amount"])), Consequence: aaep.Say("It moves.")}
		}, func(context.Context, map[string]any) (string, error) { ran = true; return "", nil })
		st.answer = aaep.Accept
		st.answering = func() { in["amount"] = 5000 }
		if got, err := guarded(st.t.Context(), in); err == nil || !strings.Contains(err.Error(), "changed while the user was asked") || ran {
			t.Errorf("the tool gave %q, %v, and ran: %t", got, err, ran)
		}
		synctest.Wait()
		if told := strings.Join(st.told, "|"); strings.Contains(told, "success") {
			t.Errorf("told %s", told)
		}
	})
}

// A tool's own error is the agent's affair, and so is a description that cannot be asked about.
func TestGuardErrors(t *testing.T) {
	play(t, func(st *stage) {
		st.answer = aaep.Accept
		b := bank{err: errors.New("no such account")}
		if _, err := llm.Guard(st.tap, "transfer", describe, b.transfer)(st.t.Context(),
			transfer{500}); !errors.Is(err, b.err) {
			t.Errorf("the error is %v", err)
		}
		// No turn's: it has a session of its own.
		st.heard("start: Transfer $500.", "thinking", "awaiting_input", "ask: Transfer $500.", "calling_tool",
			"invoked: transfer",
			"done: transfer error", "thinking", "failed: unknown: The agent failed.")
		// Run's own word for no is no refusal by the user.
		b = bank{err: producer.ErrRejected}
		if got, err := llm.Guard(st.tap, "transfer", describe, b.transfer)(st.t.Context(),
			transfer{500}); got != "moved $500" || err != b.err {
			t.Errorf("the tool gave %q, %v", got, err)
		}
		silent := func(transfer) producer.Tool {
			return producer.Tool{Irreversible: true, Action: aaep.Say("Transfer.")}
		}
		var invalid *aaep.InvalidError
		moved := b.moved
		if _, err := llm.Guard(st.tap, "transfer", silent, b.transfer)(st.t.Context(), transfer{1}); !errors.As(err,
			&invalid) || b.moved != moved {
			t.Errorf("without a consequence the error is %v", err)
		}
	})
}

// What runs is what was asked about: an answer that changes it is a no. (CONF-018)
func TestGuardModified(t *testing.T) {
	play(t, func(st *stage) {
		st.answer, st.change = aaep.Accept, []byte(`{"amount":300}`)
		asks := func(in transfer) producer.Tool {
			d := describe(in)
			d.Modified = func(json.RawMessage) (producer.Tool, error) {
				st.change = nil
				return describe(transfer{300}), nil
			}
			return d
		}
		var b bank
		got, err := llm.Guard(st.tap, "transfer", asks, b.transfer)(st.t.Context(), transfer{500})
		if got != "Not done: transfer. The user was asked and said no." || err != nil || b.moved != 0 {
			t.Errorf("the tool gave %q, %v, and moved %d", got, err, b.moved)
		}
	})
}

// A tool that panics leaves nothing open.
func TestGuardPanic(t *testing.T) {
	play(t, func(st *stage) {
		st.answer = aaep.Accept
		func() {
			defer func() {
				if recover() != "vault" {
					t.Error("it did not panic")
				}
			}()
			llm.Guard(st.tap, "transfer", describe, func(context.Context, transfer) (string, error) {
				panic("vault")
			})(st.t.Context(), transfer{500})
		}()
		st.heard("start: Transfer $500.", "thinking", "awaiting_input", "ask: Transfer $500.", "calling_tool",
			"invoked: transfer",
			"done: transfer error", "thinking", "failed: unknown: The agent failed.")
	})
}

// What describes a call and panics is an error that the model gets and the log has; the user is not
// asked, and nothing runs.
func TestGuardDescribePanics(t *testing.T) {
	play(t, func(st *stage) {
		var b bank
		var log bytes.Buffer
		defer slog.SetDefault(slog.Default())
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		_, err := llm.Guard(st.tap, "transfer", func(transfer) producer.Tool { panic("no such account") }, b.transfer)(
			st.t.Context(), transfer{500})
		if err == nil || !strings.Contains(err.Error(), "transfer was not run") || b.moved > 0 {
			t.Errorf("%v, moved %v", err, b.moved)
		}
		if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), `panic="no such account"`) {
			t.Errorf("the log has %q", log.String())
		}
		st.heard()
	})
}

// Two conversations want the same tool: each question is put in its own session, also where only
// the order tells them apart.
func TestGuardSessions(t *testing.T) {
	play(t, func(st *stage) {
		var b bank
		guarded := llm.Guard(st.tap, "transfer", describe, b.transfer)
		st.answer = aaep.Accept
		s, _ := st.p.StartSession(st.t.Context(), aaep.Say("Mine."))
		st.ask(fakemodel.Chat, true, user("Pay first."))
		st.send(request(fakemodel.Chat, true, user("Pay second.")).WithContext(s.Context()))
		st.heard("start: Mine.", "thinking",
			"start: Working on a request.", "thinking", "writing_output", "say: I move it.", "thinking",
			"writing_output", "say: I move it.", "thinking")
		guarded(s.Context(), transfer{2})
		guarded(st.t.Context(), transfer{1})
		s.Complete(aaep.Say("Mine is over."))
		st.ask(fakemodel.Chat, true, user("Pay first."), model(wantsTransfer), gives("call_1", "transfer", "moved $1"))
		st.heard("awaiting_input", "ask: Transfer $2.", "calling_tool", "invoked: transfer", "done: transfer success",
			"thinking",
			"awaiting_input", "ask: Transfer $1.", "calling_tool", "invoked: transfer", "done: transfer success",
			"thinking",
			"session.completed: Mine is over.",
			"writing_output", "say: Done.", "thinking", "session.completed: The agent finished.")
		if got, want := st.sessions(), []string{"2", "1", "1", "2", "2"}; !slices.Equal(got, want) {
			t.Errorf("answers and questions were in the sessions %v, want %v", got, want)
		}
	}, wantsTransfer,
		fakemodel.Answer{Says: []string{"I move it."},
			Calls: []fakemodel.Call{{ID: "call_2", Name: "transfer", Args: `{}`}}}, isDone)
}

// Where the order would be a guess, the context of the request tells conversations apart, and where
// it does not, the tap does not guess: the call has a session of its own, which the caller may give
// up.
func TestGuardUnknownSession(t *testing.T) {
	for _, known := range []bool{true, false} {
		play(t, func(st *stage) {
			var b bank
			guarded := llm.Guard(st.tap, "transfer", describe, b.transfer)
			st.answer = aaep.Accept
			first, second := st.t.Context(), st.t.Context()
			if known {
				var cancel context.CancelFunc
				second, cancel = context.WithCancel(second)
				defer cancel()
			}
			st.send(request(fakemodel.Chat, true, user("Pay first.")).WithContext(first))
			st.send(request(fakemodel.Chat, true, user("Pay second.")).WithContext(second))
			guarded(second, transfer{2})
			synctest.Wait()
			st.told = nil
			st.answer = "" // nothing is said
			ctx, cancel := context.WithCancel(first)
			time.AfterFunc(time.Minute, cancel)
			guarded(ctx, transfer{1})
			got, want := st.sessions(), []string{"1", "2", "2", "1"}
			if !known {
				want = []string{"1", "2", "3", "4"}
				st.heard("start: Transfer $1.", "thinking", "awaiting_input", "ask: Transfer $1.", "thinking",
					"cancelled by producer")
			}
			if !slices.Equal(got, want) || b.moved != 2 {
				t.Errorf("known %v: answers and questions were in the sessions %v, want %v; moved %d", known, got,
					want, b.moved)
			}
		}, wantsTransfer,
			fakemodel.Answer{Says: []string{"I move it."},
				Calls: []fakemodel.Call{{ID: "call_2", Name: "transfer", Args: `{}`}}})
	}
}

// An agent that goes on while its user is still being asked does not withdraw the question. (P2)
func TestGuardMeanwhile(t *testing.T) {
	play(t, func(st *stage) {
		var b bank
		guarded := llm.Guard(st.tap, "transfer", describe, b.transfer)
		st.ask(fakemodel.Chat, true, user("Pay."))
		asked := make(chan string)
		go func() { got, _ := guarded(st.t.Context(), transfer{500}); asked <- got }()
		synctest.Wait()
		st.ask(fakemodel.Chat, true, user("Pay."), model(wantsTransfer),
			gives("call_1", "transfer", "The user is being asked."))
		st.heard("start: Working on a request.", "thinking", "writing_output", "say: I move it.", "thinking",
			"awaiting_input", "ask: Transfer $500.", "say: Done.")
		if got := <-asked; got != "Not done: transfer. The user was asked and did not answer in time." {
			t.Errorf("the tool gave %q", got)
		}
		synctest.Wait()
		if last := st.told[len(st.told)-1]; last != "session.completed: The agent finished." {
			t.Errorf("the session ended with %q", last)
		}
	}, wantsTransfer, isDone)
}

// A question may stay open for longer than results of tools are waited for. (P2)
func TestSlowAnswer(t *testing.T) {
	play(t, func(st *stage) {
		slow := func(in transfer) producer.Tool { d := describe(in); d.Timeout = time.Hour; return d }
		var b bank
		guarded := llm.Guard(st.tap, "transfer", slow, b.transfer)
		st.ask(fakemodel.Chat, true, user("Pay."))
		if got, _ := guarded(st.t.Context(),
			transfer{500}); got != "Not done: transfer. The user was asked and did not answer in time." {
			t.Errorf("the tool gave %q", got)
		}
		st.ask(fakemodel.Chat, true, user("Pay."), model(wantsTransfer), gives("call_1", "transfer", "no"))
		synctest.Wait()
		if last := st.told[len(st.told)-1]; last != "session.completed: The agent finished." {
			t.Errorf("the session ended with %q", last)
		}
	}, wantsTransfer, isDone)
}

// A tool of which the default is the careful one asks, and without the words to ask with it does
// not run. (P1)
func TestGuardAsksByDefault(t *testing.T) {
	play(t, func(st *stage) {
		var b bank
		st.answer = aaep.Reject
		call := func(tool producer.Tool) error {
			_, err := llm.Guard(st.tap, "transfer", func(transfer) producer.Tool { return tool },
				b.transfer)(st.t.Context(), transfer{1})
			return err
		}
		said := producer.Tool{Action: aaep.Say("Transfer $1."), Consequence: aaep.Say("It moves at once.")}
		if err := call(said); err != nil || b.moved != 0 {
			t.Errorf("a tool of no risk gave %v, and moved %d", err, b.moved)
		}
		if synctest.Wait(); !strings.Contains(st.raw.String(), `"risk_level":"high"`) {
			t.Errorf("nobody has said that its risk is low:\n%s", st.raw.String())
		}
		st.told = nil
		if err := call(producer.Tool{}); err != nil || b.moved != 0 {
			t.Errorf("an empty tool gave %v, and moved %d", err, b.moved)
		}
		if _, err := llm.Guard(st.tap, "transfer", nil, b.transfer)(st.t.Context(), transfer{2}); err != nil || b.moved != 0 {
			t.Errorf("a tool without a description gave %v, and moved %d", err, b.moved)
		}
		synctest.Wait()
		for _, n := range []string{"1", "2"} {
			if want := "ask: Use the tool transfer, with Amount: " + n + "."; !slices.Contains(st.told, want) {
				t.Errorf("told: %q, want in it: %q", st.told, want)
			}
		}
		said.Risk = aaep.RiskLow
		if err := call(said); err != nil || b.moved != 1 {
			t.Errorf("a tool of low risk gave %v, and moved %d", err, b.moved)
		}
		if err := call(producer.Tool{Risk: aaep.RiskLow}); err != nil || b.moved != 2 {
			t.Errorf("a tool of low risk without words gave %v, and moved %d", err, b.moved)
		}
	})
}

// A caller that stops the agent while it asks does not leave it thinking; an agent that only
// stopped the tool goes on.
func TestGuardCancelled(t *testing.T) {
	for _, goesOn := range []bool{false, true} {
		play(t, func(st *stage) {
			var b bank
			guarded := llm.Guard(st.tap, "transfer", describe, b.transfer)
			st.ask(fakemodel.Chat, true, user("Pay."))
			ctx, cancel := context.WithTimeout(st.t.Context(), time.Hour)
			time.AfterFunc(time.Minute, cancel)
			if _, err := guarded(ctx, transfer{500}); !errors.Is(err, context.Canceled) || b.moved != 0 {
				t.Errorf("the tool gave %v, and moved %d", err, b.moved)
			}
			want := []string{"start: Working on a request.", "thinking", "writing_output", "say: I move it.",
				"thinking",
				"awaiting_input", "ask: Transfer $500.", "thinking"}
			if goesOn {
				time.Sleep(5 * time.Second)
				st.ask(fakemodel.Chat, true, user("Pay."), model(wantsTransfer),
					gives("call_1", "transfer", "It was stopped."))
				want = append(want, "writing_output", "say: Done.", "thinking",
					"session.completed: The agent finished.")
			} else {
				want = append(want, "cancelled by producer")
			}
			time.Sleep(11 * time.Second)
			st.heard(want...)
		}, wantsTransfer, isDone)
	}
}
