package grpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/auth"
	aaepv1 "github.com/aaep-go/aaep/transports/grpc/aaep/v1"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// acceptAll serves s and hands out what it accepts.
func acceptAll(t *testing.T, o ServerOptions, more ...rpc.ServerOption) (addr string, conns <-chan transports.Conn) {
	t.Helper()
	s := NewServer(o)
	addr, _ = serveTapped(t, s, more...)
	return addr, acceptLoop(t, s)
}

// acceptLoop hands out what s accepts, until the test ends.
func acceptLoop(t *testing.T, s *Server) <-chan transports.Conn {
	c := make(chan transports.Conn, 16)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := s.Accept(ctx)
			if err != nil {
				return
			}
			c <- conn
		}
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		for len(c) > 0 {
			(<-c).Close()
		}
	})
	return c
}

// newClient connects as any client does. Metadata are "name", "value".
func newClient(t *testing.T, addr string, md ...string) (aaepv1.AaepServiceClient, context.Context) {
	t.Helper()
	conn, err := rpc.NewClient("passthrough:///"+addr, rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), md...), patience)
	t.Cleanup(cancel)
	return aaepv1.NewAaepServiceClient(conn), ctx
}

// openRaw opens a stream as any client does.
func openRaw(t *testing.T, addr string, md ...string) aaepv1.AaepService_SubscribeClient {
	t.Helper()
	c, ctx := newClient(t, addr, md...)
	stream, err := c.Subscribe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// closed returns the code a stream ended with.
func closed(stream aaepv1.AaepService_SubscribeClient) (codes.Code, string) {
	for {
		if _, err := stream.Recv(); err == io.EOF {
			return codes.OK, ""
		} else if err != nil {
			return status.Code(err), err.Error()
		}
	}
}

// receiveSoon is Receive that does not wait for ever.
func receiveSoon(t *testing.T, c transports.Conn) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return c.Receive(ctx)
}

// identify names the peer with the token "good"; "wrong" may not come, and "odd" has no name.
func identify(r *http.Request) (string, error) {
	switch r.Header.Get("Authorization") {
	case "Bearer good":
		return "ada", nil
	case "Bearer wrong":
		return "", fmt.Errorf("the secret reason: %w", aaep.AuthorizationDenied)
	case "Bearer odd":
		return "", nil
	}
	return "", errors.New("the secret reason")
}

// GRPC-004, D-70, TR-015, TR-016: who is not let in is told by a status that gives nothing away,
// and package subscriber's error says so too.
func TestCredentials(t *testing.T) {
	addr, conns := acceptAll(t, ServerOptions{Authenticate: identify})
	for token, want := range map[string]codes.Code{"good": codes.OK, "wrong": codes.PermissionDenied,
		"odd":   codes.Unauthenticated,
		"other": codes.Unauthenticated, "": codes.Unauthenticated} {
		var md []string
		if token != "" {
			md = []string{"authorization", "Bearer " + token}
		}
		stream := openRaw(t, addr, md...)
		if want == codes.OK {
			c := <-conns
			if got := c.(transports.Identified).Principal(); got != "ada" {
				t.Errorf("the peer is %q", got)
			}
			c.Close()
		}
		if got, text := closed(stream); got != want || strings.Contains(text, "secret") {
			t.Errorf("%q: %v %s, want %v", token, got, text, want)
		}
	}
	for want, credentials := range map[aaep.ReasonCode]func(context.Context) (http.Header, error){
		aaep.AuthorizationDenied: auth.Bearer("wrong"), aaep.AuthenticationRequired: nil} {
		c, err := Dialer{Target: addr, Credentials: credentials}.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var refused *aaep.Rejection
		if _, err := receiveSoon(t, c); !errors.Is(err, want) || !errors.As(err, &refused) || !refused.Remote {
			t.Errorf("Receive = %v, want %v", err, want)
		}
		if err := c.Send(t.Context(), []byte(`{}`)); !errors.Is(err, want) { // whichever the subscriber does first
			t.Errorf("Send = %v, want %v", err, want)
		}
		c.Close()
	}
	if c, err := (Dialer{Target: addr, Credentials: auth.BearerFile("gone")}).Dial(t.Context()); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("without its token Dial = %v, %v", c, err)
	}
}

