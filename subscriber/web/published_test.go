package web_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
)

// A page of another author that knows no handshake, like the published one: it is of
// another origin, has an EventSource with onmessage at /events, which it makes anew when that
// broke, and sends replies without a subscription to /messages.
const stranger = `
window.heard = [];
window.opened = 0;
const connect = () => {
	const source = new EventSource(agent + "/events");
	source.onopen = () => { window.opened++; };
	source.onerror = () => { source.close(); setTimeout(connect, 200); };
	source.onmessage = (m) => {
		const e = JSON.parse(m.data);
		heard.push(e.type.split(".").slice(-2).join(".") + ": " + e.summary_normal);
		if (e.type === "aaep:agent.awaiting.confirmation") window.waiting = e;
	};
};
connect();
window.decide = async (decision) => {
	const r = await fetch(agent + "/messages", { method: "POST", headers: { "Content-Type": "application/json" },
		body: JSON.stringify({ type: "confirmation.reply", reply_token: waiting.reply_token, decision, timestamp: new Date().toISOString() }) });
	return r.status;
};`

// TestPublishedPage: such a page hears a session and answers, over the compatibility mount and in a
// real browser. D-43, D-63, D-64
func TestPublishedPage(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
	check(t, err)
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	agent, err := (&serve.Server{Origins: []string{elsewhere.URL}, RootLayout: &aaep.Capabilities{SupportsConfirmationReply: new(true)}}).Handler(p)
	check(t, err)
	srv := httptest.NewServer(agent)
	t.Cleanup(func() {
		p.Shutdown(t.Context())
		srv.CloseClientConnections()
		srv.Close()
	})
	page := b.open(elsewhere.URL, "")
	page.until(`document.readyState === "complete"`)
	eval[any](page, "const agent = "+strconv.Quote(srv.URL)+";"+stranger)
	page.until("opened === 1")
	s := (&agentPage{Producer: p}).session(t, "Paying your bills.")
	outcome := pay(t, s, "$5")
	page.until("window.waiting")
	undecided(t, outcome)
	srv.CloseClientConnections()
	page.until("opened === 2")
	if status := eval[int](page, `decide("accept")`); status != 200 {
		t.Errorf("the reply got %d", status)
	}
	check(t, result(t, outcome))
	check(t, s.Complete(aaep.Say("Done.")))
	page.until(`heard.at(-1) === "session.completed: Done."`)
	if first := eval[string](page, "heard[0]"); first != "session.started: Paying your bills." {
		t.Errorf("heard first was %q", first)
	}
}
