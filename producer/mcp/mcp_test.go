package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/mcp"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

type transfer struct {
	To     string `json:"to"`
	Amount int    `json:"amount"`
}

// fixture is an MCP server with three tools, a client of it, and a person who listens.
type fixture struct {
	moved, looked, noted int
	fail                 bool
	server               *sdk.Server
	client               *sdk.ClientSession
	p                    *producer.Producer
	heard                chan []string
	tags                 map[string]bool // languages of what was heard, once it was
}

// openFixture connects a server, a client and a person, who answers what they are asked as answer
// says.
func openFixture(t *testing.T, middleware func(*producer.Producer) sdk.Middleware,
	answer func(aaep.Payload) any) *fixture {
	t.Helper()
	return openIn(t, "en", middleware, answer)
}

// openIn is openFixture with an agent that speaks another language.
func openIn(t *testing.T, language string, middleware func(*producer.Producer) sdk.Middleware,
	answer func(aaep.Payload) any) *fixture {
	t.Helper()
	b := &fixture{heard: make(chan []string, 1), tags: map[string]bool{}}
	var err error
	if b.p, err = producer.New(producer.Config{Language: language,
		Agent: aaep.Agent{AgentID: "bank-tools"}}); err != nil {
		t.Fatal(err)
	}
	go func() { b.heard <- followAgent(b.p, b.tags, answer) }()
	b.p.WaitSubscriber(t.Context())

	server := sdk.NewServer(&sdk.Implementation{Name: "bank", Version: "1"}, &sdk.ServerOptions{PageSize: 1})
	b.server = server
	add := func(tool *sdk.Tool, run func(transfer) string) {
		sdk.AddTool(server, tool, func(_ context.Context, _ *sdk.CallToolRequest, in transfer) (*sdk.CallToolResult,
			any, error) {
			if b.fail {
				return nil, nil, errors.New("no such account")
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: run(in)}}}, nil, nil
		})
	}
	add(&sdk.Tool{Name: "transfer_money"}, func(in transfer) string { b.moved += in.Amount; return "moved" })
	add(&sdk.Tool{Name: "look", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(transfer) string { b.looked++; return "$7" })
	add(&sdk.Tool{Name: "note", Title: "Write a note", Annotations: &sdk.ToolAnnotations{DestructiveHint: new(false)}},
		func(transfer) string { b.noted++; return "noted" })
	server.AddReceivingMiddleware(middleware(b.p))

	theirs, ours := sdk.NewInMemoryTransports()
	go server.Run(t.Context(), ours)
	client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"},
		&sdk.ClientOptions{ElicitationHandler: mcp.Elicit(b.p)})
	if b.client, err = client.Connect(t.Context(), theirs, nil); err != nil {
		t.Fatal(err)
	}
	return b
}

// callTool calls a tool as the model does.
func (b *fixture) callTool(t *testing.T, tool string) (text string, failed bool) {
	t.Helper()
	r, err := b.client.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: transfer{"savings", 500}})
	if err != nil {
		return err.Error(), true
	}
	return r.Content[0].(*sdk.TextContent).Text, r.IsError
}

// endAndHear ends the agent and returns what was heard.
func (b *fixture) endAndHear() []string {
	b.client.Close()
	b.p.Shutdown(context.Background())
	return <-b.heard
}

type pipe struct{ p *producer.Producer }

func (d pipe) Dial(context.Context) (transports.Conn, error) {
	a, b := transports.Pipe()
	go d.p.ServeConn(b)
	return a, nil
}

// followAgent follows an agent to its end, answers its questions, and returns what was heard.
func followAgent(p *producer.Producer, tags map[string]bool, answer func(aaep.Payload) any) (heard []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	sub, err := subscriber.Dial(ctx, pipe{p},
		subscriber.Config{ID: "reader", NoReconnect: true, Capabilities: aaep.Capabilities{
			Languages: []string{"en", "es", "fi"}, SupportsConfirmationReply: new(true),
			SupportsClarificationReply: new(true)}})
	if err != nil {
		return []string{err.Error()}
	}
	defer sub.Close()
	for ev, err := range sub.Events(ctx) {
		if err != nil {
			return heard
		}
		tags[ev.Language()] = true
		switch q := ev.Payload.(type) {
		case *aaep.StateChanged:
			continue
		case *aaep.AwaitingConfirmation:
			heard = append(heard, q.Action+" "+q.Consequence)
			replies.Send(ctx, sub.Question(ev), answer(q).(aaep.Decision), nil)
			continue
		case *aaep.AwaitingClarification:
			if a := answer(q); a != nil {
				if err := replies.Send(ctx, sub.Question(ev), "", a); err != nil {
					return append(heard, err.Error())
				}
			}
		}
		heard = append(heard, ev.Text(aaep.VerbosityNormal))
	}
	return heard
}

