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
	"github.com/aaep-go/aaep/bridges/acp"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// A scriptedAgent is the far end of a link: it answers the first two requests by itself, and gives
// each prompt to turn.
type scriptedAgent struct {
	out  io.Writer
	turn func(a *scriptedAgent, prompt string) (stopReason string)
	// judge, if set, sees each line of the client.
	judge func(map[string]any)
	// onlyVersion1 says that it knows no other version of the protocol.
	onlyVersion1 bool

	mu       sync.Mutex
	version2 bool             // it was asked for version 2 of the protocol
	lines    []map[string]any // that the client sent, apart from the first two requests
	came     chan struct{}    // closed and made anew with each
	done     chan struct{}    // closed when the client has hung up
	turns    sync.WaitGroup   // goroutines of turn
}

// link is what Connect takes.
type link struct {
	io.Reader
	io.WriteCloser
}

// startScript begins an agent, and returns the client's end of its link.
func startScript(turn func(a *scriptedAgent, prompt string) string) (*scriptedAgent, link) {
	in, theirs := io.Pipe()
	ours, out := io.Pipe()
	a := &scriptedAgent{out: out, turn: turn, came: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(a.done)
		defer out.Close()
		r := bufio.NewReader(in)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			a.handleLine(line)
		}
	}()
	return a, link{ours, theirs}
}

// handleLine answers the first two requests, begins a turn for a prompt, and keeps every other
// line.
func (a *scriptedAgent) handleLine(line string) {
	var m map[string]any
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		panic("the client sent no JSON: " + line)
	}
	id, _ := json.Marshal(m["id"])
	switch m["method"] {
	case "initialize":
		if m["params"].(map[string]any)["protocolVersion"] == 2.0 && !a.onlyVersion1 {
			a.version2 = true
			go a.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":2,"capabilities":{},"info":{"name":"scripted","title":"Scripted agent","version":"1"}}}`, id)
			return
		}
		go a.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{},"agentInfo":{"name":"scripted","title":"Scripted agent","version":"1"}}}`, id)
	case "session/new":
		go a.send(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s1","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"yolo","name":"YOLO","description":"Allows all tools"}]}}}`, id)
	case "session/prompt":
		text := m["params"].(map[string]any)["prompt"].([]any)[0].(map[string]any)["text"].(string)
		a.turns.Go(func() {
			if a.version2 {
				a.send(`{"jsonrpc":"2.0","id":%s,"result":{"messageId":"m0"}}`, id)
				a.sendUpdate(`{"sessionUpdate":"state_update","state":"running"}`)
				if reason := a.turn(a, text); reason != "" {
					a.sendUpdate(`{"sessionUpdate":"state_update","state":"idle","stopReason":%q}`, reason)
				}
				return
			}
			if reason := a.turn(a, text); reason != "" {
				a.send(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":%q}}`, id, reason)
			}
		})
	default:
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.judge != nil {
			a.judge(m)
		}
		a.lines = append(a.lines, m)
		close(a.came)
		a.came = make(chan struct{})
	}
}

func (a *scriptedAgent) send(format string, args ...any) {
	fmt.Fprintf(a.out, format+"\n", args...)
}

func (a *scriptedAgent) sendUpdate(format string, args ...any) {
	a.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":`+format+`}}`, args...)
}

