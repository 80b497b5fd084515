package cli

import (
	"bufio"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/exits"
)

// Listeners hear the end of a program whose output is not read.
func TestPagerThatIsNotScrolled(t *testing.T) {
	unread := &clitest.Pager{Scroll: make(chan struct{})}
	in, typed := io.Pipe()
	talk, errs := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- Main([]string{"run", "--listen", "127.0.0.1:0", "--wait", "--name", "Model"}, in, unread, errs)
	}()
	lines := bufio.NewReader(talk)
	line, err := lines.ReadString('\n')
	_, url, ok := strings.Cut(line, "aaep listen ")
	if err != nil || !ok {
		t.Fatalf("it says %q, %v", line, err)
	}
	go io.Copy(io.Discard, lines)
	var heard clitest.Buffer
	listened := make(chan int, 1)
	go func() {
		listened <- Main([]string{"listen", strings.TrimSpace(url)}, strings.NewReader(""),
			clitest.WriterFunc(func(b []byte) (int, error) {
				if n, _ := heard.Write(b); !strings.Contains(heard.String(), "Done.") {
					return n, nil
				}
				return 0, syscall.EPIPE // they have heard it
			}), io.Discard)
	}()
	io.WriteString(typed, "Here it is.\n")
	typed.Close()
	<-listened
	if got := heard.String(); !strings.Contains(got, "Here it is.") || !strings.Contains(got, "Done. Model finished.") {
		t.Errorf("they hear %q", got)
	}
	close(unread.Scroll)
	if code := <-ended; code != exits.OK || unread.String() != "Here it is.\n" {
		t.Errorf("code %d, standard output %q", code, unread.String())
	}
}
