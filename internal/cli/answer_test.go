package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

func TestPrompt(t *testing.T) {
	two := []aaep.Choice{{Value: "a", Label: "A"}, {Value: "b", Label: "B"}}
	for _, tt := range []struct {
		p    aaep.AwaitingClarification
		want string
	}{
		{aaep.AwaitingClarification{}, "Type your answer, then press Enter."},
		{aaep.AwaitingClarification{Choices: two}, "Type your answer, then press Enter."},
		{aaep.AwaitingClarification{AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseMultipleChoice,
			aaep.ResponseFreetext}, Choices: two},
			"Type a number from 1 to 2, or your answer, then press Enter."},
		{aaep.AwaitingClarification{AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseYesNo}},
			"Type y for yes or n for no, then press Enter."},
		{aaep.AwaitingClarification{AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseNumeric}},
			"Type a number such as 12.5, then press Enter."},
	} {
		if got := answerPrompt(english, &aaep.Event{Payload: &tt.p}); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// puts makes a question one that was put, of an agent that is not there.
func (l *listener) puts(ev *aaep.Event, received, put time.Time) *followedAgent {
	if len(l.agents) == 0 {
		l.agents = []*followedAgent{{listener: l}}
	}
	l.asked.Add(received, "", ev).Put = put
	return l.agents[0]
}

// A line decides only about the question that was on the screen for as long as it takes to read it.
// The listener here has no subscription: an answer that was sent would crash.
func TestNotAnAnswer(t *testing.T) {
	accept := pay()
	accept.AllowedReplies = []aaep.Decision{aaep.Accept}
	for _, tt := range []struct {
		name          string
		p             *aaep.AwaitingConfirmation
		received, put time.Duration // ago
		line          string
		says          string
	}{
		{"typed before the question", pay(), 0, 0, "y", "typed before the question could be read"},
		{"typed too soon", pay(), 5 * time.Second, readingTime / 2, "y", "typed before the question could be read"},
		{"Enter too soon", pay(), 0, 0, "", ""},
		{"nonsense", pay(), 5 * time.Second, 5 * time.Second, "yeah", "That is no answer. Type y to accept"},
		{"not allowed", accept, 5 * time.Second, 5 * time.Second, "n", "does not take that answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, status strings.Builder
			now := time.Now()
			l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
			l.puts(event(tt.p, ""), now.Add(-tt.received), now.Add(-tt.put))
			l.answerQuestion(t.Context(), tt.line, l.newLineContext(now))
			if got := status.String(); !strings.Contains(got, tt.says) || (tt.says == "") != (got == "") ||
				out.Len() > 0 {
				t.Errorf("says %q and %q, want %q", got, out.String(), tt.says)
			}
			if l.asked.Len() != 1 {
				t.Error("the question has gone")
			}
		})
	}
}

// The next question comes to the screen when the one before is over, with the time that is left;
// what has run out meanwhile does not come at all.
func TestNextQuestion(t *testing.T) {
	var out, status strings.Builder
	now := time.Now()
	l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
	late := event(pay(), "")
	late.SessionID = "sess_2"
	last := event(pay(), "")
	last.SessionID = "sess_3"
	f := l.puts(event(pay(), ""), now, now)
	l.puts(late, now.Add(-2*time.Minute), time.Time{})
	l.puts(last, now.Add(-30*time.Second), time.Time{})
	f.announceEvent(event(&aaep.SessionCompleted{}, ""))
	if q := l.asked.First(); l.asked.Len() != 1 || q.Event != last || q.Put.IsZero() {
		t.Fatalf("asked are %d questions, want the last one", l.asked.Len())
	}
	if !strings.Contains(out.String(), "You have 1 minute to answer.") ||
		status.String() != "aaep: The question is no longer open. You did not answer it.\n"+
			"aaep: A question that waited is skipped: its time to answer is over.\n" {
		t.Errorf("says %q and %q", out.String(), status.String())
	}
	l.answerQuestion(t.Context(), "y", l.newLineContext(time.Now()))
	if !strings.Contains(status.String(), "typed before the question could be read") {
		t.Errorf("a line for the question before was taken for the next: %q", status.String())
	}
}

func TestReadLines(t *testing.T) {
	var got []string
	long := strings.Repeat("x", 100<<10) // more than a bufio.Scanner takes
	for line := range readLines(t.Context(), strings.NewReader("y\r\n\n"+long+"\n"+strings.Repeat("x", longestTyped+1)+
		"\n last")) {
		if got = append(got, line.text); time.Since(line.at) > time.Minute {
			t.Errorf("%q was typed at %v", line.text, line.at)
		}
	}
	if want := []string{"y", "", long, "", " last"}; !slices.Equal(got, want) {
		t.Errorf("%d lines, and not %d as they were typed", len(got), len(want))
	}
}

// What was typed before the demo's question is no answer to it, which is said: who believes to have
// answered waits for minutes. When it is settled no session waits any more. An answer that was sent
// would crash here too.
func TestDemoDecide(t *testing.T) {
	var out strings.Builder
	lines, settled := make(chan typedLine, 2), make(chan struct{})
	w := &person{demo: &demo{announcer: announcer{out: &out}, keys: &keyboard{lines: lines}}, name: "reader"}
	lines <- typedLine{text: "y", at: time.Now()}
	lines <- typedLine{text: "maybe", at: time.Now().Add(2 * readingTime)}
	done := make(chan struct{})
	go func() { defer close(done); w.decideQuestion(t.Context(), event(pay(), ""), "Pay.", "", settled) }()
	for len(lines) > 0 {
		time.Sleep(time.Millisecond)
	}
	close(settled)
	<-done
	if want := "reader: That was typed before the question could be read. Type y to accept or n to reject, then Enter.\n" +
		"reader: That is no answer. Type y to accept or n to reject, then Enter.\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

// A person who types silences their screen reader. Enter puts the question again, with what is left
// of its time, and what follows too soon is no answer to it.
func TestEnterPutsAgain(t *testing.T) {
	var out, status strings.Builder
	l := &listener{announcer: announcer{out: &out}, status: announcer{out: &status}}
	now := time.Now()
	l.puts(event(pay(), ""), now.Add(-30*time.Second), now.Add(-30*time.Second))
	for range 3 { // held down
		l.answerQuestion(t.Context(), "", l.newLineContext(time.Now()))
	}
	if got := out.String(); strings.Count(got, "Decide:") != 1 ||
		!strings.Contains(got, "You have 1 minute to answer.") {
		t.Errorf("says:\n%s", got)
	}
	l.answerQuestion(t.Context(), "y", l.newLineContext(time.Now()))
	if got := status.String(); !strings.Contains(got, "typed before the question could be read") || l.asked.Len() != 1 {
		t.Errorf("says:\n%s", got)
	}
}

func TestInShort(t *testing.T) {
	choice := &aaep.AwaitingClarification{Choices: []aaep.Choice{{Value: "s-1", Label: "Savings\naccount"}}}
	for _, tt := range []struct {
		response any
		want     string
	}{{true, "yes"}, {false, "no"}, {"s-1", "Savings account"}, {"my password", ""}, {12.5, ""}} {
		if got := repeatAnswer(english, choice, tt.response); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.response, got, tt.want)
		}
	}
}
