package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
)

// crossSite is a page that follows an agent of another site with the script of docs/browser.md.
const crossSite = `<!doctype html><title>Elsewhere</title><script type="module">
import { follow } from "/follow.js";
const agent = new URLSearchParams(location.search).get("agent");
const note = (promise) => promise.then(() => "in", () => "out");
const framed = (url, init, ...sandbox) => new Promise((read, failed) => { // its Origin is null, without allow-same-origin
  addEventListener("message", (e) => (e.data === "in" ? read : failed)(), { once: true });
  const frame = document.createElement("iframe");
  frame.sandbox = ["allow-scripts", ...sandbox].join(" ");
  frame.srcdoc = "<script>fetch(" + JSON.stringify(url) + "," + JSON.stringify(init) +
    ").then((r) => r.json()).then(() => parent.postMessage('in', '*'), () => parent.postMessage('out', '*'))<\/script>";
  document.body.append(frame);
});
window.attempts = {
  frame: await note(framed(agent + "/.well-known/aaep-manifest.json", {}, "allow-same-origin")),
  framed: await note(framed(agent + "/.well-known/aaep-manifest.json", {})),
  framedSigned: await note(framed(agent + "/aaep/v1/subscriptions", { method: "POST", headers: { Authorization: "Bearer mine", "Content-Type": "application/json" }, body: "{}" })),
  plain: await note(fetch(agent + "/.well-known/aaep-manifest.json").then((r) => r.json())),
  cookies: await note(fetch(agent + "/.well-known/aaep-manifest.json", { credentials: "include" }).then((r) => r.json())),
  socket: await note(new Promise((opened, failed) => {
    const ws = new WebSocket(agent.replace("http", "ws") + "/aaep/v1/ws", "aaep.v1");
    ws.onopen = opened;
    ws.onerror = failed;
  })),
  follow: await note(follow(agent + "/aaep/v1", {
    capabilities: { languages: ["en"], supports_confirmation_reply: true },
    headers: { Authorization: "Bearer mine" },
    hear: (event, reply) => { if (event.reply_token) reply(event, "accept"); },
  })),
};
</script>`

// INV-44, D-66: a page of another site that is listed is let in by a real browser, with what it
// asks leave for beforehand, over HTTP and WebSocket; one that is not listed gets nothing, nor does
// a frame without an origin, also on a page that is listed.
func TestListedOrigin(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/browser.md")
	check(t, err)
	_, script, _ := strings.Cut(string(doc), "```js\n")
	script, _, ok := strings.Cut(script, "```")
	if !ok {
		t.Fatal("docs/browser.md has no script")
	}
	pages := func() string {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/follow.js" {
				w.Header().Set("Content-Type", "text/javascript")
				w.Write([]byte(script))
				return
			}
			w.Header().Set("Content-Type", "text/html")
			w.Write([]byte(crossSite))
		}))
		t.Cleanup(func() { site.CloseClientConnections(); site.Close() })
		return strings.Replace(site.URL, "127.0.0.1", "localhost", 1) // another site than the agent's
	}
	listed, unlisted := pages(), pages()

	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "tester"}})
	check(t, err)
	t.Cleanup(func() { p.Shutdown(context.Background()) })
	handler, err := (&serve.Server{Origins: []string{listed}, Authenticate: func(r *http.Request) (string, error) {
		if r.Header.Get("Authorization") != "Bearer mine" && !strings.HasSuffix(r.URL.Path, "/ws") { // a page's WebSocket has no such header
			return "", errors.New("unknown")
		}
		return "ada", nil
	}}).Handler(p)
	check(t, err)
	agent := httptest.NewServer(handler)
	t.Cleanup(func() { agent.CloseClientConnections(); agent.Close() })

	b := newBrowser(t)
	for page, wanted := range map[string]string{unlisted: "out", listed: "in"} {
		tab := b.open(page+"/?agent="+agent.URL, "")
		tab.until("window.attempts")
		for what, got := range eval[map[string]string](tab, "window.attempts") {
			want := wanted
			if strings.HasPrefix(what, "framed") {
				want = "out"
			}
			if got != want {
				t.Errorf("a page of %s: %s is %s, want %s", page, what, got, want)
			}
		}
	}
	session, err := p.StartSession(t.Context(), aaep.Say("Paying your bills."))
	check(t, err)
	t.Cleanup(func() { session.Close() })
	if err := result(t, pay(t, session, "$5")); err != nil {
		t.Errorf("the listed page's answer: %v", err)
	}
}