func answerAlways(d aaep.Decision) func(aaep.Payload) any { return func(aaep.Payload) any { return d } }

func announceTools(p *producer.Producer) sdk.Middleware { return mcp.Tools(p, nil) }

// What is not said of a tool is made up in the agent's language, with the arguments as they
// are. (I18N-001)
func TestToolsInSpanish(t *testing.T) {
	b := openIn(t, "es", announceTools, answerAlways(aaep.Accept))
	if got, failed := b.callTool(t, "transfer_money"); got != "moved" || failed {
		t.Fatalf("gave %q, failed %v", got, failed)
	}
	want := "Trabajando en una solicitud.\nUsar la herramienta transfer money, con to: savings; amount: 500. Puede cambiar o borrar algo que no se puede recuperar.\n"
	if told := strings.Join(b.endAndHear(), "\n"); !strings.HasPrefix(told, want) {
		t.Errorf("told:\n%s\nwant first:\n%s", told, want)
	}
}

// Where the agent speaks a language that there are no sentences in, they are in English, and say
// so: a voice for Finnish would read them as no person can follow. (I18N-001)
func TestToolsInEnglish(t *testing.T) {
	b := openIn(t, "fi", announceTools, answerAlways(aaep.Accept))
	for tool, want := range map[string]string{"transfer_money": "moved", "look": "$7"} {
		if got, failed := b.callTool(t, tool); got != want || failed {
			t.Fatalf("%s gave %q, failed %v", tool, got, failed)
		}
	}
	told := strings.Join(b.endAndHear(), "\n")
	for _, want := range []string{"Use the tool transfer money, with to: savings; amount: 500. It may change or delete what cannot be restored.\n", "Using the tool look.\n"} {
		if !strings.Contains(told, want) {
			t.Errorf("told:\n%s\nwant in it:\n%s", told, want)
		}
	}
	if len(b.tags) != 1 || !b.tags["en"] {
		t.Errorf("labelled %v, want en", b.tags)
	}
}

// What could destroy something asks, with all that decides it; what only reads or adds is
// announced. (EVT-042, SM-013, LVL-006)
func TestTools(t *testing.T) {
	b := openFixture(t, announceTools, answerAlways(aaep.Accept))
	for tool, want := range map[string]string{"transfer_money": "moved", "look": "$7", "note": "noted"} {
		if got, failed := b.callTool(t, tool); got != want || failed {
			t.Errorf("%s gave %q, failed %v", tool, got, failed)
		}
	}
	if got, failed := b.callTool(t, "nonsense"); !failed || !strings.Contains(got, "nonsense") {
		t.Errorf("a tool that is not there gave %q", got)
	}
	if b.moved != 500 || b.looked != 1 || b.noted != 1 {
		t.Errorf("moved %d, looked %d times, noted %d times", b.moved, b.looked, b.noted)
	}
	told := strings.Join(b.endAndHear(), "\n")
	for _, want := range []string{
		"Working on a request.\nUse the tool transfer money, with to: savings; amount: 500. It may change or delete what cannot be restored.\n" +
			"Use the tool transfer money, with to: savings; amount: 500.\nTransfer money finished.\nThe agent finished.",
		"Using the tool look.\nUsing the tool look.\nLook finished.\nThe agent finished.",
		"Using the tool Write a note.\nUsing the tool Write a note.\nWrite a note finished.\nThe agent finished.",
	} {
		if !strings.Contains(told, want) {
			t.Errorf("told:\n%s\nwant in it:\n%s", told, want)
		}
	}
	if strings.Contains(told, "nonsense") {
		t.Errorf("a tool that is not there was told of:\n%s", told)
	}
}

