//go:build unix

package stdio

import (
	"io"
	"os/exec"
	"testing"

	"github.com/aaep-go/aaep/internal/violation"
)

// STDIO-001, STDIO-002, STDIO-004, STDIO-010: a Dialer reports which rule of
// the binding is broken.
func TestViolations(t *testing.T) {
	for line, want := range map[string]string{
		"Loading the model":       "STDIO-010",
		`[` + eventLine + `]`:     "STDIO-001",
		`{"method":"aaep.event"}`: "STDIO-001",
		`{"jsonrpc":"2.0","id":9,"method":"aaep.event","params":` + event + `}`: "STDIO-002",
		event: "STDIO-002",
		`{"jsonrpc":"2.0","method":"aaep.close","params":` + event + `}`: "STDIO-002",
		`{"jsonrpc":"2.0","id":7,"result":` + accepts + `}`:              "STDIO-004",
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"No."}}`:    "STDIO-004",
		`{"jsonrpc":"2.0","id":1,"result":` + accepts + `}`:              "",
		eventLine: "",
		`{"jsonrpc":"2.0","method":"aaep.new","params":{}}`: "", // of a newer version
		pingLine: "",
		"":       "",
	} {
		t.Run(line, func(t *testing.T) {
			told := make(chan string, 9)
			from, in := newPipe(t)
			_, to := newPipe(t)
			c := newConn(&frames{in: from, out: to, violations: func(requirement, _ string) { told <- requirement }}, "")
			defer c.Close()
			if err := c.Send(t.Context(), []byte(asks)); err != nil {
				t.Fatal(err)
			}
			io.WriteString(in, line+"\n")
			in.Close()
			for {
				if _, err := receiveSoon(t, c); err != nil {
					break
				}
			}
			close(told)
			if got := <-told; got != want || len(told) > 0 {
				t.Errorf("%q is told, want %q", got, want)
			}
		})
	}
}

// A Dialer hands its Reporter on.
func TestDialViolations(t *testing.T) {
	told := make(chan string, 9)
	ctx, _ := violation.WithReporter(t.Context(), func(requirement, _ string) { told <- requirement })
	c, err := Dialer{Command: func() *exec.Cmd { return exec.Command("echo", "hello") }}.Dial(ctx)
	if err != nil {
		t.Skip(err) // there is no echo
	}
	for err == nil {
		_, err = receiveSoon(t, c)
	}
	c.Close()
	if got := <-told; got != "STDIO-010" {
		t.Errorf("%q is told", got)
	}
}
