package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	wire "github.com/aaep-go/aaep/transports/websocket"
)

// A listener answers pings, counts an event once however many members of it say when it was sent,
// and says how its link ended.
func TestListenerOverWebSocket(t *testing.T) {
	ponged := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		up := websocket.Upgrader{Subprotocols: []string{wire.Subprotocol}}
		conn, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		conn.SetPongHandler(func(data string) error { ponged <- data; return nil })
		go conn.ReadMessage() // which handles the pong
		if err := conn.WriteControl(websocket.PingMessage, []byte("still there?"),
			time.Now().Add(time.Minute)); err != nil {
			return
		}
		<-ponged
		terse := `{"summary_terse":"` + stampText() + `","summary_normal":"` + stampText() + `"}`
		conn.WriteMessage(websocket.TextMessage, []byte(terse))
		conn.WriteMessage(websocket.TextMessage, []byte(`{"summary_normal":"Event of another kind."}`))
	}))
	defer server.Close()
	l, err := dialListener(WebSocket, raw, strings.TrimPrefix(server.URL, "http://"), "")
	if err != nil {
		t.Fatal(err)
	}
	events := 0
	if err := l.readEvents(func(time.Duration) { events++ }); err == nil || events != 1 {
		t.Errorf("%d events, then %v; want 1, and why the link has ended", events, err)
	}
}

// A listener over Server-Sent Events reads the data of an event whole and once, however long its
// line is.
func TestLongLines(t *testing.T) {
	sizes := []int{10, 4000, 4096, 5000, 9000, 20000}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, n := range sizes {
			fmt.Fprintf(w, "event: aaep.event\ndata:%s\n\n", strings.Repeat("x", n))
		}
	}))
	defer server.Close()
	l, err := dialListener(SSE, raw, strings.TrimPrefix(server.URL, "http://"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for _, n := range sizes {
		if data, err := l.next(); err != nil || string(data) != strings.Repeat("x", n)+"\n" {
			t.Errorf("%d bytes came as %d, %v", n, len(data), err)
		}
	}
}

// A measurement ends when a listener loses its link, and says which one.
func TestLostLink(t *testing.T) {
	o := Options{Listeners: 2, Server: func(kind, wire, listeners string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"="+kind+" "+wire+" "+listeners)
		return cmd
	}}
	for _, wire := range Wires {
		s, err := o.openHarness(wire, ours)
		if err != nil {
			t.Fatal(err)
		}
		defer s.stopServer()
		if err := s.addListeners(alike, 2); err != nil {
			t.Fatal(err)
		}
		s.links[1].close()
		if err := s.waitForCount(context.Background(), 1); err == nil ||
			!strings.Contains(err.Error(), "the link of listener 2") {
			t.Errorf("over %s: %v", wire, err)
		}
	}
}
