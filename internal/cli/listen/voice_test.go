package listen

import (
	"context"
	"strings"
	"time"

	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// pacedVoice says two words a second, and keeps what it said; " /" is behind what was cut.
type pacedVoice struct{ clitest.Buffer }

func (v *pacedVoice) Present(ctx context.Context, u announce.Utterance) error {
	v.Write([]byte(u.Text))
	select {
	case <-time.After(time.Duration(len(strings.Fields(u.Text))) * time.Second / 2):
		v.Write([]byte("\n"))
		return nil
	case <-ctx.Done():
		v.Write([]byte(" /\n"))
		return ctx.Err()
	}
}

func (v *pacedVoice) Speaks(string) bool { return true }

func (v *pacedVoice) Close() error { return nil }
