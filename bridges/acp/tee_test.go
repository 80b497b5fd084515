package acp_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/acp"
	"github.com/aaep-go/aaep/producer"
)

// An endpoint is one side of a tee: what it sends, and what has arrived there.
type endpoint struct {
	in  *io.PipeWriter
	mu  sync.Mutex
	got bytes.Buffer
}

func (e *endpoint) sendLine(format string, args ...any) { fmt.Fprintf(e.in, format+"\n", args...) }

func (e *endpoint) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.got.Write(p)
}

func (e *endpoint) allLines() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.got.String()
}

// between is a link of a tee: it reads what an endpoint sends, and writes to it.
type between struct {
	io.Reader
	io.Writer
	io.Closer
}

// runTee runs do in virtual time, with an editor, an agent, and a person who follows what they say.
func runTee(t *testing.T, decide func(*person, *aaep.Event), do func(editor, agent *endpoint, who *person)) {
	runTeeWith(t, acp.Config{Folder: "/srv/project"}, decide, do)
}

func runTeeWith(t *testing.T, cfg acp.Config, decide func(*person, *aaep.Event),
	do func(editor, agent *endpoint, who *person)) {
	synctest.Test(t, func(t *testing.T) {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
		if err != nil {
			t.Fatal(err)
		}
		var who *person
		if decide != nil {
			who = followAsPerson(t, p, decide)
		}
		fromEditor, toTee := io.Pipe()
		fromAgent, agentToTee := io.Pipe()
		editor, agent := &endpoint{in: toTee}, &endpoint{in: agentToTee}
		over := make(chan error, 1)
		go func() {
			over <- acp.Tee(p, cfg, between{fromEditor, editor, nil}, between{fromAgent, agent, io.NopCloser(nil)})
		}()
		do(editor, agent, who)
		toTee.Close()
		agentToTee.Close()
		if err := <-over; err != nil {
			t.Error(err)
		}
		p.Shutdown(context.Background())
		if who != nil {
			<-who.settled
		}
	})
}

const (
	begins  = `{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"Clean up."}]}}`
	ends    = `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`
	allowed = `{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"once"}}}`
	refused = `{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"no"}}}`
	chunk   = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I look."}}}}`
	asking  = `{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":` +
		removes + `,"options":` + offers + `}}`
	cancels = `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}`
)

// Beside an editor both may answer. The first answer counts, the other's question is withdrawn, and
// silence answers nothing.
func TestTee(t *testing.T) {
	for _, tc := range []struct {
		name     string
		decide   func(*person, *aaep.Event)
		editor   string        // what the editor's user answers
		after    time.Duration // so much later
		toAgent  string        // of the answers
		toEditor string        // beside what the agent sends
		hears    string
	}{
		{"a listener allows", answerWith(aaep.Accept), refused, time.Minute, allowed, cancels, "Run the command"},
		{"a listener refuses", answerWith(aaep.Reject), allowed, time.Minute, refused, cancels,
			"Rejected, and not done"},
		{"the editor allows", neverAnswer, allowed, time.Second, allowed, "", "It was answered in the editor: Allow."},
		{"the editor refuses", neverAnswer, refused, time.Second, refused, "",
			"It was answered in the editor: Reject."},
		{"silence, and then the editor", neverAnswer, allowed, time.Hour, allowed, "", "the agent asks in its own window"},
		{"no listener", nil, allowed, time.Second, allowed, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			runTee(t, tc.decide, func(editor, agent *endpoint, who *person) {
				editor.sendLine(begins)
				agent.sendLine(chunk)
				agent.sendLine(asking)
				time.Sleep(tc.after)
				editor.sendLine(tc.editor)
				synctest.Wait()
				agent.sendLine(ends)
				waitTenSeconds()
				if got, want := agent.allLines(), begins+"\n"+tc.toAgent+"\n"; got != want {
					t.Errorf("the agent got\n%s\nwant\n%s", got, want)
				}
				want := chunk + "\n" + asking + "\n"
				if tc.toEditor != "" {
					want += tc.toEditor + "\n"
				}
				if got := editor.allLines(); got != want+ends+"\n" {
					t.Errorf("the editor got\n%s\nwant\n%s", got, want+ends)
				}
				if who != nil && !strings.Contains(who.allHeard(), tc.hears) {
					t.Errorf("not heard: %s\nbut\n%s", tc.hears, who.allHeard())
				}
				if who != nil && tc.toAgent == allowed && strings.Contains(who.allHeard(), "not done") {
					t.Errorf("heard that what was allowed is not done:\n%s", who.allHeard())
				}
			})
		})
	}
}

// What is no answer of ours passes byte for byte, whatever it is, and in whatever pieces.
func TestTeeBytes(t *testing.T) {
	runTee(t, neverAnswer, func(editor, agent *endpoint, who *person) {
		random := rand.New(rand.NewPCG(1, 2))
		var wants [2]strings.Builder
		pieces := []string{begins, chunk, asking, allowed, "no JSON", "", `{"jsonrpc":"2.0","id":0}`,
			strings.Repeat("x", 17<<20), "\r", `{"a":` + strings.Repeat("[", 20000), "\xff\xfe"}
		for n := range 300 {
			e, want := editor, &wants[0]
			if n%2 == 1 {
				e, want = agent, &wants[1]
			}
			i := random.IntN(len(pieces))
			if i == 7 && random.IntN(20) > 0 {
				i = 6
			}
			text := pieces[i] + "\n"
			want.WriteString(text)
			for text != "" {
				cut := 1 + random.IntN(len(text))
				io.WriteString(e.in, text[:cut])
				text = text[cut:]
			}
		}
		io.WriteString(editor.in, "half a line")
		wants[0].WriteString("half a line")
		editor.in.Close()
		waitTenSeconds()
		if agent.allLines() != wants[0].String() {
			t.Error("what the agent got is not what the editor sent")
		}
		if editor.allLines() != wants[1].String() {
			t.Error("what the editor got is not what the agent sent")
		}
	})
}

