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
	each := questions / sessions
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
	var mu sync.Mutex
	ran, refused := 0, 0
	progress := make(chan struct{}, sessions*each)
	var all sync.WaitGroup
	for range sessions {
		all.Go(func() {
			s, err := agent.StartSession(context.Background(), aaep.Say("Paying."))
			if err != nil {
				t.Error(err)
				return
			}
			for range each {
				_, err := s.Tool(context.Background(),
					producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true, Timeout: time.Minute,
						Action: aaep.Say("Pay $5."), Consequence: aaep.Say("It is gone.")},
					func(context.Context) (string, error) {
						mu.Lock()
						defer mu.Unlock()
						ran++
						return "done", nil
					})
				if errors.Is(err, producer.ErrRejected) {
					mu.Lock()
					refused++
					mu.Unlock()
				} else if err != nil {
					t.Error(err)
				}
				progress <- struct{}{}
			}
			if err := s.Complete(aaep.Text{}); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range sessions * each {
		<-progress
		if every := sessions * each / (len(faults) + 1); i > 0 && i%every == 0 && i/every <= len(faults) {
			fault, stream, _ := strings.Cut(faults[i/every-1], " ")
			leader := servers.Of("aaep agent")
			if stream != "" {
				leader = servers.Leader(stream)
			}
			began := time.Now()
			goOn := func() {
				time.Sleep(torn - time.Since(began))
				servers.Tear(leader, false, false)
			}
			switch fault {
			case "killed":
				leader.Kill()
				goOn = leader.Start
			case "paused":
				leader.Pause()
				goOn = leader.Resume
			default:
				servers.Tear(leader, fault != "deaf", fault != "dumb")
			}
			servers.Leader(cmp.Or(stream, "AAEP_A_planner"), leader)
			t.Logf("%s: another leads after %v", faults[i/every-1], time.Since(began).Round(100*time.Millisecond))
			goOn()
			t.Logf("%d of %d are settled by then", i+len(progress), sessions*each)
			servers.Ready()
		}
	}
	all.Wait()
	if ran+refused != sessions*each || ran == 0 || refused == 0 {
		t.Errorf("%d ran, %d were refused, of %d", ran, refused, sessions*each)
	}
	where := map[string]int{}
	tokens := map[string]bool{}
	accepted := 0
	for _, r := range kept.recordsOf(audit.Settled) {
		if tokens[r.QuestionID] {
			t.Errorf("a question was settled twice: %+v", r)
		}
		tokens[r.QuestionID] = true
		if r.Decision == aaep.Accept {
			accepted++
		}
		if r.By == nil || r.By.Node == "" {
			t.Errorf("nobody settled it: %+v", r)
			continue
		}
		where[r.By.Node]++
	}
	if len(tokens) != sessions*each || accepted != ran || len(kept.recordsOf(audit.Invoked)) != ran {
		t.Errorf("%d questions are settled, %d accepted, %d ran", len(tokens), accepted, ran)
	}
	t.Log(ran, "accepted,", refused, "rejected; settled at", where)
	first := awaitSessions(t, listeners[0], sessions)
	for i, l := range listeners[1:] {
		if got := awaitSessions(t, l, sessions); !sameEvents(got, first) {
			t.Errorf("edge %d tells %d events, edge 0 %d", i+1, len(got), len(first))
		}
	}
	after := first[len(first)/2:]
	after = after[:min(len(after), 1000)]
	rest, i := listen(t, edges[2].Producer, after[0].EventID, nil), 0
	rest.awaitEvents("event", len(after)-1, func(ev *aaep.Event) bool {
		if ev.Critical() || isLinkNotice(ev) {
			return false
		}
		if i++; i < len(after) && !sameEvents([]*aaep.Event{ev}, after[i:i+1]) {
			t.Errorf("who goes on at another machine after %s hears %s as number %d; want %s", after[0].EventID,
				ev.EventID, i, after[i].EventID)
		}
		return true
	})
}
