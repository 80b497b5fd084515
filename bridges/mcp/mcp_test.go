package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/bridges/mcp"
	"github.com/aaep-go/aaep/internal/bridge/bridgetest"
	"github.com/aaep-go/aaep/producer"
)

// side is one of the two between which the Tee stands: what reaches it, and what it writes.
type side struct {
	t     testing.TB
	lines chan string // closed at the end
	w     io.WriteCloser
}

func newSide(t testing.TB, r io.Reader, w io.WriteCloser) *side {
	s := &side{t: t, lines: make(chan string, 1000), w: w}
	go func() {
		defer close(s.lines)
		for in := bufio.NewReaderSize(r, 1<<20); ; {
			line, err := in.ReadString('\n')
			if line != "" {
				s.lines <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *side) write(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.w, text+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *side) next() string {
	s.t.Helper()
	select {
	case line, ok := <-s.lines:
		if !ok {
			s.t.Fatal("the link has ended")
		}
		return line
	case <-s.t.Context().Done():
		s.t.Fatal("it did not come")
	}
	return ""
}

// expect waits for the next line, which must be as it is given.
func (s *side) expect(want string) {
	s.t.Helper()
	if got := s.next(); got != want {
		s.t.Errorf("got  %.300s\nwant %.300s", got, want)
	}
}

// fixture is a Tee between a client and a server, with a listener.
type fixture struct {
	*testing.T
	client, server *side
	heard          *bridgetest.Listener
	ended          chan error
}

// newFixture starts all of them. reply answers what is asked; nil cannot be asked.
func newFixture(t *testing.T, cfg mcp.Config, reply func(*bridgetest.Listener, *aaep.Event)) *fixture {
	t.Helper()
	p := bridgetest.NewProducer(t)
	f := &fixture{T: t, heard: bridgetest.Listen(t, p, reply)}
	f.start(p, cfg)
	return f
}

func (f *fixture) start(p *producer.Producer, cfg mcp.Config) {
	fromClient, clientOut := io.Pipe()
	clientIn, toClient := io.Pipe()
	fromServer, serverOut := io.Pipe()
	serverIn, toServer := io.Pipe()
	f.client, f.server = newSide(f.T, clientIn, clientOut), newSide(f.T, serverIn, serverOut)
	f.ended = make(chan error, 1)
	go func() {
		err := mcp.Tee(p, cfg, struct {
			io.Reader
			io.Writer
		}{fromClient, toClient}, struct {
			io.Reader
			io.WriteCloser
		}{fromServer, toServer})
		toClient.Close()
		f.ended <- err
	}()
	f.Cleanup(f.end)
}

// end ends the server, and the client.
func (f *fixture) end() {
	f.server.w.Close()
	for range f.client.lines {
	}
	f.client.w.Close()
}

const someTools = `{"tools":[{"name":"look","description":"Looks around.","annotations":{"readOnlyHint":true}},` +
	`{"name":"note","description":"Writes a note.","annotations":{"destructiveHint":false}},` +
	`{"name":"both","annotations":{"readOnlyHint":true,"destructiveHint":true}},` +
	`{"name":"wipe","description":"Deletes everything.\nReally.","inputSchema":{"type":"object"}}]}`

// list has the client list the tools of the server.
func (f *fixture) list(tools string) {
	f.Helper()
	const ask = `{"jsonrpc":"2.0","id":"l","method":"tools/list"}`
	f.client.write(ask)
	f.server.expect(ask)
	answer := `{"jsonrpc":"2.0","id":"l","result":` + tools + `}`
	f.server.write(answer)
	f.client.expect(answer)
}

func call(id, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0", "id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s,"own":[1]}}`, id, tool, arguments)
}

func result(id, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, id, text)
}

func refused(id, why string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"Error: ` + why + `"}],"isError":true}}`
}

func accept(l *bridgetest.Listener, ev *aaep.Event) {
	l.Sub.Question(ev).Accept(context.Background())
}
func reject(l *bridgetest.Listener, ev *aaep.Event) {
	l.Sub.Question(ev).Reject(context.Background())
}

// What is not held passes byte for byte in both directions, and is told.
func TestPasses(t *testing.T) {
	f := newFixture(t, mcp.Config{}, reject)
	const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	f.client.write(hello)
	f.server.expect(hello)
	f.server.write(`{"jsonrpc":"2.0","id":0,"result":{"serverInfo":{"name":"house","title":"The house"}}}`)
	f.client.next()
	f.list(someTools)
	for i, tool := range []string{"look", "note"} {
		id := fmt.Sprint(i + 1)
		f.client.write(call(id, tool, `{"at": "the door"}`))
		f.server.expect(call(id, tool, `{"at": "the door"}`))
		f.server.write(result(id, "All is well.\nAnd more."))
		f.client.expect(result(id, "All is well.\nAnd more."))
	}
	f.client.write(strings.Replace(call("3", "look", "{}"), `"own":[1]`, `"_meta":{"progressToken":"p"}`, 1))
	f.server.next()
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":4,"message":"In the cellar"}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"other","progress":1,"message":"Never told"}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"debug","data":"Never told"}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"The lamp is out"}}`,
		`{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{}}`,
		`no message at all`,
		`{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"no light"}],"isError":true}}`,
	} {
		f.server.write(line)
		f.client.expect(line)
	}
	f.client.write(call("4", "look", "{}"))
	f.server.next()
	const back = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`
	f.client.write(back)
	f.server.expect(back)
	const batch = `[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"look"}}]`
	f.client.write(batch)
	f.server.expect(batch)
	f.server.w.Close()
	heard := f.heard.AwaitEnd(t, 1)
	if err := <-f.ended; err != nil {
		t.Error(err)
	}
	for _, want := range []string{"Following an agent's tools of The house.", "look: In the cellar.", "The tools report: The lamp is out.",
		"The tool says: no light", "The agent took the call of look back."} {
		if !strings.Contains(heard, want) {
			t.Errorf("%q is not heard", want)
		}
	}
	if strings.Count(heard, "All is well.") != 2 || strings.Contains(heard, "And more") || strings.Contains(heard, "Never told") {
		t.Errorf("heard:\n%s", heard)
	}
}

// A call that could destroy something, and one of a tool that is not listed, reach the server once
// and only after a yes, byte for byte. Anything else is a result that the model understands, and
// the server sees nothing of it.
func TestHeldCalls(t *testing.T) {
	for name, c := range map[string]struct {
		reply    func(*bridgetest.Listener, *aaep.Event)
		tool     string
		unlisted bool
		why      string // empty: it is made
	}{
		"yes":             {reply: accept, tool: "wipe"},
		"no":              {reply: reject, tool: "wipe", why: "the user declined this action; it was not done"},
		"both hints":      {reply: reject, tool: "both", why: "the user declined this action; it was not done"},
		"no user":         {tool: "wipe", why: "no user could be asked; the action was not done"},
		"unlisted":        {reply: reject, tool: "burn", why: "the user declined this action; it was not done"},
		"before the list": {reply: reject, tool: "look", unlisted: true, why: "the user declined this action; it was not done"},
		"all asked":       {reply: reject, tool: "note", why: "the user declined this action; it was not done"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, mcp.Config{AskAll: true}, c.reply)
			if !c.unlisted {
				f.list(someTools)
			}
			line := call("7", c.tool, `{"path": "/letters/ada", "force": true}`)
			f.client.write(line)
			if c.why == "" {
				f.server.expect(line)
				f.server.write(result("7", "Wiped."))
				f.client.expect(result("7", "Wiped."))
				f.heard.AwaitHeard(t, "Wiped.")
			} else {
				f.client.expect(refused("7", c.why))
			}
			f.client.write(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)
			f.server.expect(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)
		})
	}
}

// What the user agrees to is told whole: the tool, what it does, and each argument; a call that is
// too long to be told is refused and not asked about.
func TestHeldCallIsToldWhole(t *testing.T) {
	asked := make(chan *aaep.AwaitingConfirmation, 9)
	f := newFixture(t, mcp.Config{}, func(l *bridgetest.Listener, ev *aaep.Event) {
		asked <- ev.Payload.(*aaep.AwaitingConfirmation)
		reject(l, ev)
	})
	f.list(someTools)
	f.client.write(call("1", "wipe", `{"path": "/letters/ada", "note": "now\u202egnp.exe"}`))
	q := <-asked
	for _, want := range []string{"/letters/ada", "Deletes everything.", `\u202e`} {
		if !strings.Contains(q.Consequence, want) {
			t.Errorf("%q does not say %q", q.Consequence, want)
		}
	}
	if q.Action != "Use the tool wipe." || !q.IsIrreversible() || q.RiskLevel != aaep.RiskHigh || q.DefaultDecision != aaep.Reject {
		t.Errorf("%+v", q)
	}
	f.client.next()
	f.client.write(call("1", "wipe", `{"filter": "", "note": "x\npath: /tmp\n"}`))
	const want = `Deletes everything. filter: "", which is empty. note: x <new line> path: /tmp <new line>.`
	if q := <-asked; q.Consequence != want {
		t.Errorf("%q, want %q", q.Consequence, want)
	}
	f.client.next()
	f.client.write(call("1", "read it. That is all", `{}`))
	if q := <-asked; q.Action != `Use the tool "read it. That is all".` {
		t.Errorf("%q", q.Action)
	}
	f.client.next()
	f.client.write(call("2", "wipe", `{"path": "`+strings.Repeat("x", 20000)+`"}`))
	f.client.expect(refused("2", "its arguments are too long to be told, so the user could not be asked; the action was not done"))
	f.heard.AwaitHeard(t, "It was not done.")
	if len(asked) != 0 {
		t.Error("it is asked about")
	}
}

// A call that its client takes back is not made, whatever the user says then; neither side hears of
// it again. The same holds where the client hangs up.
func TestHeldCallIsWithdrawn(t *testing.T) {
	t.Run("cancelled", func(t *testing.T) {
		asked := make(chan *aaep.Event, 1)
		f := newFixture(t, mcp.Config{}, func(_ *bridgetest.Listener, ev *aaep.Event) { asked <- ev })
		f.list(someTools)
		f.client.write(call("7", "wipe", "{}"))
		ev := <-asked
		f.client.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7.0,"reason":"too late"}}`)
		<-f.heard.Sub.Question(ev).Done()
		accept(f.heard, ev)
		f.client.write(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)
		f.server.expect(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)
		f.server.write(`{"jsonrpc":"2.0","id":8,"result":{}}`)
		f.client.expect(`{"jsonrpc":"2.0","id":8,"result":{}}`)
	})
	t.Run("hung up", func(t *testing.T) {
		asked := make(chan *aaep.Event, 1)
		f := newFixture(t, mcp.Config{}, func(_ *bridgetest.Listener, ev *aaep.Event) { asked <- ev })
		f.list(someTools)
		f.client.write(call("7", "wipe", "{}"))
		ev := <-asked
		f.client.w.Close()
		<-f.heard.Sub.Question(ev).Done()
		if line, more := <-f.server.lines; more {
			t.Errorf("the server got %s", line)
		}
	})
	t.Run("the server dies", func(t *testing.T) {
		asked := make(chan *aaep.Event, 1)
		f := newFixture(t, mcp.Config{}, func(_ *bridgetest.Listener, ev *aaep.Event) { asked <- ev })
		f.list(someTools)
		f.client.write(call("7", "wipe", "{}"))
		<-asked
		f.server.w.Close()
		f.client.expect(refused("7", "it was taken back before the user had answered; the action was not done"))
		if err := <-f.ended; err != nil {
			t.Error(err)
		}
		f.heard.AwaitEnd(t, 1)
	})
}

