package cli

import (
	"context"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/serve"
)

// What can be printed no more, as on a disk that is full, ends with an error that says so; that no
// reader reads any more is none.
func TestUnwritten(t *testing.T) {
	p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "agent"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { served <- new(serve.Server).Serve(ctx, ln, p) }()
	for failure, want := range map[error]string{syscall.ENOSPC: "aaep: cannot print what is said: no space left on device\n", syscall.EPIPE: ""} {
		for _, command := range []string{"capture", "listen"} {
			var errs clitest.Buffer
			ended := make(chan int)
			full := clitest.WriterFunc(func([]byte) (int, error) {
				return 0,
					&fs.PathError{Op: "write", Path: "/dev/stdout", Err: failure}
			})
			in, typed := io.Pipe()
			go func() { ended <- Main([]string{command, "http://" + ln.Addr().String()}, in, full, &errs) }()
			var code int
			for over := false; !over; {
				s, err := p.StartSession(ctx, aaep.Say("Working."))
				if err != nil {
					t.Fatal(err)
				}
				s.Complete(aaep.Say("Done."))
				select {
				case code = <-ended:
					over = true
				case <-time.After(10 * time.Millisecond):
				}
			}
			typed.Close()
			if got := errs.String(); !strings.HasSuffix(got, want) || (code == exits.OK) != (want == "") || want == "" &&
				strings.Contains(got, "cannot print") {
				t.Errorf("%s, %v: code %d, and says %q", command, failure, code, got)
			}
		}
	}
	stop()
	<-served
}
