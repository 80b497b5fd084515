package acp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// dyingAgentName is the first argument of the agent that runDyingAgent is.
const dyingAgentName = "dying-agent"

// runDyingAgent is an agent that kills itself at a point, or lives on where the point is another.
// It writes the lines that it gets to a file.
func runDyingAgent(point, file string) {
	got, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	dieAt := func(at string) {
		if at == point {
			self, _ := os.FindProcess(os.Getpid())
			self.Kill()
			select {}
		}
	}
	const asks = `{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c","title":"rm report.txt","kind":"delete"},"options":[{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"once","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}}`
	fmt.Fprintln(got, os.Getpid())
	dieAt("at the start")
	prompt := json.RawMessage("null")
	for r := bufio.NewScanner(os.Stdin); r.Scan(); {
		fmt.Fprintln(got, r.Text())
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		json.Unmarshal(r.Bytes(), &m)
		answer := func(id json.RawMessage, result string) {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
		}
		switch m.Method {
		case "initialize":
			dieAt("before initialize")
			answer(m.ID, `{"protocolVersion":1,"agentInfo":{"name":"mortal","title":"Mortal"}}`)
		case "session/new":
			dieAt("before the session")
			answer(m.ID, `{"sessionId":"s1"}`)
		case "session/prompt":
			prompt = m.ID
			fmt.Println(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I begin.\n"}}}}`)
			dieAt("in a prompt")
			if point == "in the middle of a line" {
				fmt.Print(asks[:len(asks)/2])
				dieAt(point)
			}
			switch point {
			case "after the end":
				answer(prompt, `{"stopReason":"end_turn"}`)
			case "without a question":
			default:
				fmt.Println(asks)
			}
		case "session/cancel":
			answer(prompt, `{"stopReason":"cancelled"}`)
		}
	}
	os.Exit(0)
}

// runWithDyingAgent runs "aaep acp" with that agent, and returns what reads the lines that the
// agent got.
func runWithDyingAgent(t *testing.T, point string) (k *consoleProcess, gotLines func() string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lines")
	k = startConsole(t, t.TempDir(), os.Environ(), "--", os.Args[0], dyingAgentName, point, file)
	return k, func() string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// agentProcess is the process of the agent, which has written its id as its first line.
func agentProcess(t *testing.T, lines string) *os.Process {
	t.Helper()
	var pid int
	if _, err := fmt.Sscan(lines, &pid); err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Wherever an agent is killed, the person is told, the command ends, and nothing was allowed.
func TestAgentKilled(t *testing.T) {
	const ended, noAgent = "aaep: Mortal ", "the agent ended before it said that it speaks ACP"
	for _, tc := range []struct {
		point string
		types bool   // the person types a prompt
		kill  string // the test kills the agent once this is printed
		hears []string
	}{
		{"at the start", false, "", []string{noAgent}},
		{"before initialize", false, "", []string{noAgent}},
		{"before the session", false, "", []string{"Mortal cannot be talked with: the agent has ended"}},
		{"in a prompt", true, "", []string{"I begin.", "The agent has ended.", ended}},
		{"in the middle of a line", true, "", []string{"I begin.", "The agent has ended.", ended}},
		{"with an open question", true, `Type \w+ to accept`,
			[]string{"Withdrawn, and not done: rm report.txt.", "The agent has ended.", ended}},
		{"after the end", true, `The agent finished\.`, []string{ended}},
	} {
		t.Run(tc.point, func(t *testing.T) {
			t.Parallel()
			k, lines := runWithDyingAgent(t, tc.point)
			if tc.types {
				k.awaitLines("Following Mortal")
				k.typeLine("Go on.")
			}
			if tc.kill != "" {
				k.awaitLines(tc.kill)
				agentProcess(t, lines()).Kill()
			}
			k.awaitExit()
			if code := k.cmd.ProcessState.ExitCode(); code != 1 && code != 3 {
				t.Errorf("the exit code is %d", code)
			}
			for _, want := range tc.hears {
				if !strings.Contains(k.text, want) {
					t.Errorf("not heard: %s\nbut\n%s", want, k.text)
				}
			}
			if strings.Contains(k.text, "/retry") {
				t.Errorf("there is no agent for /retry:\n%s", k.text)
			}
			if got := lines(); strings.Contains(got, "selected") {
				t.Errorf("the agent got\n%s", got)
			}
		})
	}
}

// What the person typed is in what they walk and find, before what the agent said upon it.
func TestWalkToPrompt(t *testing.T) {
	k, _ := runWithDyingAgent(t, "with an open question")
	k.awaitLines(`Following Mortal`)
	k.typeLine("Tidy the folder up.")
	k.awaitLines(`Type \w+ to accept`)
	k.typeLine("/back turn")
	k.awaitLines(`You typed: *\n?.*Tidy the folder up\.`)
	k.typeLine("/find begin")
	k.awaitLines(`I begin\.`)
	k.cmd.Process.Signal(os.Interrupt)
	k.awaitExit()
}

// Ctrl-C ends the command and its agent at every point, and allows nothing.
func TestInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent Ctrl-C")
	}
	for _, tc := range []struct{ name, point, types, awaits, gets string }{
		{"no prompt", "", "", `Ctrl-C ends`, "session/new"},
		{"a prompt", "without a question", "Go on.", `I begin\.`, "session/cancel"},
		{"an open question", "", "Go on.", `Type \w+ to accept`, "session/cancel"},
		{"after the end", "after the end", "Go on.", `The agent finished\.`, "session/prompt"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			k, lines := runWithDyingAgent(t, tc.point)
			k.awaitLines(`Following Mortal`)
			if tc.types != "" {
				k.typeLine(tc.types)
			}
			k.awaitLines(tc.awaits)
			k.cmd.Process.Signal(os.Interrupt)
			k.awaitExit()
			if code := k.cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("the exit code is %d", code)
			}
			got := lines()
			if strings.Contains(got, "selected") || !strings.Contains(got, tc.gets) {
				t.Errorf("the agent got\n%s", got)
			}
			if err := agentProcess(t, got).Signal(syscall.Signal(0)); err == nil {
				t.Error("the agent still runs")
			}
		})
	}
}
