package jetstream_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/natstest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/audit"
)

// P1, P2, P8, INV-16, INV-23: replies race at three machines for every question while the server
// that leads is killed, first of the questions, then of the events. No question is settled twice,
// what ran is what was accepted, and it is on record where; every listener hears every event once,
// in order, the same at each machine; and one of them goes on at another. With AAEP_LONG it is ten
// thousand questions.
func TestRacingReplies(t *testing.T) {
	t.Parallel()
	if os.Getenv("AAEP_LONG") != "" {
		raceReplies(t, 10_000, "killed AAEP_REPLIES", "killed AAEP_A_planner", "paused AAEP_REPLIES", "paused AAEP_A_planner")
	} else {
		raceReplies(t, 320, "killed AAEP_REPLIES", "paused AAEP_A_planner")
	}
}

// The same while the network between the others and a server is torn, in both directions or one,
// for longer than it takes until another leads: of the server that leads, or the one that the agent
// is connected to, which finds another.
func TestTornServers(t *testing.T) {
	if testing.Short() {
		t.Skip("servers are torn apart: make test-all runs it")
	}
	t.Parallel()
	if os.Getenv("AAEP_LONG") != "" {
		raceReplies(t, 10_000, "torn", "deaf", "dumb", "torn AAEP_A_planner", "torn AAEP_REPLIES", "deaf AAEP_A_planner",
			"dumb AAEP_A_planner", "deaf AAEP_REPLIES", "dumb AAEP_REPLIES")
	} else {
		raceReplies(t, 160, "torn")
	}
}

// torn is for how long a network is torn at least: until those who are cut off have found another
// server, and been taken for gone.
const torn = 15 * time.Second

// raceReplies has three machines answer each of so many questions while the faults come, evenly
// spread, and checks the outcomes and what each machine's listener was told.
func raceReplies(t *testing.T, questions int, faults ...string) {
	const sessions = 8
	servers := natstest.Start(t, 3)
	kept := &trail{}
	agent := startAgent(t, servers.URLs(), kept, 0)
	var edges []*machine
	var listeners []*testListener
	for i, s := range servers.Servers {
		edges = append(edges, startReplica(t, s.URL+","+servers.URLs(), fmt.Sprint("edge ", i)))
		listeners = append(listeners, listen(t, edges[i].Producer, "", func(l *testListener, ev *aaep.Event) {
			if q, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok {
				d := aaep.Accept
				if (len(q.ReplyToken)+int(q.ReplyToken[8])+i)%2 == 0 {
					d = aaep.Reject
				}
				go l.send(&aaep.ConfirmationReply{ReplyToken: q.ReplyToken, Decision: d, SubscriptionID: l.id,
					Timestamp: time.Now()})
			}
		}))
	}
	payments := startPayments(t, agent, sessions, questions/sessions)
	for i := range payments.total {
		<-payments.progress
		every := payments.total / (len(faults) + 1)
		if n := i / every; i > 0 && i%every == 0 && n <= len(faults) {
			t.Logf("%d of %d are settled before %s", i+len(payments.progress), payments.total, faults[n-1])
			strikeServers(t, servers, faults[n-1])
		}
	}
	payments.all.Wait()
	payments.check(t, kept)
	first := awaitSessions(t, listeners[0], sessions)
	for i, l := range listeners[1:] {
		if got := awaitSessions(t, l, sessions); !sameEvents(got, first) {
			t.Errorf("edge %d tells %d events, edge 0 %d", i+1, len(got), len(first))
		}
	}
	after := first[len(first)/2:]
	checkResumes(t, edges[2], after[:min(len(after), 1000)])
}

// payments are the questions of several sessions, each asked by a tool, and what came of them.
type payments struct {
	total    int           // how many questions there are
	progress chan struct{} // holds one for each that is settled
	all      sync.WaitGroup

	mu           sync.Mutex
	ran, refused int
}

