package listen

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/transports"
)

// A program that is still being built says nothing for a while, which is no wrong answer.
func TestSilentChild(t *testing.T) {
	for err, want := range map[error]string{
		context.DeadlineExceeded: "go has said nothing so far.\nIf it was still being built or loaded, try again; ",
		io.EOF:                   "go does not speak AAEP on its standard output.\n",
	} {
		ours, theirs := transports.Pipe()
		defer theirs.Close()
		child := &childAgent{conn: ours}
		if said := child.notFollowed(t.Context(), "go", fmt.Errorf("dial: %w", err), nil); !strings.HasPrefix(said.Error(), want) {
			t.Errorf("%v: %s", err, said)
		}
	}
}
