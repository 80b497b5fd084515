package announce

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

func (r *room) state(from, to aaep.State, text string) *aaep.Event {
	return r.say(&aaep.StateChanged{FromState: from, ToState: to}, text)
}

// texts are what was heard, without the times.
func (r *room) texts() string {
	var all []string
	for _, line := range r.heard {
		_, text, _ := strings.Cut(line, " ")
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

const (
	idle, think, call, write, await = aaep.StateIdle, aaep.StateThinking, aaep.StateCallingTool, aaep.StateWritingOutput, aaep.StateAwaitingInput
)

// call is one call of a tool that takes a time, as agents of this SDK tell it.
func (r *room) call(took time.Duration, p aaep.ToolInvoked, invoked, completed string) {
	p.Tool, p.ToolCallID = "balance", "call"
	r.state(think, call, "Using a tool.")
	r.say(&p, invoked)
	r.after(took)
	r.say(&aaep.ToolCompleted{Tool: p.Tool, ToolCallID: p.ToolCallID, Status: aaep.ToolSuccess}, completed)
	r.state(call, think, "Thinking.")
}

// A state is told when it lasts and nothing next to it tells as much; a tool that was quick is told once; nothing else is left out.
// EVT-032, LVL-014
func TestGist(t *testing.T) {
	const using, finished = "Using the tool balance.", "Balance finished."
	low := aaep.ToolInvoked{RiskLevel: aaep.RiskLow}
	for name, tc := range map[string]struct {
		happens func(r *room)
		want    string
	}{
		"a call that only reads, in a session of its own": {func(r *room) {
			r.say(&aaep.SessionStarted{}, using)
			r.state(idle, think, "Thinking.")
			r.call(20*time.Millisecond, low, using, finished)
			r.say(&aaep.SessionCompleted{}, "Ready.")
		}, "Using the tool balance. Done. Ready."},
		"a call in a longer session": {func(r *room) {
			r.say(&aaep.SessionStarted{}, "Looking after your money.")
			r.state(idle, think, "Thinking.")
			r.call(20*time.Millisecond, low, using, finished)
			r.after(time.Minute)
		}, "Looking after your money. Using the tool balance. Thinking."},
		"a call of a tool that people know by another name": {func(r *room) {
			r.call(20*time.Millisecond, low, "Using the tool Look at it.", "Look at it finished.")
			r.call(20*time.Millisecond, low, "Looking at it.", "Look at it finished.")
		}, "Using the tool Look at it. Looking at it. Look at it finished. Thinking."},
		"a call that takes its time": {func(r *room) { r.call(5*time.Second, low, using, finished) },
			"Using the tool balance. Balance finished. Thinking."},
		"a result in the agent's own words": {func(r *room) { r.call(20*time.Millisecond, low, using, "You have $7.") },
			"Using the tool balance. You have $7. Thinking."},
		"a deed": {func(r *room) {
			r.say(&aaep.SessionStarted{}, using)
			r.call(20*time.Millisecond, aaep.ToolInvoked{Irreversible: new(true)}, using, finished)
		}, "Using the tool balance. Using the tool balance. Balance finished. Thinking."},
		"a call that fails": {func(r *room) {
			r.say(&aaep.ToolInvoked{Tool: "balance"}, using)
			r.say(&aaep.ToolCompleted{Tool: "balance", Status: aaep.ToolError}, "Balance failed.")
		}, "Using the tool balance. Balance failed."},
		"a job that says how far it is": {func(r *room) {
			r.say(&aaep.SessionStarted{}, "Converting your photos.")
			r.state(idle, think, "Thinking.")
			for i := range 3 {
				r.after(time.Second)
				r.say(&aaep.ProgressUpdated{}, fmt.Sprintf("Photo %d of 3.", i+1))
			}
			r.after(time.Minute)
		}, "Converting your photos. Photo 1 of 3. Photo 3 of 3."},
		"progress in a state with words of its own": {func(r *room) {
			r.state(idle, think, "Comparing prices.")
			r.say(&aaep.ProgressUpdated{}, "Half of it.")
			r.after(time.Minute)
		}, "Half of it. Comparing prices."},
		"only a state tells of the tool": {func(r *room) {
			r.state(think, call, "Using a tool.")
			r.after(10 * time.Second)
			r.state(call, think, "Thinking.")
		}, "Using a tool. Thinking."},
		"a state that comes after what it tells": {func(r *room) {
			r.say(&aaep.ToolInvoked{Tool: "balance"}, using)
			r.state(think, call, "Using a tool.")
		}, "Using the tool balance."},
		"an answer": {func(r *room) {
			r.state(think, write, "Answering.")
			r.answer("Hello.")
		}, "Hello."},
		"something else happens": {func(r *room) {
			r.state(idle, think, "Thinking.")
			r.say(&aaep.Extension{Type: "acme:odd"}, "Something new.")
		}, "Something new. Thinking."},
		"short states": {func(r *room) {
			for _, text := range []string{"One.", "Two.", "Three."} {
				r.state(think, think, text)
				r.after(100 * time.Millisecond)
			}
		}, "Three."},
		"somebody wants details": {func(r *room) {
			r.a = New(Preferences{Verbosity: aaep.VerbosityDetailed})
			r.state(idle, think, "Thinking.")
			r.call(20*time.Millisecond, low, using, finished)
			r.say(&aaep.SessionCompleted{}, "Ready.")
		}, "Thinking. Using a tool. Using the tool balance. Balance finished. Thinking. Done. Ready."},
		"what came of a question": {func(r *room) {
			r.state(await, think, "Rejected, and not done: Pay.")
			r.state(think, call, "Using a tool.")
			r.say(&aaep.SessionCompleted{}, "Ready.")
		}, "Rejected, and not done: Pay. Done. Ready."},
		"what came of a question, though a tool runs": {func(r *room) {
			r.say(&aaep.ToolInvoked{Tool: "balance"}, using)
			r.state(await, call, "No answer; the default is used.")
		}, "Using the tool balance. No answer; the default is used."},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, Preferences{})
			tc.happens(r)
			r.after(time.Minute)
			if got := r.texts(); got != tc.want {
				t.Errorf("heard %q\nwant %q", got, tc.want)
			}
		})
	}
}

