package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/brailletest"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/exits"
)

// display is a BRLTTY with a display of 40 cells, whose reader pans on as soon as a text that waits
// for that has stood for a second. It prints where it is, and then each line that the display
// shows.
func display() {
	s := brailletest.New(40)
	ln := clitest.Must(net.Listen("tcp", "127.0.0.1:0"))
	go func() {
		for {
			there := clitest.Must(ln.Accept())
			here := clitest.Must(s.Dial(context.Background()))
			go func() { defer here.Close(); io.Copy(here, there) }()
			go func() { defer there.Close(); io.Copy(there, here) }()
		}
	}()
	fmt.Fprintf(os.Stderr, "ready 127.0.0.1:%d\n", ln.Addr().(*net.TCPAddr).Port-4101)
	for printed := 0; ; time.Sleep(5 * time.Millisecond) {
		states := s.States()
		for _, state := range states[printed:] {
			if line := strings.TrimSpace(state.Line); state.Ours && line != "" {
				fmt.Println(line)
			}
		}
		printed = len(states)
		if now := s.Now(); now.Ours && strings.TrimSpace(now.Line) != "" && time.Since(now.At) > 1100*time.Millisecond {
			s.Press(brailletest.Forward)
		}
	}
}

// Who asks for contracted braille where nothing makes it is told what to install, and not left with
// something else.
func TestContractedMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out, errs bytes.Buffer
	code := Main([]string{"listen", "--output", "contracted-braille", "http://127.0.0.1:1"}, strings.NewReader(""),
		&out, &errs)
	want := "aaep: cannot tell it over contracted-braille: there is no program lou_translate to translate with.\n" +
		"It needs BRLTTY with a display, as --output braille does, and liblouis: in Debian, the packages liblouis-bin and liblouis-data.\n"
	if code != exits.Unreachable || out.String()+errs.String() != want {
		t.Errorf("code %d, %s%s", code, &out, &errs)
	}
}