// A question says every argument in words, in the order in which they were sent, and a tool has one
// name: the one for people.
func TestArguments(t *testing.T) {
	const args = `{"to_address":"Ada\r\nLagos","lines":[{"sku":"tea","count":12345678901234567890},{"sku":"\u202ecup","gift":null}],
		"express":true,"tags":["a","b"],"note":"","none":{},"express":false}`
	b := openFixture(t, announceTools, answerAlways(aaep.Accept))
	b.server.AddTool(&sdk.Tool{Name: "order_v2", Annotations: &sdk.ToolAnnotations{Title: "Place an order"},
		InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return nil, errors.New("sold out")
		})
	if _, err := b.client.CallTool(t.Context(),
		&sdk.CallToolParams{Name: "order_v2", Arguments: json.RawMessage(args)}); err == nil {
		t.Error("the tool did not run")
	}
	const use = "Use the tool Place an order, with to address: Ada\nLagos; lines: (sku: tea, count: 12345678901234567890), (sku: <U+202E>cup, gift: null); " +
		`express: true; tags: a, b; note: ""; none: {}; express: false.`
	want := "Working on a request.\n" + use + " It may change or delete what cannot be restored.\n" + use +
		"\nPlace an order failed.\nThe agent failed."
	if told := strings.Join(b.endAndHear(), "\n"); told != want {
		t.Errorf("told:\n%s\nwant:\n%s", told, want)
	}
}

// A no is a tool error, so that the model can say what was not done; nothing ran. (SM-009, P1)
func TestRefused(t *testing.T) {
	b := openFixture(t, announceTools, answerAlways(aaep.Reject))
	if got, failed := b.callTool(t, "transfer_money"); got != "Not done: transfer_money. The user was asked and said no." || !failed || b.moved != 0 {
		t.Errorf("the tool gave %q, failed %v, moved %d", got, failed, b.moved)
	}
	if told := b.endAndHear(); slices.Contains(told, "Transfer money finished.") {
		t.Errorf("told: %q", told)
	}
}

// A tool that fails is told of as such, and its own words stay between server and model. It is a
// failure of the agent, which interrupts people, only where they were asked: models look for what
// is not there all the time.
func TestFailed(t *testing.T) {
	for tool, end := range map[string][]string{"look": {"Look failed.", "The agent finished."},
		"transfer_money": {"Transfer money failed.", "The agent failed."}} {
		b := openFixture(t, announceTools, answerAlways(aaep.Accept))
		b.fail = true
		if got, failed := b.callTool(t, tool); got != "no such account" || !failed {
			t.Errorf("the tool gave %q, failed %v", got, failed)
		}
		if told := b.endAndHear(); len(told) < 3 || !slices.Equal(told[len(told)-2:], end) {
			t.Errorf("of %s is told: %q", tool, told)
		}
	}
}

// A call that its client waits for no longer is told as given up, not as a failure of the agent,
// and does not run. (P1)
func TestGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := openFixture(t, announceTools, func(aaep.Payload) any { cancel(); return aaep.Decision("") })
	over := make(chan struct{})
	b.server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if method == "tools/call" {
				defer close(over)
			}
			return next(ctx, method, req)
		}
	})
	if _, err := b.client.CallTool(ctx, &sdk.CallToolParams{Name: "transfer_money",
		Arguments: transfer{"savings", 500}}); err == nil {
		t.Error("the tool gave something")
	}
	<-over
	told := b.endAndHear()
	if b.moved != 0 || len(told) != 3 || told[2] != "Cancelled." {
		t.Errorf("moved %d, told: %q", b.moved, told)
	}
}

// What cannot be put to the user, such as a whole book, is not done, and the model learns why and
// may say it otherwise.
func TestCannotBeAsked(t *testing.T) {
	b := openFixture(t, announceTools, answerAlways(aaep.Accept))
	r, err := b.client.CallTool(t.Context(), &sdk.CallToolParams{Name: "transfer_money",
		Arguments: transfer{strings.Repeat("savings ", 3000), 500}})
	if err != nil || !r.IsError || b.moved != 0 {
		t.Fatalf("the tool gave %+v, %v, moved %d", r, err, b.moved)
	}
	if said := r.Content[0].(*sdk.TextContent).Text; !strings.HasPrefix(said,
		"Not done. The user cannot be asked about this call as it is: ") || !strings.Contains(said, "at most 16384") {
		t.Errorf("the model hears %q", said)
	}
	if told := b.endAndHear(); !slices.Equal(told, []string{"Working on a request.", "The agent failed."}) {
		t.Errorf("told: %q", told)
	}
}

