package agui_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/agui"
	"github.com/aaep-go/aaep/producer"
)

// A web app reaches its agent through the proxy, and gets what the agent sends.
func ExampleProxy() {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}`+"\n\n")
		io.WriteString(w, `data: {"type":"RUN_FINISHED","threadId":"t","runId":"r"}`+"\n\n")
	}))
	defer agent.Close()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Shutdown(context.Background())
	upstream, _ := url.Parse(agent.URL)
	proxy := httptest.NewServer(agui.Proxy(p, upstream, agui.Config{}))
	defer proxy.Close()

	resp, err := http.Post(proxy.URL, "application/json", strings.NewReader(`{"threadId":"t","runId":"r","messages":[]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	events, _ := io.ReadAll(resp.Body)
	fmt.Println(strings.Count(string(events), "data: "), "events")
	// Output: 2 events
}
