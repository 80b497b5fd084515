//go:build unix

package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// runAgent runs a producer as it is in life: it asks before it acts, and ends with 7 where it may
// not.
func runAgent() int {
	l, err := Listen(nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "payer"}, FromStart: true})
	if err != nil {
		return 2
	}
	ctx, leave := context.WithCancel(context.Background())
	go func() { p.Serve(ctx, l); leave() }()
	if p.WaitSubscriber(ctx) != nil {
		return 6
	}
	s, err := p.StartSession(ctx, aaep.Say("Paying."))
	if err != nil {
		return 2
	}
	_, err = s.Tool(ctx, producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true,
		Action: aaep.Say("Pay $20 to Ada."), Consequence: aaep.Say("The money is gone.")},
		func(context.Context) (string, error) { fmt.Println("paid"); return "receipt", nil })
	s.Complete(aaep.Say("Ready."))
	ending, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p.Shutdown(ending)
	if err != nil {
		return 7
	}
	return 0
}

// counted counts how often an agent is started, and keeps the newest link to it.
type counted struct {
	Dialer
	starts int
	cmd    *exec.Cmd
	conn   transports.Conn
}

// Dial starts an agent and notes its command and its link.
func (c *counted) Dial(ctx context.Context) (transports.Conn, error) {
	c.starts++
	c.Command = func() *exec.Cmd { c.cmd = childCommand("agent"); return c.cmd }
	conn, err := c.Dialer.Dial(ctx)
	c.conn = conn
	return conn, err
}

// followAgent subscribes to a new agent and returns what it asks.
func followAgent(t *testing.T) (*counted, *subscriber.Subscription, *aaep.Event) {
	t.Helper()
	caps := subscriber.ScreenReader("en-US")
	caps.MaxEventsPerSecond = 1000
	d := &counted{}
	sub, err := subscriber.Dial(t.Context(), d, subscriber.Config{ID: "tester", Capabilities: caps, NoReconnect: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sub.Close() })
	for ev, err := range sub.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.Payload.(*aaep.AwaitingConfirmation); ok {
			return d, sub, ev
		}
	}
	panic("unreachable")
}

// restOfTypes returns the types of what comes until the subscription ends, and why it does.
func restOfTypes(t *testing.T, sub *subscriber.Subscription) (types []string, end error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ev, err := range sub.Events(ctx) {
		if err != nil {
			return types, err
		}
		types = append(types, string(ev.Type()))
	}
	return types, nil
}

// exitCode returns the exit code in err, or 0 if it has none.
func exitCode(err error) int {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0
	}
	return exit.ExitCode()
}

// STDIO-005, STDIO-006, STDIO-007, STDIO-009: both halves over a child: a question, other terms, an
// answer that counts, the producer's goodbye, and no second start.
func TestAgent(t *testing.T) {
	d, sub, question := followAgent(t)
	terms, err := sub.Renegotiate(t.Context(), aaep.Capabilities{MaxEventsPerSecond: 500})
	if err != nil || terms.HonoredCapabilities.MaxEventsPerSecond != 500 {
		t.Errorf("Renegotiate = %+v, %v", terms, err)
	}
	if err := sub.Question(question).Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	types, end := restOfTypes(t, sub)
	if all := strings.Join(types, " "); !errors.Is(end, aaep.ProducerShutdown) ||
		!strings.Contains(all, string(aaep.TypeToolCompleted)) ||
		!strings.HasSuffix(all, string(aaep.TypeSessionCompleted)) {
		t.Errorf("after the answer came %s, %v", all, end)
	}
	sub.Close()
	if err := d.conn.Close(); err != nil || d.starts != 1 {
		t.Errorf("the agent was started %d times and ended with %v", d.starts, err)
	}
}

// STDIO-009, TR-013: an agent whose reader leaves takes the default, which is no, and ends.
func TestAgentLeft(t *testing.T) {
	d, sub, _ := followAgent(t)
	sub.Close()
	if err := d.conn.Close(); exitCode(err) != 7 {
		t.Errorf("the agent ended with %v, want exit code 7", err)
	}
}

// STDIO-009, TR-011: kill -9 in the middle of a question ends the subscription, says so, and
// nothing starts the agent again.
func TestAgentKilled(t *testing.T) {
	d, sub, _ := followAgent(t)
	d.cmd.Process.Kill()
	_, end := restOfTypes(t, sub)
	var exit *exec.ExitError
	if !errors.As(end, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the subscription ended with %v", end)
	}
	if st, _ := sub.Status(); !st.Over || d.starts != 1 {
		t.Errorf("over: %v; started %d times", st.Over, d.starts)
	}
}

// STDIO-001, STDIO-002, STDIO-004, STDIO-007, STDIO-010, B.6: what an agent writes, read by nothing
// of ours.
func TestAgentOnTheWire(t *testing.T) {
	cmd := childCommand("agent")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	request :=
		`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"wire",` +
			`"capabilities":{"supports_confirmation_reply":true}}`
	io.WriteString(in, `{"jsonrpc":"2.0","id":"first","method":"aaep.subscribe","params":`+request+"}\n")
	type line struct {
		JSONRPC, Method string
		ID              any
		Params, Result  struct {
			Type, Decision, Default string
			Token                   string `json:"reply_token"`
			Subscription            string `json:"subscription_id"`
		}
	}
	var id, last string
	for r := bufio.NewScanner(out); r.Scan(); {
		var l line
		if err := json.Unmarshal(r.Bytes(), &l); err != nil || l.JSONRPC != "2.0" {
			t.Fatalf("a line is %q: %v", r.Bytes(), err)
		}
		switch {
		case id == "":
			if l.ID != "first" || l.Result.Type != "subscription.accepted" {
				t.Fatalf("the first line is %q", r.Bytes())
			}
			id = l.Result.Subscription
		case l.ID != nil || l.Method != "aaep.event" && l.Method != "aaep.close" ||
			(l.Method == "aaep.close") != (l.Params.Type == "subscription.close"):
			t.Errorf("a line is %q", r.Bytes())
		case l.Params.Token != "":
			reply := fmt.Sprintf(
				`{"type":"confirmation.reply","reply_token":%q,"decision":"reject","subscription_id":%q,"timestamp":%q}`,
				l.Params.Token, id, time.Now().UTC().Format(time.RFC3339Nano))
			io.WriteString(in, `{"jsonrpc":"2.0","method":"aaep.reply","params":`+reply+"}\n")
		}
		last = l.Method
	}
	if last != "aaep.close" {
		t.Errorf("the last line is %s, want aaep.close", last)
	}
	if err := cmd.Wait(); exitCode(err) != 7 {
		t.Errorf("the agent ended with %v, want exit code 7", err)
	}
}