// sendText sends a chunk of the agent's answer.
func (a *scriptedAgent) sendText(text string) {
	value, _ := json.Marshal(text)
	a.sendUpdate(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}`, value)
}

// awaitOutcome waits for the client's answer to a request, by its id as it is written, and returns
// what it selected: an option's id, "cancelled", "error", or "gone" where the client has hung up.
func (a *scriptedAgent) awaitOutcome(id string) string {
	if m := a.awaitResponse(id); m != nil {
		return outcomeOf(m)
	}
	return "gone"
}

// awaitResponse waits for the client's answer to a request; nil says that the client has hung up.
func (a *scriptedAgent) awaitResponse(id string) map[string]any {
	for {
		a.mu.Lock()
		came := a.came
		for i, m := range a.lines {
			raw, _ := json.Marshal(m["id"])
			if m["method"] != nil || string(raw) != id {
				continue
			}
			a.lines = append(a.lines[:i:i], a.lines[i+1:]...)
			a.mu.Unlock()
			return m
		}
		a.mu.Unlock()
		select {
		case <-came:
		case <-a.done:
			return nil
		}
	}
}

// outcomeOf returns the option that an answer selects, "cancelled", or "error".
func outcomeOf(m map[string]any) string {
	result, ok := m["result"].(map[string]any)
	if !ok {
		return "error"
	}
	outcome, ok := result["outcome"].(map[string]any)
	if !ok {
		return "error"
	}
	if outcome["outcome"] == "selected" {
		return outcome["optionId"].(string)
	}
	return outcome["outcome"].(string)
}

// askPermission asks for permission and returns what was selected.
func (a *scriptedAgent) askPermission(id, call, options string) string {
	a.send(`{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":%s,"options":%s}}`, id, call, options)
	return a.awaitOutcome(id)
}

// A person follows an agent and answers what it asks.
type person struct {
	sub     *subscriber.Subscription
	decide  func(p *person, ev *aaep.Event) // answers a question, or does not
	mu      sync.Mutex
	heard   []string
	settled chan struct{} // closed when the link is over
}

// A fixture is a conversation with a scripted agent, and a person who follows it.
type fixture struct {
	agent  *acp.Agent
	script *scriptedAgent
	p      *producer.Producer
	person *person
	talk   *acp.Conversation
}

// runConversation runs do in virtual time, with a conversation and a person who follows it.
func runConversation(t *testing.T, turn func(*scriptedAgent, string) string, decide func(*person, *aaep.Event),
	do func(t *testing.T, f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { do(t, newFixture(t, "/srv/project", turn, decide)) })
}

func newFixture(t *testing.T, folder string, turn func(*scriptedAgent, string) string,
	decide func(*person, *aaep.Event)) *fixture {
	t.Helper()
	return newFixtureWith(t, acp.Config{Folder: folder}, turn, decide)
}

func newFixtureWith(t *testing.T, cfg acp.Config, turn func(*scriptedAgent, string) string,
	decide func(*person, *aaep.Event)) *fixture {
	t.Helper()
	script, l := startScript(turn)
	return newFixtureOver(t, script, l, cfg, decide)
}

func newFixtureOver(t *testing.T, script *scriptedAgent, l link, cfg acp.Config,
	decide func(*person, *aaep.Event)) *fixture {
	t.Helper()
	f := &fixture{script: script}
	var err error
	if f.agent, err = acp.Connect(t.Context(), l, cfg); err != nil {
		t.Fatal(err)
	}
	if f.p, err = producer.New(producer.Config{Agent: aaep.Agent{AgentID: "scripted",
		AgentName: f.agent.Name()}}); err != nil {
		t.Fatal(err)
	}
	if f.talk, err = f.agent.NewConversation(t.Context(), f.p); err != nil {
		t.Fatal(err)
	}
	if decide != nil {
		f.person = followAsPerson(t, f.p, decide)
	}
	t.Cleanup(func() {
		f.agent.Close()
		f.script.out.(io.Closer).Close()
		<-f.agent.Done()
		f.script.turns.Wait()
		f.p.Shutdown(context.Background())
		if f.person != nil {
			<-f.person.settled
		}
	})
	return f
}

type pipeDialer struct{ p *producer.Producer }

func (d pipeDialer) Dial(context.Context) (transports.Conn, error) {
	theirs, ours := transports.Pipe()
	go d.p.ServeConn(ours)
	return theirs, nil
}

// followAsPerson subscribes a person, who calls decide for every question.
func followAsPerson(t *testing.T, p *producer.Producer, decide func(*person, *aaep.Event)) *person {
	t.Helper()
	caps := subscriber.ScreenReader("en-US")
	caps.MaxEventsPerSecond = 100
	sub, err := subscriber.Dial(t.Context(), pipeDialer{p},
		subscriber.Config{ID: "reader", Capabilities: caps, NoReconnect: true})
	if err != nil {
		t.Fatal(err)
	}
	who := &person{sub: sub, decide: decide, settled: make(chan struct{})}
	go func() {
		defer close(who.settled)
		for ev, err := range sub.Events(context.Background()) {
			if err != nil {
				return
			}
			who.mu.Lock()
			who.heard = append(who.heard, eventWords(ev))
			who.mu.Unlock()
			switch ev.Payload.(type) {
			case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
				who.decide(who, ev)
			}
		}
	}()
	return who
}

// eventWords returns what a person makes of an event, in one line. States that say nothing but what
// they are give nothing.
func eventWords(ev *aaep.Event) string {
	switch p := ev.Payload.(type) {
	case *aaep.StateChanged:
		if p.ToState == aaep.StateAwaitingInput {
			return ""
		}
		switch text := ev.Text(aaep.VerbosityNormal); text {
		case "Thinking.", "Waiting for an answer.", "Answering.", "Using a tool.":
			return ""
		default:
			return text
		}
	case *aaep.AwaitingConfirmation:
		return "Confirm: " + p.Action + " " + p.Consequence
	case *aaep.AwaitingClarification:
		text := "Choose: " + p.Question + " " + p.Context
		for _, c := range p.Choices {
			text += " [" + c.Label + "]"
		}
		return text
	case *aaep.OutputStreaming:
		return p.Chunk
	}
	return ev.Text(aaep.VerbosityNormal)
}

// allHeard returns all that the person has heard, a line each.
func (p *person) allHeard() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for _, line := range p.heard {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}

// answerWith answers every confirmation alike, after as long as it takes to hear it.
func answerWith(d aaep.Decision) func(*person, *aaep.Event) {
	return func(p *person, ev *aaep.Event) {
		time.Sleep(time.Second)
		replies.Send(context.Background(), p.sub.Question(ev), d, nil)
	}
}

func neverAnswer(*person, *aaep.Event) {}

// waitTenSeconds lets all that was begun come to rest, with ten seconds of virtual time between.
func waitTenSeconds() { synctest.Wait(); time.Sleep(10 * time.Second); synctest.Wait() }

const (
	removes = `{"toolCallId":"c1","title":"rm report.txt","kind":"execute","content":[{"type":"content","content":{"type":"text","text":"Delete the old report"}}]}`
	offers  = `[{"optionId":"always","name":"Allow for this session","kind":"allow_always"},{"optionId":"once","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]`
)
