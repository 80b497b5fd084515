//go:build unix

package stdio_test

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/aaep-go/aaep/transports/stdio"
)

// A subscriber starts an agent and speaks with it. The agent is a producer that serves what
// stdio.Listen returns. This one is a script, which accepts, says something, and ends.
func Example() {
	ctx := context.Background()
	dialer := stdio.Dialer{Command: func() *exec.Cmd {
		return exec.Command("sh", "-c", `read request
			echo '{"jsonrpc":"2.0","id":1,"result":{"type":"subscription.accepted"}}'
			echo '{"jsonrpc":"2.0","method":"aaep.event","params":{"type":"aaep:agent.session.started"}}'
			echo 'thinking…' >&2
			exit 3`)
	}}
	conn, err := dialer.Dial(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	conn.Send(ctx, []byte(`{"type":"subscription.request"}`))
	for {
		msg, err := conn.Receive(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", msg)
	}
	// Output:
	// {"type":"subscription.accepted"}
	// {"type":"aaep:agent.session.started"}
	// the link broke: stdio: the producer ended: exit status 3
}
