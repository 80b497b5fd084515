package hook

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/hook"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/transports"
)

// A mute is a listener to which no hook comes.
type mute struct{ transports.Listener }

func (mute) Accept(ctx context.Context) (transports.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A server stays while a hook runs or a listener is there, and for its time after that; without a
// time it stays for good.
func TestIdleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, idle := range []time.Duration{10 * time.Minute, 0} {
			var listeners atomic.Int64
			s := &Server{Idle: idle, Listeners: func() int { return int(listeners.Load()) }}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Serve(ctx, mute{}) }()
			stays := func(d time.Duration, want bool) {
				t.Helper()
				time.Sleep(d)
				synctest.Wait()
				if got := len(ended) == 0; got != want {
					t.Errorf("with --idle %v it stays: %v, want %v", idle, got, want)
				}
			}
			stays(9*time.Minute, true)
			listeners.Store(1)
			stays(time.Hour, true)
			listeners.Store(0)
			s.countHook()
			stays(time.Hour, true)
			s.uncountHook()
			stays(9*time.Minute, true)
			stays(3*time.Minute, idle == 0)
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// A program that does not know the secret, and keeps back what it said that it would send, holds no
// connection; one that knows it waits for the user as long as it takes.
func TestSlowPosts(t *testing.T) {
	p := bridgetest.NewProducer(t)
	l := bridgetest.Listen(t, p, func(l *bridgetest.Listener, ev *aaep.Event) {
		time.Sleep(1500 * time.Millisecond) // longer than the body of a request that is refused is waited for
		l.Sub.Question(ev).Accept(context.Background())
	})
	s := &Server{Bridge: hook.New(p, hook.Config{})}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := s.NewHTTPServer("the secret of the user")
	go server.Serve(ln)
	defer server.Close()
	const input = `{"session_id":"s","cwd":"/srv/a","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls"}}`
	post := func(secret, body string) string {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		close := ""
		if secret == "the secret of the user" {
			close = "Connection: close\r\n"
		}
		fmt.Fprintf(conn, "POST /claude HTTP/1.1\r\nHost: %s\r\n%sAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
			ln.Addr(), close, secret, len(input), body)
		got, err := io.ReadAll(conn)
		if err != nil {
			t.Errorf("the connection stays open: %v", err)
		}
		return string(got)
	}
	if got := post("a guess", "{"); len(got) < 12 || got[:12] != "HTTP/1.1 403" {
		t.Errorf("a guess got %q", got)
	}
	if got := post("the secret of the user", input); len(got) < 12 || got[:12] != "HTTP/1.1 200" || !strings.Contains(got, `"allow"`) {
		t.Errorf("the agent got %q", got)
	}
	l.AwaitHeard(t, "Run the command")
}
