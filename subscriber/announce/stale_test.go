package announce

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// long is an answer that takes twenty seconds to say.
var long = strings.TrimSpace(strings.Repeat("word ", 40)) + "."

var deciding = &aaep.StateChanged{ToState: aaep.StateDeciding}

func (r *room) runTool(id string, change func(*aaep.ToolInvoked), status aaep.ToolStatus) {
	p := &aaep.ToolInvoked{Tool: "read", ToolCallID: id, RiskLevel: aaep.RiskLow}
	if change != nil {
		change(p)
	}
	r.addEvent(p, "Using "+id+".")
	if status != "" {
		r.addEvent(&aaep.ToolCompleted{Tool: "read", ToolCallID: id, Status: status}, "Finished "+id+".")
	}
}

// News that had to wait is left out where something newer tells as much, and only there.
func TestOldNews(t *testing.T) {
	for name, tc := range map[string]struct {
		came func(r *room)
		want []string // after the answer
	}{
		"a state that still holds": {func(r *room) { r.addEvent(thinking, "Thinking.") }, []string{"Thinking."}},
		"states": {func(r *room) {
			r.addEvent(thinking, "Thinking.")
			r.addEventOf("Planner", "sess_2", thinking, "Thinking elsewhere.")
			r.passTime(2 * time.Second)
			r.addEvent(deciding, "Deciding.")
		}, []string{"Thinking elsewhere.", "Deciding."}},
		"a state and one without words": {func(r *room) {
			r.addEvent(thinking, "Thinking.")
			r.addEvent(working, " ")
		}, nil},
		"a state of what is over": {func(r *room) {
			r.addEvent(thinking, "Thinking.")
			r.addEvent(&aaep.SessionCompleted{}, "")
		}, []string{"The agent finished."}},
		"a tool that still runs": {func(r *room) { r.runTool("a", nil, "") }, []string{"Using a."}},
		"a tool that ended":      {func(r *room) { r.runTool("a", nil, aaep.ToolSuccess) }, []string{"Finished a."}},
		"two that ended": {func(r *room) {
			r.runTool("a", nil, aaep.ToolSuccess)
			r.runTool("b", nil, aaep.ToolSuccess)
		}, []string{"Finished a.", "Finished b."}},
		"many that ended": {func(r *room) {
			for i := range 9 {
				r.runTool(fmt.Sprint(i), nil, aaep.ToolSuccess)
			}
		}, []string{"8 tools ran meanwhile.", "Finished 8."}},
		"one of them failed": {func(r *room) {
			for i, status := range []aaep.ToolStatus{aaep.ToolSuccess, aaep.ToolSuccess, aaep.ToolError, aaep.ToolSuccess} {
				r.runTool(fmt.Sprint(i), nil, status)
			}
		}, []string{"2 tools ran meanwhile.", "Finished 2.", "Finished 3."}},
		"one that cannot be undone": {func(r *room) {
			r.runTool("a", func(p *aaep.ToolInvoked) { p.Irreversible = new(true) }, aaep.ToolSuccess)
			r.runTool("b", func(p *aaep.ToolInvoked) { p.RiskLevel = aaep.RiskHigh }, aaep.ToolSuccess)
		}, []string{"Using a.", "Finished a.", "Using b.", "Finished b."}},
		"what nobody knows": {func(r *room) { r.addEvent(&aaep.ExtensionPayload{Type: "acme:odd"}, "Something new.") }, []string{"Something new."}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, Preferences{})
			r.addSentence(long)
			tc.came(r)
			r.passTime(2 * time.Minute)
			var got []string
			for _, line := range r.heard[1:] {
				_, text, _ := strings.Cut(line, " ")
				got = append(got, text)
			}
			if strings.Join(got, "|") != strings.Join(tc.want, "|") {
				t.Errorf("heard %q, want %q", got, tc.want)
			}
		})
	}
}

// What is fresh is said as it came, and what is summed up goes on to be counted and is there to be
// asked for.
func TestToolsSummedUp(t *testing.T) {
	r := newRoom(t, Preferences{})
	r.runTool("a", nil, aaep.ToolSuccess)
	r.passTime(3 * time.Second)
	r.wantHeard("0.0 Using a.", "1.0 Finished a.")
	r.heard = nil
	r.addSentence(long)
	for i := range 4 {
		r.runTool(fmt.Sprint(i), nil, aaep.ToolSuccess)
	}
	r.passTime(15 * time.Second)
	for i := range 4 {
		r.runTool(fmt.Sprint(i+4), nil, aaep.ToolSuccess)
	}
	r.addSentence(long)
	r.passTime(time.Minute)
	r.wantHeard("3.0 "+long, "23.0 3 tools ran meanwhile.", "25.0 Finished 3.", "26.0 Using 4.", "27.0 Finished 4.", "28.0 2 tools ran meanwhile.",
		"30.0 Finished 7.", "31.0 "+long)
	r.heard = nil
	r.a.Details(r.now)
	r.passTime(time.Minute)
	r.wantHeard("78.0 Finished 0.", "79.0 Finished 1.", "80.0 Finished 2.", "81.0 Finished 5.", "82.0 Finished 6.")
}

// How far the agent had come before it asked is not said after what came of that, where it would
// sound as if the agent went on: neither where it waited to be said, nor where it comes late.
func TestProgressBeforeAQuestion(t *testing.T) {
	notDone := &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}
	reading := func(n int) *aaep.ProgressUpdated {
		return &aaep.ProgressUpdated{Progress: aaep.Progress{Step: int64(n)}}
	}
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.addSentence("The sun shines on all of the folders here. ")
	r.addEvent(reading(1), "Reading folder 1.") // waits for the answer
	before := r.now
	r.passTime(time.Second)
	r.addEvent(notDone, "Nobody could be asked, so this was not done.")
	late := newEvent(reading(2), "Reading folder 2.")
	late.EventID, late.Timestamp = "evt_late", before
	r.a.Add(r.now, "Planner", late, Text(late, aaep.VerbosityNormal))
	r.passTime(time.Minute)
	r.addEvent(reading(3), "Reading folder 3.")
	r.passTime(time.Minute)
	heard := r.heardTexts()
	for text, want := range map[string]bool{"folder 1": false, "folder 2": false, "folder 3": true, "Nobody could be asked": true} {
		if strings.Contains(heard, text) != want {
			t.Errorf("%q: want %v in %s", text, want, heard)
		}
	}
}