// An id that the agent uses again while the editor's answer to the first request is still to come
// is answered by the editor alone, and its first answer never counts for the second request.
func TestTeeSameID(t *testing.T) {
	asked := 0
	decide := func(p *person, ev *aaep.Event) {
		asked++
		time.Sleep(time.Second)
		p.sub.Question(ev).Accept(context.Background())
	}
	runTee(t, decide, func(editor, agent *endpoint, who *person) {
		editor.sendLine(begins)
		agent.sendLine(asking)
		waitTenSeconds() // a listener has allowed it
		agent.sendLine(asking)
		waitTenSeconds()
		editor.sendLine(allowed) // which is about the first
		waitTenSeconds()
		if got, want := agent.allLines(), begins+"\n"+allowed+"\n"; got != want || asked != 1 {
			t.Errorf("asked %d times, and the agent got\n%s\nwant\n%s", asked, got, want)
		}
		editor.sendLine(refused)
		waitTenSeconds()
		r := bufio.NewScanner(strings.NewReader(agent.allLines()))
		last := ""
		for r.Scan() {
			last = r.Text()
		}
		if last != refused {
			t.Errorf("the agent got %s last", last)
		}
		agent.sendLine(ends)
		waitTenSeconds()
	})
}

// An id that can be written in more than one way is answered by the editor alone: its answer may be
// written in another.
func TestTeeIDs(t *testing.T) {
	for _, id := range []string{`1.0`, `1e0`, `-0`, `"\u0061"`, `9007199254740993`, `null`, `[0]`} {
		t.Run(id, func(t *testing.T) {
			for _, before := range []string{"", asking} {
				if before != "" && id != "-0" {
					continue
				}
				runTee(t, answerWith(aaep.Accept), func(editor, agent *endpoint, who *person) {
					editor.sendLine(begins)
					if before != "" {
						agent.sendLine(before)
					}
					agent.sendLine(strings.Replace(asking, `"id":0`, `"id":`+id, 1))
					waitTenSeconds()
					if got := agent.allLines(); got != begins+"\n" {
						t.Errorf("the agent got\n%s", got)
					}
					agent.sendLine(ends)
					waitTenSeconds()
				})
			}
		})
	}
}

// A listener is asked also where the agent escapes the slash, and hears when it takes the question
// back, and that a message is too long to be followed.
func TestTeeTakenBack(t *testing.T) {
	runTee(t, neverAnswer, func(editor, agent *endpoint, who *person) {
		editor.sendLine(begins)
		synctest.Wait()
		agent.sendLine("%s", strings.Replace(asking, "session/request", `session\/request`, 1))
		waitTenSeconds()
		agent.sendLine(cancels)
		agent.sendLine("%s", strings.Repeat("x", 17<<20))
		waitTenSeconds()
		for _, want := range []string{"Run the command", "Not asked here any more", "a message of more than 16 MiB"} {
			if !strings.Contains(who.allHeard(), want) {
				t.Errorf("not heard: %s\nbut\n%s", want, who.allHeard())
			}
		}
		agent.sendLine(ends)
		waitTenSeconds()
	})
}

// A no is passed on where the agent offers no option for it.
func TestTeeRefusesWithoutOption(t *testing.T) {
	runTee(t, answerWith(aaep.Reject), func(editor, agent *endpoint, who *person) {
		editor.sendLine(begins)
		agent.sendLine(strings.Replace(asking, offers, `[{"optionId":"once","name":"Allow","kind":"allow_once"}]`, 1))
		waitTenSeconds()
		if got, want := agent.allLines(), begins+"\n"+
			`{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}`+"\n"; got != want {
			t.Errorf("the agent got\n%s\nwant\n%s", got, want)
		}
		agent.sendLine(ends)
		waitTenSeconds()
	})
}

// Where the two agree on another version of the protocol, nothing is followed and nothing is
// answered here, for it would not be what the words say.
func TestTeeOfVersion2(t *testing.T) {
	runTee(t, answerWith(aaep.Accept), func(editor, agent *endpoint, who *person) {
		editor.sendLine(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":2}}`)
		synctest.Wait()
		agent.sendLine(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":2,"info":{"name":"x","version":"1"}}}`)
		synctest.Wait()
		editor.sendLine(begins)
		synctest.Wait()
		agent.sendLine(asking)
		waitTenSeconds()
		if got := agent.allLines(); strings.Contains(got, "selected") || !strings.HasSuffix(got, begins+"\n") {
			t.Errorf("the agent got\n%s", got)
		}
		if got := who.allHeard(); got != "" {
			t.Errorf("heard\n%s", got)
		}
	})
}

// A fault while a question is put ends what is followed, and nothing else.
func TestTeeFault(t *testing.T) {
	runTeeWith(t, acp.Config{Folder: "/srv/project", BeforeAsking: func(context.Context) { panic("a fault") }},
		neverAnswer, func(editor, agent *endpoint, who *person) {
			editor.sendLine(begins)
			agent.sendLine(asking)
			waitTenSeconds()
			editor.sendLine(allowed)
			agent.sendLine(ends)
			waitTenSeconds()
			if got, want := agent.allLines(), begins+"\n"+allowed+"\n"; got != want {
				t.Errorf("the agent got\n%s\nwant\n%s", got, want)
			}
			if got, want := editor.allLines(), asking+"\n"+ends+"\n"; got != want {
				t.Errorf("the editor got\n%s\nwant\n%s", got, want)
			}
		})
}
