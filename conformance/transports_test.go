package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gorilla "github.com/gorilla/websocket"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/internal/memnet"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/stdio"
	"github.com/aaep-go/aaep/transports/websocket"
)

// LVL-029, SEC-001: our own producer passes Level 3 over Server-Sent Events, WebSocket, and
// standard input and output, and over the layout that knows no handshake all that it can have
// there, which is Level 2 but for one case. So it does over the framings of local sockets, in
// package ipc; gRPC keeps real time, in its own module.
func TestTransports(t *testing.T) {
	for _, tt := range []struct {
		name  string
		level int
		known []string
		reach func(t *testing.T, run *conformance.ProducerRun, g *target)
	}{
		{"sse", 3, nil, overSSE},
		{"websocket", 3, nil, overWebSocket},
		{"stdio", 3, nil, overStdio},
		// Its clients know no subscription_id, so any is taken there (D-43).
		{"root layout", 2, []string{"foreign-subscription"}, overRoot},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newTarget(t)
				run := checkExtraCases(g, nil)
				run.Level, run.Known = tt.level, tt.known
				tt.reach(t, &run, g)
				r, err := run.Prove(t.Context())
				if err != nil {
					t.Error(err)
					r = &conformance.Report{}
				}
				for _, res := range r.Results {
					if hasPassed(res) == res.Known && res.Case.Level <= tt.level {
						t.Errorf("%s %s (%s): %s\n%v", res.Verdict, res.Case.Name, res.Play, res.Seen, res.Evidence)
					}
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				g.Producer.Shutdown(ctx)
			})
		})
	}
}

// overSSE asks for credentials: with them all is judged, and without them no request is served.
func overSSE(t *testing.T, run *conformance.ProducerRun, g *target) {
	client := listenGuarded(t, g).Client(t)
	at := sse.Dialer{URL: "http://localhost", Client: client}
	madeUp := at
	madeUp.Credentials = func(context.Context) (http.Header, error) {
		return http.Header{"Authorization": {"Bearer made-up"}}, nil
	}
	run.Unauthenticated = []transports.Dialer{at, madeUp}
	at.Credentials = func(context.Context) (http.Header, error) { return good, nil }
	run.Dialer = at
	thief := at
	thief.Client = &http.Client{Transport: streamsAs{client.Transport, other}}
	run.StolenStream = thief
	var sockets conformance.ProducerRun
	overWebSocket(t, &sockets, g)
	run.OtherWays = []transports.Dialer{sockets.Dialer}
	at.Credentials = func(context.Context) (http.Header, error) { return other, nil }
	run.OtherPrincipal = at
}

// streamsAs opens event streams with other credentials than those of the POSTs.
type streamsAs struct {
	http.RoundTripper
	header http.Header
}

func (t streamsAs) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", t.header.Get("Authorization"))
	}
	return t.RoundTripper.RoundTrip(r)
}

// overWebSocket asks for credentials too, with a client that is none of ours.
func overWebSocket(t *testing.T, run *conformance.ProducerRun, g *target) {
	net := listenGuarded(t, g)
	dial := func(header http.Header) dialer {
		return func(ctx context.Context) (transports.Conn, error) {
			d := gorilla.Dialer{NetDialContext: net.Dial, Subprotocols: []string{websocket.Subprotocol}}
			ws, resp, err := d.DialContext(ctx, "ws://localhost"+websocket.DefaultPath, header)
			if resp != nil && resp.StatusCode == http.StatusUnauthorized {
				err = &aaep.Rejection{Code: aaep.AuthenticationRequired}
			}
			if err != nil {
				return nil, err
			}
			c := &framed{ws: ws, msgs: make(chan []byte), done: make(chan struct{})}
			go c.readFrames()
			return c, nil
		}
	}
	run.Dialer, run.OtherPrincipal, run.StolenStream = dial(good), dial(other), nil
	run.Unauthenticated = []transports.Dialer{dial(nil), dial(http.Header{"Authorization": {"Bearer made-up"}})}
}

// framed is a client of WebSocket.
type framed struct {
	ws   *gorilla.Conn
	msgs chan []byte
	done chan struct{}
	once sync.Once
}

func (c *framed) readFrames() {
	defer close(c.msgs)
	for {
		_, msg, err := c.ws.ReadMessage()
		if err != nil {
			return
		}
		select {
		case c.msgs <- msg:
		case <-c.done:
			return
		}
	}
}

func (c *framed) Send(_ context.Context, msg []byte) error {
	return c.ws.WriteMessage(gorilla.TextMessage, msg)
}

func (c *framed) Receive(ctx context.Context) ([]byte, error) {
	select {
	case msg, ok := <-c.msgs:
		if !ok {
			return nil, io.EOF
		}
		return msg, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *framed) Close() error {
	c.once.Do(func() { close(c.done) })
	return c.ws.Close()
}

var good, other = http.Header{"Authorization": {"Bearer good"}}, http.Header{"Authorization": {"Bearer other"}}

// listenGuarded serves those who have credentials.
func listenGuarded(t *testing.T, g *target) *memnet.Listener {
	net := memnet.Listen()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error)
	server := serve.Server{Authenticate: func(r *http.Request) (string, error) {
		switch r.Header.Get("Authorization") {
		case good.Get("Authorization"):
			return "friend", nil
		case other.Get("Authorization"):
			return "neighbour", nil
		}
		return "", errors.New("no token")
	}}
	go func() { served <- server.Serve(ctx, net, g.Producer) }()
	t.Cleanup(func() { stop(); <-served })
	return net
}

