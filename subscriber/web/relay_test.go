package web_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/web/relay"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/auth"
	"github.com/aaep-go/aaep/transports/websocket"
)

// TestRelay: the page for an agent elsewhere, over another transport and behind a token, names who
// has proved who it is, and its answer counts. When the agent ends, it says so.
func TestRelay(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	signer, err := manifest.NewSigner(key, manifest.SignerOptions{})
	check(t, err)
	public, err := manifest.PublicKeys(signer)
	check(t, err)
	keys, err := manifest.ParseKeys(public)
	check(t, err)
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "bank", AgentName: "My bank"}, Signers: func() []*manifest.Signer { return []*manifest.Signer{signer} }})
	check(t, err)
	tokens, err := auth.Tokens(map[string]string{"ada": "the-token-of-this-test"})
	check(t, err)
	var running sync.WaitGroup
	defer running.Wait()
	agent, here := listener(t), listener(t)
	running.Go(func() { (&serve.Server{Authenticate: tokens}).Serve(context.Background(), agent, p) })
	defer p.Shutdown(context.Background())
	r := relay.New(websocket.Dialer{URL: "ws://" + agent.Addr().String(), Credentials: auth.Bearer("the-token-of-this-test")}, subscriber.Config{ID: "page",
		Capabilities: aaep.Capabilities{AcceptSignedManifestsOnly: new(true)}, Trust: &manifest.Trust{Verifier: manifest.Verifier{Keys: keys}}})
	ctx, stop := context.WithCancel(t.Context())
	running.Go(func() { r.Serve(ctx, here) })
	defer stop()

	page := b.open("http://"+here.Addr().String()+r.Path(), "")
	page.until(connected)
	if said := eval[string](page, `document.querySelector("header").innerText`); strings.Join(strings.Fields(said), " ") != "Verified: it proved that it is who it says. My bank Connected." {
		t.Errorf("the header says %q", said)
	}
	st := &agentPage{Producer: p}
	outcome := pay(t, st.session(t, "Paying your bills."), "$5")
	page.until(asked)
	if by := eval[string](page, whoAsks); by != "Verified: it proved that it is who it says. | Asked by “My bank”" {
		t.Errorf("the question is %q", by)
	}
	page.screenshot("relay")
	page.until(armed)
	eval[any](page, `document.querySelector("button.yes").click()`)
	check(t, result(t, outcome))
	page.until(`document.querySelector(".settled .outcome")?.textContent.startsWith("You answered: accept. The agent says: Pay finished.")`)
	check(t, p.Shutdown(t.Context()))
	page.until(`document.getElementById("link").textContent.includes("Trying again.")`)
}

func listener(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	return ln
}

// TestLeftOut: a page whose agent sends what is not valid says so, at once and in its log. SEC-009
func TestLeftOut(t *testing.T) {
	t.Parallel()
	theirs, agent := transports.Pipe()
	defer agent.Close()
	go func() {
		agent.Receive(t.Context())
		agent.Send(t.Context(), []byte(`{"type":"subscription.accepted","subscription_id":"sub_1","aaep_version":"1.0.0","producer":{"agent_id":"planner"},"honored_capabilities":{}}`))
	}()
	here := listener(t)
	r := relay.New(dialer(func(context.Context) (transports.Conn, error) { return theirs, nil }), subscriber.Config{ID: "page"})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Serve(ctx, here) })
	defer func() { stop(); running.Wait() }()
	page := newBrowser(t).open("http://"+here.Addr().String()+r.Path(), "")
	page.until(connected)
	check(t, agent.Send(t.Context(), []byte(`{"@context":"https://aaep-protocol.org/context/v1","aaep_version":"1.0.0","type":"aaep:agent.awaiting.confirmation","event_id":"evt_1",
		"session_id":"sess_1","timestamp":"2026-01-01T00:00:00Z","producer":{"agent_id":"planner"},"urgency":"critical","action":"Pay."}`)))
	page.until(`document.querySelector("#log .urgent")?.textContent.startsWith("The agent asks something that cannot be shown or answered here")`)
}

type dialer func(context.Context) (transports.Conn, error)

func (d dialer) Dial(ctx context.Context) (transports.Conn, error) { return d(ctx) }
