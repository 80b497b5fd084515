package present_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// twoAsk has a person be asked by Red, and then by Blue, and hear both.
func twoAsk(t *testing.T) (l *listener, agents map[string]*agentOf, red, blue <-chan bool) {
	agents = map[string]*agentOf{"Red": newAgent(t, "Red"), "Blue": newAgent(t, "Blue")}
	l = listen(t, false, agents)
	red = agents["Red"].asks("Pay for Red.")
	if source, _ := l.asked(); source != "Red" {
		t.Fatalf("%s is asked for first", source)
	}
	blue = agents["Blue"].asks("Pay for Blue.")
	time.Sleep(30 * time.Second)
	return l, agents, red, blue
}

func (a *agentOf) die() {
	a.dead.Store(true)
	a.cut()
}

// linesSince are the lines from the last on that has a text.
func (l *listener) linesSince(text string) []string {
	l.t.Helper()
	lines := l.lines()
	for i, line := range slices.Backward(lines) {
		if strings.Contains(line, text) {
			return lines[i:]
		}
	}
	l.t.Fatalf("%q was not heard, but %q", text, lines)
	return nil
}

// A question of an agent that is out of reach keeps no other from the person, without a key: the
// one of an agent that can be reached is put in its place. Once that is settled the person is told
// that the other is out of reach with its question, and when it is back they can answer it.
func TestQuestionOfAnAgentOutOfReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, agents, _, blue := twoAsk(t)
		defer l.end(agents)
		agents["Red"].die()
		time.Sleep(20 * time.Second)
		want := []string{"Red: The connection to the agent is interrupted.", "What it does now is told when it is back.",
			"Blue: Decide: Pay for Blue."}
		if got := l.linesSince(want[0]); len(got) < 3 || !slices.Equal(got[:3], want) {
			t.Fatalf("after Red is gone: %q", got)
		}
		if source, _ := l.asked(); source != "Blue" {
			t.Fatalf("%s asks", source)
		}
		l.Answer("y")
		if !<-blue {
			t.Error("what Blue asked was accepted, and not done")
		}
		time.Sleep(20 * time.Second)
		want = append(want[:2:2], "Red: Decide: Pay for Red.")
		if got := l.linesSince(want[0]); len(got) < 3 || !slices.Equal(got[:3], want) {
			t.Fatalf("after Blue's question is settled: %q", got)
		}
		agents["Red"].dead.Store(false)
		time.Sleep(2 * time.Minute)
		again := agents["Red"].asks("Pay for Red once more.")
		if source, _ := l.asked(); source != "Red" {
			t.Errorf("%s asks", source)
		}
		l.Answer("y")
		if !<-again {
			t.Error("what Red asked was accepted once it was back, and not done")
		}
	})
}

// A question that comes while only one of an agent is open that is out of reach is put at once, and
// so is one that waits where the answer to the other could not be sent.
func TestAnotherAsksWhileOneIsOutOfReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agents := map[string]*agentOf{"Red": newAgent(t, "Red"), "Blue": newAgent(t, "Blue")}
		l := listen(t, false, agents)
		defer l.end(agents)
		agents["Red"].asks("Pay for Red.")
		l.asked()
		agents["Red"].die()
		time.Sleep(time.Minute)
		blue := agents["Blue"].asks("Pay for Blue.")
		time.Sleep(time.Second)
		if got := l.linesSince("Blue: Decide: Pay for Blue."); l.heard("Another question waits.") != 0 {
			t.Errorf("heard %q", got)
		}
		l.asked()
		l.Answer("y")
		if !<-blue {
			t.Error("what Blue asked was accepted, and not done")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l, agents, _, blue := twoAsk(t)
		defer l.end(agents)
		agents["Red"].stuck.Store(true)
		l.Answer("y")
		agents["Red"].die()
		time.Sleep(20 * time.Second) // the answer is on its way for ten
		if source, _ := l.asked(); source != "Blue" {
			t.Fatalf("%s asks", source)
		}
		l.Answer("n")
		if <-blue {
			t.Error("what Blue asked was rejected, and done")
		}
		agents["Red"].stuck.Store(false)
	})
}
