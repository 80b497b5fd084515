package grpc_test

import (
	"net"
	"testing"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/aaep-go/aaep/internal/violation"
	aaepgrpc "github.com/aaep-go/aaep/transports/grpc"
	aaepv1 "github.com/aaep-go/aaep/transports/grpc/aaep/v1"
)

// foreign is a foreign producer that sends one message.
type foreign struct {
	aaepv1.UnimplementedAaepServiceServer
	says *aaepv1.AaepMessage
}

// Subscribe sends the one message.
func (f foreign) Subscribe(stream rpc.BidiStreamingServer[aaepv1.AaepMessage, aaepv1.AaepMessage]) error {
	return stream.Send(f.says)
}

const closed = `{"type":"subscription.close"}`

// said is what a peer sends, and how many things are wrong with it.
var said = map[string]struct {
	says *aaepv1.AaepMessage
	want int
}{
	"as it should be": {&aaepv1.AaepMessage{Json: []byte(closed), MessageType: "subscription.close"}, 0},
	"no type":         {&aaepv1.AaepMessage{Json: []byte(closed)}, 0},
	"another type":    {&aaepv1.AaepMessage{Json: []byte(closed), MessageType: "aaep:agent.session.started"}, 1},
	"no message":      {&aaepv1.AaepMessage{MessageType: "subscription.close"}, 1},
	"no text":         {&aaepv1.AaepMessage{Json: []byte("\xff")}, 1},
}

// GRPC-002: a Dialer reports messages that their fields contradict.
func TestViolations(t *testing.T) {
	for name, tt := range said {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			requireNoError(t, err)
			server := rpc.NewServer()
			aaepv1.RegisterAaepServiceServer(server, foreign{says: tt.says})
			go server.Serve(ln)
			defer server.Stop()
			var told []string
			ctx, taken := violation.WithReporter(t.Context(), func(requirement, problem string) {
				told = append(told, requirement+" "+problem)
			})
			c, err := aaepgrpc.Dialer{Target: ln.Addr().String()}.Dial(ctx)
			requireNoError(t, err)
			for err == nil {
				_, err = c.Receive(t.Context())
			}
			c.Close()
			if !taken() || len(told) != tt.want || len(told) > 0 && told[0][:9] != "GRPC-002 " {
				t.Errorf("it was told %q, and taken: %v; want %d things of GRPC-002", told, taken(), tt.want)
			}
		})
	}
}

// GRPC-002: and so has who accepts with one.
func TestServerViolations(t *testing.T) {
	for name, tt := range said {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			requireNoError(t, err)
			s, server := aaepgrpc.NewServer(aaepgrpc.ServerOptions{}), rpc.NewServer(aaepgrpc.Options()...)
			s.Register(server)
			go server.Serve(ln)
			defer server.Stop()
			client, err := rpc.NewClient(ln.Addr().String(), rpc.WithTransportCredentials(insecure.NewCredentials()))
			requireNoError(t, err)
			defer client.Close()
			var told []string
			ctx, taken := violation.WithReporter(t.Context(), func(requirement, problem string) {
				told = append(told, requirement+" "+problem)
			})
			go func() { // once a reader waits for it
				if stream, err := aaepv1.NewAaepServiceClient(client).Subscribe(t.Context(),
					rpc.WaitForReady(true)); err == nil {
					stream.Send(tt.says)
					stream.CloseSend()
					stream.Recv()
				}
			}()
			c, err := s.Accept(ctx)
			requireNoError(t, err)
			for err == nil {
				_, err = c.Receive(t.Context())
			}
			c.Close()
			if !taken() || len(told) != tt.want || len(told) > 0 && told[0][:9] != "GRPC-002 " {
				t.Errorf("it was told %q, and taken: %v; want %d things of GRPC-002", told, taken(), tt.want)
			}
		})
	}
}
