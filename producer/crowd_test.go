package producer_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/transports"
)

// aCrowd is many subscribers on links that take several events at once. It keeps what left in which
// order, and to which of them.
type aCrowd struct {
	mu    sync.Mutex
	sent  []departure
	toGo  int // how many batches are yet to leave until begun is closed
	begun chan struct{}
}

// departure is one event that has left.
type departure struct {
	to       int // which subscriber
	critical bool
}

// crowdSize is the producer's end of the link of one of them, the n-th.
type crowdSize struct {
	transports.Conn
	crowd *aCrowd
	n     int
}

// SendEvents notes the events, and closes begun after the toGo-th batch.
func (c crowdSize) SendEvents(_ context.Context, events []transports.Event) error {
	c.crowd.mu.Lock()
	defer c.crowd.mu.Unlock()
	for _, ev := range events {
		c.crowd.sent = append(c.crowd.sent, departure{c.n, strings.Contains(string(ev.Message), string(aaep.TypeAwaitingConfirmation))})
	}
	if c.crowd.toGo--; c.crowd.toGo == 0 {
		close(c.crowd.begun)
	}
	return nil
}

// join adds one more subscriber, which reads nothing but the answer to its request.
func (c *aCrowd) join(st *stage, n int, terms aaep.Capabilities) {
	near, far := transports.Pipe()
	l := &listener{t: st.t, conn: near}
	st.all = append(st.all, l)
	go st.p.ServeConn(crowdSize{far, c, n})
	l.send(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "crowd", Capabilities: terms})
	if data, err := near.Receive(context.Background()); err != nil || !strings.Contains(string(data), "subscription.accepted") {
		st.t.Fatalf("the answer to the request is %s, %v", data, err)
	}
}

// INV-24, P3: a critical event for one subscriber leaves before what many subscribers are still
// owed, although one processor prepares all of it and they came first, whether it is about to be
// sent or being sent.
func TestCriticalPassesACrowd(t *testing.T) {
	const many, rounds, each = 100, 2, 20
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, underWay := range []bool{false, true} {
		before := 0
		for range rounds {
			bubble(t, func(t *testing.T, st *stage) {
				c := &aCrowd{}
				for i := range many {
					c.join(st, i, termsWith(int64(1000+i), aaep.BoundaryNone)) // no two of them alike
				}
				terms := mayAnswer(allEvents())
				terms.EventFilters = &aaep.EventFilters{Exclude: []string{"*"}}
				c.join(st, many, terms)
				s := st.startSession("Paying.")
				synctest.Wait()
				c.sent, c.toGo, c.begun = nil, many/4, make(chan struct{})
				for range each {
					st.startSession("Something else.")
				}
				ctx, cancel := context.WithCancel(t.Context())
				asked := callLater(func() (string, error) {
					if underWay {
						<-c.begun
					}
					return s.Tool(ctx, pay, succeed)
				})
				synctest.Wait()
				c.mu.Lock()
				left, done, put := map[int]int{}, 0, false
				for _, d := range c.sent {
					if put = put || d.critical; d.critical {
						continue
					}
					if left[d.to]++; left[d.to] == 2*each && !put {
						done++
					}
				}
				c.mu.Unlock()
				if !put || len(left) != many {
					t.Errorf("%d of %d were told; that somebody was asked is %t", len(left), many, put)
				}
				before += done
				cancel()
				<-asked
			})
		}
		t.Logf("when somebody was asked, %d of %d others had all they were owed; under way: %t", before, rounds*many, underWay)
		if before > rounds*many/2 {
			t.Errorf("%d of %d others had all they were owed before the question left; under way: %t", before, rounds*many, underWay)
		}
	}
}

// gatedDisk is a store that reads nothing while its gate is shut.
type gatedDisk struct {
	log.Store
	shut atomic.Pointer[chan struct{}]
	wait atomic.Int32 // how many reads have waited at it
}

// Read waits while the gate is shut.
func (d *gatedDisk) Read(cursor uint64, n int) ([][]byte, error) {
	if gate := d.shut.Load(); gate != nil {
		d.wait.Add(1)
		<-*gate
	}
	return d.Store.Read(cursor, n)
}

