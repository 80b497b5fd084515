package producer_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// BenchmarkOpen measures how many questions a second are put and settled while further questions
// are open, each of a session of its own. One operation is one question, from the call to its end.
// "replied" ends with an acceptance and a run, "withdrawn" with the end of its caller's context.
// "join" is a subscriber that comes, is put all open questions, and leaves.
func BenchmarkOpen(b *testing.B) {
	for _, open := range []int{0, 1000, 10000} {
		b.Run(fmt.Sprintf("open=%d", open), func(b *testing.B) {
			h := newHall(b, open)
			b.Run("replied", func(b *testing.B) {
				h.ask(b, func(s *producer.Session) error {
					_, err := s.Tool(context.Background(), now, succeed)
					return err
				})
			})
			b.Run("withdrawn", func(b *testing.B) {
				h.ask(b, func(s *producer.Session) error {
					ctx, cancel := context.WithCancel(context.Background())
					time.AfterFunc(time.Millisecond, cancel)
					if _, err := s.Tool(ctx, never, succeed); err != context.Canceled {
						return fmt.Errorf("%w instead of withdrawn", err)
					}
					return nil
				})
			})
			b.Run("join", func(b *testing.B) {
				if open > 1000 {
					b.Skip("a newcomer with more than that before it counts as too slow")
				}
				for b.Loop() {
					h.follow(b, open, nil)()
				}
			})
			began := time.Now()
			h.close()
			b.Logf("the end of all with %d questions open took %v", open, time.Since(began).Round(time.Millisecond))
		})
	}
}

var now, never = func() (producer.Tool, producer.Tool) {
	now, never := pay, pay
	now.Action, never.Action, never.Timeout = aaep.Say("Pay now."), aaep.Say("Pay later."), 24*time.Hour
	return now, never
}()

// hall is a producer with questions that stay open, and enough subscribers that reply: each may
// send 100 replies in a second.
type hall struct {
	p     *producer.Producer
	asked sync.WaitGroup // the questions that stay open
	leave []func()
	put   atomic.Int64 // how many of those have reached the subscriber that is to answer them
}

// newHall returns a producer with open questions that stay open, once all of them have been put.
func newHall(b *testing.B, open int) *hall {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "bench"}, KeepEvents: 1 << 17, MaxRequestsPerSecond: -1})
	if err != nil {
		b.Fatal(err)
	}
	h := &hall{p: p}
	const repliers = 32
	for i := range repliers {
		h.leave = append(h.leave, h.follow(b, 0, func(token string) bool { return int(token[4]%2)*16+int(token[5]%4)*4+int(token[6]%4) == i }))
	}
	for range open {
		s, err := p.StartSession(context.Background(), aaep.Say("Waiting."))
		if err != nil {
			b.Fatal(err)
		}
		h.asked.Go(func() { s.Tool(context.Background(), never, succeed) })
	}
	for h.put.Load() < int64(open) { // each is counted by one replier
		time.Sleep(time.Millisecond)
	}
	return h
}

// addSubscriber adds one more subscriber, which is served in a goroutine of all.
func addSubscriber(ctx context.Context, b *testing.B, p *producer.Producer, all *sync.WaitGroup, c aaep.Capabilities) (conn transports.Conn, id string) {
	theirs, ours := transports.Pipe()
	all.Go(func() { p.ServeConn(ours) })
	request, _ := aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "bench", Capabilities: c})
	if err := theirs.Send(ctx, request); err != nil {
		b.Fatal(err)
	}
	data, err := theirs.Receive(ctx)
	if err != nil {
		b.Fatal(err)
	}
	m, _ := aaep.Decode(data)
	return theirs, m.(*aaep.SubscriptionAccepted).SubscriptionID
}