// overRoot serves the layout without a handshake twice: a subscriber there can ask for nothing, so
// those who cannot be asked have a place of their own.
func overRoot(t *testing.T, run *conformance.ProducerRun, g *target) {
	mount := func(c aaep.Capabilities) transports.Dialer {
		rs, err := sse.NewRootServer(sse.RootOptions{Capabilities: c})
		if err != nil {
			t.Fatal(err)
		}
		net := memnet.Listen()
		server := &http.Server{Handler: rs}
		var serving sync.WaitGroup
		serving.Go(func() { server.Serve(net) })
		serving.Go(func() { g.Producer.Serve(context.Background(), rs) })
		t.Cleanup(func() { rs.Close(); server.Close(); serving.Wait() })
		return sse.Dialer{URL: "http://localhost", Client: net.Client(t), RootLayout: true}
	}
	places := map[[2]bool]transports.Dialer{}
	for _, can := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		places[can] = mount(aaep.Capabilities{SupportsConfirmationReply: &can[0], SupportsClarificationReply: &can[1]})
	}
	run.Dialer = dialer(func(context.Context) (transports.Conn, error) {
		return &chosen{made: make(chan struct{}),
			dial: func(ctx context.Context, request []byte) (transports.Conn, error) {
				can := [2]bool{bytes.Contains(request, []byte(`"supports_confirmation_reply":true`)),
					bytes.Contains(request, []byte(`"supports_clarification_reply":true`))}
				return places[can].Dial(ctx)
			}}, nil
	})
}

// chosen is a link that is made when the first message says which.
type chosen struct {
	dial func(ctx context.Context, request []byte) (transports.Conn, error)
	made chan struct{}
	conn transports.Conn
}

func (c *chosen) Send(ctx context.Context, msg []byte) error {
	if c.conn == nil {
		conn, err := c.dial(ctx, msg)
		if err != nil {
			return err
		}
		c.conn = conn
		close(c.made)
	}
	return c.conn.Send(ctx, msg)
}

func (c *chosen) Receive(ctx context.Context) ([]byte, error) {
	select {
	case <-c.made:
		return c.conn.Receive(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Substituted is that of the link that was chosen.
func (c *chosen) Substituted(msg []byte) bool {
	s, ok := c.conn.(interface{ Substituted(msg []byte) bool })
	return ok && s.Substituted(msg)
}

func (c *chosen) Close() error {
	if c.conn == nil {
		return nil
	}
	return c.conn.Close()
}

// overStdio speaks in lines as an agent's parent does (B.6), with a reader and writer that are none
// of ours.
func overStdio(_ *testing.T, run *conformance.ProducerRun, g *target) {
	run.Dialer = dialer(func(context.Context) (transports.Conn, error) {
		in, toAgent := io.Pipe()
		fromAgent, out := io.Pipe()
		l := stdio.NewListener(in, out, nil)
		go g.Producer.Serve(context.Background(), l)
		p := &parent{w: toAgent, lines: make(chan []byte), done: make(chan struct{})}
		go func() {
			defer close(p.lines)
			for r := bufio.NewScanner(fromAgent); r.Scan(); {
				select {
				case p.lines <- bytes.Clone(r.Bytes()):
				case <-p.done:
					fromAgent.Close()
					return
				}
			}
		}()
		return p, nil
	})
	run.StolenStream = nil
	run.OtherPrincipal = run.Dialer // each link is a process of its own
}

type parent struct {
	w     io.WriteCloser
	lines chan []byte
	done  chan struct{}
	once  sync.Once
	mu    sync.Mutex
	asked int
}

func (p *parent) Send(_ context.Context, msg []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	method := "aaep.reply"
	for typ, name := range map[string]string{"subscription.request": "aaep.subscribe",
		"subscription.renegotiate": "aaep.renegotiate", "subscription.close": "aaep.close"} {
		if strings.Contains(string(msg), `"type":"`+typ+`"`) {
			method = name
		}
	}
	id := ""
	if method == "aaep.subscribe" || method == "aaep.renegotiate" {
		p.asked++
		id = fmt.Sprintf(`"id":%d,`, p.asked)
	}
	_, err := fmt.Fprintf(p.w, `{"jsonrpc":"2.0",%s"method":%q,"params":%s}`+"\n", id, method, msg)
	return err
}

func (p *parent) Receive(ctx context.Context) ([]byte, error) {
	select {
	case line, ok := <-p.lines:
		var o struct{ Params, Result json.RawMessage }
		if !ok {
			return nil, io.EOF
		}
		if err := json.Unmarshal(line, &o); err != nil {
			return nil, err
		}
		return append(o.Params, o.Result...), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *parent) Close() error {
	p.once.Do(func() { close(p.done) })
	return p.w.Close()
}
