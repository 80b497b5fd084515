package grpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/freeport"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	aaepgrpc "github.com/aaep-go/aaep/transports/grpc"
	aaepv1 "github.com/aaep-go/aaep/transports/grpc/aaep/v1"
)

// patience is how long a test waits for what must happen. It is no measure of anything.
const patience = time.Minute

// requireNoError ends the test if err is not nil.
func requireNoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pay is a tool that must ask.
var pay = producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true,
	Action: aaep.Say("Pay $5."), Consequence: aaep.Say("The money is gone.")}

// succeed is a tool's function that does nothing.
func succeed(context.Context) (string, error) { return "done", nil }

// everything is what a subscriber asks for who may be asked, and has no limit.
var everything = aaep.Capabilities{CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryNone}, Languages: []string{"en-US"},
	SupportsConfirmationReply: new(true), SupportsClarificationReply: new(true)}

// newProducer returns a producer that allows short timeouts.
func newProducer(t testing.TB) *producer.Producer {
	t.Helper()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester", AgentName: "Tester"},
		ShortTimeouts: true})
	requireNoError(t, err)
	return p
}

// serveAt serves p at addr until stop is called, as a program that begins and ends does.
func serveAt(t testing.TB, p *producer.Producer, addr string) (at string, stop func()) {
	t.Helper()
	ln, err := net.Listen("tcp", addr)
	requireNoError(t, err)
	s := aaepgrpc.NewServer(aaepgrpc.ServerOptions{})
	server := rpc.NewServer(aaepgrpc.Options()...)
	s.Register(server)
	served, accepted := make(chan error, 1), make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	go func() { accepted <- p.Serve(context.Background(), s) }()
	return ln.Addr().String(), func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		p.Shutdown(ctx)
		server.GracefulStop()
		if err := <-served; err != nil {
			t.Errorf("grpc.Server.Serve = %v", err)
		}
		if err := <-accepted; !errors.Is(err, producer.ErrClosed) {
			t.Errorf("Producer.Serve = %v", err)
		}
	}
}

// readUntil reads events up to the first that match accepts.
func readUntil(sub *subscriber.Subscription, match func(*aaep.Event) bool) (evs []*aaep.Event, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for ev, err := range sub.Events(ctx) {
		if err != nil {
			return evs, err
		}
		evs = append(evs, ev)
		if match(ev) {
			return evs, nil
		}
	}
	return evs, errors.New("the subscription ended")
}

// isOver reports whether ev ends its session.
func isOver(ev *aaep.Event) bool { return ev.Type().Terminal() }

// GRPC-003, D-70: an agent asks over gRPC, and what is answered happens. A refusal is a message,
// and the stream is then OK.
func TestAgent(t *testing.T) {
	p := newProducer(t)
	addr, stop := serveAt(t, p, "127.0.0.1:0")
	defer stop()
	sub, err := subscriber.Dial(t.Context(), aaepgrpc.Dialer{Target: addr},
		subscriber.Config{ID: "reader", Capabilities: everything})
	requireNoError(t, err)
	defer sub.Close()
	for decision, want := range map[aaep.Decision]error{aaep.Accept: nil, aaep.Reject: producer.ErrRejected} {
		s, err := p.StartSession(t.Context(), aaep.Say("Paying."))
		requireNoError(t, err)
		ran := make(chan error, 1)
		go func() {
			_, err := s.Tool(context.Background(), pay, succeed)
			s.Complete(aaep.Say("Over."))
			ran <- err
		}()
		_, err = readUntil(sub, func(ev *aaep.Event) bool {
			if ev.Type() == aaep.TypeAwaitingConfirmation {
				requireNoError(t, replies.Send(t.Context(), sub.Question(ev), decision, nil))
			}
			return isOver(ev)
		})
		requireNoError(t, err)
		if err := <-ran; !errors.Is(err, want) {
			t.Errorf("after %s the tool returned %v, want %v", decision, err, want)
		}
	}
	var refused *aaep.Rejection
	_, err = subscriber.Dial(t.Context(), aaepgrpc.Dialer{Target: addr},
		subscriber.Config{ID: "reader", Capabilities: aaep.Capabilities{Languages: []string{"ja"}}})
	if !errors.As(err, &refused) || !refused.Remote {
		t.Errorf("who understands nothing was told %v", err)
	}
}

