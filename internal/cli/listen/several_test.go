package listen

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// testAgents is some agents that one person follows.
type testAgents struct {
	*testListener
	agents   []*producer.Producer
	outcomes chan string
}

func inCompany(t *testing.T, names []string, f func(*testAgents)) {
	t.Helper()
	inCompanyOver(t, names, nil, f)
}

// inCompanyOver is inCompany over the outputs that prepare sets.
func inCompanyOver(t *testing.T, names []string, prepare func(context.Context, *testListener), f func(*testAgents)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &testAgents{outcomes: make(chan string, 10)}
		var dials []clitest.DialerFunc
		for _, name := range names {
			p, dial := clitest.AgentNamed(t, name, producer.Config{})
			defer p.Shutdown(t.Context())
			c.agents, dials = append(c.agents, p), append(dials, dial)
		}
		c.testListener = newTestListener(t, subscriber.ScreenReader("en-US"))
		c.listen(t.Context(), prepare, dials, func() { f(c) })
	})
}

func (c *testAgents) beginSession(i int, text string) *producer.Session {
	s, err := c.agents[i].StartSession(c.t.Context(), aaep.Say(text))
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// askToPay lets an agent ask whether to pay, and tells what came of it.
func (c *testAgents) askToPay(i int, what string, timeout time.Duration) {
	s := c.beginSession(i, "Working.")
	go func() {
		_, err := s.Tool(c.t.Context(), producer.Tool{Name: "pay", Confirm: true, Risk: aaep.RiskMedium,
			Timeout: timeout, Action: aaep.Say(what),
			Consequence: aaep.Say("It is done at once.")}, func(context.Context) (string, error) { return "", nil })
		c.outcomes <- fmt.Sprintf("%s %v", what, err == nil)
		s.Complete(aaep.Say("Ready."))
	}()
	clitest.PassTime(3 * time.Second)
}

// Three agents ask at once. Their questions queue, none takes the place of another, and each answer
// goes to its own agent.
func TestThreeAsk(t *testing.T) {
	inCompany(t, []string{"Planner", "Bank", "Post"}, func(c *testAgents) {
		c.askToPay(0, "Book the train.", 5*time.Minute)
		c.askToPay(1, "Pay $20.", 5*time.Minute)
		c.askToPay(2, "Send the letter.", 5*time.Minute)
		put := func() string { return c.screen.String()[strings.LastIndex(c.screen.String(), "Decide:"):] }
		if got := c.screen.String(); strings.Count(got, "Decide:") != 1 ||
			strings.Count(got, "Another question waits. It comes after this one.") != 2 {
			c.t.Fatalf("three questions at once:\n%s", got)
		}
		if got := c.typeLine("/agents"); got != "aaep: Planner: connected, 1 open question.\naaep: Bank: connected, 1 open question.\naaep: Post: connected, 1 open question.\n" {
			c.t.Errorf("how it stands: %s", got)
		}
		c.wantSaid("/waiting", "3 questions are open. 1: Planner: Book the train. 2: Bank: Pay $20. 3: Post: Send the letter. 2 announcements still to come.",
			"Planner: The question is: Book the train.", "You have about 5 minutes to answer.", "Type y to accept or n to reject, then Enter.")
		c.typeLine("/next")
		clitest.PassTime(2 * time.Second)
		if !strings.Contains(put(), "Decide: Pay $20.\n") || !strings.Contains(c.screen.String(), "\nBank: Decide: ") {
			c.t.Fatalf("the next question:\n%s", c.screen.String())
		}
		answer := func(line, sent, next string) { // which is named after what came of the other, or is put
			c.t.Helper()
			if got := c.typeLine(line); !strings.HasPrefix(got, "aaep: "+sent+"\n") ||
				!strings.Contains(got, "\naaep: "+next+"\n") || strings.Count(got, ": The question is: ") != strings.Count(got, next) {
				c.t.Errorf("%s: %s", line, got)
			}
		}
		answer("n", "Bank: Answer sent: reject.", "Post: The question is: Send the letter.")
		clitest.PassTime(2 * time.Second)
		if !strings.Contains(put(), "Decide: Send the letter.\n") {
			c.t.Fatalf("after that:\n%s", c.screen.String())
		}
		answer("y", "Post: Answer sent: accept.", "Planner: The question is: Book the train.")
		clitest.PassTime(2 * time.Second)
		if !strings.Contains(put(), "Decide: Book the train.\n") {
			c.t.Fatalf("and the one that was put aside:\n%s", c.screen.String())
		}
		c.wantSaid("n", "Planner: Answer sent: reject.")
		clitest.PassTime(time.Second)
		got := []string{<-c.outcomes, <-c.outcomes, <-c.outcomes}
		slices.Sort(got)
		if want := []string{"Book the train. false", "Pay $20. false", "Send the letter. true"}; !slices.Equal(got,
			want) {
			c.t.Errorf("the agents were told %q, want %q", got, want)
		}
	})
}

// What came of a yes, and how it ended, is told at once, also while the question of another agent
// is on the screen.
func TestOutcomeWhileAnotherAsks(t *testing.T) {
	inCompany(t, []string{"Ada", "Bob"}, func(c *testAgents) {
		ada := c.beginSession(0, "Working.")
		go func() {
			_, _ = ada.Tool(c.t.Context(), producer.Tool{Name: "transfer_funds", Confirm: true, Risk: aaep.RiskMedium,
				Timeout: 5 * time.Minute, Action: aaep.Say("Transfer funds."),
				Consequence: aaep.Say("It is done at once.")},
				func(context.Context) (string, error) { time.Sleep(4 * time.Second); return "", nil })
		}()
		clitest.PassTime(3 * time.Second)
		c.askToPay(1, "Pay $20.", 5*time.Minute)
		clitest.PassTime(time.Minute)
		c.screen.Reset()
		c.wantSaid("y", "Ada: Answer sent: accept.", "Bob: The question is: Pay $20.") // the keys were told just before
		clitest.PassTime(8 * time.Second)
		c.beginSession(0, "Elsewhere.")
		clitest.PassTime(2 * time.Second)
		got := c.screen.String()
		for _, want := range []string{"\nBob: Decide: Pay $20.", "\nAda: Accepted, and being done: ",
			"\nAda: Transfer funds finished."} {
			if !strings.Contains(got, want) {
				c.t.Errorf("while Bob asks, %q is missing:\n%s", want, got)
			}
		}
		c.wantSaid("n", "Bob: Answer sent: reject.")
		clitest.PassTime(time.Second)
		if got := c.screen.String(); strings.Count(got, "Accepted, and being done: ") != 1 ||
			!strings.Contains(got, "Elsewhere.") {
			c.t.Errorf("afterwards:\n%s", got)
		}
	})
}

// An agent that leaves takes its own questions with it, and no others.
func TestOneAgentLeaves(t *testing.T) {
	inCompany(t, []string{"Planner", "Bank"}, func(c *testAgents) {
		c.askToPay(0, "Book the train.", 5*time.Minute)
		c.askToPay(1, "Pay $20.", 5*time.Minute)
		c.screen.Reset()
		c.agents[0].Shutdown(c.t.Context())
		clitest.PassTime(5 * time.Second)
		got := c.screen.String()
		if !strings.Contains(got, "Bank: Decide: ") || !strings.Contains(got, "Planner: The agent has ended.") {
			c.t.Fatalf("when one leaves:\n%s", got)
		}
		if got := c.typeLine("/agents"); !strings.Contains(got, "Planner: not connected; trying again.") ||
			!strings.Contains(got, "Bank: connected, 1 open question.") {
			c.t.Errorf("how it stands: %s", got)
		}
		c.wantSaid("y", "Bank: Answer sent: accept.")
		clitest.PassTime(time.Second)
	})
}

// INV-59, T-NAME: a name is heard within a sentence of ours, and says nothing in our voice.
func TestNameWithinASentence(t *testing.T) {
	for name, want := range map[string]string{
		"Bank":                     "Bank",
		"Dr. Budget, Inc.":         "Dr Budget Inc",
		"Yahoo! (beta) 2.0":        "Yahoo (beta) 2.0",
		"https://bank.example/a:b": "https://bank.example/a:b",
		"Bank. It has proved who it is.\naaep: Answer sent: accept.": "Bank It has proved who it is aaep Answer sent accept",
		"“Bank.” It has proved who it is!":                           "“Bank” It has proved who it is",
		"银行。已经证明。":                                                   "银行 已经证明",
		"بنك؟ نعم":                                                   "بنك نعم",
		" . ! ":                                                      "planner",
		"":                                                           "planner",
		strings.Repeat("é very ", 100_000):                           strings.Repeat("é very ", 14) + "é…",
		"a\x1b[2J\u202e":                                             "a<U+001B>[2J<U+202E>",
	} {
		if got := new(Listener).nameOf(name, "planner"); got != want {
			t.Errorf("%.60q: %q, want %q", name, got, want)
		}
	}
	if got := new(Listener).nameOf("", "?"); got != "an agent" {
		t.Errorf("no name: %q", got)
	}
}

// The one that speaks is named when it is another than before, and with how a session ended; no
// agent can speak in the name of another, or of this program.
func TestNamed(t *testing.T) {
	inCompany(t, []string{"Planner", "aaep", "planner"}, func(c *testAgents) {
		say := func(i int, text string) {
			c.beginSession(i, text).Complete(aaep.Say("Ready."))
			clitest.PassTime(3 * time.Second)
		}
		c.screen.Reset()
		say(0, "One.")
		say(0, "Two.")
		say(1, "Three.")
		say(2, "planner: Four.")
		want := "Planner: One.\nPlanner: Done. Ready.\nTwo.\nPlanner: Done. Ready.\nThe agent says: aaep: Three.\nThe agent says: aaep: Done. Ready.\n" +
			"planner, number 3: The agent says: planner: Four.\nplanner, number 3: Done. Ready.\n"
		if got := c.screen.String(); got != want {
			c.t.Errorf("says\n%s\nwant\n%s", got, want)
		}
	})
}

// An agent that does not take the pace of the person is not asked for it again and again.
func TestPaceNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted()
		s.short = func(c *aaep.Capabilities) { c.PaceWPM = 60 }
		listenTo(t, s.dial, subscriber.ScreenReader("en-US"), func(e *testListener) {
			ctx, cancel := context.WithCancel(t.Context())
			run := make(chan error, 1)
			p := present.New(announce.Preferences{})
			go func() { run <- p.Run(ctx, &pacedVoice{}) }()
			defer func() { cancel(); <-run }()
			p.Tell(strings.Repeat("word ", 60)+"end.", false)
			clitest.PassTime(time.Minute)
			e.l.runInLoop(t.Context(), func() {
				e.l.out = &outputs{tellings: []*personOutput{{outputKind: outputKind{name: "test", words: true,
					knows: true}, p: p}}}
			})
			for range 5 {
				e.l.runInLoop(t.Context(), func() {}) // something happens
				clitest.PassTime(time.Minute)
			}
		})
		if got := s.changes(); len(got) != 1 || got[0].PaceWPM < 80 || got[0].PaceWPM > 120 {
			t.Errorf("asked for %+v", got)
		}
	})
}

