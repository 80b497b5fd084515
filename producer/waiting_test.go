package producer

import (
	"testing"
	"time"

	"github.com/aaep-go/aaep/coalesce"
	"github.com/aaep-go/aaep/handshake"
)

// INV-50: a group that never lets go of all it has does not grow with those who come, wait for it and go; the newest are told when it
// does after all.
func TestWaitingIsBounded(t *testing.T) {
	g := &group{sent: time.Now()}
	g.shaper = coalesce.NewShaper(handshake.Terms{}, nil)
	var newest *subscription
	for range 10_000 {
		newest = &subscription{woken: make(chan struct{}, 1)}
		g.await(newest)
		g.await(newest)
	}
	if n := len(g.waiting); n != maxMembers {
		t.Errorf("%d wait for a group, want %d", n, maxMembers)
	}
	g.tellWaiting()
	if len(newest.woken) != 1 || !newest.met.Load() || len(g.waiting) != 0 {
		t.Errorf("the newest is told: %t; %d still wait", newest.met.Load(), len(g.waiting))
	}
}

// Whoever was taken by a group meanwhile is left there when another that it waited for lets go.
func TestWhoIsServedIsLeftAlone(t *testing.T) {
	g, other := &group{sent: time.Now()}, &group{}
	g.shaper = coalesce.NewShaper(handshake.Terms{}, nil)
	sub := &subscription{woken: make(chan struct{}, 1)}
	g.await(sub)
	sub.group.Store(other)
	if g.tellWaiting(); len(sub.woken) > 0 || other.calls.Load() {
		t.Error("a group lets a member go because another group has paused")
	}
}
