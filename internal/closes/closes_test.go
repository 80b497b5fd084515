package closes_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/closes"
)

var asked = time.Date(2026, 7, 1, 9, 30, 0, 0, time.UTC)

func question(about string) *aaep.Event {
	return &aaep.Event{SessionID: "sess_1", Timestamp: asked, Payload: &aaep.AwaitingConfirmation{
		ReplyToken: "rpl_1", TimeoutSeconds: 60, ExtraContext: json.RawMessage(about)}}
}

// The time that an event gives to a question agrees with the event's own share and moment, whatever
// numbers stand there.
func TestTimeIn(t *testing.T) {
	told := func(after time.Duration, eta int64, percent float64) *aaep.Event {
		return &aaep.Event{SessionID: "sess_1", Timestamp: asked.Add(after), Payload: &aaep.ProgressUpdated{
			Progress: aaep.Progress{Percent: &percent}, ETAMS: &eta}}
	}
	for _, c := range []struct {
		about string
		ev    *aaep.Event
		want  time.Duration // 0 is none
	}{
		{"half of two minutes is over", told(time.Minute, 60_000, 50), 2 * time.Minute},
		{"all of it is left", told(0, 60_000, 0), time.Minute},
		{"less than it had", told(10*time.Second, 10_000, 50), 0},
		{"another share", told(time.Minute, 60_000, 40), 0},
		{"before it was asked", told(-time.Minute, 180_000, 0), 0},
		{"more than a day", told(20*time.Hour, 20*3_600_000, 50), 0},
		{"a time below zero that wraps around", told(time.Minute, math.MinInt64+60_000, 50), 0},
		{"centuries", told(math.MaxInt64, math.MaxInt64, 50), 0},
	} {
		if got, ok := closes.TimeIn(question(""), time.Minute, c.ev); ok != (c.want > 0) || ok && got != c.want {
			t.Errorf("%s: %v, %v; want %v", c.about, got, ok, c.want)
		}
	}
}

// What a question is for is read as it is written: a name in other letters is another name, and one
// that is there twice says nothing. INV-33
func TestSubject(t *testing.T) {
	for context, want := range map[string][2]string{
		`{"tool":"pay","tool_call_id":"call_1","amount":5}`: {"pay", "call_1"},
		`{"Tool_Call_ID":"call_2"}`:                         {},
		`{"tool_call_id":"call_1","tool_call_id":"call_2"}`: {},
		`{"tool_call_id":"call_1","Tool_Call_Id":"call_2"}`: {"", "call_1"},
		`{"tool_call_id":5}`:                                {},
		`[]`:                                                {},
		``:                                                  {},
	} {
		p := &aaep.AwaitingConfirmation{ExtraContext: []byte(context)}
		tool, call, _ := closes.Subject(p)
		if got := [2]string{tool, call}; got != want {
			t.Errorf("%s: %q, want %q", context, got, want)
		}
		if want[1] == "" {
			want[1] = "call_0"
		}
		if got := closes.CallOf(&aaep.Event{Within: "call_0", Payload: p}); got != want[1] {
			t.Errorf("%s: the call %q, want %q", context, got, want[1])
		}
	}
	if got := closes.CallOf(&aaep.Event{Payload: &aaep.AwaitingClarification{}}); got != "" {
		t.Errorf("a clarification is for the call %q", got)
	}
}

// Of changes of state those from before the question tell nothing of it: it may have overtaken
// them.
func TestQuestion(t *testing.T) {
	for _, c := range []struct {
		about    string
		after    time.Duration
		from, to aaep.State
		want     bool
	}{
		{"it was answered", time.Second, aaep.StateAwaitingInput, aaep.StateCallingTool, true},
		{"and by the same clock at once", 0, aaep.StateAwaitingInput, aaep.StateCallingTool, true},
		{"the one before was answered", -time.Second, aaep.StateAwaitingInput, aaep.StateCallingTool, false},
		{"it is asked", time.Second, aaep.StateThinking, aaep.StateAwaitingInput, false},
		{"merged with what was before", time.Second, aaep.StateThinking, aaep.StateWritingOutput, true},
		{"what was before", 0, aaep.StateThinking, aaep.StateWritingOutput, false},
	} {
		ev := &aaep.Event{SessionID: "sess_1", Timestamp: asked.Add(c.after), Payload: &aaep.StateChanged{FromState: c.from, ToState: c.to}}
		if got := closes.Question(question(""), ev); got != c.want {
			t.Errorf("%s: %t, want %t", c.about, got, c.want)
		}
	}
}

// A question is closed when its session waits no longer, moves on later or ends, and by nothing
// else.
func TestQuestionOfSession(t *testing.T) {
	question := question("")
	state := func(from, to aaep.State) aaep.Payload { return &aaep.StateChanged{FromState: from, ToState: to} }
	for _, tt := range []struct {
		payload aaep.Payload
		session string
		after   time.Duration
		want    bool
	}{
		{state(aaep.StateAwaitingInput, aaep.StateThinking), "sess_1", 0, true},
		{state(aaep.StateAwaitingInput, aaep.StateThinking), "sess_2", 0, false},
		{state(aaep.StateThinking, aaep.StateCallingTool), "sess_1", time.Second, true}, // merged on its way
		{state(aaep.StateThinking, aaep.StateCallingTool), "sess_1", -time.Second, false},
		{state(aaep.StateThinking, aaep.StateAwaitingInput), "sess_1", time.Second, false},
		{&aaep.OutputStreaming{Chunk: "x"}, "sess_1", time.Second, false},
		{&aaep.SessionCompleted{}, "sess_1", 0, true},
		{&aaep.SessionCompleted{}, "sess_2", 0, false},
	} {
		ev := &aaep.Event{SessionID: tt.session, Timestamp: asked.Add(tt.after), Payload: tt.payload}
		if got := closes.Question(question, ev); got != tt.want {
			t.Errorf("%T %+v, %v later: %v, want %v", tt.payload, tt.payload, tt.after, got, tt.want)
		}
	}
	for about, want := range map[[2]string][3]bool{ // by another call's change of state, a change that ends the wait, the end of call_1
		{"", ""}:                               {true, true, false},
		{`{"tool_call_id":"call_1"}`, ""}:      {true, true, true},
		{"", "call_1"}:                         {false, true, true},
		{`{"tool":7}`, "call_2"}:               {false, true, false},
		{`{"tool_call_id":["call_1"]}`, ""}:    {true, true, false},
		{`{"tool_announced":true}`, ""}:        {true, true, false}, // which the agent does not know
		{`{"tool":7,"tool_call_id":"x1"}`, ""}: {true, true, false},
	} {
		question.Payload.(*aaep.AwaitingConfirmation).ExtraContext, question.Within = []byte(about[0]), about[1]
		for i, payload := range []aaep.Payload{state(aaep.StateCallingTool, aaep.StateThinking), state(aaep.StateAwaitingInput, aaep.StateThinking),
			&aaep.ToolCompleted{ToolCallID: "call_1"}} {
			if got := closes.Question(question, &aaep.Event{SessionID: "sess_1", Timestamp: asked.Add(time.Second), Payload: payload}); got != want[i] {
				t.Errorf("about %q: %T %+v: %v, want %v", about, payload, payload, got, want[i])
			}
		}
	}
}