// startPayments has each of so many sessions of the agent pay so many times, one after the other.
func startPayments(t *testing.T, agent *machine, sessions, each int) *payments {
	p := &payments{total: sessions * each, progress: make(chan struct{}, sessions*each)}
	tool := producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true, Timeout: time.Minute,
		Action: aaep.Say("Pay $5."), Consequence: aaep.Say("It is gone.")}
	for range sessions {
		p.all.Go(func() {
			s, err := agent.StartSession(context.Background(), aaep.Say("Paying."))
			if err != nil {
				t.Error(err)
				return
			}
			for range each {
				_, err := s.Tool(context.Background(), tool, func(context.Context) (string, error) {
					p.mu.Lock()
					defer p.mu.Unlock()
					p.ran++
					return "done", nil
				})
				if errors.Is(err, producer.ErrRejected) {
					p.mu.Lock()
					p.refused++
					p.mu.Unlock()
				} else if err != nil {
					t.Error(err)
				}
				p.progress <- struct{}{}
			}
			if err := s.Complete(aaep.Text{}); err != nil {
				t.Error(err)
			}
		})
	}
	return p
}

// check checks, when all are settled, that each question is on record as settled once, by a
// machine, and that what ran is what was accepted.
func (p *payments) check(t *testing.T, kept *trail) {
	t.Helper()
	if p.ran+p.refused != p.total || p.ran == 0 || p.refused == 0 {
		t.Errorf("%d ran, %d were refused, of %d", p.ran, p.refused, p.total)
	}
	byNode, settled, accepted := map[string]int{}, map[string]bool{}, 0
	for _, r := range kept.recordsOf(audit.Settled) {
		if settled[r.QuestionID] {
			t.Errorf("a question was settled twice: %+v", r)
		}
		settled[r.QuestionID] = true
		if r.Decision == aaep.Accept {
			accepted++
		}
		if r.By == nil || r.By.Node == "" {
			t.Errorf("it is not on record who settled it: %+v", r)
			continue
		}
		byNode[r.By.Node]++
	}
	if len(settled) != p.total || accepted != p.ran || len(kept.recordsOf(audit.Invoked)) != p.ran {
		t.Errorf("%d questions are settled, %d accepted, %d ran", len(settled), accepted, p.ran)
	}
	t.Log(p.ran, "accepted,", p.refused, "rejected; settled at", byNode)
}

// strikeServers has one fault come over the servers, waits until another of them leads, and takes
// the fault back. Its first word says what happens, and its second, if it has one, to the leader of
// which stream; otherwise it is the server that the agent is connected to.
func strikeServers(t *testing.T, servers *natstest.Cluster, fault string) {
	t.Helper()
	what, stream, _ := strings.Cut(fault, " ")
	leader := servers.Of("aaep agent")
	if stream != "" {
		leader = servers.Leader(stream)
	}
	began := time.Now()
	mend := func() {
		time.Sleep(torn - time.Since(began))
		servers.Tear(leader, false, false)
	}
	switch what {
	case "killed":
		leader.Kill()
		mend = leader.Start
	case "paused":
		leader.Pause()
		mend = leader.Resume
	default:
		servers.Tear(leader, what != "deaf", what != "dumb")
	}
	servers.Leader(cmp.Or(stream, "AAEP_A_planner"), leader)
	t.Logf("%s: another leads after %v", fault, time.Since(began).Round(100*time.Millisecond))
	mend()
	servers.Ready()
}

// checkResumes checks that a listener that goes on at the edge after the first of the events is
// told the others, in their order.
func checkResumes(t *testing.T, edge *machine, events []*aaep.Event) {
	t.Helper()
	i := 0
	listen(t, edge.Producer, events[0].EventID, nil).awaitEvents("event", len(events)-1, func(ev *aaep.Event) bool {
		if ev.Critical() || isLinkNotice(ev) {
			return false
		}
		if i++; i < len(events) && !sameEvents([]*aaep.Event{ev}, events[i:i+1]) {
			t.Errorf("who goes on at another machine after %s hears %s as number %d; want %s", events[0].EventID,
				ev.EventID, i, events[i].EventID)
		}
		return true
	})
}
