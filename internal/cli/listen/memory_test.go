package listen

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// forgetful is a voice that says two words a second, and keeps nothing.
type forgetful struct{}

func (forgetful) Present(ctx context.Context, u announce.Utterance) error {
	var said pacedVoice
	return said.Present(ctx, u)
}

func (forgetful) Speaks(string) bool { return true }

func (forgetful) Close() error { return nil }

// What the listener keeps does not grow while an agent streams: a hundred tokens a second, over the
// terminal and a voice that is slower than the agent.
func TestMemoryIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("an hour of text takes ten seconds: make test-all runs it")
	}
	synctest.Test(t, func(t *testing.T) {
		p, dial := clitest.AgentOf(t, producer.Config{Language: "en-US"})
		defer p.Shutdown(t.Context())
		e := newTestListener(t, subscriber.ScreenReader("en-US"))
		e.l.Printer.Out, e.l.Status.Out = io.Discard, io.Discard
		e.listen(t.Context(), func(ctx context.Context, e *testListener) {
			e.hearOver(ctx, forgetful{})
			e.l.out.plain = true
		}, []clitest.DialerFunc{dial}, func() {
			s, err := p.StartSession(t.Context(), aaep.Say("Working."))
			if err != nil {
				t.Fatal(err)
			}
			heap := func() uint64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			var early uint64
			for minute := range 60 {
				out := s.Output()
				for i := range 60 * 100 {
					text := fmt.Sprintf("word%d ", i)
					if i%12 == 11 {
						text = "ends. "
					}
					if _, err := out.WriteString(text); err != nil {
						t.Fatal(err)
					}
					time.Sleep(10 * time.Millisecond)
				}
				out.Close()
				if minute == 35 { // by then what is kept for after a cut is at its bound
					early = heap()
				}
			}
			if late := heap(); late > early+512<<10 {
				t.Errorf("after an hour %d KiB, after 36 minutes %d KiB", late>>10, early>>10)
			}
		})
	})
}
