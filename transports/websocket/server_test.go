package websocket

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gorilla "github.com/gorilla/websocket"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// acceptAll serves s and hands out what it accepts.
func acceptAll(t *testing.T, o ServerOptions) (addr string, conns <-chan transports.Conn) {
	t.Helper()
	s := NewServer(o)
	addr, _ = serveTapped(t, s)
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
	return addr, c
}

// dialRaw connects as any client does, and returns what a refusal says.
func dialRaw(t *testing.T, addr string, h http.Header, protocols ...string) (*gorilla.Conn, int, string) {
	t.Helper()
	ws, resp, err := (&gorilla.Dialer{Subprotocols: protocols}).Dial("ws://"+addr+DefaultPath, h)
	if err != nil {
		if resp == nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		return nil, resp.StatusCode, string(body)
	}
	t.Cleanup(func() { ws.Close() })
	return ws, 101, ""
}

// WS-002, INV-44, INV-47, T-ORIGIN: a page of another site, a rebound name, a missing subprotocol
// and a plain request get no connection, and are told why.
func TestRefused(t *testing.T) {
	addr, _ := acceptAll(t, ServerOptions{Origins: []string{"https://reader.example"}})
	for name, tc := range map[string]struct {
		h         http.Header
		protocols []string
		status    int
		says      string
	}{
		"a program": {nil, []string{Subprotocol}, 101, ""},
		"an allowed page": {http.Header{"Origin": {"https://reader.example"}},
			[]string{"other", Subprotocol}, 101, ""},
		"an allowed page of another site": {http.Header{"Origin": {"https://reader.example"},
			"Sec-Fetch-Site": {"cross-site"}}, []string{Subprotocol}, 101, ""},
		"foreign page of the same site": {http.Header{"Origin": {"https://www.reader.example"},
			"Sec-Fetch-Site": {"same-site"}}, []string{Subprotocol}, 403, "Origin"},
		"own page": {http.Header{"Origin": {"http://" + addr}}, []string{Subprotocol}, 101, ""},
		"foreign page": {http.Header{"Origin": {"https://evil.example"}}, []string{Subprotocol},
			403, "Origin"},
		"null origin": {http.Header{"Origin": {"null"}}, []string{Subprotocol}, 403, "Origin"},
		"cross-site": {http.Header{"Sec-Fetch-Site": {"cross-site"}}, []string{Subprotocol}, 403,
			"another site"},
		"rebound name": {http.Header{"Host": {"evil.example"}}, []string{Subprotocol}, 403, "Host"},
		"rebound with page": {http.Header{"Host": {"evil.example"}, "Origin": {"http://evil.example"}},
			[]string{Subprotocol}, 403, "Host"},
		"no subprotocol": {nil, nil, 400, Subprotocol},
		"another one":    {nil, []string{"aaep.v2"}, 400, Subprotocol},
	} {
		ws, status, body := dialRaw(t, addr, tc.h, tc.protocols...)
		if status != tc.status || !strings.Contains(body, tc.says) {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if ws != nil && ws.Subprotocol() != Subprotocol {
			t.Errorf("%s: the subprotocol is %q", name, ws.Subprotocol())
		}
	}
	resp, err := http.Get("http://" + addr + DefaultPath)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("a plain GET got %s", resp.Status)
	}
	http.DefaultClient.CloseIdleConnections()
}

