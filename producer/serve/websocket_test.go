package serve_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// WS-001, WS-003, WS-005, WS-006: what any WebSocket client sees at the usual path: the answer to
// its request first, one message in each text frame, and after its reply only what comes of it.
func TestRawWebSocket(t *testing.T) {
	st := startFixture(t, producer.Config{FromStart: true})
	s := st.startSession("Paying.") // so that there is something to be told before the answer
	ws, _, err := (&websocket.Dialer{Subprotocols: []string{"aaep.v1"}}).Dial("ws://"+st.addr+"/aaep/v1/ws", nil)
	check(t, err)
	defer ws.Close()
	check(t, ws.SetReadDeadline(time.Now().Add(patience)))
	say := func(m aaep.Message) { check(t, ws.WriteMessage(websocket.TextMessage, []byte(encodeMessage(t, m)))) }
	hear := func() aaep.Message {
		kind, msg, err := ws.ReadMessage()
		check(t, err)
		m, err := aaep.Decode(msg)
		if kind != websocket.TextMessage || err != nil {
			t.Fatalf("a frame of kind %d has %q: %v", kind, msg, err)
		}
		return m
	}
	say(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "raw", Capabilities: everything})
	accepted, ok := hear().(*aaep.SubscriptionAccepted)
	if !ok {
		t.Fatal("the first frame is not the answer")
	}
	agent := runAsync(func() (string, error) {
		return s.Tool(context.Background(), pay, func(context.Context) (string, error) { return "done", nil })
	})
	var told []string
	for {
		ev, ok := hear().(*aaep.Event)
		if !ok {
			t.Fatal("something came that is no event")
		}
		if q, asked := ev.Payload.(*aaep.AwaitingConfirmation); asked {
			say(&aaep.ConfirmationReply{ReplyToken: q.ReplyToken, Decision: aaep.Accept,
				SubscriptionID: accepted.SubscriptionID, Timestamp: time.Now()})
			told = nil
			continue
		}
		told = append(told, string(ev.Type()))
		if ev.Type() == aaep.TypeToolCompleted {
			break
		}
	}
	check(t, awaitResult(t, agent).err)
	if got := strings.ReplaceAll(strings.Join(told, " "), "aaep:agent.",
		""); got != "state.changed tool.invoked tool.completed" {
		t.Errorf("after the reply came %s", got)
	}
}