// TR-015: the authenticator sees what one of HTTP sees.
func TestRequest(t *testing.T) {
	seen := make(chan *http.Request, 1)
	addr, _ := acceptAll(t,
		ServerOptions{Authenticate: func(r *http.Request) (string, error) { seen <- r; return "", errors.New("no") }})
	closed(openRaw(t, addr, "authorization", "Bearer x", "cookie", "a=1", "cookie", "b=2", "x-trace-bin", "\x00\xff"))
	r := <-seen
	if a, _ := r.Cookie("a"); a == nil || a.Value != "1" {
		t.Errorf("the cookie is %v", a)
	}
	if b, _ := r.Cookie("b"); b == nil || r.Header.Get("Authorization") != "Bearer x" || r.Host != addr ||
		r.URL.Path != "/aaep.v1.AaepService/Subscribe" ||
		!strings.HasPrefix(r.RemoteAddr, "127.0.0.1:") || r.TLS != nil || r.Header.Get("X-Trace-Bin") != "" ||
		r.Header.Get(":authority") != "" {
		t.Errorf("the request is %+v", r)
	}
}

// abroad is a listener whose connections came from another machine.
type abroad struct{ net.Listener }

type foreign struct{ net.Conn }

// LocalAddr is the address of another machine.
func (foreign) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }

// Accept returns a connection that came from another machine.
func (a abroad) Accept() (net.Conn, error) {
	c, err := a.Listener.Accept()
	return foreign{c}, err
}

// D-71, TR-016: without an authenticator only this machine is served.
func TestThisMachineOnly(t *testing.T) {
	s := NewServer(ServerOptions{Manifest: []byte(`{}`)})
	host := rpc.NewServer(Options()...)
	s.Register(host)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	go host.Serve(abroad{tcp})
	go host.Serve(socket)
	t.Cleanup(host.Stop)
	conns := acceptLoop(t, s)
	if code, text := closed(openRaw(t, tcp.Addr().String())); code != codes.Unauthenticated {
		t.Errorf("from abroad: %v %s", code, text)
	}
	c, ctx := newClient(t, tcp.Addr().String())
	if _, err := c.GetManifest(ctx, nil); status.Code(err) != codes.Unauthenticated {
		t.Errorf("the manifest, from abroad: %v", err)
	}
	a, err := Dialer{Target: "unix:" + socket.Addr().String()}.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b := <-conns
	defer b.Close()
	if err := a.Send(t.Context(), []byte(`{}`)); err != nil {
		t.Error(err)
	}
	if got, err := receiveSoon(t, b); err != nil || string(got) != `{}` {
		t.Errorf("over the socket: %s, %v", got, err)
	}
}

// GRPC-001, XT-001: the manifest is given as it is, without credentials.
func TestManifest(t *testing.T) {
	for _, want := range []string{`{"agent_id": "planner"}`, ""} {
		addr, _ := acceptAll(t, ServerOptions{Authenticate: identify, Manifest: []byte(want)})
		c, ctx := newClient(t, addr)
		m, err := c.GetManifest(ctx, &aaepv1.GetManifestRequest{})
		if want == "" && status.Code(err) != codes.Unavailable || want != "" && (err != nil || string(m.Json) != want) {
			t.Errorf("%q: %v, %v", want, m, err)
		}
	}
}

// GRPC-002: the message arrives as it is, whatever message_type says; ours says what the JSON says,
// if that is short.
func TestMessageType(t *testing.T) {
	addr, conns := acceptAll(t, ServerOptions{})
	stream := openRaw(t, addr)
	c := <-conns
	defer c.Close()
	for _, kind := range []string{"", "subscription.close", "no such type"} {
		if err := stream.Send(&aaepv1.AaepMessage{Json: []byte(`{"type":"confirmation.reply"}`),
			MessageType: kind}); err != nil {
			t.Fatal(err)
		}
		if got, err := receiveSoon(t, c); err != nil || string(got) != `{"type":"confirmation.reply"}` {
			t.Errorf("with %q: %s, %v", kind, got, err)
		}
	}
	long := strings.Repeat("x", transports.MaxMessage-11)
	for msg, want := range map[string]string{
		`{"type":"subscription.close"}`:                          "subscription.close",
		` { "a" : { "type" : "b" } , "type" : "aaep:agent.x" } `: "aaep:agent.x",
		`{"type":"\u0061"}`:                                      "a",
		`{"a":1}`:                                                "",
		`{"type":1}`:                                             "",
		`{"type"`:                                                "",
		`{"a":[}`:                                                "",
		`["type"]`:                                               "",
		`no JSON`:                                                "",
		"":                                                       "",
		`{"type":"` + long + `"}`:                                "",
	} {
		if err := c.Send(t.Context(), []byte(msg)); err != nil {
			t.Fatalf("%.40q: %v", msg, err)
		}
		if m, err := stream.Recv(); err != nil || m.MessageType != want || string(m.Json) != msg {
			t.Errorf("%.40q: %v, %q", msg, err, m.GetMessageType())
		}
	}
}

