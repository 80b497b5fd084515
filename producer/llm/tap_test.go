package llm_test

import (
	"testing"

	"github.com/aaep-go/aaep/internal/fakemodel"
)

// A turn without tools is a session: it thinks, answers and ends. What the model thinks is not told. (LVL-005)
func TestAnswer(t *testing.T) {
	hello := fakemodel.Answer{Thinks: "They greet me.", Says: []string{"Hello. ", "How ", "are you?"}}
	everyWay(t, []fakemodel.Answer{hello, hello}, func(st *stage, dialect string, stream bool) {
		want := []string{"start: Working on a request.", "thinking", "writing_output", "say: Hello. How are you?", "thinking", "session.completed: The agent finished."}
		st.ask(dialect, stream, user("Hi."))
		st.heard(want...)
		st.ask(dialect, stream, user("Hi."), model(hello), user("Hi again."))
		st.heard(want...)
	})
}

// Tools are announced when the answer that wants them is whole, and completed by the request with their results; all of it is one
// session. (LVL-006, LVL-007, EVT-041, SM-003, SM-005)
func TestTools(t *testing.T) {
	wants := fakemodel.Answer{Says: []string{"I look."}, Calls: []fakemodel.Call{{ID: "call_1", Name: "weather", Args: `{"city":"Ibadan"}`}, {ID: "call_2", Name: "clock", Args: `{}`}}}
	knows := fakemodel.Answer{Says: []string{"Sunny, at noon."}}
	everyWay(t, []fakemodel.Answer{wants, knows}, func(st *stage, dialect string, stream bool) {
		st.ask(dialect, stream, user("Weather?"))
		st.heard("start: Working on a request.", "thinking", "writing_output", "say: I look.", "thinking",
			"calling_tool", "invoked: weather", "invoked: clock")
		failed := "success"
		second := gives("call_2", "clock", "noon")
		if dialect == fakemodel.Messages || dialect == fakemodel.Gemini { // which can say so
			second, failed = fails("call_2", "clock", "broken"), "error"
		}
		st.ask(dialect, stream, user("Weather?"), model(wants), gives("call_1", "weather", "sun"), second)
		st.heard("done: weather success", "done: clock "+failed, "thinking",
			"writing_output", "say: Sunny, at noon.", "thinking", "session.completed: The agent finished.")
	})
}
