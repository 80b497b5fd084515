package acp_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/acp"
)

// What a permission of version 2 says is in the question, whatever it is about, and a yes selects
// the option that allows it once.
func TestVersion2Permission(t *testing.T) {
	for _, tc := range []struct{ about, want string }{
		{`"title":"Delete it?","description":"It is old","subject":{"type":"command","command":"rm report.txt","cwd":"/srv/other"}`,
			`Confirm: Run the command "rm report.txt". Delete it? It is old. In the folder /srv/other.`},
		{`"title":"Change it?","subject":{"type":"tool_call","toolCall":{"toolCallId":"t1","title":"two files","kind":"edit","content":[` +
			`{"type":"diff","changes":[{"operation":"modify","path":"/srv/project/a"},{"operation":"move","oldPath":"/srv/project/b","path":"/etc/b"},{"operation":"juggle","path":"/srv/project/c"}],` +
			`"patch":{"format":"git_patch","text":"--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n-x\n+y\n+z\n"}}]}}`,
			`Confirm: two files. Change it? Changed is a. Moved is b, to /etc/b, which is not in the folder. In a way that is not known here, changed is c. 2 lines added, 1 removed.`},
		{`"title":"Build?","subject":{"type":"tool_call","toolCall":{"toolCallId":"t1","title":"Build it","kind":"execute",` +
			`"rawInput":{"command":"npm run build --workspace client -- --mode production && rm -rf dist"}}}`,
			`Confirm: Run a command with "rm -rf dist" in it: "Build it". Build? The command is: npm run build --workspace client -- --mode production && rm -rf dist.`},
		{`"title":"Send it","subject":{"type":"letter","to":"Ann"}`,
			`Confirm: Send it. What it is about is of a kind that is not known here, letter.`},
		{`"title":"Send it"`, `Confirm: Send it. The agent says no more about it.`},
	} {
		outcome := ""
		turn := func(a *scriptedAgent, _ string) string {
			a.send(`{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s1",%s,"options":%s}}`, tc.about, offers)
			outcome = a.awaitOutcome(`"p"`)
			return "end_turn"
		}
		runVersion2(t, turn, answerWith(aaep.Accept), func(t *testing.T, f *fixture) {
			if err := f.talk.Prompt(t.Context(), "Go on."); err != nil {
				t.Error(err)
			}
			waitTenSeconds()
			if heard := f.person.allHeard(); outcome != "once" || !strings.Contains(heard, tc.want) {
				t.Errorf("selected is %q, and heard\n%s\nwant\n%s", outcome, heard, tc.want)
			}
		})
	}
}

// runVersion2 is runConversation with an agent of version 2.
func runVersion2(t *testing.T, turn func(*scriptedAgent, string) string, decide func(*person, *aaep.Event),
	do func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		do(t, newFixtureWith(t, acp.Config{Folder: "/srv/project", Version2: true}, turn, decide))
	})
}

// A turn of version 2 is heard once and in order, and ends when the agent is idle; an idle from
// before it ends nothing.
func TestVersion2Turn(t *testing.T) {
	turn := func(a *scriptedAgent, _ string) string {
		a.sendUpdate(`{"sessionUpdate":"agent_message_chunk","messageId":"m1","content":{"type":"text","text":"I look."}}`)
		a.sendUpdate(`{"sessionUpdate":"agent_message","messageId":"m1","content":[{"type":"text","text":"I look."}]}`)
		a.sendUpdate(`{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"p","entries":[{"content":"Look","priority":"high","status":"in_progress"}]}}`)
		a.sendUpdate(`{"sessionUpdate":"tool_call_update","toolCallId":"t1","title":"a.go","kind":"read","status":"in_progress"}`)
		a.sendUpdate(`{"sessionUpdate":"tool_call_content_chunk","toolCallId":"t1","content":{"type":"content","content":{"type":"text","text":"It was interrupted."}}}`)
		a.sendUpdate(`{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"cancelled"}`)
		a.sendUpdate(`{"sessionUpdate":"agent_message","messageId":"m2","content":[{"type":"text","text":"That was "},{"type":"text","text":"all."}]}`)
		time.Sleep(time.Minute)
		return "end_turn"
	}
	runVersion2(t, turn, neverAnswer, func(t *testing.T, f *fixture) {
		f.script.sendUpdate(`{"sessionUpdate":"state_update","state":"idle"}`)
		began := time.Now()
		if err := f.talk.Prompt(t.Context(), "Go on."); err != nil || time.Since(began) < time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		waitTenSeconds()
		const want = `Go on.
I look.
Step 1 of 1: Look.
Read a.go.
It was interrupted.
A.go failed.
That was all.
The agent finished.`
		if got := f.person.allHeard(); got != want {
			t.Errorf("heard\n%s\n\nwant\n%s", got, want)
		}
	})
}

// A stop ends a turn of version 2, also where the agent does not say that it has stopped; and the
// agent's end does.
func TestVersion2Stop(t *testing.T) {
	silent := func(a *scriptedAgent, _ string) string { return "" }
	runVersion2(t, silent, neverAnswer, func(t *testing.T, f *fixture) {
		time.AfterFunc(time.Minute, func() { f.talk.Stop() })
		began := time.Now()
		if err := f.talk.Prompt(t.Context(), "Go on."); err == nil || time.Since(began) > 2*time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		time.AfterFunc(time.Minute, func() { f.script.out.(interface{ Close() error }).Close() })
		if err := f.talk.Prompt(t.Context(), "Again."); err == nil || !strings.Contains(err.Error(), "ended") {
			t.Error(err)
		}
	})
}

// An agent that speaks version 1 alone is spoken to in version 1.
func TestVersion1Offered(t *testing.T) {
	said := ""
	turn := func(a *scriptedAgent, _ string) string {
		said = a.askPermission("0", removes, offers)
		return "end_turn"
	}
	synctest.Test(t, func(t *testing.T) {
		s, l := startScript(turn)
		s.onlyVersion1 = true
		f := newFixtureOver(t, s, l, acp.Config{Folder: "/srv/project", Version2: true}, answerWith(aaep.Accept))
		if err := f.talk.Prompt(t.Context(), "Go on."); err != nil || said != "once" {
			t.Errorf("selected is %q, %v", said, err)
		}
	})
}
