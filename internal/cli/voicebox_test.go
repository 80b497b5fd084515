package cli

import (
	"fmt"
	"net"
	"os"
	"time"

	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/speechtest"
)

// voicebox is a speech server at the socket that is named. It prints what was heard whole, as soon
// as it was.
func voicebox() {
	ln := clitest.Must(net.Listen("unix", os.Args[1]))
	s := &speechtest.Server{WordsPerMinute: 1200}
	go s.Serve(ln)
	fmt.Fprintln(os.Stderr, "ready")
	for printed := 0; ; time.Sleep(5 * time.Millisecond) {
		for _, text := range s.Heard()[printed:] {
			fmt.Println(text)
			printed++
		}
	}
}
