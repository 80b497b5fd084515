package listen

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
)

// Agents of one name are numbered by their place on the command line, whichever is there first.
func TestNumberedByPlace(t *testing.T) {
	l := &Listener{}
	first, second, third := &FollowedAgent{Listener: l}, &FollowedAgent{Listener: l}, &FollowedAgent{Listener: l}
	l.agents = []*FollowedAgent{first, second, third}
	for _, f := range []*FollowedAgent{second, third, first} {
		f.name = f.uniqueName("Bank")
	}
	if second.name != "Bank" || third.name != "Bank, number 3" || first.name != "Bank, number 1" {
		t.Errorf("named %q, %q and %q", first.name, second.name, third.name)
	}
}

// T-NAME, INV-59: nor do two agents have names that only look different, or sound the same.
func TestNamesThatSoundTheSame(t *testing.T) {
	for name, same := range map[string]bool{"BANK": true, "Bаnk": true, "(Bank)": true, "Bank ": true, "Ｂａｎｋ": true,
		"B-ank": true, "Banks": false, "Bank 2": false, "Банк": false, "✓": false} {
		l := &Listener{}
		first, second := &FollowedAgent{Listener: l, name: "Bank"}, &FollowedAgent{Listener: l}
		l.agents = []*FollowedAgent{first, second}
		if got := second.uniqueName(name); (got != name) != same {
			t.Errorf("beside Bank %q is named %q", name, got)
		}
	}
}

// An agent that was reached waits for the first attempt at the one before it, but not for long.
func TestAwaitEarlier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for after, want := range map[time.Duration]time.Duration{300 * time.Millisecond: 300 * time.Millisecond, time.Minute: attemptWithin} {
			l := &Listener{}
			first := l.newPendingAgent("http://one.example", aaep.Capabilities{}, nil)
			second := l.newPendingAgent("http://two.example", aaep.Capabilities{}, nil)
			first.awaitEarlier(t.Context()) // there is none
			go func() { time.Sleep(after); close(first.attempted) }()
			began := time.Now()
			second.awaitEarlier(context.Background())
			if waited := time.Since(began); waited != want {
				t.Errorf("it waited %v for an attempt of %v", waited, after)
			}
		}
		time.Sleep(time.Hour)
	})
}
