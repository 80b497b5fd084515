package listen

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
)

// That an agent has ended, or its link is lost, is told after its last words, however fast they
// come; and so is that it is back.
func TestLastWordsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			p, dial := clitest.AgentOf(t, producer.Config{MaxEventsPerSecond: 1000})
			listenTo(t, dial, subscriber.ScreenReader("en-US").With(aaep.Capabilities{MaxEventsPerSecond: 1000}),
				func(e *testListener) {
					s, err := p.StartSession(t.Context(), aaep.Say("Working."))
					if err != nil {
						t.Fatal(err)
					}
					hold := make(chan bool)
					go e.l.runInLoop(t.Context(), func() { <-hold }) // the person's terminal is slow
					synctest.Wait()
					out := s.Output()
					for i := range 50 {
						fmt.Fprintf(out, "Sentence %d is here. ", i)
					}
					out.Close()
					s.Complete(aaep.Say("These are my last words."))
					p.Shutdown(t.Context())
					clitest.PassTime(time.Minute)
					close(hold)
					clitest.PassTime(time.Second)
					got := e.screen.String()
					last, end := strings.Index(got, "These are my last words."),
						strings.Index(got, "The agent has ended.")
					if last < 0 || end < last {
						t.Fatalf("last words at %d, the end at %d:\n%s", last, end, got)
					}
				})
		}
	})
}
