package a2a_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/a2a"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/internal/npmtest"
	"github.com/aaep-go/aaep/internal/replies"
)

// ways are those in which the agent on the library of the protocol's authors is spoken with: the
// versions over JSON-RPC, and the other binding of the newer one.
var ways = []string{"1.0", "0.3", "HTTP+JSON"}

// sdkAgent runs the agent on the library of the protocol's authors, which is spoken with in one way
// alone.
func sdkAgent(t *testing.T, dir, way string) (*bridgetest.Program, string) {
	t.Helper()
	p := bridgetest.Start(t, dir, "node", "agent.mjs", way)
	return p, p.Line(t)
}

// A task of an agent on the library of the protocol's authors is heard from its beginning to its
// end, and goes on with the answer to what the agent asked, in each of the ways.
func TestSDKAgent(t *testing.T) {
	dir := npmtest.Install(t, "testdata/sdk")
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			program, url := sdkAgent(t, dir, way)
			agent := dial(t, url, a2a.Config{})
			if agent.Name() != "Archive" || (agent.Version() == "0.3") != (way == "0.3") {
				t.Fatalf("the agent is %q and speaks %q", agent.Name(), agent.Version())
			}
			const begins = "Reading the orders.\nreport: The first half. The second half.\n"
			tests := []struct {
				send, heard, err string
			}{
				{"ask me", "Archive asks: Which month?\nGoing on.\nanswer: You said May.\nAll is done.", ""},
				{"do it", "All is done.", ""},
				{"slow fail", "The task failed. Archive: The archive is closed.",
					"a2a: the task failed: The archive is closed."},
				{"slow reject", "The agent rejected the task. Archive: That is not what I do.",
					"a2a: the agent rejected the task: That is not what I do."},
				{"auth", "Archive wants you to sign in somewhere. Have you done that?\nGoing on.\nanswer: You said The user says that they have signed in..\nAll is done.", ""},
			}
			for _, test := range tests {
				p := bridgetest.NewProducer(t)
				l := bridgetest.Listen(t, p, func(l *bridgetest.Listener, ev *aaep.Event) {
					answer := any("May")
					if q := ev.Payload.(*aaep.AwaitingClarification); slices.Contains(q.AcceptedResponseKinds,
						aaep.ResponseYesNo) {
						answer = true
					}
					replies.Send(context.Background(), l.Sub.Question(ev), "", answer)
				})
				task, err := agent.Send(t.Context(), p, test.send)
				if err != nil {
					t.Fatal(err)
				}
				if test.err != "" { // an error takes the place of progress that was not heard yet (D-50)
					l.AwaitHeard(t, begins)
					fmt.Fprintln(program.In, "go on")
				}
				if err := task.Wait(); err == nil && test.err != "" || err != nil && err.Error() != test.err {
					t.Errorf("%s: the task ends with %v, want %q", test.send, err, test.err)
				}
				heard := l.AwaitEnd(t, 1)
				if !strings.Contains(heard, begins) || !strings.HasSuffix(heard, test.heard) {
					t.Errorf("%s: heard\n%s\nwant\n%s…\n%s", test.send, heard, begins, test.heard)
				}
			}
		})
	}
}

// A task that is cancelled here ends at the agent on the library, and one that another client has
// begun is followed from its beginning; a push notification brings what no stream does.
func TestSDKTasks(t *testing.T) {
	dir := npmtest.Install(t, "testdata/sdk")
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			_, url := sdkAgent(t, dir, way)
			other := dial(t, url, a2a.Config{})
			elsewhere := bridgetest.NewProducer(t)
			theirs := bridgetest.Listen(t, elsewhere, nil)
			begun, err := other.Send(t.Context(), elsewhere, "wait for it")
			if err != nil {
				t.Fatal(err)
			}
			p := bridgetest.NewProducer(t)
			l := bridgetest.Listen(t, p, nil)
			theirs.AwaitHeard(t, "The first half.")
			push := httptest.NewServer(nil)
			defer push.Close()
			agent := dial(t, url, a2a.Config{PushURL: push.URL})
			push.Config.Handler = agent
			task, err := agent.Follow(t.Context(), p, begun.ID())
			if err != nil {
				t.Fatal(err)
			}
			l.AwaitHeard(t, "report: The first half. The second half.")
			if err := begun.Cancel(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := task.Wait(); err == nil || err.Error() != "a2a: the task was cancelled" {
				t.Errorf("the task ended with %v", err)
			}
			heard := l.AwaitEnd(t, 1)
			if !strings.HasSuffix(heard, "The task was cancelled.") || strings.Count(heard, "The first half.") != 1 {
				t.Errorf("heard %s", heard)
			}
		})
	}
}
