package listen

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/bridges/acp"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
)

// codes is a coding agent that speaks ACP: it answers one prompt, in chunks as a model makes them,
// and asks before it changes a file.
func codes(ctx context.Context, s *story, p *producer.Producer) {
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	go func() {
		r := bufio.NewScanner(in)
		for r.Scan() {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if err := json.Unmarshal(r.Bytes(), &m); err != nil {
				s.Error(err)
			}
			answer := func(result string) {
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID,
					result)
			}
			switch {
			case m.Method == "initialize":
				answer(`{"protocolVersion":1,"agentInfo":{"name":"coder","title":"Coder"}}`)
			case m.Method == "session/new":
				answer(`{"sessionId":"s1"}`)
			case m.Method == "session/prompt":
				prompt := m.ID
				go func() {
					update := func(text string) {
						fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":%s}}`+"\n", text)
						time.Sleep(40 * time.Millisecond)
					}
					for word := range strings.SplitAfterSeq("The greeting is in `main.go`, on the second line. I will make it friendlier.", " ") {
						text, _ := json.Marshal(word)
						update(fmt.Sprintf(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%s}}`, text))
					}
					const edit = `{"toolCallId":"t1","title":"main.go","kind":"edit","content":[{"type":"diff","path":"/srv/hello/main.go","oldText":"package main\nvar greeting = 1\n","newText":"package main\nvar greeting = 2\nvar name = 3\n"}]}`
					fmt.Fprintf(out, `{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":%s,"options":[{"optionId":"a","name":"Always allow","kind":"allow_always"},{"optionId":"b","name":"Allow","kind":"allow_once"},{"optionId":"c","name":"Reject","kind":"reject_once"}]}}`+"\n", edit)
					for r.Scan() {
						if !strings.Contains(r.Text(), `"selected"`) {
							continue
						}
						if !strings.Contains(r.Text(), `"optionId":"b"`) {
							s.Errorf("the agent was answered %s", r.Text())
						}
						break
					}
					time.Sleep(300 * time.Millisecond)
					update(`{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed"}`)
					update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It says hello by name now."}}`)
					fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`+"\n", prompt)
				}()
				return // the rest is read there
			}
		}
	}()
	agent, err := acp.Connect(ctx, struct {
		io.Reader
		io.WriteCloser
	}{fromAgent, toAgent}, acp.Config{Folder: "/srv/hello", BeforeAsking: s.told})
	if err != nil {
		s.Fatal(err)
	}
	defer func() { out.Close(); agent.Close() }()
	talk, err := agent.NewConversation(ctx, p)
	if err != nil {
		s.Fatal(err)
	}
	s.note("The person types: Make the greeting friendlier.")
	if err := talk.Prompt(ctx, "Make the greeting friendlier."); err != nil {
		s.Fatal(err)
	}
}

// TestAgentRecordings keeps what a turn with a coding agent is to a person who only hears, and to a
// person who only has fourteen cells, as "aaep acp" asks for it.
func TestAgentRecordings(t *testing.T) {
	t.Run("ear", func(t *testing.T) {
		caps := subscriber.ScreenReader("en-US")
		ownTerms(&caps, true)
		recordSpeech(t, "Coder", codes, (*story).answers, caps, "agent-by-ear.txt", `A turn with a coding agent, by ear alone

What a person hears of "aaep acp --output speech", from when to when in seconds, at 172 words a minute. Made by a test with an
agent that follows a script, and a speech server that keeps the pace of a real one; quotation marks hold what the voice says.
`)
	})
	t.Run("braille", func(t *testing.T) {
		caps := subscriber.Braille(14, "en-US")
		ownTerms(&caps, true)
		byCells(t, "Coder", codes, (*story).answers, caps, "agent-by-14-cells.txt", `A turn with a coding agent, by 14 cells alone

What a person reads of "aaep acp --as braille --cells 14 --output braille", from which second on. They pan on every 1.7 seconds until
they have had all of it. The last two cells mean: ⠒ it goes on, ⠿ it stays until you pan on, ⠶ something waits. Made by a test with
an agent that follows a script, and a BRLTTY that shows what it is sent.
`)
	})
}