// A state that a question cut off, or that it overtook, is not told after it, for it is no longer so; nor is progress that newer
// things have overtaken; what came of the question is.
func TestStateCutByQuestion(t *testing.T) {
	ask := func(r *room) {
		r.say(&aaep.AwaitingConfirmation{Action: "Pay.", Consequence: "Gone.", TimeoutSeconds: 300, RiskLevel: aaep.RiskLow, DefaultDecision: aaep.Reject}, "Pay?")
	}
	for _, late := range []time.Duration{0, 2 * time.Second} { // between the state and the question
		r := newRoom(t, Preferences{})
		r.state(think, await, "Pay twenty dollars to Ada, and then the rest to Bayo as well.")
		r.say(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(40.0)}}, "")
		r.after(late)
		ask(r)
		r.after(30 * time.Second)
		r.state(await, think, "Rejected, and not done: Pay.")
		r.after(time.Minute)
		_, got, _ := strings.Cut(r.texts(), "Decide:")
		if want := " Pay. Consequence: Gone. Low risk. You have about 5 minutes to answer. " +
			"No answer: it will not be done. Rejected, and not done: Pay."; got != want {
			t.Errorf("%v apart: heard %q\nwant %q", late, r.texts(), want)
		}
	}
	r := newRoom(t, Preferences{}) // of two questions, that one is still open is told
	r.state(think, await, "Pay.")
	ask(r)
	r.after(time.Minute)
	r.state(await, think, "Rejected, and not done: Pay.")
	r.state(think, await, "Waiting for an answer.")
	r.after(time.Minute)
	if got := r.texts(); !strings.HasSuffix(got, "Rejected, and not done: Pay. Waiting for an answer.") {
		t.Errorf("heard %s", got)
	}
}

// However many sessions there are, no more is remembered than of a few, and each state that lasts is told or said to be left out. P10
func TestGistIsBounded(t *testing.T) {
	var g Gist[int]
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	told := 0
	for i := range 1000 {
		ev := event(&aaep.StateChanged{ToState: think}, "Thinking.")
		ev.SessionID = string(rune(0x4e00 + i))
		tell, left := g.Add(at, "Planner", ev, i)
		told += len(tell) + len(left)
	}
	if _, wake := g.Due(at); !wake.Equal(at.Add(moment)) {
		t.Errorf("asks again at %v", wake)
	}
	tell, _ := g.Due(at.Add(moment))
	for i, n := range tell[1:] {
		if n < tell[i] {
			t.Errorf("not in order: %v", tell)
		}
	}
	if told += len(tell); told != 1000 || len(g.sessions) > maxAgents {
		t.Errorf("%d of 1000 came back, %d sessions are remembered", told, len(g.sessions))
	}
}
