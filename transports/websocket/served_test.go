package websocket

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	gorilla "github.com/gorilla/websocket"
)

// Pings and pongs between messages are handled however they come: alone, in pieces, or with a
// message behind them.
func TestControlFrames(t *testing.T) {
	addr, conns := acceptAll(t, ServerOptions{})
	ws, _, _ := dialRaw(t, addr, nil, Subprotocol)
	defer ws.Close()
	c := <-conns
	defer c.Close()
	var answers bytes.Buffer
	pong := make(chan struct{}, 10)
	ws.SetPongHandler(func(data string) error { answers.WriteString(data + " "); pong <- struct{}{}; return nil })
	go ws.ReadMessage() // until the end
	write := func(conn io.Writer, frames ...string) {
		t.Helper()
		for _, f := range frames {
			if _, err := io.WriteString(conn, f); err != nil {
				t.Fatal(err)
			}
		}
	}
	answered := func() {
		t.Helper()
		select {
		case <-pong:
		case <-time.After(time.Minute):
			t.Fatal("no pong; so far ", answers.String())
		}
	}
	received := func(want string) {
		t.Helper()
		got, err := c.Receive(t.Context())
		if err != nil || string(got) != want {
			t.Fatalf("received %q, %v; want %q", got, err, want)
		}
	}
	mask := func(opcode byte, text string) string { // with the mask "abcd"
		b := []byte(text)
		for i := range b {
			b[i] ^= "abcd"[i%4]
		}
		return string([]byte{0x80 | opcode, 0x80 | byte(len(text))}) + "abcd" + string(b)
	}
	tcp := ws.NetConn().(*net.TCPConn)
	write(tcp, mask(gorilla.PingMessage, "alone"))
	answered()
	write(tcp, mask(gorilla.PongMessage, ""), mask(gorilla.PongMessage, "nobody asked"),
		mask(gorilla.TextMessage, "one"))
	received("one")
	write(tcp, mask(gorilla.PingMessage, "first")+mask(gorilla.PingMessage, strings.Repeat("x", 125))+
		mask(gorilla.TextMessage, "two")+mask(gorilla.PingMessage, "last"))
	received("two")
	for range 3 {
		answered()
	}
	for i, b := range []byte(mask(gorilla.PingMessage, "slow")) {
		if i%3 == 0 {
			time.Sleep(time.Millisecond) // for the other end to find a piece
		}
		write(tcp, string([]byte{b}))
	}
	answered()
	write(tcp, mask(gorilla.TextMessage, "three"))
	received("three")
	if got, want := answers.String(), "alone first "+strings.Repeat("x", 125)+" last slow "; got != want {
		t.Errorf("answered %q, want %q", got, want)
	}
	for what, bad := range map[string]string{
		"a ping in two":            string([]byte{gorilla.PingMessage, 0x80}) + "abcd",
		"a ping without a mask":    string([]byte{0x80 | gorilla.PingMessage, 0}),
		"a ping that is too long":  string([]byte{0x80 | gorilla.PingMessage, 0x80 | 126, 0, 126}) + "abcd",
		"a ping with a reserved 1": string([]byte{0xc0 | gorilla.PingMessage, 0x80}) + "abcd",
	} {
		ws, _, _ := dialRaw(t, addr, nil, Subprotocol)
		c := <-conns
		write(ws.NetConn(), mask(gorilla.PingMessage, "fine")+bad)
		if _, err := c.Receive(t.Context()); err == nil || err == io.EOF {
			t.Errorf("%s ends in %v, want an error", what, err)
		}
		ws.Close()
		c.Close()
	}
}
