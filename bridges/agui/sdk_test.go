package agui_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/agui"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/internal/npmtest"
	"github.com/aaep-go/aaep/internal/replies"
)

// An agent and a web app on the libraries of the protocol's authors meet through the proxy. The
// app's library, which verifies the order of the events, sees one run; a file is deleted after a
// yes and after nothing else.
func TestSDK(t *testing.T) {
	dir := npmtest.Install(t, "testdata/sdk")
	agent := bridgetest.Start(t, dir, "node", "agent.mjs")
	upstream, err := url.Parse(agent.Line(t))
	if err != nil {
		t.Fatal(err)
	}
	const asks = "The agent works on a request.\nI look for the report."
	for _, tt := range []struct {
		name, message string
		cfg           agui.Config
		answer        any // a decision or a text; nil is no listener that can answer
		app           string
		heard         []string
		deletes       bool
	}{
		{"plain", "work", agui.Config{}, nil, "finished run-1 success\nsays There are three.\n",
			[]string{"Step: reading the orders.", "PLAN: ", "done", "2", "search", "There are three.", "The agent finished."}, false},
		{"reasoning", "work", agui.Config{Reasoning: true}, nil, "finished run-1 success\nsays There are three.\n",
			[]string{"They want May.", "There are three."}, false},
		{"yes", "delete", agui.Config{}, aaep.Accept, "finished run-1 success\nsays I look for the report.\nsays The report is gone.\n",
			[]string{asks, "Delete the report?", "The report is gone.", "The agent finished."}, true},
		{"no", "delete", agui.Config{}, aaep.Reject, "finished run-1 success\nsays I look for the report.\nsays Then I leave it.\n",
			[]string{asks, "Delete the report?", "Then I leave it."}, false},
		{"nobody", "delete", agui.Config{}, nil, "finished run-1 interrupt\nsays I look for the report.\n",
			[]string{asks, "What the agent asks was not answered here."}, false},
		{"observed", "delete", agui.Config{Observe: true}, aaep.Accept, "finished run-1 interrupt\nsays I look for the report.\n",
			[]string{asks, "The app asks: Delete the report?"}, false},
		{"form", "ask", agui.Config{}, "Ibadan", "finished run-1 success\nsays You said Ibadan.\n",
			[]string{"City?", "You said Ibadan."}, false},
		{"unknown form", "strange", agui.Config{}, aaep.Accept, "finished run-1 interrupt\n",
			[]string{"What the agent asks was not answered here."}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := bridgetest.NewProducer(t)
			reply := func(l *bridgetest.Listener, ev *aaep.Event) {
				switch answer := tt.answer.(type) {
				case aaep.Decision:
					replies.Send(context.Background(), l.Sub.Question(ev), answer, nil)
				case string:
					l.Sub.Question(ev).AnswerText(context.Background(), answer)
				}
			}
			if tt.answer == nil {
				reply = nil
			}
			l := bridgetest.Listen(t, p, reply)
			proxy := httptest.NewServer(agui.Proxy(p, upstream, tt.cfg))
			defer proxy.Close()
			app := exec.Command("node", filepath.Join(dir, "app.mjs"), proxy.URL+"/", tt.message)
			out, err := app.CombinedOutput()
			if err != nil || string(out) != tt.app {
				t.Errorf("the app printed %q, %v, want %q", out, err, tt.app)
			}
			if tt.deletes && agent.Line(t) != "deleted" {
				t.Error("the file was not deleted")
			}
			heard := l.AwaitEnd(t, 1)
			rest := heard
			for _, want := range tt.heard {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("heard\n%s\nwhich has no %q in its place", heard, want)
				}
				rest = after
			}
			if !tt.cfg.Reasoning && strings.Contains(heard, "They want May.") {
				t.Errorf("the reasoning was told: %s", heard)
			}
			if n := strings.Count(heard, "delete file"); !tt.deletes && slices.Contains([]string{"nobody", "observed"}, tt.name) && n > 0 {
				t.Errorf("a tool that did not run was told of:\n%s", heard)
			}
		})
	}
}
