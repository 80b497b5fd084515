package producer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// BenchmarkRelease measures the time from the moment an answer is sent to the moment the action begins, which is after
// tool.invoked has left for every subscriber: with one subscriber, and with others to whom another session streams text
// as fast as they take it.
func BenchmarkRelease(b *testing.B) {
	for _, others := range []int{0, 10, 1000} {
		b.Run(fmt.Sprintf("flooded=%d", others), func(b *testing.B) {
			p, err := producer.New(producer.Config{Agent: aaep.Producer{AgentID: "bench"}, MaxSubscriptions: 2000, MaxRequestsPerSecond: -1, KeepEvents: 1 << 16})
			if err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			var all sync.WaitGroup
			sent := make(chan time.Time, 1)
			follow := func(c aaep.Capabilities, on func(transports.Conn, string, *aaep.Event)) {
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
				id := m.(*aaep.SubscriptionAccepted).SubscriptionID
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
				follow(answering(caps(0, aaep.BoundarySentence)), func(conn transports.Conn, id string, ev *aaep.Event) {
					if q, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok && int(q.ReplyToken[len(q.ReplyToken)-1]+q.ReplyToken[len(q.ReplyToken)-2]*16)%repliers == i {
						reply, _ := aaep.Encode(&aaep.ConfirmationReply{ReplyToken: q.ReplyToken, Decision: aaep.Accept, SubscriptionID: id, Timestamp: time.Now()})
						sent <- time.Now()
						conn.Send(ctx, reply)
					}
				})
			}
			for range others {
				follow(caps(0, aaep.BoundarySentence), nil)
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