// A client that wants progress is told that a held call waits, at once and every ten seconds, by
// less than the server's own progress can be.
func TestProgressWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan *aaep.Event, 1)
		f := newFixture(t, mcp.Config{}, func(_ *bridgetest.Listener, ev *aaep.Event) { asked <- ev })
		began := time.Now()
		f.client.write(strings.Replace(call("7", "wipe", "{}"), `"own":[1]`, `"_meta":{"progressToken":7}`, 1))
		for n := 1; n < 4; n++ {
			f.client.expect(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":0.00000%d,"message":"Waiting for the user's answer."}}`, n))
		}
		if waited := time.Since(began); waited != 20*time.Second {
			t.Errorf("the third came after %v", waited)
		}
		accept(f.heard, <-asked)
		f.server.next()
		time.Sleep(time.Minute)
		f.server.write(result("7", "Wiped."))
		f.client.expect(result("7", "Wiped."))
		f.end()
	})
}

// What the server could find a call in that was not asked about reaches it in no case: lines that
// can be read in two ways, batches, calls without an id.
func TestHostileClient(t *testing.T) {
	f := newFixture(t, mcp.Config{}, reject)
	f.list(someTools)
	const wipe = `"params":{"name":"wipe"}}`
	for name, line := range map[string]string{
		"a method twice":          `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call",` + wipe,
		"a method in other case":  `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call",` + wipe,
		"a name in other case":    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","NAME":"wipe"}}`,
		"a member with a long s":  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"},"paramſ":{"name":"wipe"}}`,
		"a member with a NUL":     `{"jsonrpc":"2.0","id":1,"method":"ping","method\u0000":"tools/call",` + wipe,
		"a member with no dot":    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"},"\u0131d":2}`,
		"a member with a space":   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","name ":"wipe"}}`,
		"a hidden name":           `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lo\u200bok"}}`,
		"two lines to some":       `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + "\r" + `{"jsonrpc":"2.0","id":1,"method":"tools/call",` + wipe + "\r}",
		"two in one line":         `{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":1,"method":"tools/call",` + wipe,
		"not in UTF-8":            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"wipe\xff\"}}",
		"a mark before it":        "\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"tools/call",` + wipe,
		"half a line":             `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`,
		"nested too deep":         `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wipe","arguments":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}}",
		"no object":               `"tools/call"`,
		"a batch":                 `[{"jsonrpc":"2.0","id":1,"method":"tools/call",` + wipe + `]`,
		"an id of null":           `{"jsonrpc":"2.0","id":null,"method":"tools/call",` + wipe,
		"an id that is an object": `{"jsonrpc":"2.0","id":{},"method":"tools/call",` + wipe,
		"no name":                 `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		"an escaped method":       `{"jsonrpc":"2.0","id":1,"\u006dethod":"tools\/call",` + wipe,
	} {
		f.client.write(line)
		if got := f.client.next(); !strings.Contains(got, `"error":`) && !strings.Contains(got, `"isError":true`) {
			t.Errorf("%s: the client got %s", name, got)
		}
	}
	f.client.write(`{"jsonrpc":"2.0","method":"tools/call",` + wipe) // which is answered by nothing
	f.heard.AwaitHeard(t, "nobody waits for its answer. It was not done.")
	f.client.write(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call",` + wipe + `]`)
	f.client.expect(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a batch with a call that the user must be asked about is not passed on"}}`)
	f.client.expect(refused("2", "it came in a batch, in which the user cannot be asked; call it by itself"))
	f.client.write(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wipe","task":{"ttl":1}}}`)
	f.client.expect(`{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"the user declined this action; it was not done"}}`)
	f.client.write(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","x":"` + strings.Repeat("x", 65<<20) + `"}}`)
	f.client.expect(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message of more than 64 MiB is not passed on"}}`)
	f.client.write("\r") // nothing in it
	f.server.expect("\r")
	f.client.w.Close()
	if line, more := <-f.server.lines; more {
		t.Errorf("the server got %s", line)
	}
}

// An id that repeats while its call is held, or is made, is no second call.
func TestRepeatedIDs(t *testing.T) {
	asked := make(chan *aaep.Event, 9)
	f := newFixture(t, mcp.Config{}, func(_ *bridgetest.Listener, ev *aaep.Event) { asked <- ev })
	f.list(someTools)
	line := call("7", "wipe", `{"it": 1}`)
	f.client.write(line)
	ev := <-asked
	f.client.write(call("7", "wipe", `{"it": 2}`))
	f.client.write(call("7.0", "look", `{}`))
	f.client.write(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
	accept(f.heard, ev)
	f.server.expect(line)
	f.client.write(call("7", "wipe", `{"it": 3}`))
	f.server.write(result("7", "Wiped."))
	f.client.expect(result("7", "Wiped."))
	f.client.write(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)
	f.server.expect(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)
	if len(asked) != 0 {
		t.Error("it is asked about again")
	}
}

// A server cannot answer a call that is held, nor name a tool twice so that it passes; a list that
// cannot be read has every call held. A result of 50 MB passes and is told by its first line.
func TestHostileServer(t *testing.T) {
	asked := make(chan *aaep.Event, 9)
	f := newFixture(t, mcp.Config{}, func(_ *bridgetest.Listener, ev *aaep.Event) { asked <- ev })
	f.list(someTools)
	f.client.write(call("7", "wipe", "{}"))
	ev := <-asked
	for _, line := range []string{result("7", "Wiped."), result("7.0", "Wiped."), "[" + result("7", "Wiped.") + "]",
		`{"jsonrpc":"2.0","id":1,"id":7,"result":{}}`, `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"no"}}`} {
		f.server.write(line)
	}
	f.server.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	f.client.expect(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	reject(f.heard, ev)
	f.client.expect(refused("7", "the user declined this action; it was not done"))

	f.client.write(call("8", "look", "{}"))
	f.server.next()
	large := result("8", "It is large.\n"+strings.Repeat("x", 50<<20))
	f.server.write(large)
	f.client.expect(large)
	f.heard.AwaitHeard(t, "It is large.")
	f.client.write(call("9", "look", "{}"))
	f.server.next()
	f.server.write(result("9", strings.Repeat("x", 65<<20))) // too long to be read, and not to pass
	if got := f.client.next(); len(got) < 65<<20 {
		t.Errorf("%d bytes came", len(got))
	}

	twice := strings.Replace(someTools, `{"tools":[`, `{"tools":[{"name":"wipe","annotations":{"readOnlyHint":true}},null,`, 1)
	for _, tools := range []string{twice, strings.Replace(twice, "wipe", "wipe2", 1) + " ", `{"tools":[7]}`} {
		f.list(tools)
		f.client.write(call(`"x"`, "wipe", "{}"))
		reject(f.heard, <-asked)
		f.client.next()
	}
	f.client.write(call(`"y"`, "look", "{}")) // which was listed once
	reject(f.heard, <-asked)
	f.client.next()
}

// A Tee that starts again tells its user what became of the calls that a crash left, and makes none
// of them.
func TestRestart(t *testing.T) {
	state := filepath.Join(t.TempDir(), "held")
	asked := make(chan *aaep.Event, 9)
	f := newFixture(t, mcp.Config{State: state}, func(_ *bridgetest.Listener, ev *aaep.Event) { asked <- ev })
	f.client.write(call("1", "first", "{}"))
	accept(f.heard, <-asked)
	f.server.next()
	f.client.write(call("2", "second", "{}"))
	<-asked
	killed, err := os.ReadFile(state) // as a kill leaves it
	if err != nil {
		t.Fatal(err)
	}
	f.end()
	<-f.ended
	if err := os.WriteFile(state, append(killed, `{"pass": {"id"`...), 0o600); err != nil {
		t.Fatal(err)
	}
	f = newFixture(t, mcp.Config{State: state}, accept)
	f.heard.AwaitHeard(t, "after first had been allowed. It may have been done, or not.")
	f.heard.AwaitHeard(t, "before second was allowed. It was not done.")
	f.client.w.Close()
	if line, more := <-f.server.lines; more {
		t.Errorf("the server got %s", line)
	}
	f.end()
	<-f.ended
	if err := os.WriteFile(state, []byte("something else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := bridgetest.NewProducer(t)
	if err := mcp.Tee(p, mcp.Config{State: state}, nil, nil); err == nil || !strings.Contains(err.Error(), state) {
		t.Errorf("a file of something else: %v", err)
	}
}

// BenchmarkPass is what a call that is not held and its result take through the Tee.
func BenchmarkPass(b *testing.B) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Shutdown(b.Context())
	fromClient, clientOut := io.Pipe()
	clientIn, toClient := io.Pipe()
	fromServer, serverOut := io.Pipe()
	serverIn, toServer := io.Pipe()
	go mcp.Tee(p, mcp.Config{}, struct {
		io.Reader
		io.Writer
	}{fromClient, toClient}, struct {
		io.Reader
		io.WriteCloser
	}{fromServer, toServer})
	go func() {
		in := bufio.NewScanner(serverIn)
		for n := 0; in.Scan(); n++ {
			if n == 0 {
				fmt.Fprintln(serverOut, `{"jsonrpc":"2.0","id":"l","result":`+someTools+`}`)
			} else {
				fmt.Fprintln(serverOut, result(fmt.Sprint(n), "Seen."))
			}
		}
		serverOut.Close()
	}()
	client := newSide(b, clientIn, clientOut)
	client.write(`{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)
	client.next()
	for n := 1; b.Loop(); n++ {
		client.write(call(fmt.Sprint(n), "look", `{"at":"the door"}`))
		client.next()
	}
	clientOut.Close()
}
