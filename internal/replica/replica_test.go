package replica

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
)

// fakeAgent keeps what a Leader reports to it.
type fakeAgent struct {
	leader *Leader
	more   []aaep.ReplyToken

	mu      sync.Mutex // guards applied
	applied []Presence
}

// ApplyPresence keeps what is reported, and hands it to the Leader.
func (a *fakeAgent) ApplyPresence(now Presence) {
	a.leader.Apply(now)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.applied = append(a.applied, now)
}

// ExtendQuestion gives more time for the question "open" alone.
func (a *fakeAgent) ExtendQuestion(id string, by audit.Subscription, token aaep.ReplyToken) bool {
	a.more = append(a.more, token)
	return token == "open"
}

// IsLogOverdue is always false.
func (*fakeAgent) IsLogOverdue() bool { return false }

// A replica is there as long as it reports itself, and counts as gone ten seconds later. While the
// agent itself is cut off none is dropped.
func TestSilentReplicaIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := &fakeAgent{}
		agent.leader = NewLeader(agent, slog.New(slog.DiscardHandler), func() {})
		done, cutOff := make(chan struct{}), new(atomic.Bool)
		cutOff.Store(true)
		go agent.leader.Watch(done, func(time.Duration) bool { return cutOff.Load() })
		defer close(done)
		report := func(p Presence) {
			msg, err := json.Marshal(message{Presence: &p})
			if err != nil {
				t.Fatal(err)
			}
			if answer := string(agent.leader.HandleMessage(msg)); answer != accepted {
				t.Fatalf("the answer is %q", answer)
			}
		}
		report(Presence{ID: "a", Node: "one", Listeners: 1, Confirm: true})
		report(Presence{ID: "b", Node: "two", Listeners: 1})
		time.Sleep(2 * presenceKept)
		if n := len(agent.leader.Present()); n != 2 {
			t.Errorf("%d replicas are there while the agent is cut off, want 2", n)
		}
		cutOff.Store(false)
		for range 10 {
			time.Sleep(presenceEvery)
			report(Presence{ID: "b", Node: "two", Listeners: 1})
		}
		if all := agent.leader.Present(); len(all) != 1 || all[0].ID != "b" {
			t.Errorf("%+v are there, want b alone", all)
		}
		agent.mu.Lock()
		defer agent.mu.Unlock()
		if i := slices.IndexFunc(agent.applied, func(p Presence) bool { return p.Listeners == 0 }); i < 0 || agent.applied[i].ID != "a" {
			t.Errorf("the agent was told %+v, want the end of a", agent.applied)
		}
	})
}

// A replica that began before a tool call is done with it when it reports that, and one that began
// after it always is. What cannot be read is answered with no.
func TestDelivered(t *testing.T) {
	agent := &fakeAgent{}
	agent.leader = NewLeader(agent, slog.New(slog.DiscardHandler), func() {})
	agent.leader.Apply(Presence{ID: "old", Node: "one", From: 1, Listeners: 2})
	agent.leader.Apply(Presence{ID: "new", Node: "two", From: 9, Listeners: 1})
	if there, done, _ := agent.leader.HasDelivered("old", 5); !there || done {
		t.Errorf("there: %v, done: %v, before its report", there, done)
	}
	if _, done, _ := agent.leader.HasDelivered("new", 5); !done {
		t.Error("a replica that began later has something to deliver")
	}
	agent.leader.HandleMessage([]byte(`{"left":5,"id":"old","untold":[{"subscription_id":"sub_1"}]}`))
	if _, done, untold := agent.leader.HasDelivered("old", 5); !done || len(untold) != 1 || untold[0].Node != "one" {
		t.Errorf("done: %v, untold: %+v", done, untold)
	}
	for msg, want := range map[string]string{
		`{"more":"open","by":{"subscription_id":"sub_1"},"id":"old"}`: "yes",
		`{"more":"gone","by":{"subscription_id":"sub_1"},"id":"old"}`: "no",
		`{"more"`: "no",
		`{}`:      "yes",
	} {
		if got := string(agent.leader.HandleMessage([]byte(msg))); got != want {
			t.Errorf("%s is answered with %q, want %q", msg, got, want)
		}
	}
}

// ackShared answers what is sent to the agent with yes, unless it has an error.
type ackShared struct {
	log.Shared
	sent []string
	err  error
}

// Send keeps msg, and answers yes.
func (s *ackShared) Send(_ context.Context, msg []byte) ([]byte, error) {
	s.sent = append(s.sent, string(msg))
	return []byte(accepted), s.err
}

// Node names the process.
func (*ackShared) Node() string { return "here" }

// fakeHost has some listeners, and keeps what is announced to them.
type fakeHost struct {
	now  Presence
	away []bool
}

// Presence returns what a test has set.
func (h *fakeHost) Presence() Presence { return h.now }

// AnnounceLink keeps what is announced.
func (h *fakeHost) AnnounceLink(away bool) { h.away = append(h.away, away) }

// An agent that answers nothing for ten seconds is announced as away, once, and when it answers
// again as back.
func TestSilentAgentIsAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, shared := &fakeHost{now: Presence{Listeners: 1}}, &ackShared{}
		f := NewFollower(t.Context(), host, shared, slog.New(slog.DiscardHandler), "node_1", 7)
		f.Report()
		shared.err = errors.New("nothing answers")
		for range 8 {
			time.Sleep(presenceEvery)
			f.Report()
		}
		if !f.IsSilent() || !f.IsAway() || !f.HasLog() || !slices.Equal(host.away, []bool{true}) {
			t.Errorf("silent: %v, away: %v, announced: %v", f.IsSilent(), f.IsAway(), host.away)
		}
		shared.err = nil
		f.Report()
		if f.IsSilent() || f.IsAway() || !slices.Equal(host.away, []bool{true, false}) {
			t.Errorf("silent: %v, away: %v, announced: %v", f.IsSilent(), f.IsAway(), host.away)
		}
		n := len(shared.sent)
		f.ReportNew(func(*Presence) bool { return false })
		if len(shared.sent) != n {
			t.Errorf("a listener that changes nothing was reported: %s", shared.sent[n:])
		}
		if f.ReportNew(func(*Presence) bool { return true }); len(shared.sent) != n+1 {
			t.Error("a listener that changes what can be answered was not reported")
		}
	})
}

// A claim gives every process the outcome that it was made of, and one that cannot be read is a
// rejection.
func TestClaim(t *testing.T) {
	q := &ledger.Question{Token: "rpl_1", Confirmation: &aaep.AwaitingConfirmation{ReplyToken: "rpl_1", TimeoutSeconds: 60}, Recipients: []string{"sub_1"}}
	reply := &aaep.ConfirmationReply{SubscriptionID: "sub_1", ReplyToken: "rpl_1", Decision: aaep.Accept, Timestamp: time.Now().UTC()}
	data, err := EncodeClaim("here", &ledger.Outcome{Question: q, Cause: ledger.Replied, Reply: reply}, &audit.Subscription{SubscriptionID: "sub_1"})
	if err != nil {
		t.Fatal(err)
	}
	out, by, err := DecodeClaim(q, log.Claim{Data: data})
	if err != nil || out.Decision != aaep.Accept || by.Node != "here" {
		t.Errorf("%+v by %+v, %v", out, by, err)
	}
	if out, _, err := DecodeClaim(q, log.Claim{Data: []byte(`{"cause"`)}); err == nil || out.Decision != aaep.Reject {
		t.Errorf("%+v, %v; want a rejection", out, err)
	}
}
