package announce

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

func (r *room) changeState(from, to aaep.State, text string) *aaep.Event {
	return r.addEvent(&aaep.StateChanged{FromState: from, ToState: to}, text)
}

// heardTexts are what was heard, without the times.
func (r *room) heardTexts() string {
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

// callTool is one call of a tool that takes a time, as agents of this SDK tell it.
func (r *room) callTool(took time.Duration, p aaep.ToolInvoked, invoked, completed string) {
	p.Tool, p.ToolCallID = "balance", "call"
	r.changeState(think, call, "Using a tool.")
	r.addEvent(&p, invoked)
	r.passTime(took)
	r.addEvent(&aaep.ToolCompleted{Tool: p.Tool, ToolCallID: p.ToolCallID, Status: aaep.ToolSuccess}, completed)
	r.changeState(call, think, "Thinking.")
}

// A state is told when it lasts and nothing next to it tells as much; a tool that was quick is told
// once; nothing else is left out. EVT-032, LVL-014
func TestDuplicateFilter(t *testing.T) {
	const using, finished = "Using the tool balance.", "Balance finished."
	low := aaep.ToolInvoked{RiskLevel: aaep.RiskLow}
	for name, tc := range map[string]struct {
		happens func(r *room)
		want    string
	}{
		"a call that only reads, in a session of its own": {func(r *room) {
			r.addEvent(&aaep.SessionStarted{}, using)
			r.changeState(idle, think, "Thinking.")
			r.callTool(20*time.Millisecond, low, using, finished)
			r.addEvent(&aaep.SessionCompleted{}, "Ready.")
		}, "Using the tool balance. Done. Ready."},
		"a call in a longer session": {func(r *room) {
			r.addEvent(&aaep.SessionStarted{}, "Looking after your money.")
			r.changeState(idle, think, "Thinking.")
			r.callTool(20*time.Millisecond, low, using, finished)
			r.passTime(time.Minute)
		}, "Looking after your money. Using the tool balance. Thinking."},
		"a call of a tool that people know by another name": {func(r *room) {
			r.callTool(20*time.Millisecond, low, "Using the tool Look at it.", "Look at it finished.")
			r.callTool(20*time.Millisecond, low, "Looking at it.", "Look at it finished.")
		}, "Using the tool Look at it. Looking at it. Look at it finished. Thinking."},
		"a call that takes its time": {func(r *room) { r.callTool(5*time.Second, low, using, finished) },
			"Using the tool balance. Balance finished. Thinking."},
		"a result in the agent's own words": {func(r *room) { r.callTool(20*time.Millisecond, low, using, "You have $7.") },
			"Using the tool balance. You have $7. Thinking."},
		"a deed": {func(r *room) {
			r.addEvent(&aaep.SessionStarted{}, using)
			r.callTool(20*time.Millisecond, aaep.ToolInvoked{Irreversible: new(true)}, using, finished)
		}, "Using the tool balance. Using the tool balance. Balance finished. Thinking."},
		"a call that fails": {func(r *room) {
			r.addEvent(&aaep.ToolInvoked{Tool: "balance"}, using)
			r.addEvent(&aaep.ToolCompleted{Tool: "balance", Status: aaep.ToolError}, "Balance failed.")
		}, "Using the tool balance. Balance failed."},
		"a job that says how far it is": {func(r *room) {
			r.addEvent(&aaep.SessionStarted{}, "Converting your photos.")
			r.changeState(idle, think, "Thinking.")
			for i := range 3 {
				r.passTime(time.Second)
				r.addEvent(&aaep.ProgressUpdated{}, fmt.Sprintf("Photo %d of 3.", i+1))
			}
			r.passTime(time.Minute)
		}, "Converting your photos. Photo 1 of 3. Photo 3 of 3."},
		"progress in a state with words of its own": {func(r *room) {
			r.changeState(idle, think, "Comparing prices.")
			r.addEvent(&aaep.ProgressUpdated{}, "Half of it.")
			r.passTime(time.Minute)
		}, "Half of it. Comparing prices."},
		"only a state tells of the tool": {func(r *room) {
			r.changeState(think, call, "Using a tool.")
			r.passTime(10 * time.Second)
			r.changeState(call, think, "Thinking.")
		}, "Using a tool. Thinking."},
		"a state that comes after what it tells": {func(r *room) {
			r.addEvent(&aaep.ToolInvoked{Tool: "balance"}, using)
			r.changeState(think, call, "Using a tool.")
		}, "Using the tool balance."},
		"an answer": {func(r *room) {
			r.changeState(think, write, "Answering.")
			r.addSentence("Hello.")
		}, "Hello."},
		"something else happens": {func(r *room) {
			r.changeState(idle, think, "Thinking.")
			r.addEvent(&aaep.ExtensionPayload{Type: "acme:odd"}, "Something new.")
		}, "Something new. Thinking."},
		"short states": {func(r *room) {
			for _, text := range []string{"One.", "Two.", "Three."} {
				r.changeState(think, think, text)
				r.passTime(100 * time.Millisecond)
			}
		}, "Three."},
		"somebody wants details": {func(r *room) {
			r.a = New(Preferences{Verbosity: aaep.VerbosityDetailed})
			r.changeState(idle, think, "Thinking.")
			r.callTool(20*time.Millisecond, low, using, finished)
			r.addEvent(&aaep.SessionCompleted{}, "Ready.")
		}, "Thinking. Using a tool. Using the tool balance. Balance finished. Thinking. Done. Ready."},
		"what came of a question": {func(r *room) {
			r.changeState(await, think, "Rejected, and not done: Pay.")
			r.changeState(think, call, "Using a tool.")
			r.addEvent(&aaep.SessionCompleted{}, "Ready.")
		}, "Rejected, and not done: Pay. Done. Ready."},
		"what came of a question, though a tool runs": {func(r *room) {
			r.addEvent(&aaep.ToolInvoked{Tool: "balance"}, using)
			r.changeState(await, call, "No answer; the default is used.")
		}, "Using the tool balance. No answer; the default is used."},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, Preferences{})
			tc.happens(r)
			r.passTime(time.Minute)
			if got := r.heardTexts(); got != tc.want {
				t.Errorf("heard %q\nwant %q", got, tc.want)
			}
		})
	}
}

