package present_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// An agent that crashed with a question open, is started again and asks the same once more: what
// became of the first is heard before the second, as is that the connection is back, and nothing is
// announced that does not follow. So it is, too, where what became of the first question is long
// past.
func TestAskedAgainAfterACrash(t *testing.T) {
	for _, away := range []time.Duration{20 * time.Second, 5 * time.Minute} {
		t.Run(away.String(), func(t *testing.T) { testAskedAgain(t, away) })
	}
}

func testAskedAgain(t *testing.T, away time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		start := func(a *agentOf) (crash func()) {
			store, err := sqlite.Open(dir, sqlite.Options{SurvivesCrash: true})
			if err != nil {
				t.Fatal(err)
			}
			p, err := producer.New(producer.Config{Agent: aaep.Agent{AgentID: "bank", AgentName: "Bank"}, Log: store})
			if err != nil {
				t.Fatal(err)
			}
			a.Producer = p
			return func() { store.Close() }
		}
		bank := &agentOf{t: t}
		crash := start(bank)
		agents := map[string]*agentOf{"Bank": bank}
		l := listen(t, false, agents)
		defer l.end(agents)
		bank.asks("Pay five dollars.")
		l.asked()
		time.Sleep(time.Minute)
		crash()
		bank.dead.Store(true)
		bank.cut()
		old := bank.Producer
		defer old.Shutdown(context.Background())
		defer start(bank)()
		time.Sleep(away)
		before := len(l.lines())
		links := bank.countLinks()
		bank.dead.Store(false)
		for bank.countLinks() == links {
			time.Sleep(50 * time.Millisecond)
		}
		bank.asks("Pay five dollars.")
		time.Sleep(2 * time.Minute)
		heard := strings.Join(l.lines()[before:], "|")
		if want := "The connection to the agent is back.|Nothing is missing.|Error.|The agent stopped before it had finished.|" +
			"Withdrawn, and not done: Pay five dollars.|Decide: Pay five dollars.|"; !strings.HasPrefix(heard, want) ||
			strings.Contains(heard, "What came before:") {
			t.Errorf("heard %s, want %s", heard, want)
		}
	})
}