// WS-009, D-56, TR-015: who is not let in is told by a message and then by a close code.
func TestCredentials(t *testing.T) {
	addr, _ := acceptAll(t, ServerOptions{Authenticate: func(r *http.Request) (string, error) {
		switch r.Header.Get("Authorization") {
		case "Bearer good":
			return "ada", nil
		case "Bearer wrong":
			return "", fmt.Errorf("not here: %w", aaep.AuthorizationDenied)
		case "Bearer odd":
			return "", nil
		}
		return "", errors.New("the secret reason")
	}})
	for credentials, want := range map[string]struct {
		code   int
		reason aaep.ReasonCode
	}{"Bearer wrong": {4003, aaep.AuthorizationDenied}, "": {4002, aaep.AuthenticationRequired},
		"Bearer odd": {4002, aaep.AuthenticationRequired}} {
		ws, _, _ := dialRaw(t, addr, http.Header{"Authorization": {credentials}}, Subprotocol)
		_, msg, err := ws.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		m, err := aaep.Decode(msg)
		if no, ok := m.(*aaep.SubscriptionRejected); err != nil || !ok || no.ReasonCode != want.reason ||
			bytes.Contains(msg, []byte("secret")) {
			t.Errorf("%q: %s, %v", credentials, msg, err)
		}
		if _, _, err := ws.ReadMessage(); !gorilla.IsCloseError(err, want.code) {
			t.Errorf("%q: closed with %v, want %d", credentials, err, want.code)
		}
	}
	if _, err := (Dialer{URL: "ws://agent.example", Header: http.Header{"Authorization": {"Bearer good"}}}).Dial(
		t.Context()); err == nil || !strings.Contains(err.Error(), "wss") {
		t.Errorf("credentials in clear: %v", err)
	}
}

// WS-009, D-67: the code of the end follows from what was said last.
func TestCloseCodes(t *testing.T) {
	addr, conns := acceptAll(t, ServerOptions{})
	say := func(m aaep.Message) []byte {
		msg, err := aaep.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		return msg
	}
	bye := func(r aaep.ReasonCode) []byte {
		return say(&aaep.SubscriptionClose{SubscriptionID: "sub_1", ReasonCode: r, ReasonMessage: "Bye."})
	}
	no := func(r aaep.ReasonCode) []byte {
		return say(&aaep.SubscriptionRejected{ReasonCode: r, ReasonMessage: "No."})
	}
	for name, tc := range map[string]struct {
		last                 []byte
		producer, subscriber int
	}{
		"nothing":      {nil, 4000, 4000},
		"an event":     {[]byte(`{"@context":"x"}`), 4000, 4000},
		"shutdown":     {bye(aaep.ProducerShutdown), 4000, 4000},
		"rejected":     {no(aaep.CapabilitiesIncompatible), 4001, 4001},
		"credentials":  {no(aaep.AuthenticationRequired), 4002, 4002},
		"not allowed":  {no(aaep.AuthorizationDenied), 4003, 4003},
		"violation":    {bye(aaep.PolicyViolation), 4004, 4005},
		"slow":         {bye(aaep.SlowSubscriber), 4004, 4005},
		"not verified": {bye("manifest_verification_failed"), 4004, 4005},
	} {
		ws, _, _ := dialRaw(t, addr, nil, Subprotocol)
		c := <-conns
		if tc.last != nil {
			if err := c.Send(t.Context(), tc.last); err != nil {
				t.Fatal(err)
			}
		}
		go c.Close()
		var err error
		for err == nil {
			_, _, err = ws.ReadMessage()
		}
		if !gorilla.IsCloseError(err, tc.producer) {
			t.Errorf("%s: the producer closed with %v, want %d", name, err, tc.producer)
		}
		d, err := Dialer{URL: "ws://" + addr}.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		server := <-conns
		got := make(chan error, 1)
		f := server.(interface {
			Receive(context.Context) ([]byte, error)
		})
		go func() {
			var err error
			for err == nil {
				_, err = f.Receive(context.Background())
			}
			got <- err
		}()
		if tc.last != nil {
			d.Send(t.Context(), tc.last)
		}
		go d.Close()
		if err := <-got; err != io.EOF {
			t.Errorf("%s: the producer saw %v, want a clean end", name, err)
		}
		server.Close()
		ws.Close()
	}
}