// INV-32, INV-35, TR-020: too much, and what is no text, ends the one stream it came on, with its
// reason.
func TestBadMessages(t *testing.T) {
	for name, more := range map[string][]rpc.ServerOption{"options": nil, "none": {rpc.MaxRecvMsgSize(4 << 20)}} {
		addr, conns := acceptAll(t, ServerOptions{}, more...)
		other := openRaw(t, addr)
		otherConn := <-conns
		for _, tc := range []struct {
			name string
			json []byte
			want string // of Receive
			code codes.Code
		}{
			{"a megabyte", bytes.Repeat([]byte(" "), transports.MaxMessage), "", codes.OK},
			{"a byte more", bytes.Repeat([]byte(" "), transports.MaxMessage+1), "1 MiB", codes.ResourceExhausted},
			{"much more", bytes.Repeat([]byte(" "), transports.MaxMessage*2), "1 MiB", codes.ResourceExhausted},
			{"not UTF-8", []byte("{\"a\":\"\xff\"}"), "UTF-8", codes.InvalidArgument},
		} {
			stream := openRaw(t, addr)
			c := <-conns
			stream.Send(&aaepv1.AaepMessage{Json: tc.json})
			got, err := receiveSoon(t, c)
			if tc.want == "" && (err != nil || !bytes.Equal(got, tc.json)) || tc.want != "" &&
				(err == nil || err == io.EOF || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%s, %s: %.50q, %v", name, tc.name, got, err)
			}
			if tc.want == "" {
				c.Close()
			}
			if code, text := closed(stream); code != tc.code {
				t.Errorf("%s, %s: %v %s, want %v", name, tc.name, code, text, tc.code)
			}
			c.Close()
		}
		other.Send(&aaepv1.AaepMessage{Json: []byte(`{}`)})
		if got, err := receiveSoon(t, otherConn); err != nil || string(got) != `{}` {
			t.Errorf("%s: on the other stream: %s, %v", name, got, err)
		}
		otherConn.Close()
	}
}

// A subscriber takes no such thing either.
func TestBadProducer(t *testing.T) {
	for want, json := range map[string][]byte{"1 MiB": bytes.Repeat([]byte(" "), transports.MaxMessage+1),
		"UTF-8": []byte("\xff")} {
		host := rpc.NewServer()
		aaepv1.RegisterAaepServiceServer(host, badServer{json: json})
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go host.Serve(ln)
		c, err := Dialer{Target: ln.Addr().String()}.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := receiveSoon(t, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Receive = %v, want %s", err, want)
		}
		c.Close()
		host.Stop()
	}
}

type badServer struct {
	aaepv1.UnimplementedAaepServiceServer
	json []byte
}

// Subscribe sends the one message, which is none of AAEP.
func (l badServer) Subscribe(stream aaepv1.AaepService_SubscribeServer) error {
	return stream.Send(&aaepv1.AaepMessage{Json: l.json})
}

// INV-50: the limit answers, and recovers.
func TestTooMany(t *testing.T) {
	addr, conns := acceptAll(t, ServerOptions{MaxConnections: 2})
	a := openRaw(t, addr)
	first := <-conns
	openRaw(t, addr)
	second := <-conns
	defer second.Close()
	if code, text := closed(openRaw(t, addr)); code != codes.Unavailable || !strings.Contains(text, "as many") {
		t.Errorf("%v %s", code, text)
	}
	first.Close()
	if code, text := closed(a); code != codes.OK {
		t.Errorf("%v %s", code, text)
	}
	deadline := time.Now().Add(patience)
	for {
		openRaw(t, addr)
		select {
		case c := <-conns:
			c.Close()
			return
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("there is no room after one has gone")
		}
	}
}

// A subscription ends when its credentials are withdrawn; who has others may connect again.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	var gone atomic.Bool
	addr, conns := acceptAll(t, ServerOptions{Authenticate: func(*http.Request) (string, error) {
		if gone.Load() {
			return "", aaep.AuthenticationRequired
		}
		return "ada", nil
	}})
	stream := openRaw(t, addr)
	c := <-conns
	defer c.Close()
	gone.Store(true)
	if code, text := closed(stream); code != codes.Unavailable || !strings.Contains(text, "withdrawn") {
		t.Errorf("closed with %v %s", code, text)
	}
	if _, err := c.Receive(t.Context()); !errors.Is(err, aaep.AuthenticationRequired) {
		t.Errorf("the producer's end has %v", err)
	}
}
