// Package call is "aaep hook AGENT": it hands the input of a hook to the server, and prints what
// that answers. An agent runs it at every tool call, so it depends on little, and package early has
// it run before anything else of the command is initialised. Whatever goes wrong it prints nothing,
// unless a user was asked and the agent would go on without the answer: then it prints that the
// action is forbidden. It never ends with 2, by which agents take any action as forbidden.
//
// The hook is in call.go, starting the server that it needs, and for how long that is waited for,
// in start.go, and where a server is that runs in server.go.
package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// AgentID is that of the producer which the server is. Subscribers find it at ipc.Path(AgentID).
const AgentID = "hook"

// Agents are the agents whose hooks are known, in the order in which they are told.
var Agents = []string{"claude", "codex", "gemini", "copilot", "crush"}

// Known reports whether the hooks of an agent are known.
func Known(agent string) bool { return slices.Contains(Agents, agent) }

// MaxInput is how many bytes of an input are sent; of a longer one, which no question can be made
// of, that is the beginning.
const MaxInput = 8 << 20

// The two talk in messages: a Request, the input in parts, a receipt at once, and an outcome when
// there is one. An Outcome with Unanswered may come before it: that is printed if none follows.
type (
	Request struct {
		Agent string `json:"agent"` // empty asks how the server is
		Size  int    `json:"size"`  // of the input, in bytes
	}
	Receipt struct {
		Received  bool `json:"received"`
		Listeners int  `json:"listeners"`
	}
	Outcome struct {
		Output     json.RawMessage `json:"output,omitempty"`
		Unanswered json.RawMessage `json:"unanswered,omitempty"`
		Problem    string          `json:"problem,omitempty"` // why the input was not taken
	}
)

// part is how many bytes of the input go in a message.
const part = transports.MaxMessage / 2

// receiptTime is for the server to say that it has an input.
const receiptTime = 5 * time.Second

// Variable, set in the environment, has Run print a Receipt once the server has taken the input.
const Variable = "AAEP_HOOK_TRIAL"

// Is reports whether the arguments of the command are those by which an agent calls a hook.
func Is(args []string) bool { return len(args) == 2 && args[0] == "hook" && Known(args[1]) }

// Run does all of "aaep hook AGENT", and returns the exit code, which is always 0: agents take some
// others as a decision. Errors go to stderr; stdout has what the agent reads.
func Run(agent string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() {
		if r := recover(); r != nil { // or the program would end with 2
			fmt.Fprintln(stderr, "aaep: the hook failed, and decides nothing")
		}
	}()
	if err := Call(context.Background(), agent, stdin, stdout, Start); err != nil {
		fmt.Fprintln(stderr, "aaep: "+strings.Join(strings.Fields(aaep.SafeText(err.Error())), " "))
	} else if os.Getenv(Variable) != "" {
		json.NewEncoder(stdout).Encode(Receipt{Received: true})
	}
	return 0
}

// Call hands an input to the server, which it starts if there is none, and prints what the server
// answers, if anything. A server that was about to end gives no receipt, and is started again once.
// With an error, nothing is printed, and the agent goes on as if there were no hook; or, where a
// user was asked, that the action is forbidden. A signal that ends the program does the same.
func Call(ctx context.Context, agent string, input io.Reader, output io.Writer, start func() (ended <-chan error,
	err error)) error {
	data, err := io.ReadAll(io.LimitReader(input, MaxInput))
	if err != nil {
		return err
	}
	if len(data) == MaxInput { // the agent must not wait for a pipe that is not read
		if _, err := io.Copy(io.Discard, input); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	for attempt := 0; ; attempt++ {
		conn, err := reachServer(ctx, start)
		if err != nil {
			return err
		}
		answer, err := askServer(ctx, conn, Request{Agent: agent, Size: len(data)}, data)
		wasEnding := errors.Is(err, errNoReceipt) && !errors.Is(err, context.DeadlineExceeded)
		if wasEnding && attempt == 0 {
			continue
		}
		if len(answer) == 0 {
			return err
		}
		_, failed := output.Write(append(answer, '\n'))
		return errors.Join(err, failed)
	}
}

var errNoReceipt = errors.New("the server of hooks did not take the input")

// askServer sends a Request and its input, and returns what the server says to print; it closes
// conn. Where the server is lost after it asked a user, what to print without an answer comes back
// beside the error; beside any other error nothing does.
func askServer(ctx context.Context, conn transports.Conn, r Request, input []byte) (answer []byte, err error) {
	defer conn.Close()
	if _, err := sendInput(ctx, conn, r, input); err != nil {
		return nil, err
	}
	var unanswered []byte
	for {
		var got Outcome
		msg, err := conn.Receive(ctx)
		if err == nil {
			err = json.Unmarshal(msg, &got)
		}
		switch {
		case err != nil:
			return unanswered, err
		case got.Problem != "":
			return got.Output, errors.New(got.Problem)
		case got.Unanswered == nil:
			return got.Output, nil
		}
		unanswered = got.Unanswered
	}
}

// sendInput sends a Request and its input in parts, within receiptTime, and returns the server's
// receipt. errNoReceipt says that none came, and the server may not have it.
func sendInput(ctx context.Context, conn transports.Conn, r Request, input []byte) (got Receipt, err error) {
	ctx, cancel := context.WithTimeout(ctx, receiptTime)
	defer cancel()
	msg, err := json.Marshal(r)
	if err == nil {
		err = conn.Send(ctx, msg)
	}
	for piece := range slices.Chunk(input, part) {
		if err == nil {
			err = conn.Send(ctx, piece)
		}
	}
	if err == nil {
		msg, err = conn.Receive(ctx)
	}
	if err != nil {
		return got, fmt.Errorf("%w: %w", errNoReceipt, err)
	}
	if err := json.Unmarshal(msg, &got); err != nil || !got.Received {
		return got, errNoReceipt
	}
	return got, nil
}
