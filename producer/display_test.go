package producer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
)

// A long text at once, and one that came while nobody was to be disturbed, reach a small display whole: they are many
// pieces, and its listener is not slow for that (INV-28).
func TestSmallDisplay(t *testing.T) {
	for _, tc := range []struct {
		cells, text int
		rate        int64
		typing      bool
	}{{1, 8000, 0, false}, {4, 30000, 0, false}, {20, 100000, 0, false}, {40, 400000, 0, true}, {40, 100000, 5, false}} {
		t.Run(fmt.Sprintf("%+v", tc), func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				l := st.listen(declaring(caps(tc.rate, aaep.BoundarySentence), extensions.BrailleVocabulary, extensions.Braille{Cells: tc.cells}))
				s := st.session("Reading.")
				if tc.typing {
					l.typing()
				}
				synctest.Wait()
				out, text := s.Output(), strings.Repeat("Up we go. ", tc.text/10)
				out.WriteString(text)
				out.Close()
				s.Tool(context.Background(), look, ok)
				time.Sleep(20 * time.Minute)
				if end, ok := l.lastMessage().(*aaep.SubscriptionClose); ok {
					t.Errorf("closed: %s", end.ReasonMessage)
				}
				if err := onlyText(l.events(), text); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
