package listen

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/handshake/extensions"
)

// A display that this program pans cuts texts itself: what an agent cuts to its cells comes one
// piece a second. A line of the terminal that a display follows is cut by the agent.
func TestDisplayCutsItself(t *testing.T) {
	for _, tt := range []struct {
		outputs string
		asks    bool
	}{{"", true}, {"--output=braille", false}, {"--output=speech,contracted-braille", false}, {"--output=speech", true}} {
		cmd := &cobra.Command{Use: "listen"}
		p := AddPersonFlags(cmd, true)
		args := []string{"--as=braille", "--cells=14", "--settings=/dev/null"}
		if tt.outputs != "" {
			args = append(args, tt.outputs)
		}
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		caps, err := p.Capabilities()
		if err != nil {
			t.Fatal(err)
		}
		if _, asks := caps.Extensions[extensions.BrailleVocabulary.Prefix]; asks != tt.asks {
			t.Errorf("%q: cells are asked for: %t", tt.outputs, asks)
		}
	}
}
