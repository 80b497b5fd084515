package listen

import (
	"testing"

	"github.com/aaep-go/aaep/subscriber"
)

// A warning is about the name that is told, also where that is the id because nothing of the name
// can be told. INV-59
func TestMisledByWhatIsTold(t *testing.T) {
	f := &FollowedAgent{Listener: &Listener{}, wanted: subscriber.ScreenReader("en-US")}
	for _, c := range []struct {
		name, id string
		warned   bool
	}{{"Bank", "verified ✓", false}, {"", "verified ✓", true}, {".", "verified ✓", true},
		{"\u200b!", "verified ✓", true}, {"Bank ✓", "x", true}} {
		name := f.nameOf(c.name, c.id)
		if warned := len(f.warnOfName(name)) > 0; warned != c.warned {
			t.Errorf("%q, %q is told as %q, and warned of: %v", c.name, c.id, name, warned)
		}
	}
}