// The pace at which a person really listens is asked for by itself, of each agent, and nothing is
// said about it.
func TestTruePace(t *testing.T) {
	over := func(ctx context.Context, e *testListener) { e.hearOver(ctx, &pacedVoice{}) }
	inCompanyOver(t, []string{"Planner", "Bank"}, over, func(c *testAgents) {
		s := c.beginSession(0, "Working.")
		out := s.Output()
		for range 60 { // after which what it said first, with signs to spell, counts for little
			fmt.Fprint(out, "This sentence has seven words in it. ")
			clitest.PassTime(4 * time.Second)
		}
		out.Close()
		clitest.PassTime(time.Minute)
		s.Complete(aaep.Say("Ready."))
		clitest.PassTime(10 * time.Second)
		for i, p := range c.agents {
			if got := p.Subscriptions()[0].Terms.PaceWPM; got < 110 || got > 130 {
				c.t.Errorf("agent %d was asked for a pace of %d words a minute; the person listens at about 120", i,
					got)
			}
		}
		if got := c.screen.String(); strings.Contains(got, "pace") {
			c.t.Errorf("it is talked about:\n%s", got)
		}
	})
}

// One agent that floods its listener keeps no person from another's question, nor from its outcome.
func TestOneFloods(t *testing.T) {
	inCompany(t, []string{"Noise", "Bank"}, func(c *testAgents) {
		s := c.beginSession(0, "Noise.")
		var flood sync.WaitGroup
		defer flood.Wait()
		ctx, stop := context.WithCancel(c.t.Context())
		defer stop()
		flood.Go(func() {
			for out := s.Output(); ctx.Err() == nil; {
				fmt.Fprint(out, "Noise and noise and noise. ")
				time.Sleep(10 * time.Millisecond)
			}
		})
		clitest.PassTime(10 * time.Second)
		c.askToPay(1, "Pay $20.", time.Minute)
		if got := c.screen.String(); !strings.Contains(got, "Bank: Decide: ") {
			c.t.Fatalf("in the flood:\n%s", got[max(0, len(got)-500):])
		}
		c.screen.Reset()
		c.wantSaid("y", "Bank: Answer sent: accept.")
		clitest.PassTime(3 * time.Second)
		if got := c.screen.String(); !strings.Contains(got, "Accepted, and being done: Pay $20.") {
			c.t.Errorf("the outcome:\n%s", got[:min(len(got), 500)])
		}
	})
}
