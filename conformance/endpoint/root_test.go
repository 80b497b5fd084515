package endpoint_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance/endpoint"
	"github.com/aaep-go/aaep/transports"
)

// Without a handshake the request is the endpoint's own, which it says, and a reply is judged as it
// was posted, with all that is wrong with it. CONF-012
func TestRootLayoutAsPosted(t *testing.T) {
	s, err := endpoint.Listen("http://127.0.0.1:0/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan struct{})
	go func() {
		defer close(over)
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/events", nil)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	conn, err := s.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	request, err := conn.Receive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !conn.(interface{ Substituted([]byte) bool }).Substituted(request) {
		t.Errorf("the endpoint does not say that it wrote %s", request)
	}
	accepted, err := aaep.Encode(&aaep.SubscriptionAccepted{SubscriptionID: "sub_1", AAEPVersion: aaep.Version,
		Producer: aaep.Agent{AgentID: "a"}})
	if err == nil {
		err = conn.Send(ctx, accepted)
	}
	if err != nil {
		t.Fatal(err)
	}
	stream, err := conn.(transports.Resumable).NextStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const question = `{"@context":"https://aaep-protocol.org/context/v1","type":"aaep:agent.awaiting.confirmation","event_id":"evt_1","session_id":"sess_1",` +
		`"timestamp":"2026-01-01T00:00:00.000Z","producer":{"agent_id":"a"},"urgency":"critical","summary_normal":"Pay?","action":"Pay","consequence":"It is gone",` +
		`"reply_token":"rpl_1","timeout_seconds":60,"default_decision":"reject"}`
	if err := stream.SendEvents(ctx, []transports.Event{{Message: []byte(question), ID: "evt_1"}}); err != nil {
		t.Fatal(err)
	}
	const posted = `{"type":"confirmation.reply","reply_token":"rpl_1","decision":"accept","timestamp":"2026-01-01T00:00:01.000Z"}`
	go func() {
		if resp, err := http.Post(s.URL()+"/messages", "application/json", strings.NewReader(posted)); err == nil {
			if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", resp.Status, body)
				cancel()
			}
			resp.Body.Close()
		}
	}()
	got, err := conn.Receive(ctx)
	if err != nil || string(got) != posted {
		t.Errorf("%v: the reply is received as %s", err, got)
	}
	if conn.(interface{ Substituted([]byte) bool }).Substituted(got) {
		t.Error("the endpoint says that it wrote the reply")
	}
	cancel()
	<-over
}
