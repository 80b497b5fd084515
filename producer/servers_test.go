package producer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/producer/log"
)

// serverLog is a log on several servers, of which some have no copy.
type serverLog struct {
	log.Store
	behind []string
	err    error
}

func (s *serverLog) ServersBehind(context.Context) ([]string, error) { return s.behind, s.err }

// A server of the log that has no copy is in the agent's log by its name, once, when it has lasted,
// and so is that all have one again. A look that fails says nothing.
func TestServersBehindAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		inner := &serverLog{}
		p := &Producer{cfg: Config{Log: inner, Logger: slog.New(slog.NewTextHandler(&out, nil))},
			closing: &closing{claims: t.Context(), done: make(chan struct{})}}
		p.cfg.shieldOthers()
		go p.watchServers()
		logged := func(after time.Duration) string {
			out.Reset()
			time.Sleep(after)
			synctest.Wait()
			return out.String()
		}
		if got := logged(time.Minute); got != "" {
			t.Errorf("all have a copy: %q", got)
		}
		inner.behind = []string{"n2"}
		if got := logged(time.Minute); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "servers=n2") {
			t.Errorf("n2 has none: %q", got)
		}
		inner.err, inner.behind = errors.New("no leader"), nil
		if got := logged(time.Minute); got != "" {
			t.Errorf("nothing is known: %q", got)
		}
		inner.err = nil
		if got := logged(time.Minute); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "all servers of the log") {
			t.Errorf("all have one again: %q", got)
		}
		inner.behind = []string{"n3"}
		time.Sleep(serversEvery)
		inner.behind = nil
		if got := logged(time.Minute); got != "" {
			t.Errorf("what passes at once: %q", got)
		}
		close(p.done)
	})
}
