package httpguard

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// written is a log that timers write to, too.
type written struct {
	mu sync.Mutex
	bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Buffer.Write(p)
}

// T-LOG: a peer that fills the log gets ten lines a minute of it, it says how many more there were,
// and no other peer's lines are lost.
func TestSparing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out written
		log := LimitLog(slog.New(slog.NewTextHandler(&out, nil)))
		told := func() (lines []string) {
			out.mu.Lock()
			defer out.mu.Unlock()
			defer out.Reset()
			return strings.Split(strings.TrimSpace(out.String()), "\n")
		}
		for i := range 1000 {
			log.With("transport", "sse").Warn("not authenticated", "peer", i)
			time.Sleep(time.Millisecond)
		}
		log.Warn("not authorized")
		log.Error("not authenticated") // of another level
		lines := told()
		if len(lines) != maxPerWindow+2 || !strings.Contains(lines[maxPerWindow-1], "left out for a minute") ||
			strings.Contains(lines[0], "left") {
			t.Errorf("%d lines:\n%s", len(lines), strings.Join(lines, "\n"))
		}
		time.Sleep(limitWindow)
		synctest.Wait()
		if lines := told(); len(lines) != 1 || !strings.Contains(lines[0], "transport=sse left_out=990") {
			t.Errorf("after a minute in which nobody came: %q", lines)
		}
		log.Warn("not authenticated")
		if lines := told(); len(lines) != 1 || strings.Contains(lines[0], "left") {
			t.Errorf("then: %q", lines)
		}
		// What differs in its reason is not left out for the other, whatever a peer says of itself.
		for i := range 1000 { // as http.Server writes the peer into the message
			log.Info(fmt.Sprintf("TLS handshake error from 192.0.2.%d:4711: EOF", i))
			log.Info("request refused", "reason", Malformed)
			log.Info("subscription closed", "reason", fmt.Sprint("made up ", i))
		}
		if lines := told(); len(lines) != 3*maxPerWindow {
			t.Errorf("%d lines of three kinds", len(lines))
		}
		log.Info("request refused", "reason", Forbidden, "principal", "")
		if lines := told(); len(lines) != 1 || !strings.Contains(lines[0], "reason=forbidden") {
			t.Errorf("of another reason: %q", lines)
		}
		time.Sleep(limitWindow)
		synctest.Wait()
		if lines := told(); len(lines) != 3 || !strings.Contains(fmt.Sprint(lines),
			`msg="TLS handshake error from # EOF" left_out=990`) ||
			!strings.Contains(fmt.Sprint(lines), `msg="request refused" reason=malformed left_out=990`) {
			t.Errorf("a minute later: %q", lines)
		}
		for i := range 1000 {
			log.Info("message " + strings.Repeat("x", i))
		}
		if lines := told(); len(lines) > maxKinds+maxPerWindow {
			t.Errorf("%d lines of messages that differ", len(lines))
		}
		time.Sleep(limitWindow)
		synctest.Wait()
		if lines := told(); len(lines) != 1 || !strings.Contains(lines[0], `msg="others of many kinds" left_out=`) {
			t.Errorf("those are not one peer's: %q", lines)
		}
		// A known peer is counted by name: no peer hides that another came, and many who come take
		// no memory for good.
		for i := range 100 {
			log.Info("subscription opened", "principal", "mallory")
			log.Info("subscription opened", "principal", fmt.Sprint("p", i))
		}
		if lines := told(); len(lines) != 100+maxPerWindow || !strings.HasSuffix(lines[len(lines)-1], "principal=p99") {
			t.Errorf("%d lines of 101 principals, the last %q", len(lines), lines[len(lines)-1])
		}
		time.Sleep(limitWindow)
		synctest.Wait()
		if lines := told(); len(lines) != 1 || !strings.HasSuffix(lines[0], "principal=mallory left_out=90") {
			t.Errorf("after a minute: %q", lines)
		}
		for range 3 {
			for i := range 2 * maxPrincipals {
				log.Info("subscription opened", "principal", fmt.Sprint("q", i))
			}
			if lines := told(); len(lines) != maxPrincipals+maxPerWindow {
				t.Errorf("%d lines of %d principals in a minute", len(lines), 2*maxPrincipals)
			}
			time.Sleep(limitWindow)
			synctest.Wait()
			if lines := told(); len(lines) != 1 || !strings.Contains(lines[0], "left_out=1014") {
				t.Errorf("and a minute later: %q", lines)
			}
		}
		for i := range 1000 {
			log.With("a", i).WithGroup("g").Debug("unseen")
		}
	})
	LimitLog(nil).Error("nobody reads it")
}