// INV-32, INV-35, security: too much, what is no text, and compressed bombs end the one connection
// they came on; binary text is taken (WS-004). Such ends have the standard codes, and those that
// AAEP names are its own (WS-010).
func TestBadFrames(t *testing.T) {
	addr, conns := acceptAll(t, ServerOptions{})
	var bomb bytes.Buffer
	z, _ := flate.NewWriter(&bomb, 9)
	z.Write(bytes.Repeat([]byte(" "), 16<<20))
	z.Close()
	for name, tc := range map[string]struct {
		kind int
		data []byte
		want string // of Receive
		code int
	}{
		"text":        {gorilla.TextMessage, []byte(`{"a":1}`), "", 0},
		"binary text": {gorilla.BinaryMessage, []byte(`{"a":1}`), "", 0},
		"too large": {gorilla.TextMessage, bytes.Repeat([]byte(" "), transports.MaxMessage+1), "1 MiB",
			gorilla.CloseMessageTooBig},
		"not UTF-8": {gorilla.TextMessage, []byte("{\"a\":\"\xff\"}"), "UTF-8",
			gorilla.CloseInvalidFramePayloadData},
		"binary waste": {gorilla.BinaryMessage, bomb.Bytes(), "UTF-8", gorilla.CloseInvalidFramePayloadData},
	} {
		ws, _, _ := dialRaw(t, addr, http.Header{"Sec-WebSocket-Extensions": nil}, Subprotocol)
		c := <-conns
		if err := ws.WriteMessage(tc.kind, tc.data); err != nil {
			t.Logf("%s: %v", name, err) // it may be refused while it is written
		}
		got, err := c.Receive(t.Context())
		if tc.want == "" && (err != nil || !bytes.Equal(got, tc.data)) || tc.want != "" &&
			(err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %.50q, %v", name, got, err)
		}
		if tc.code != 0 {
			ws.SetReadDeadline(time.Now().Add(time.Minute))
			if _, _, err := ws.ReadMessage(); !gorilla.IsCloseError(err, tc.code) {
				t.Errorf("%s: closed with %v, want %d", name, err, tc.code)
			}
		}
		c.Close()
	}
	// No peer is offered compression, whatever it asks for.
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn,
		"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "+
			"13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"+
			"Sec-WebSocket-Protocol: %s\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n", DefaultPath, addr,
		Subprotocol)
	answer := make([]byte, 1024)
	n, err := conn.Read(answer)
	if err != nil || strings.Contains(strings.ToLower(string(answer[:n])), "deflate") ||
		!strings.Contains(string(answer[:n]), "101") {
		t.Errorf("the answer is %s, %v", answer[:n], err)
	}
	(<-conns).Close()
}

// INV-50: every limit answers, and recovers.
func TestTooMany(t *testing.T) {
	addr, conns := acceptAll(t, ServerOptions{MaxConnections: 2})
	a, _, _ := dialRaw(t, addr, nil, Subprotocol)
	dialRaw(t, addr, nil, Subprotocol)
	if _, status, body := dialRaw(t, addr, nil, Subprotocol); status != http.StatusServiceUnavailable ||
		!strings.Contains(body, "as many") {
		t.Errorf("%d %s", status, body)
	}
	first := <-conns
	a.Close()
	first.Close()
	deadline := time.Now().Add(time.Minute)
	for {
		if _, status, _ := dialRaw(t, addr, nil, Subprotocol); status == 101 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("there is no room after one has gone")
		}
	}
	(<-conns).Close()
	(<-conns).Close()
}

