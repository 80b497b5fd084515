package announce

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
)

// answerBeside has two agents ask, the first of them to Bob, and the person press no at it; it
// returns the reply, which is under way, after Ash has told what came of an earlier question and
// Bob what came of this.
func answerBeside(r *room, outcomeAfter time.Duration) *Reply {
	r.t.Helper()
	q := r.askBriefly("Bob", "sess_Bob", "Pay Bob")
	r.askBriefly("Ash", "sess_Ash", "Pay Ash")
	r.passTime(20 * time.Second)
	r.heard, r.began = nil, r.now
	reply := r.a.Answer(r.now, r.now, "n")
	if reply == nil || reply.Question != q {
		r.t.Fatalf("the no was taken as %+v", reply)
	}
	r.addEventOf("Ash", "sess_Ash2", &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Accepted.")
	r.addEventOf("Ash", "sess_Ash2", &aaep.ExtensionPayload{Type: "acme:news"}, "Some news.")
	r.passTime(outcomeAfter)
	r.addEventOf("Bob", "sess_Bob", &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}, "Rejected.")
	return reply
}

// The next words after a person's answer are what became of it, and never what another agent tells,
// whichever of the two comes first: that it was sent, or what came of it.
func TestAnswerIsToldBeforeOtherAgents(t *testing.T) {
	for name, tc := range map[string]struct {
		sentAfter time.Duration // what came of it was known
		want      string        // what is heard first
	}{
		"sent soon": {150 * time.Millisecond, "0.3 Bob: Answer sent: reject.|2.3 Ash: Accepted.|"},
		"sent late": {3 * time.Second, "1.0 Bob: Rejected.|2.0 Ash: Accepted.|"},
		"unknown":   {time.Hour, "1.0 Bob: Rejected.|2.0 Ash: Accepted.|"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
			reply := answerBeside(r, 150*time.Millisecond)
			r.passTime(tc.sentAfter)
			r.a.Answered(r.now, reply, nil)
			r.passTime(30 * time.Second)
			heard := strings.Join(r.heard, "|")
			if !strings.HasPrefix(heard, tc.want) {
				t.Errorf("heard %s, want %s first", heard, tc.want)
			}
			if i := strings.LastIndex(heard, "Answer sent"); i > len("0.3 Bob: ") {
				t.Errorf("it is told that it was sent after what came of it: %s", heard)
			}
		})
	}
}

// Other agents wait for an answer that is on its way for ten seconds, and no longer.
func TestOtherAgentsWaitNoLonger(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	answerBeside(r, 20*time.Second)
	if r.heard[0] != "10.0 Ash: Accepted." {
		t.Errorf("heard %q", r.heard)
	}
}

// Why an earlier answer did not count is not told after a later one that does.
func TestNoRefusalAfterAnAnswerThatCounts(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.askBriefly("Bob", "sess_Bob", "Pay Bob")
	r.passTime(1500 * time.Millisecond)
	if r.a.Answer(r.now, r.now, "y") != nil {
		t.Fatal("a yes counts before all was heard")
	}
	reply := r.a.Answer(r.now, r.now, "n")
	if reply == nil {
		t.Fatal("the no does not count")
	}
	r.a.Answered(r.now, reply, nil)
	r.passTime(10 * time.Second)
	if heard := strings.Join(r.heard, "|"); strings.Contains(heard, "may not have heard") || !strings.Contains(heard, "Answer sent: reject.") {
		t.Errorf("heard %s", heard)
	}
}

// Why an answer to one question did not count is told though an answer to another one counts.
func TestRefusalOfAnotherQuestion(t *testing.T) {
	r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
	r.askBriefly("Ash", "sess_Ash", "Pay Ash")
	r.askBriefly("Bob", "sess_Bob", "Pay Bob")
	first, other := r.a.questions.all[0], r.a.questions.all[1]
	refusal := r.a.refuseAnswer(r.now, first, phraseIn("en", phrase.NotAllHeard, ""))
	missed := phraseIn("en", phrase.QuestionClosed, "")
	r.a.explainAtOnce(r.now, other, missed, first) // which is about the first
	r.a.dropRefusals(r.now, other)
	if !slices.Contains(r.a.asked, refusal) || refusal.receipt.Outcome == Expired {
		t.Error("why an answer to another question did not count is dropped")
	}
	if !slices.ContainsFunc(slices.Concat(r.a.urgent, r.a.asked), func(it *item) bool { return it.names == first && it.kind == Notice }) {
		t.Error("what became of another question is dropped")
	}
	if r.a.dropRefusals(r.now, first); slices.Contains(r.a.asked, refusal) {
		t.Error("why an answer to this question did not count is kept")
	}
}
