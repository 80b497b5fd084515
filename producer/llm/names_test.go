package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/fakemodel"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/llm"
)

// offering is a request with a tool for its model, as its dialect writes that.
func offering(r *http.Request, dialect, name string) *http.Request {
	data, _ := io.ReadAll(r.Body)
	var body object
	json.Unmarshal(data, &body)
	function := object{"name": name, "description": "It pays."}
	switch dialect {
	case fakemodel.Gemini:
		body["tools"] = []any{object{"functionDeclarations": []any{function}}}
	case fakemodel.Responses, fakemodel.Messages:
		body["tools"] = []any{function}
	default:
		body["tools"] = []any{object{"type": "function", "function": function}}
	}
	data, _ = json.Marshal(body)
	again, _ := http.NewRequest(r.Method, r.URL.String(), bytes.NewReader(data))
	return again
}

// A guarded call by a name that no model was given is an error at once: no user is asked, nothing
// runs, and what was announced under the tool's own name was not done. So it is where the result of
// an unguarded tool is a refusal. (P1)
func TestGuardUnknownName(t *testing.T) {
	everyWay(t, []fakemodel.Answer{wantsTransfer, isDone}, func(st *stage, dialect string, stream bool) {
		var b bank
		guarded := llm.Guard(st.tap, "pay", describe, b.transfer)
		st.answer = aaep.Accept
		st.send(offering(request(dialect, stream, user("Pay.")), dialect, "transfer"))
		_, err := guarded(st.t.Context(), transfer{500})
		if err == nil || !strings.Contains(err.Error(), `"pay"`) || !strings.Contains(err.Error(), "transfer") ||
			b.moved != 0 {
			st.t.Errorf("the tool gave %v, and moved %d", err, b.moved)
		}
		st.send(
			offering(request(dialect, stream, user("Pay."), model(wantsTransfer),
				gives("call_1", "transfer", err.Error())), dialect, "transfer"))
		st.heard("start: Working on a request.", "thinking", "writing_output", "say: I move it.", "thinking",
			"calling_tool", "invoked: transfer",
			"done: transfer error", "thinking", "writing_output", "say: Done.", "thinking",
			"session.completed: The agent finished.")
		if all := st.raw.String(); strings.Contains(all, "ransfer finished") ||
			!strings.Contains(all, "not done: transfer") {
			st.t.Error("it is told as done")
		}
	})
	everyWay(t, []fakemodel.Answer{wantsTransfer, isDone}, func(st *stage, dialect string, stream bool) {
		st.ask(dialect, stream, user("Pay."))
		st.ask(dialect, stream, user("Pay."), model(wantsTransfer),
			gives("call_1", "transfer", llm.Refusal("transfer", producer.ErrRejected)))
		st.heard("start: Working on a request.", "thinking", "writing_output", "say: I move it.", "thinking",
			"calling_tool", "invoked: transfer",
			"done: transfer error", "thinking", "writing_output", "say: Done.", "thinking",
			"session.completed: The agent finished.")
	})
}

// The function of a tool finds its session, also where the caller's context is another, and can ask
// there.
func TestSessionOfATool(t *testing.T) {
	play(t, func(st *stage) {
		unasked := func(transfer) producer.Tool {
			return producer.Tool{Risk: aaep.RiskLow, Action: aaep.Say("Looking.")}
		}
		guarded := llm.Guard(st.tap, "transfer", unasked, func(ctx context.Context, in transfer) (string, error) {
			if producer.SessionOf(ctx) == nil {
				st.t.Error("the function has no session")
			}
			_, err := producer.SessionOf(ctx).AskText(ctx,
				producer.Question{Text: aaep.Say("Which account?"), Default: "savings"})
			return "", err
		})
		st.ask(fakemodel.Chat, true, user("Pay."))
		st.heard("start: Working on a request.", "thinking", "writing_output", "say: I move it.", "thinking")
		if _, err := guarded(st.t.Context(), transfer{1}); err != nil {
			st.t.Errorf("it could not ask: %v", err)
		}
		st.heard("calling_tool", "invoked: transfer", "awaiting_input", "calling_tool", "done: transfer success",
			"thinking")
	}, wantsTransfer)
}

// A Tap of nothing says so; nothing is sent past it, and nothing runs.
func TestNoTap(t *testing.T) {
	for _, tap := range []*llm.Tap{nil, {}, llm.New(nil)} {
		run := func(context.Context, transfer) (string, error) { t.Error("it ran"); return "", nil }
		if _, err := llm.Guard(tap, "transfer", describe, run)(t.Context(), transfer{1}); err == nil ||
			!strings.Contains(err.Error(), "llm: the Tap is nil") {
			t.Errorf("Guard: %v", err)
		}
		client := http.Client{Transport: tap.Transport(nil), Timeout: time.Second}
		if _, err := client.Do(request(fakemodel.Chat, true, user("Pay."))); err == nil ||
			!strings.Contains(err.Error(), "llm: the Tap is nil") {
			t.Errorf("the client: %v", err)
		}
	}
}