// INV-26: a subscription that waits for a slow disk keeps no other one from receiving what is in
// memory, however many wait.
func TestCrowdAtASlowDisk(t *testing.T) {
	disk := &gatedDisk{}
	onDisk(t, producer.Config{KeepEvents: 32}, func(s log.Store) log.Store { disk.Store = s; return disk }, func(t *testing.T, st *stage) {
		first, _ := st.listenAccepted(allEvents())
		s := st.startSession("Counting.")
		synctest.Wait()
		place := first.events()[0].EventID
		first.conn.Close()
		count := func(n int) {
			for i := range n {
				s.Progress(aaep.Text{}, aaep.Progress{Step: int64(i + 1)}, 0)
			}
			synctest.Wait()
		}
		for range 20 {
			count(10)
		}
		gate := make(chan struct{})
		disk.shut.Store(&gate)
		defer close(gate)
		behind, c := 2*runtime.GOMAXPROCS(0), &aCrowd{}
		for i := range behind {
			c.join(st, i, resumeAfter(termsWith(int64(1000+i), aaep.BoundaryNone), place))
		}
		synctest.Wait()
		if n := disk.wait.Load(); n != 1 { // for all of them
			t.Fatalf("%d wait for the disk, want 1", n)
		}
		c.join(st, behind, allEvents())
		synctest.Wait()
		c.mu.Lock()
		c.sent = nil
		c.mu.Unlock()
		for i := range 20 {
			s.Progress(aaep.Text{}, aaep.Progress{Step: int64(i + 1)}, 0)
		}
		told := 0
		for range 1_000_000 { // synctest.Wait does not wait for a goroutine that waits for a turn here
			c.mu.Lock()
			told = len(c.sent)
			c.mu.Unlock()
			if told == 20 {
				return
			}
			runtime.Gosched()
		}
		t.Errorf("%d of 20 events were told", told)
	})
}

// slowFeed is a cloud that reads no old records while its gate is shut.
type slowFeed struct {
	node
	shut  *atomic.Pointer[chan struct{}]
	reads *atomic.Int32
}

// Read counts the reads, and waits while the gate is shut.
func (f slowFeed) Read(cursor uint64, n int) ([][]byte, error) {
	f.reads.Add(1)
	if gate := f.shut.Load(); gate != nil {
		<-*gate
	}
	return f.node.Read(cursor, n)
}

// INV-24, INV-26: at a process that follows an agent, hundreds of subscriptions that begin with old
// events read them a few times, and not once each, which would keep new events from that process. A
// subscription from before receives new events while all of them wait.
func TestCrowdAtAFollower(t *testing.T) {
	const many, ended = 200, 200
	synctest.Test(t, func(t *testing.T) {
		c := newCloud()
		agent := c.startAgent(t, nil)
		first, _ := agent.listenAccepted(allEvents())
		s := agent.startSession("Paying.")
		for range ended {
			agent.startSession("Something else.").Complete(aaep.Text{})
			synctest.Wait()
		}
		place, old := first.events()[0].EventID, len(first.events())-1
		feed := slowFeed{node{c, "east", 0}, &atomic.Pointer[chan struct{}]{}, &atomic.Int32{}}
		edge := newStage(t, producer.Config{Follow: feed, KeepEvents: 32, MaxSubscriptions: 2 * many, MaxRequestsPerSecond: -1})
		early := edge.listen(resumeAfter(mayAnswer(allEvents()), place))
		synctest.Wait()
		gate := make(chan struct{})
		feed.shut.Store(&gate)
		feed.reads.Store(0)
		crowd := &aCrowd{}
		for i := range many {
			crowd.join(edge, i, resumeAfter(allEvents(), place))
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		asked := callLater(func() (string, error) { return s.Tool(ctx, pay, succeed) })
		synctest.Wait()
		if early.question() == nil {
			t.Error("who was there before is not asked")
		}
		if n := feed.reads.Load(); n > 4 {
			t.Errorf("%d wait for what is old", n)
		}
		close(gate)
		synctest.Wait()
		told := map[int]int{}
		for _, d := range crowd.sent {
			told[d.to]++
		}
		for i := range many {
			if told[i] < old {
				t.Fatalf("listener %d is told %d events", i, told[i])
			}
		}
		if n := feed.reads.Load(); n > 2+int32(old)/256 {
			t.Errorf("what is old was read %d times", n)
		}
		cancel()
		<-asked
		agent.end()
		synctest.Wait()
		edge.end()
	})
}
