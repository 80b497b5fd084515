package conformance

import (
	"errors"
	"testing"
)

// What becomes of a case that several scenario runs are judged by. A pass means that each was
// right, or need not have had anything in it.
func TestSeveralPlays(t *testing.T) {
	right, wrong, never, nothing := passFinding("right"), failFinding("wrong"), inconclusiveFinding("no event came"),
		nothingToJudge("nothing was rejected")
	unjudged := "it was right in 1 play, and two could not be judged: no event came"
	for _, tt := range []struct {
		name     string
		one, two Finding
		want     Verdict
		seen     string
	}{
		{"both right", right, right, Pass, "right"},
		{"one right", right, never, Inconclusive, unjudged},
		{"nothing in one", nothing, right, Pass, "right"},
		{"nothing in the other", right, nothing, Pass, "right"},
		{"nothing in either", nothing, nothing, Inconclusive, "nothing was rejected"},
		{"nothing, and not judged", nothing, never, Inconclusive, "no event came"},
		{"neither judged", never, never, Inconclusive, "no event came"},
		{"one wrong", never, wrong, Fail, "wrong"},
		{"all of what is wrong", right, Finding{Verdict: Fail,
			problems: []problem{{"a line was no message", Entry{}}}}, Fail, "a line was no message"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			heard := []Entry{{Data: []byte(`{"type":"aaep:agent.session.started","session_id":"sess_1"}`)}}
			one, two := &Recording{read: map[int]object{}, Entries: heard},
				&Recording{read: map[int]object{}, Entries: heard}
			c := Case{Strength: Must, plays: []string{"one", "not played", "two"}, Judge: func(r *Recording) Finding {
				if r == one {
					return tt.one
				}
				return tt.two
			}}
			if got := judgeCase(c, map[string]*Recording{"one": one, "two": two}); got.Verdict != tt.want ||
				got.Seen != tt.seen {
				t.Errorf("%s, %q; want %s, %q", got.Verdict, got.Seen, tt.want, tt.seen)
			}
		})
	}
}

// A scenario that was not run takes nothing away from what was: a target that tells nothing is told
// so by other cases. What its transport did is judged.
func TestNotPlayed(t *testing.T) {
	heard := &Recording{read: map[int]object{}, watched: true, limit: presentTime,
		Entries: []Entry{{Data: []byte(`{"type":"subscription.request"}`)}}}
	for name, r := range map[string]*Recording{
		"the target tells nothing": {read: map[int]object{}, watched: true, limit: presentTime,
			mute: "the target tells nothing through the hook"},
		"it did not come": {read: map[int]object{}, watched: true, limit: presentTime, DriverErr: errors.New("gone")},
	} {
		want := map[bool]Verdict{true: Pass, false: Inconclusive}[r.mute != ""]
		c := Case{Strength: Must, plays: []string{"story", "odd"}, Judge: violationsOfKind(noteBreach)}
		if got := judgeCase(c, map[string]*Recording{"story": heard, "odd": r}); got.Verdict != want {
			t.Errorf("%s: %s, %q; want %s", name, got.Verdict, got.Seen, want)
		}
	}
}