// A state that a question cut off, or that it overtook, is not told after it, for it is no longer
// so; nor is progress that newer things have overtaken; what came of the question is.
func TestStateCutByQuestion(t *testing.T) {
	ask := func(r *room) {
		r.addEvent(&aaep.AwaitingConfirmation{Action: "Pay.", Consequence: "Gone.", TimeoutSeconds: 300, RiskLevel: aaep.RiskLow, DefaultDecision: aaep.Reject}, "Pay?")
	}
	for _, late := range []time.Duration{0, 2 * time.Second} { // between the state and the question
		r := newRoom(t, Preferences{})
		r.changeState(think, await, "Pay twenty dollars to Ada, and then the rest to Bayo as well.")
		r.addEvent(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(40.0)}}, "")
		r.passTime(late)
		ask(r)
		r.passTime(30 * time.Second)
		r.changeState(await, think, "Rejected, and not done: Pay.")
		r.passTime(time.Minute)
		_, got, _ := strings.Cut(r.heardTexts(), "Decide:")
		if want := " Pay. Consequence: Gone. Low risk. You have about 5 minutes to answer. " +
			"No answer: it will not be done. Rejected, and not done: Pay."; got != want {
			t.Errorf("%v apart: heard %q\nwant %q", late, r.heardTexts(), want)
		}
	}
	r := newRoom(t, Preferences{}) // of two questions, that one is still open is told
	r.changeState(think, await, "Pay.")
	ask(r)
	r.passTime(time.Minute)
	r.changeState(await, think, "Rejected, and not done: Pay.")
	r.changeState(think, await, "Waiting for an answer.")
	r.passTime(time.Minute)
	if got := r.heardTexts(); !strings.HasSuffix(got, "Rejected, and not done: Pay. Waiting for an answer.") {
		t.Errorf("heard %s", got)
	}
}

// However many sessions there are, no more is remembered than of a few, and each state that lasts
// is told or said to be left out. P10
func TestDuplicateFilterIsBounded(t *testing.T) {
	var g duplicateFilter
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	told := 0
	for i := range 1000 {
		ev := newEvent(&aaep.StateChanged{ToState: think}, "Thinking.")
		ev.SessionID = string(rune(0x4e00 + i))
		tell, left := g.filterEvent(at, "Planner", ev, &item{next: i})
		told += len(tell) + len(left)
	}
	if _, wake := g.takeDue(at); !wake.Equal(at.Add(moment)) {
		t.Errorf("asks again at %v", wake)
	}
	tell, _ := g.takeDue(at.Add(moment))
	for i, n := range tell[1:] {
		if n.next < tell[i].next {
			t.Errorf("not in order: %v", tell)
		}
	}
	if told += len(tell); told != 1000 || len(g.sessions) > maxAgents {
		t.Errorf("%d of 1000 came back, %d sessions are remembered", told, len(g.sessions))
	}
}
