package acp_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/aaep-go/aaep"
	bridge "github.com/aaep-go/aaep/bridges/acp"
	"github.com/aaep-go/aaep/internal/npmtest"
	"github.com/aaep-go/aaep/producer"
)

// An agent on the library of the protocol's own authors, which checks what it is sent, gets what it
// asks for: a form filled in, a permission, a file, a model, a mode, and an earlier conversation.
func TestSDKAgent(t *testing.T) {
	sdk := npmtest.Install(t, "testdata/sdk")
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "main.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	agent, err := bridge.Start(t.Context(), exec.Command("node", filepath.Join(sdk, "agent.mjs")),
		bridge.Config{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "checker"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	talk, err := agent.NewConversation(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	told := ""
	r := readEvents(t, p, func(r *reader, ev *aaep.Event) {
		switch q := ev.Payload.(type) {
		case *aaep.AwaitingClarification:
			told += q.Question + " "
			r.sub.Question(ev).AnswerText(context.Background(), "demo")
		case *aaep.AwaitingConfirmation:
			told += q.Action + " " + q.Consequence
			r.sub.Question(ev).Accept(context.Background())
		}
	})
	if err := talk.Prompt(t.Context(), "Look at @main.go, please."); err != nil {
		t.Fatal(err)
	}
	r.waitForType(aaep.TypeSessionCompleted)
	r.mu.Lock()
	if got, want := r.text.String(), "The disk is almost full.The form: accept demo. The answer: selected y. The prompt: text resource_link."; got != want {
		t.Errorf("heard %q, want %q", got, want)
	}
	if want := "Its name? Edit notes.txt. In notes.txt: 2 lines added, 1 removed."; told != want {
		t.Errorf("asked %q, want %q", told, want)
	}
	r.mu.Unlock()
	if current, models := talk.Models(); current != "small" || len(models) != 2 {
		t.Errorf("the models are %q of %v", current, models)
	}
	if err := talk.SetModel(t.Context(), "large"); err != nil {
		t.Error(err)
	}
	if current, _ := talk.Models(); current != "large" {
		t.Errorf("the model is %q", current)
	}
	if err := talk.SetMode(t.Context(), "plan"); err != nil {
		t.Error(err)
	}
	past, err := agent.Past(t.Context())
	if err != nil || len(past) != 1 || past[0].Title != "Yesterday" {
		t.Fatalf("the earlier conversations are %v, %v", past, err)
	}
	old, err := agent.Resume(t.Context(), p, past[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if current, _ := old.Models(); current != "large" {
		t.Errorf("the model of the earlier conversation is %q", current)
	}
}

// An agent of the draft of version 2 on that library gets a form filled in, a yes to one permission
// and a no to another; with a client of version 1 it cannot be talked with, and why is said.
func TestSDKAgentOfVersion2(t *testing.T) {
	sdk := npmtest.Install(t, "testdata/sdk")
	command := func() *exec.Cmd { return exec.Command("node", filepath.Join(sdk, "agent2.mjs")) }
	folder := t.TempDir()
	if agent, err := bridge.Start(t.Context(), command(), bridge.Config{Folder: folder}); err == nil {
		agent.Close()
		t.Error("it is talked with in version 1")
	}
	agent, err := bridge.Start(t.Context(), command(), bridge.Config{Folder: folder, Version2: true})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "checker"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown(context.Background())
	talk, err := agent.NewConversation(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if offered := talk.Commands(); agent.Name() != "Checker 2" || len(offered) != 1 || offered[0].Name != "tidy" {
		t.Errorf("%s offers %v", agent.Name(), offered)
	}
	var asked []string
	r := readEvents(t, p, func(r *reader, ev *aaep.Event) {
		q, confirms := ev.Payload.(*aaep.AwaitingConfirmation)
		if !confirms {
			r.sub.Question(ev).AnswerText(context.Background(), "demo")
			return
		}
		asked = append(asked, q.Action+" "+q.Consequence)
		if len(asked) == 1 {
			r.sub.Question(ev).Accept(context.Background())
		} else {
			r.sub.Question(ev).Reject(context.Background())
		}
	})
	if err := talk.Prompt(t.Context(), "Go on."); err != nil {
		t.Fatal(err)
	}
	r.waitForType(aaep.TypeSessionCompleted)
	r.mu.Lock()
	defer r.mu.Unlock()
	if got, want := r.text.String(), "The form: accept demo. The first: selected y. The second: selected n."; got != want {
		t.Errorf("heard %q, want %q", got, want)
	}
	want := []string{`Run the command "rm report.txt". Delete the report? It is old. In the folder /srv/plans.`,
		`Edit notes.txt. Change it? Changed is /srv/plans/notes.txt, which is not in the folder. 2 lines added, 1 removed.`}
	if !slices.Equal(asked, want) {
		t.Errorf("asked\n%q\nwant\n%q", asked, want)
	}
}
