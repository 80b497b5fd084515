package agent

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// The listeners of an agent that cannot be followed any more are told so once: at the end of serve
// no listener is said to have missed it.
func TestServedAgentGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept, err := sqlite.Open(t.TempDir(), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var out clitest.Buffer
		s := &server{agents: map[string]*producer.Producer{}, gone: map[string]bool{}, status: lineio.Printer{Out: &out}}
		for name, cfg := range map[string]producer.Config{"lost": {Log: kept}, "other": {}} {
			cfg.Agent.AgentID = name
			if s.agents[name], err = producer.New(cfg); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() { s.waitForEnd(ctx, 2) })
		kept.Close()
		s.agents["lost"].StartSession(ctx, aaep.Say("Nobody keeps this."))
		synctest.Wait()
		stop()
		watching.Wait()
		s.endAgents(ctx)
		if got := out.String(); strings.Count(got, "\n") != 1 ||
			!strings.HasPrefix(got, "aaep: lost cannot be served any more: ") {
			t.Errorf("it says %q", got)
		}
	})
}