// The author's description may ask for more than the annotations do, and never for less. (EVT-042)
func TestDescribe(t *testing.T) {
	b := openFixture(t, func(p *producer.Producer) sdk.Middleware {
		return mcp.Tools(p, func(tool *sdk.Tool, args json.RawMessage) producer.Tool {
			return producer.Tool{Risk: aaep.RiskLow, Confirm: tool.Name == "note",
				Action: aaep.Say("Do it, with " + string(args))}
		})
	}, answerAlways(aaep.Reject))
	for tool, asked := range map[string]bool{"transfer_money": true, "note": true, "look": false} {
		if got, failed := b.callTool(t, tool); failed != asked {
			t.Errorf("%s gave %q", tool, got)
		}
	}
	if b.moved != 0 || b.noted != 0 || b.looked != 1 {
		t.Errorf("moved %d, looked %d times, noted %d times", b.moved, b.looked, b.noted)
	}
	if told := strings.Join(b.endAndHear(), "\n"); !strings.Contains(told,
		`Do it, with {"to":"savings","amount":500} It may change`) {
		t.Errorf("told:\n%s", told)
	}
}

// No subscriber is left to be asked after Shutdown: what must ask does not run, and what need not does.
// (P1)
func TestShutDown(t *testing.T) {
	b := openFixture(t, announceTools, answerAlways(aaep.Accept))
	b.p.Shutdown(context.Background())
	if got, failed := b.callTool(t, "transfer_money"); !failed || b.moved != 0 {
		t.Errorf("the tool gave %q, moved %d", got, b.moved)
	}
	if got, failed := b.callTool(t, "look"); failed || got != "$7" {
		t.Errorf("the tool gave %q, failed %v", got, failed)
	}
}

// What a server wants to know is asked field by field.
func TestElicit(t *testing.T) {
	about, asked := 0, ""
	yes := func(q aaep.Payload) any {
		ask := q.(*aaep.AwaitingClarification)
		if ask.Context == "Booking a room." {
			about++
			asked += ask.Question
		}
		return map[string]any{"City?": "Ibadan", "Nights?": 3.0, "Breakfast?": true, "Room?": "big",
			"Shall I book?": true}[ask.Question]
	}
	var heard []string
	last := func() string { return heard[len(heard)-1] }
	form := func(t *testing.T, schema any, message string, answer func(aaep.Payload) any) (*sdk.ElicitResult, error) {
		p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
		if err != nil {
			t.Fatal(err)
		}
		told := make(chan []string)
		go func() { told <- followAgent(p, map[string]bool{}, answer) }()
		p.WaitSubscriber(t.Context())
		result, err := mcp.Elicit(p)(t.Context(),
			&sdk.ElicitRequest{Params: &sdk.ElicitParams{Message: message, RequestedSchema: schema}})
		p.Shutdown(context.Background())
		heard = <-told
		return result, err
	}
	got, err := form(t, map[string]any{"type": "object", "required": []string{"nights", "city"},
		"properties": map[string]any{
			"city":      map[string]any{"type": "string", "title": "City"},
			"nights":    map[string]any{"type": "integer", "title": "Nights"},
			"breakfast": map[string]any{"type": "boolean", "description": "Breakfast"},
			"room": map[string]any{"type": "string", "title": "Room", "enum": []string{"small", "big"},
				"enumNames": []string{"Small", "Big"}},
		}}, "Booking a room.", yes)
	if err != nil || got.Action != "accept" ||
		fmt.Sprint(got.Content) != "map[breakfast:true city:Ibadan nights:3 room:big]" {
		t.Errorf("the form gave %+v, %v", got, err)
	}
	if asked != "Nights?City?Breakfast?Room?" {
		t.Errorf("asked: %s", asked)
	}
	if about != 4 || slices.Contains(heard, "Booking a room.") || last() != "The agent finished." {
		t.Errorf("%d questions say what they are about, want 4; told: %q", about, heard)
	}
	if got, err := form(t, nil, "Shall I book?", yes); err != nil || got.Action != "accept" {
		t.Errorf("yes gave %+v, %v", got, err)
	}
	if got, err := form(t, nil, "Shall I book?", func(aaep.Payload) any { return false }); err != nil ||
		got.Action != "decline" {
		t.Errorf("no gave %+v, %v", got, err)
	}
	if got, err := form(t, map[string]any{"properties": map[string]any{"x": map[string]any{"type": "object"}}},
		"What?", yes); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("a nested form gave %+v, %v", got, err)
	}
	if got, err := form(t, nil, "", yes); err == nil || last() != "The agent failed." {
		t.Errorf("a form that asks nothing gave %+v, %v, and ends with %q", got, err, last())
	}
	synctest.Test(t, func(t *testing.T) {
		if got, err := form(t, nil, "Shall I book?", func(aaep.Payload) any { return nil }); err != nil ||
			got.Action != "cancel" || last() != "Cancelled." {
			t.Errorf("no answer gave %+v, %v, and ends with %q", got, err, last())
		}
	})
}

