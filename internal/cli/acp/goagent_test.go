package acp_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	bridge "github.com/aaep-go/aaep/bridges/acp"
	"github.com/aaep-go/aaep/internal/realtest"
	"github.com/aaep-go/aaep/producer"
)

// The example agent of coder/acp-go-sdk announces its calls before it asks, which Gemini CLI does
// not: each is told once all the same.
func TestGoAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("its turn takes eight seconds: make test-all runs it")
	}
	t.Parallel()
	const agentModule = "github.com/coder/acp-go-sdk/example/agent@v0.13.5"
	bin := t.TempDir()
	install := exec.Command("go", "install", agentModule)
	install.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		realtest.Missing(t, "go could not install %s: %v: %.200q", agentModule, err, out)
	}
	folder := t.TempDir()
	agent, err := bridge.Start(t.Context(), exec.Command(filepath.Join(bin, "agent")), bridge.Config{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "example"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	talk, err := agent.NewConversation(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	asked := ""
	r := readEvents(t, p, func(r *reader, ev *aaep.Event) {
		q := ev.Payload.(*aaep.AwaitingConfirmation)
		asked += q.Action + " " + q.Consequence
		r.sub.Question(ev).Accept(context.Background())
	})
	if err := talk.Prompt(t.Context(), "Go on."); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(asked, "Modifying critical configuration file. It is about ") ||
		!strings.HasSuffix(asked, "config.json, which is not in the folder.") {
		t.Errorf("asked %q", asked)
	}
	r.waitForType(aaep.TypeSessionCompleted)
	r.mu.Lock()
	defer r.mu.Unlock()
	tools := strings.Join(r.tools, "; ")
	if tools != "Reading project files.; Reading project files finished.; Modifying critical configuration file.; Modifying critical configuration file finished." {
		t.Errorf("the calls are told as %s", tools)
	}
	if !strings.HasSuffix(r.text.String(), "The changes have been applied.") ||
		strings.Count(r.text.String(), "Perfect!") != 1 {
		t.Errorf("heard %q", r.text.String())
	}
}