// INV-50: strangers who are refused and do not leave take no place of a known peer.
func TestStrangersTakeNoPlace(t *testing.T) {
	addr, conns := acceptAll(t, ServerOptions{MaxConnections: 1, Authenticate: bearerName})
	for range maxRefusals { // who hear that they are refused, and stay
		if _, status, body := dialRaw(t, addr, nil, Subprotocol); status != 101 {
			t.Fatalf("%d %s", status, body)
		}
	}
	known := Dialer{URL: "ws://" + addr, Header: http.Header{"Authorization": {"Bearer ada"}}}
	ada, err := known.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ada.Close()
	defer (<-conns).Close()
	var refused *aaep.Rejection
	if _, err := known.Dial(t.Context()); !errors.As(err, &refused) || refused.Code != aaep.TransportUnavailable ||
		refused.RetryAfter != 30*time.Second {
		t.Errorf("where there is no room: %v", err)
	}
	if _, err := (Dialer{URL: "ws://" + addr}).Dial(t.Context()); err != nil &&
		!errors.Is(err, aaep.AuthenticationRequired) {
		t.Errorf("one stranger more: %v", err)
	}
}

// INV-31: of large messages only so many are read at once; the usual ones, and who sends them, do
// not wait for them.
func TestLargeMessagesHaveLittleRoom(t *testing.T) {
	s := NewServer(ServerOptions{})
	addr, _ := serveTapped(t, s)
	large := strings.Repeat("a", 64<<10+1)
	var free func() // one place
	for {
		_, done, err := s.largeMessages.Read(strings.NewReader(large), "", 0)
		if err != nil {
			break
		}
		free = done
	}
	var ends []transports.Conn
	for _, msg := range []string{large, "small"} {
		ws, _, _ := dialRaw(t, addr, nil, Subprotocol)
		if err := ws.WriteMessage(gorilla.TextMessage, []byte(msg)); err != nil {
			t.Fatal(err)
		}
		c, err := s.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ends = append(ends, c)
	}
	if msg, err := ends[1].Receive(t.Context()); err != nil || string(msg) != "small" {
		t.Errorf("the usual one: %q, %v", msg, err)
	}
	ctx, giveUp := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer giveUp()
	if msg, err := ends[0].Receive(ctx); err == nil {
		t.Errorf("the large one came where there was no room: %d bytes", len(msg))
	}
	free()
	if msg, err := ends[0].Receive(t.Context()); err != nil || string(msg) != large {
		t.Errorf("the large one: %d bytes, %v", len(msg), err)
	}
	if _, _, err := s.largeMessages.Read(strings.NewReader(large), "", 0); err != nil {
		t.Errorf("it holds its room still: %v", err)
	}
}

// What is no producer's address, and what speaks no AAEP, is one clear error.
func TestDialErrors(t *testing.T) {
	srv := http.NewServeMux()
	srv.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		up := gorilla.Upgrader{}
		if ws, err := up.Upgrade(w, r, nil); err == nil {
			ws.Close()
		}
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{Handler: srv}
	go h.Serve(ln)
	defer h.Close()
	for url, says := range map[string]string{
		"http://127.0.0.1:1":                "not an address",
		"ws://":                             "not an address",
		"::":                                "not an address",
		"ws://user:secret@127.0.0.1:1":      "no credentials",
		"ws://" + ln.Addr().String() + "/x": "subprotocol",
		"ws://127.0.0.1:1":                  "refused",
	} {
		if _, err := (Dialer{URL: url}).Dial(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", url, err, says)
		}
	}
}

// A connection ends, and says why, when its credentials are withdrawn.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	var gone atomic.Bool
	addr, conns := acceptAll(t, ServerOptions{Authenticate: func(*http.Request) (string, error) {
		if gone.Load() {
			return "", aaep.AuthenticationRequired
		}
		return "ada", nil
	}})
	ws, _, _ := dialRaw(t, addr, nil, Subprotocol)
	defer ws.Close()
	c := <-conns
	gone.Store(true)
	ws.SetReadDeadline(time.Now().Add(time.Minute))
	if _, _, err := ws.ReadMessage(); !gorilla.IsCloseError(err, closeNotAuthenticated) {
		t.Errorf("closed with %v, want %d", err, closeNotAuthenticated)
	}
	if _, err := c.Receive(t.Context()); !errors.Is(err, aaep.AuthenticationRequired) {
		t.Errorf("the producer's end has %v", err)
	}
}