// A choice that the protocol has no form for is asked for in words, and the form gets the value
// that was meant (EVT-083).
func TestElicitChoices(t *testing.T) {
	many, numbers := []string{}, []any{}
	for n := range 40 {
		many, numbers = append(many, fmt.Sprintf("room %d", n)), append(numbers, n*10)
	}
	long := []string{strings.Repeat("a", 300), strings.Repeat("b", 300)}
	text, choice := aaep.ResponseFreetext, aaep.ResponseMultipleChoice
	for name, tt := range map[string]struct {
		field   map[string]any
		answers []any // to one question after the other
		kind    aaep.ResponseKind
		context string
		action  string
		want    any
	}{
		"one": {map[string]any{"type": "string", "enum": []string{"only"},
			"enumNames": []string{"The only one"}}, []any{" the ONLY one "}, text, "The only one", "accept", "only"},
		"more than 32": {map[string]any{"type": "string", "enum": many}, []any{"Room 39"}, text,
			"room 0, room 1", "accept", "room 39"},
		"twice the same": {map[string]any{"type": "string", "enum": []string{"a", "a"}}, []any{"a"}, text,
			"a, a", "accept", "a"},
		"long ones": {map[string]any{"type": "string", "enum": long}, []any{long[1]}, text, long[0],
			"accept", long[1]},
		"an empty one": {map[string]any{"type": "string", "enum": []string{"", "a"}}, []any{"a"}, text,
			"a", "accept", "a"},
		"numbers": {map[string]any{"type": "integer", "enum": []any{1, 2, 3}}, []any{"2"}, choice,
			"", "accept", 2.0},
		"numbers, as numbers": {map[string]any{"type": "number", "enum": []any{0.5, 2, 3}}, []any{"0.5"}, choice,
			"", "accept", 0.5},
		"one number": {map[string]any{"type": "integer", "enum": []any{7}}, []any{"7"}, text, "7",
			"accept", 7.0},
		"more than 32 numbers": {map[string]any{"type": "integer", "enum": numbers}, []any{"390"}, text,
			"0, 10, 20", "accept", 390.0},
		"numbers with names": {map[string]any{"type": "integer",
			"oneOf": []any{map[string]any{"const": 1, "title": "One night"},
				map[string]any{"const": 2, "title": "Two"}}}, []any{"2"}, choice, "", "accept", 2.0},
		"numbers in strings": {map[string]any{"type": "string", "enum": []any{"1", "2"}}, []any{"2"}, choice,
			"", "accept", "2"},
		"something else, and again": {map[string]any{"type": "string", "enum": []string{"only"}},
			[]any{"other", "only"}, text, "only", "accept", "only"},
		"something else each time": {map[string]any{"type": "string", "enum": []string{"only"}},
			[]any{"other", "other", "other"}, text, "only", "cancel", nil},
		"half a night": {map[string]any{"type": "integer"}, []any{0.5, 1.0}, aaep.ResponseNumeric, "", "accept", 1.0},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			told := make(chan []string)
			go func() {
				told <- followAgent(p, map[string]bool{}, func(q aaep.Payload) any {
					ask := q.(*aaep.AwaitingClarification)
					if ask.AcceptedResponseKinds[0] != tt.kind || !strings.Contains(ask.Context, tt.context) {
						t.Errorf("asked as %v, with %q", ask.AcceptedResponseKinds, ask.Context)
					}
					n++
					return tt.answers[n-1]
				})
			}()
			p.WaitSubscriber(t.Context())
			schema := map[string]any{"type": "object", "properties": map[string]any{"x": tt.field}}
			got, err := mcp.Elicit(p)(t.Context(),
				&sdk.ElicitRequest{Params: &sdk.ElicitParams{Message: "Booking.", RequestedSchema: schema}})
			p.Shutdown(context.Background())
			<-told
			if err != nil || got.Action != tt.action || got.Content["x"] != tt.want || n != len(tt.answers) {
				t.Errorf("%+v, %v, after %d questions", got, err, n)
			}
		})
	}
}

func Example() {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "bank-tools"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "bank", Version: "1"}, nil)
	server.AddReceivingMiddleware(mcp.Tools(p, nil)) // and serve p, with package producer/serve
	fmt.Println(p.Shutdown(context.Background()))
	// Output: <nil>
}
