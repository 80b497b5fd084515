package grpc_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/aaep-go/aaep"
	aaepgrpc "github.com/aaep-go/aaep/transports/grpc"
	aaepv1 "github.com/aaep-go/aaep/transports/grpc/aaep/v1"
)

// BenchmarkDelivery measures what one event costs from the agent's call to the listener, over gRPC
// on loopback, against a handler that only sends messages which are encoded already. The listeners
// are bare clients in both, each with a connection of its own. One operation is one delivery to one
// listener; p99 is from the call to the receipt. "single" sends one event and waits until all have
// it, "burst" sends 32.
func BenchmarkDelivery(b *testing.B) {
	for _, listeners := range []int{1, 100} {
		for _, burst := range []int{1, 32} {
			load := map[int]string{1: "single", 32: "burst"}[burst]
			b.Run(fmt.Sprintf("aaep/%s/listeners=%d", load, listeners), func(b *testing.B) {
				measureDelays(b, listeners, burst, startAAEP)
			})
			b.Run(fmt.Sprintf("floor/%s/listeners=%d", load, listeners), func(b *testing.B) {
				measureDelays(b, listeners, burst, startBare)
			})
		}
	}
}

// numbers is how many events are told apart. A burst is shorter.
const numbers = 1024

// receipt is an event that has come.
type receipt struct {
	n  int
	at time.Time
}

// measureDelays has start begin what is measured: emit sends the event with number n, below
// numbers, to all listeners at addr.
func measureDelays(b *testing.B, listeners, burst int,
	start func(b *testing.B, listeners int) (addr string, emit func(n int))) {
	addr, emit := start(b, listeners)
	received := make(chan receipt, listeners*burst)
	var reading sync.WaitGroup
	b.Cleanup(reading.Wait)
	for range listeners {
		conn, err := rpc.NewClient("passthrough:///"+addr, rpc.WithTransportCredentials(insecure.NewCredentials()))
		requireNoError(b, err)
		b.Cleanup(func() { conn.Close() })
		stream, err := aaepv1.NewAaepServiceClient(conn).Subscribe(context.Background())
		requireNoError(b, err)
		requireNoError(b,
			stream.Send(
				&aaepv1.AaepMessage{
					Json: []byte(
						`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"bench",` +
							`"capabilities":{}}`)}))
		_, err = stream.Recv() // so that every event sent from now on arrives
		requireNoError(b, err)
		reading.Go(func() { noteReceipts(stream, received) })
	}
	sent := make([]time.Time, numbers)
	delays := make([]time.Duration, 0, b.N+listeners*burst)
	number := 0
	b.ReportAllocs()
	b.ResetTimer()
	for len(delays) < b.N {
		for range burst {
			sent[number] = time.Now()
			emit(number)
			number = (number + 1) % numbers
		}
		for range listeners * burst {
			r := <-received
			delays = append(delays, r.at.Sub(sent[r.n]))
		}
	}
	b.StopTimer()
	slices.Sort(delays)
	b.ReportMetric(float64(delays[len(delays)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(len(delays))/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(len(delays)), "ns/op") // the last burst may go past b.N
}

var numbered = []byte(`"summary_normal":"Event `)

// noteReceipts reports every event that arrives.
func noteReceipts(stream aaepv1.AaepService_SubscribeClient, received chan<- receipt) {
	for {
		m, err := stream.Recv()
		if err != nil {
			return
		}
		if _, rest, ok := bytes.Cut(m.Json, numbered); ok {
			digits, _, _ := bytes.Cut(rest, []byte("."))
			if n, err := strconv.Atoi(string(digits)); err == nil {
				received <- receipt{n, time.Now()}
			}
		}
	}
}

// startAAEP begins a session, whose events a producer sends to all listeners.
func startAAEP(b *testing.B, _ int) (string, func(int)) {
	p := newProducer(b)
	addr, stop := serveAt(b, p, "127.0.0.1:0")
	s, err := p.StartSession(context.Background(), aaep.Say("Measuring."))
	requireNoError(b, err)
	b.Cleanup(stop)
	return addr, func(n int) {
		text := aaep.Say("Event " + strconv.Itoa(n) + ".")
		if err := s.Progress(text, aaep.Progress{Step: int64(n + 1)}, 0); err != nil {
			panic(err)
		}
	}
}

// bareServer is the least a server can do: a channel for each listener, and messages that are
// encoded already.
type bareServer struct {
	aaepv1.UnimplementedAaepServiceServer
	streams chan chan *aaepv1.AaepMessage
}

// Subscribe sends the messages of a channel of its own.
func (f bareServer) Subscribe(stream aaepv1.AaepService_SubscribeServer) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	messages := make(chan *aaepv1.AaepMessage, 64)
	f.streams <- messages
	if err := stream.Send(&aaepv1.AaepMessage{}); err != nil {
		return err
	}
	for {
		select {
		case m := <-messages:
			if err := stream.Send(m); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}

// startBare serves a bareServer, which sends each message to the listeners one after the other.
func startBare(b *testing.B, listeners int) (string, func(int)) {
	f := bareServer{streams: make(chan chan *aaepv1.AaepMessage, listeners)}
	server := rpc.NewServer(aaepgrpc.Options()...)
	aaepv1.RegisterAaepServiceServer(server, f)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	requireNoError(b, err)
	go server.Serve(ln)
	b.Cleanup(server.Stop)
	messages := make([]*aaepv1.AaepMessage, numbers)
	for i := range messages { // as long as a real event
		messages[i] = &aaepv1.AaepMessage{MessageType: "aaep:agent.progress.updated",
			Json: fmt.Appendf(nil, `{"pad":"%0450d","summary_normal":"Event %d."}`, 0, i)}
	}
	var streams []chan *aaepv1.AaepMessage
	return ln.Addr().String(), func(n int) {
		for len(streams) < listeners {
			streams = append(streams, <-f.streams)
		}
		for _, s := range streams {
			s <- messages[n]
		}
	}
}
