package cli

import (
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
)

// What was said before a question is told before it, even if its sentence has no end yet, and goes
// on behind it.
func TestUnfinishedBeforeQuestion(t *testing.T) {
	var out, status strings.Builder
	l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
	f := &followedAgent{listener: l, wanted: subscriber.ScreenReader("en-US")}
	l.agents = []*followedAgent{f}
	token := func(session, text string) *aaep.Event {
		return in(session, event(&aaep.OutputStreaming{Chunk: text, OutputID: "o", CoalesceHint: aaep.BoundaryNone},
			""))
	}
	f.announceEvent(token("a", "The bill is due. I would "))
	f.announceEvent(token("b", "Elsewhere "))
	f.announceEvent(token("a", "pay it now:"))
	f.announceEvent(in("a", event(pay(), "")))
	if got, want := out.String(), "The bill is due.\nI would pay it now:\nDecide: Pay $20."; !strings.HasPrefix(got,
		want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	f.announceEvent(in("a", event(pay(), "")))
	l.removeQuestion(l.asked.First())
	l.putNext()
	if n := strings.Count(out.String(), "I would pay it now:"); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, out.String())
	}
	out.Reset()
	l.removeQuestion(l.asked.First())
	f.announceEvent(token("a", "Thank "))
	f.announceEvent(token("a", "you."))
	f.announceEvent(in("a", event(&aaep.SessionCompleted{}, "")))
	if got, want := out.String(), "Thank you.\nThe agent finished.\n"; got != want {
		t.Errorf("afterwards %q, want %q", got, want)
	}
}

// Answers that go on beside each other are told in the order in which they began.
func TestUnfinishedInOrder(t *testing.T) {
	var out, status strings.Builder
	l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
	f := &followedAgent{listener: l, wanted: subscriber.ScreenReader("en-US")}
	l.agents = []*followedAgent{f}
	want := ""
	for _, text := range strings.Fields("one two three four five six seven eight") {
		f.announceEvent(in("a", event(&aaep.OutputStreaming{Chunk: text, OutputID: text,
			CoalesceHint: aaep.BoundaryNone}, "")))
		want += text + "\n"
	}
	f.announceEvent(in("a", event(&aaep.SessionCompleted{}, "")))
	if got := out.String(); !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// EVT-061: chunks that are at no boundary are held until they are sentences, until the answer is
// complete or its session is over; others are printed as they come, and so are all where that was
// asked for.
func TestSentencesOfTokens(t *testing.T) {
	raw := subscriber.ScreenReader("en-US").With(aaep.Capabilities{CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryNone}})
	for name, tc := range map[string]struct {
		caps aaep.Capabilities
		hint aaep.Boundary
		end  aaep.Payload
		want string
	}{
		"at no boundary": {subscriber.ScreenReader("en-US"), aaep.BoundaryNone,
			&aaep.OutputStreaming{OutputID: "o", Complete: true},
			"The plan is ready.\nThe agent says: Action: It has\ntwo parts\n"},
		"the session ends": {subscriber.ScreenReader("en-US"), aaep.BoundaryNone, &aaep.SessionCompleted{},
			"The plan is ready.\nThe agent says: Action: It has\ntwo parts\nThe agent finished.\n"},
		"at words": {subscriber.ScreenReader("en-US"), aaep.BoundaryWord,
			&aaep.OutputStreaming{OutputID: "o", Complete: true},
			"The\nplan\nis\nready.\nThe agent says: Action:\nIt\nhas\ntwo\nparts\n"},
		"as it is written": {raw, aaep.BoundaryNone, &aaep.OutputStreaming{OutputID: "o", Complete: true},
			"The\nplan\nis\nready.\nThe agent says: Action:\nIt\nhas\ntwo\nparts\n"},
	} {
		var out, status strings.Builder
		l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
		f := &followedAgent{listener: l, wanted: tc.caps}
		for _, token := range []string{"The ", "plan ", "is ", "ready. ", "Action: ", "It ", "has\n", "two ", "parts"} {
			f.announceEvent(event(&aaep.OutputStreaming{Chunk: token, OutputID: "o", CoalesceHint: tc.hint}, ""))
		}
		f.announceEvent(event(tc.end, ""))
		if got := out.String(); got != tc.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, tc.want)
		}
		if len(f.unfinished) > 0 {
			t.Errorf("%s: something is left", name)
		}
	}
}
