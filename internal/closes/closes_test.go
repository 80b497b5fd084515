package closes

import (
	"testing"

	"github.com/aaep-go/aaep"
)

// What a question is for is read as it is written: a name in other letters is another name, and one that is there twice says
// nothing. INV-33
func TestSubject(t *testing.T) {
	for context, want := range map[string][2]string{
		`{"tool":"pay","tool_call_id":"call_1","amount":5}`: {"pay", "call_1"},
		`{"Tool_Call_ID":"call_2"}`:                         {},
		`{"tool_call_id":"call_1","tool_call_id":"call_2"}`: {},
		`{"tool_call_id":5}`:                                {},
		``:                                                  {},
	} {
		question := &aaep.Event{Within: "call_0", Payload: &aaep.AwaitingConfirmation{ExtraContext: []byte(context)}}
		tool, call := Subject(question)
		if got := [2]string{tool, call}; got != want {
			t.Errorf("%s: %q, want %q", context, got, want)
		}
		if want[1] == "" {
			want[1] = "call_0"
		}
		if got := CallOf(question); got != want[1] {
			t.Errorf("%s: the call %q, want %q", context, got, want[1])
		}
	}
	if tool, call := Subject(&aaep.Event{Payload: &aaep.AwaitingClarification{}}); tool+call != "" {
		t.Errorf("%q, %q", tool, call)
	}
}