// follow adds a subscriber, waits until it was put so many questions, and then accepts those for
// which mine is true and that do not stay open. leave ends it.
func (h *hall) follow(b *testing.B, wait int, mine func(token string) bool) (leave func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	theirs, id := addSubscriber(ctx, b, h.p, &all, mayAnswer(termsWith(0, aaep.BoundaryCompletion)))
	put := make(chan struct{})
	all.Go(func() {
		for n := 0; ; {
			if n == wait {
				close(put)
				n = -1
			}
			data, err := theirs.Receive(ctx)
			if err != nil {
				return
			}
			_, rest, asks := bytes.Cut(data, []byte(`"reply_token":"`))
			if asks && n >= 0 {
				n++
			}
			if asks && mine != nil && bytes.Contains(data, []byte("Pay later.")) && mine(string(bytes.Split(rest, []byte(`"`))[0])) {
				h.put.Add(1)
			}
			if token, _, _ := bytes.Cut(rest, []byte(`"`)); asks && mine != nil && bytes.Contains(data, []byte("Pay now.")) && mine(string(token)) {
				reply, _ := aaep.Encode(&aaep.ConfirmationReply{ReplyToken: aaep.ReplyToken(token), Decision: aaep.Accept, SubscriptionID: id, Timestamp: time.Now()})
				theirs.Send(ctx, reply)
			}
		}
	})
	<-put
	return func() {
		cancel()
		theirs.Close()
		all.Wait()
	}
}

// ask calls once from four goroutines, b.N times in all, and reports the rate and the times.
func (h *hall) ask(b *testing.B, once func(*producer.Session) error) {
	const agents = 4
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	turns := make(chan struct{})
	for range agents {
		s, err := h.p.StartSession(context.Background(), aaep.Say("Asking."))
		if err != nil {
			b.Fatal(err)
		}
		all.Go(func() {
			defer s.Close()
			for range turns {
				began := time.Now()
				if err := once(s); err != nil {
					b.Error(err)
				}
				d := time.Since(began)
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
			}
		})
	}
	b.ResetTimer()
	for range b.N {
		turns <- struct{}{}
	}
	close(turns)
	all.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "asks/s")
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// close shuts the producer down and ends its subscribers.
func (h *hall) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	h.p.Shutdown(ctx)
	h.asked.Wait()
	for _, leave := range h.leave {
		leave()
	}
}

// BenchmarkRelease measures the time from the moment an answer is sent to the moment the action
// begins, which is after tool.invoked has left for every subscriber: with one subscriber, and with
// many to which another session streams text as fast as they take it.
func BenchmarkRelease(b *testing.B) {
	for _, others := range []int{0, 10, 1000} {
		b.Run(fmt.Sprintf("flooded=%d", others), func(b *testing.B) {
			p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "bench"}, MaxSubscriptions: 2000, MaxRequestsPerSecond: -1, KeepEvents: 1 << 16})
			if err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			var all sync.WaitGroup
			sent := make(chan time.Time, 1)
			follow := func(c aaep.Capabilities, on func(transports.Conn, string, *aaep.Event)) {
				theirs, id := addSubscriber(ctx, b, p, &all, c)
				all.Go(func() {
					defer theirs.Close()
					for {
						data, err := theirs.Receive(ctx)
						if err != nil {
							return
						}
						if on == nil {
							continue
						}
						if m, _ := aaep.Decode(data); m != nil {
							if ev, ok := m.(*aaep.Event); ok {
								on(theirs, id, ev)
							}
						}
					}
				})
			}
			const repliers = 8 // they take turns, since each may send so many replies in a second
			for i := range repliers {
				follow(mayAnswer(termsWith(0, aaep.BoundarySentence)), func(conn transports.Conn, id string, ev *aaep.Event) {
					if q, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok && int(q.ReplyToken[len(q.ReplyToken)-1]+q.ReplyToken[len(q.ReplyToken)-2]*16)%repliers == i {
						reply, _ := aaep.Encode(&aaep.ConfirmationReply{ReplyToken: q.ReplyToken, Decision: aaep.Accept, SubscriptionID: id, Timestamp: time.Now()})
						sent <- time.Now()
						conn.Send(ctx, reply)
					}
				})
			}
			for range others {
				follow(termsWith(0, aaep.BoundarySentence), nil)
			}
			s, err := p.StartSession(ctx, aaep.Say("Measuring."))
			if err != nil {
				b.Fatal(err)
			}
			if others > 0 {
				talk, _ := p.StartSession(ctx, aaep.Say("Talking."))
				all.Go(func() {
					out := talk.Output()
					for ctx.Err() == nil { // ten sentences a second
						out.WriteString("One more word. ")
						time.Sleep(100 * time.Millisecond)
					}
				})
			}
			var took []time.Duration
			for b.Loop() {
				_, err := s.Tool(ctx, pay, func(context.Context) (string, error) {
					took = append(took, time.Since(<-sent))
					return "", nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
			stop()
			done, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			p.Shutdown(done)
			all.Wait()
		})
	}
}
