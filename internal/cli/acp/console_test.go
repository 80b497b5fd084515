package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	bridge "github.com/aaep-go/aaep/bridges/acp"
	"github.com/aaep-go/aaep/internal/cli/acp"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/producer"
)

// serveScriptedAgent is an agent that asks for permission when it is told to "ask", fails at
// "fail", and keeps what it was told.
func serveScriptedAgent(in io.Reader, out io.Writer, got func(string)) {
	send := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	asked := ""
	for r := bufio.NewScanner(in); r.Scan(); {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ModeID string `json:"modeId"`
				Prompt []struct {
					Text string `json:"text"`
				} `json:"prompt"`
			} `json:"params"`
			Result struct {
				Outcome struct {
					Outcome, OptionID string
				} `json:"outcome"`
			} `json:"result"`
		}
		json.Unmarshal(r.Bytes(), &m)
		switch m.Method {
		case "initialize":
			send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1}}`, m.ID)
		case "session/new":
			send(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s%s","modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"Ask"},{"id":"p","name":"Plan","description":"reads only"}]}}}`, m.ID, m.ID)
			send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s%s","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"memory show","description":"Shows it.\naaep: All is allowed \u202e"}]}}}`, m.ID)
		case "session/set_mode":
			got("mode " + m.Params.ModeID)
			send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
		case "session/prompt":
			got(m.Params.Prompt[0].Text)
			switch m.Params.Prompt[0].Text {
			case "ask":
				asked = string(m.ID)
				send(`{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c","title":"ls","kind":"execute"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"Never","kind":"reject_always"}]}}`)
			case "fail":
				send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"quota"}}`, m.ID)
			default:
				send(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, m.ID)
			}
		case "session/cancel":
			got("cancel")
			send(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"cancelled"}}`, asked)
			asked = ""
		case "":
			got(m.Result.Outcome.Outcome + m.Result.Outcome.OptionID)
			if asked != "" {
				send(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, asked)
			}
		}
	}
}

// Each line that a person types does what the guide says, and says so.
func TestConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var heard, sent []string
		in, toAgent := io.Pipe()
		fromAgent, out := io.Pipe()
		go serveScriptedAgent(in, out, func(what string) { mu.Lock(); defer mu.Unlock(); sent = append(sent, what) })
		agent, err := bridge.Connect(t.Context(), struct {
			io.Reader
			io.WriteCloser
		}{fromAgent, toAgent}, bridge.Config{Folder: "/srv/project"})
		if err != nil {
			t.Fatal(err)
		}
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
		if err != nil {
			t.Fatal(err)
		}
		console, err := acp.New(t.Context(), agent, p,
			func(text string) { mu.Lock(); defer mu.Unlock(); heard = append(heard, text) },
			func(id phrase.ID, arg string) string { says, _ := phrase.In("en", id, arg); return says })
		if err != nil {
			t.Fatal(err)
		}
		reader := readEvents(t, p, func(*reader, *aaep.Event) {}) // who is there, and says nothing
		ran := make(chan error, 1)
		go func() { ran <- console.Run(t.Context()) }()
		for _, tc := range []struct{ types, sends, hears string }{
			{"hello", "hello", ""},
			{"/memory show now", "/memory show now", ""},
			{"/commands", "", "What follows is in the agent's words.\n/memory show: Shows it. aaep: All is allowed <U+202E>."},
			{"/mode", "", "What follows is in the agent's words.\nAsk. That is the one now.\nPlan: reads only."},
			{"/mode plan", "mode p", "The mode from now on, in the agent's words: Plan: reads only."},
			{"/mode x", "", "There is no such mode.\nWhat follows is in the agent's words.\nAsk.\nPlan: reads only. That is the one now."},
			{"/model", "", "The agent offers no models."},
			{"/sessions", "", "The agent does not list earlier conversations."},
			{"/option", "", "The agent asks for no permission."},
			{"/stop", "", "The agent is not at work."},
			{"/details", "", "There are no details."},
			{"ask", "ask", ""},
			{"/details", "", "What follows is in the agent's words.\nls"},
			{"/option", "", "1: Allowed this once, in the agent's words: Yes.\n2: Not allowed, and not asked again, in the agent's words: Never.\nChoose one with its number, such as: /option 1."},
			{"/option 2", "selectedn", ""},
			{"ask", "ask", ""},
			{"later", "", "The agent is at work. The message is sent when it has finished."},
			{"/stop", "cancel; cancelled", "Messages that waited and will not be sent: 1."},
			{"fail", "fail", "The message is kept: /retry sends it again."},
			{"/retry", "fail", "The message is kept: /retry sends it again."},
			{"/new", "", "A new conversation begins."},
			{"again", "again", ""},
		} {
			mu.Lock()
			heard, sent = nil, nil
			mu.Unlock()
			name, word, _ := strings.Cut(strings.TrimPrefix(tc.types, "/"), " ")
			if !strings.HasPrefix(tc.types, "/") || !console.Command(t.Context(), name, word) &&
				!console.Own(tc.types) {
				console.Prompt(tc.types)
			}
			synctest.Wait()
			time.Sleep(time.Second)
			mu.Lock()
			if got := strings.Join(sent, "; "); got != tc.sends {
				t.Errorf("%s: the agent got %q, want %q", tc.types, got, tc.sends)
			}
			if got := strings.Join(heard, "\n"); got != tc.hears {
				t.Errorf("%s: %q is said, want %q", tc.types, got, tc.hears)
			}
			mu.Unlock()
		}
		console.End()
		if err := <-ran; err != nil {
			t.Error(err)
		}
		out.Close()
		agent.Close()
		reader.sub.Close()
		p.Shutdown(context.Background())
	})
}
