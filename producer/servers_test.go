package producer

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/producer/log"
)

// serverLog is a log on several servers, of which some have no copy; it keeps what is logged, too.
type serverLog struct {
	log.Store
	mu     sync.Mutex // guards what follows
	behind []string
	err    error
	out    bytes.Buffer
}

// set makes what ServersBehind returns from now on.
func (s *serverLog) set(err error, behind ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behind, s.err = behind, err
}

func (s *serverLog) ServersBehind(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.behind, s.err
}

func (s *serverLog) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(line)
}

// takeLogged returns what was logged since the call before.
func (s *serverLog) takeLogged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.out.Reset()
	return s.out.String()
}

// A server of the log that has no copy is in the agent's log by its name, once, when it has lasted,
// and so is that all have one again. A look that fails says nothing.
func TestServersBehindAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &serverLog{}
		p := &Producer{cfg: Config{Log: inner, Logger: slog.New(slog.NewTextHandler(inner, nil))},
			closing: &closing{claims: t.Context(), done: make(chan struct{})}}
		p.cfg.shieldOthers()
		go p.watchServers()
		logged := func(after time.Duration) string {
			inner.takeLogged()
			time.Sleep(after)
			synctest.Wait()
			return inner.takeLogged()
		}
		if got := logged(time.Minute); got != "" {
			t.Errorf("all have a copy: %q", got)
		}
		inner.set(nil, "n2")
		if got := logged(time.Minute); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "servers=n2") {
			t.Errorf("n2 has none: %q", got)
		}
		inner.set(errors.New("no leader"))
		if got := logged(time.Minute); got != "" {
			t.Errorf("nothing is known: %q", got)
		}
		inner.set(nil)
		if got := logged(time.Minute); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "all servers of the log") {
			t.Errorf("all have one again: %q", got)
		}
		inner.set(nil, "n3")
		time.Sleep(serversEvery)
		inner.set(nil)
		if got := logged(time.Minute); got != "" {
			t.Errorf("what passes at once: %q", got)
		}
		close(p.done)
	})
}