// openStream opens a stream of a client that is not ours.
func openStream(t *testing.T, addr string) aaepv1.AaepService_SubscribeClient {
	t.Helper()
	conn, err := rpc.NewClient("passthrough:///"+addr, rpc.WithTransportCredentials(insecure.NewCredentials()))
	requireNoError(t, err)
	t.Cleanup(func() { conn.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	stream, err := aaepv1.NewAaepServiceClient(conn).Subscribe(ctx)
	requireNoError(t, err)
	return stream
}

// frameOf returns m in a frame whose message_type is kind.
func frameOf(t *testing.T, m aaep.Message, kind string) *aaepv1.AaepMessage {
	t.Helper()
	msg, err := aaep.Encode(m)
	requireNoError(t, err)
	return &aaepv1.AaepMessage{Json: msg, MessageType: kind}
}

// receiveFrame returns the next message, and the message_type that it came with.
func receiveFrame(t *testing.T, stream aaepv1.AaepService_SubscribeClient) (aaep.Message, string) {
	t.Helper()
	got, err := stream.Recv()
	requireNoError(t, err)
	m, err := aaep.Decode(got.Json)
	requireNoError(t, err)
	return m, got.MessageType
}

// GRPC-002, GRPC-003: nothing comes before the answer, also in the middle of a session; a
// message_type that says something else changes neither the request nor the reply.
func TestContradiction(t *testing.T) {
	p := newProducer(t)
	addr, stop := serveAt(t, p, "127.0.0.1:0")
	defer stop()
	s, err := p.StartSession(t.Context(), aaep.Say("Paying."))
	requireNoError(t, err)
	stream := openStream(t, addr)
	requireNoError(t,
		stream.Send(
			frameOf(t, &aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw", Capabilities: everything},
				"subscription.close")))
	m, kind := receiveFrame(t, stream)
	answer, isAnswer := m.(*aaep.SubscriptionAccepted)
	if !isAnswer || kind != "subscription.accepted" {
		t.Fatalf("the first message is %T, called %q", m, kind)
	}
	ran := make(chan error, 1)
	go func() { _, err := s.Tool(context.Background(), pay, succeed); ran <- err }()
	for {
		m, kind := receiveFrame(t, stream)
		ev, isEvent := m.(*aaep.Event)
		if !isEvent || kind != string(ev.Type()) {
			t.Fatalf("a %T is called %q", m, kind)
		}
		if q, isQuestion := ev.Payload.(*aaep.AwaitingConfirmation); isQuestion {
			requireNoError(t, stream.Send(frameOf(t, &aaep.ConfirmationReply{ReplyToken: q.ReplyToken, Decision: aaep.Accept,
				SubscriptionID: answer.SubscriptionID, Timestamp: time.Now()}, "subscription.request")))
			break
		}
	}
	if err := <-ran; err != nil {
		t.Errorf("the tool returned %v", err)
	}
	stream.CloseSend()
}

// GRPC-003: what does not begin with a request is told no, and gets no event.
func TestNoRequest(t *testing.T) {
	p := newProducer(t)
	addr, stop := serveAt(t, p, "127.0.0.1:0")
	defer stop()
	s, err := p.StartSession(t.Context(), aaep.Say("Paying."))
	requireNoError(t, err)
	defer s.Close()
	stream := openStream(t, addr)
	requireNoError(t,
		stream.Send(
			frameOf(t, &aaep.ConfirmationReply{ReplyToken: aaep.ReplyToken("rpl_" + strings.Repeat("0", 32)),
				Decision:       aaep.Accept,
				SubscriptionID: "sub_1", Timestamp: time.Now()}, "subscription.request")))
	for {
		got, err := stream.Recv()
		if err != nil {
			return
		}
		if m, err := aaep.Decode(got.Json); err != nil || m.MessageType() != "subscription.rejected" {
			t.Errorf("who did not ask got %s, %v", got.Json, err)
		}
	}
}

// GRPC-005, TR-011: a producer that is killed and begins anew is subscribed to anew, after a while.
func TestBegunAnew(t *testing.T) {
	first := newProducer(t)
	addr, stop := serveAt(t, first, freeport.Addr())
	sub, err := subscriber.Dial(t.Context(), aaepgrpc.Dialer{Target: addr},
		subscriber.Config{ID: "reader", Capabilities: everything})
	requireNoError(t, err)
	defer sub.Close()
	stop()
	await := func(what string, good func(subscriber.Status) bool) {
		t.Helper()
		late := time.After(patience)
		for {
			st, changed := sub.Status()
			if good(st) {
				return
			}
			select {
			case <-changed:
			case <-late:
				t.Fatalf("never %s: %+v", what, st)
			}
		}
	}
	await("tried in vain", func(st subscriber.Status) bool {
		return !st.Connected && st.Err != nil && strings.Contains(st.Err.Error(), "refused")
	})
	second := newProducer(t)
	_, stop = serveAt(t, second, addr)
	defer stop()
	await("back", func(st subscriber.Status) bool { return st.Connected && st.Subscribed == 2 })
	s, err := second.StartSession(t.Context(), aaep.Say("Again."))
	requireNoError(t, err)
	s.Complete(aaep.Say("Done."))
	evs, err := readUntil(sub, isOver)
	requireNoError(t, err)
	if got := evs[1].Text(aaep.VerbosityNormal); evs[0].Type() != aaep.TypeLost || got != "Again." {
		t.Errorf("the first words are %q after %s", got, evs[0].Type())
	}
	if n := len(second.Subscriptions()); n != 1 {
		t.Errorf("%d subscriptions, want 1", n)
	}
}

// An agent on a grpc.Server, and a screen reader that follows it.
func Example() {
	ctx := context.Background()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "planner", AgentName: "Planner"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	server := rpc.NewServer(aaepgrpc.Options()...)    // with grpc.Creds for other machines
	s := aaepgrpc.NewServer(aaepgrpc.ServerOptions{}) // and with Authenticate
	s.Register(server)
	go server.Serve(ln)
	go p.Serve(ctx, s)

	reader, err := subscriber.Dial(ctx, aaepgrpc.Dialer{Target: ln.Addr().String()},
		subscriber.Config{ID: "reader", Capabilities: subscriber.ScreenReader("en-US")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reader.Close()
	session, err := p.StartSession(ctx, aaep.Say("Planning your retirement."))
	if err != nil {
		fmt.Println(err)
		return
	}
	session.Complete(aaep.Say("Plan ready."))
	for ev, err := range reader.Events(ctx) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(ev.Text(aaep.VerbosityNormal))
		if ev.Type().Terminal() {
			break
		}
	}
	p.Shutdown(ctx)
	server.GracefulStop()
	// Output:
	// Planning your retirement.
	// Thinking.
	// Plan ready.
}
