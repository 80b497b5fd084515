package web_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/web/relay"
	"github.com/aaep-go/aaep/transports/sse"
)

// TestNeverSaysItWaits: a question of an agent without a handshake, which asks in the middle of a
// tool call and never tells that it waits, is over on the page when the agent goes on, by
// whichever answer. D-22, D-31, D-43
func TestNeverSaysItWaits(t *testing.T) {
	t.Parallel()
	told := make(chan string, 8)
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/events" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case ev := <-told:
				fmt.Fprintf(w, "data: %s\n\n", ev)
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(func() {
		agent.CloseClientConnections()
		agent.Close()
	})
	n, at := 0, time.Now()
	tell := func(kind, more string) {
		n++
		at = at.Add(time.Millisecond)
		told <- strings.Join(strings.Fields(fmt.Sprintf(`{"@context":%q,"type":"aaep:agent.%s","event_id":"evt_%d","session_id":"sess_1","timestamp":%q,
			"producer":{"agent_id":"agent"},%s}`, aaep.CoreContext, kind, n, aaep.FormatTimestamp(at), more)), " ")
	}
	r := relay.New(sse.Dialer{URL: agent.URL, RootLayout: true}, subscriber.Config{ID: "page"})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	go r.Serve(t.Context(), ln)
	p := newBrowser(t).open("http://"+ln.Addr().String()+r.Path(), "")
	p.until(connected)
	tell("state.changed", `"summary_normal":"Working.","from_state":"idle","to_state":"calling_tool"`)
	tell("awaiting.confirmation", `"urgency":"critical","summary_normal":"Pay?","action":"Pay $5.","consequence":"It is gone.","reply_token":"rpl_1",
		"timeout_seconds":300,"default_decision":"reject","risk_level":"high","irreversible":true`)
	p.until(asked)
	tell("tool.completed", `"tool":"pay","status":"error","error_message":"Declined."`)
	tell("state.changed", `"summary_normal":"Thinking.","from_state":"calling_tool","to_state":"thinking"`)
	p.until(`document.querySelectorAll(".question.settled").length === 1`)

	// What another call does settles no question that is part of a call; the end of that call does.
	tell("tool.invoked", `"summary_normal":"Paying.","tool":"pay","tool_call_id":"call_2"`)
	tell("awaiting.confirmation", `"urgency":"critical","summary_normal":"Pay?","action":"Call pay.","consequence":"It is gone.","reply_token":"rpl_2",
		"timeout_seconds":300,"default_decision":"reject","risk_level":"high","irreversible":true`)
	p.until(asked)
	tell("tool.completed", `"tool":"look_up","tool_call_id":"call_3","status":"success","summary_normal":"Looked up."`)
	tell("state.changed", `"summary_normal":"Thinking.","from_state":"calling_tool","to_state":"thinking"`)
	tell("handoff.requested", `"urgency":"critical","summary_normal":"Ask Ann.","target_kind":"human","reason":"Rules."`)
	p.until(`document.body.textContent.includes("Ask Ann.")`)
	if !eval[bool](p, `document.querySelectorAll(".question:not(.settled)").length === 1`) {
		t.Error("the question was lost while another call went on")
	}
	tell("tool.completed", `"tool":"pay","tool_call_id":"call_2","status":"error","summary_normal":"Declined."`)
	p.until(`document.querySelector(".question.settled .outcome")?.textContent.includes("Declined.")`)

	// A question about something else is part of no call, whatever that is called.
	tell("tool.invoked", `"summary_normal":"Looking it up.","tool":"define","tool_call_id":"call_4"`)
	tell("awaiting.clarification", `"urgency":"normal","summary_normal":"Which one?","question":"Which one?","reply_token":"rpl_3",
		"timeout_seconds":300,"default_answer":"Any."`)
	p.until(`document.querySelectorAll(".question:not(.settled)").length === 1`)
	tell("state.changed", `"summary_normal":"Thinking.","from_state":"calling_tool","to_state":"thinking"`)
	p.until(`document.querySelectorAll(".question:not(.settled)").length === 0`)
}
