package producer_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// EVT-075, D-22: data of the agent's own goes with a question, and cannot change which call it is
// for.
func TestExtraContext(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l, s := st.listen(mayAnswer(allEvents())), st.startSession("Paying.")
		with := pay
		with.ExtraContext = json.RawMessage(`{"order":4711,"lines":[{"of":"water"}]}`)
		paid := callTool(s, with, &action{})
		var got struct {
			Order int                 `json:"order"`
			Lines []map[string]string `json:"lines"`
			Tool  string              `json:"tool"`
			Call  string              `json:"tool_call_id"`
		}
		q := l.question()
		if err := json.Unmarshal(q.ExtraContext, &got); err != nil || got.Order != 4711 || got.Lines[0]["of"] != "water" || got.Tool != "pay" || !strings.HasPrefix(got.Call, "call_") {
			t.Errorf("the question holds %s, %v", q.ExtraContext, err)
		}
		l.reply(q, aaep.Accept)
		if r := <-paid; r.err != nil {
			t.Error(r.err)
		}
		for _, wrong := range []string{`{"tool":"look"}`, `{"tool_call_id":"call_1"}`, `{"Tool":"look"}`, `{"Unanswered":"elsewhere"}`, `{"TOOL_CALL_ID":1}`, `{"a":1,"a":2}`, `[]`, `null`, `"x"`, ``, `{"a":1`, `{"a":1} {}`,
			`{"a":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + "}", `{"a":"` + strings.Repeat("x", 70000) + `"}`, "{\"a\":\"\xff\"}"} {
			with.ExtraContext = json.RawMessage(wrong)
			var done action
			r := <-callTool(s, with, &done)
			if invalid := new(aaep.InvalidError); !errors.As(r.err, &invalid) {
				t.Errorf("%.40s: %v", wrong, r.err)
			}
		}
	})
}
