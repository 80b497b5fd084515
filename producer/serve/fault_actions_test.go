package serve_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// actionRecord is what tools did, and what was allowed.
type actionRecord struct {
	mu             sync.Mutex
	allowed, done  map[string]int
	wrong          []string
	asked, refused int
}

// recordAllowed counts an acceptance that is about to be sent.
func (d *actionRecord) recordAllowed(action string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.allowed[action]++
}

// recordDone counts an action that runs. One that runs twice, or was never allowed, is wrong.
func (d *actionRecord) recordDone(action string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done[action]++; d.done[action] > 1 || d.allowed[action] == 0 {
		d.wrong = append(d.wrong, fmt.Sprintf("%q was done %d times and allowed %d times", action, d.done[action],
			d.allowed[action]))
	}
}

// Each action's number says who decides what about it.
const (
	allAllow      = iota // those without a proxy too
	someAllow            // those with a proxy, whose word may be lost
	allRefuse            // so it is never done
	neverAnswered        // nor this
	ofDecisions          // there are so many kinds
)

// kindOf returns which listeners decide what about an action.
func kindOf(action string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(action, "Pay number "), "."))
	if err != nil {
		return neverAnswered
	}
	return n % ofDecisions
}

// decideReply returns what a listener answers to a question, if anything; direct is one without a
// proxy.
func (d *actionRecord) decideReply(action string, direct bool) (says aaep.Decision, any bool) {
	switch kind := kindOf(action); {
	case kind == allAllow || kind == someAllow && !direct:
		d.recordAllowed(action)
		return aaep.Accept, true
	case kind == allRefuse:
		return aaep.Reject, true
	}
	return "", false
}

// runSessions runs sessions with text, tools and questions until the time is over, and one at
// least.
func (d *actionRecord) runSessions(p *producer.Producer, numbers *atomic.Int64, pace time.Duration, until time.Time,
	grave bool) error {
	for first := true; first || time.Now().Before(until); first = false {
		s, err := p.StartSession(context.Background(), aaep.Say("Working."))
		if err != nil {
			return err
		}
		out := s.Output()
		for range 30 {
			if _, err := fmt.Fprintf(out, "t%d é👩🏽‍🌾. ", time.Now().UnixNano()); err != nil {
				return err
			}
			time.Sleep(pace)
		}
		if _, err := s.Tool(context.Background(), look, succeed); err != nil {
			return err
		}
		tool := pay
		tool.Irreversible, tool.Risk, tool.Confirm = grave, aaep.RiskMedium, true
		action := fmt.Sprintf("Pay number %d.", numbers.Add(1))
		tool.Action, tool.Timeout = aaep.Say(action), time.Second
		if kindOf(action) == allAllow {
			tool.Timeout = patience // it is allowed, also where a busy machine is slow to
		}
		_, err = s.Tool(context.Background(), tool,
			func(context.Context) (string, error) { d.recordDone(action); return "paid", nil })
		d.mu.Lock()
		d.asked++
		if err != nil {
			d.refused++
		}
		if done, kind := d.done[action], kindOf(action); (err == nil) != (done == 1) || kind == allAllow && done == 0 {
			d.wrong = append(d.wrong, fmt.Sprintf("%q: Tool = %v, done %d times", action, err, done))
		}
		d.mu.Unlock()
		if err := out.Close(); err != nil {
			return err
		}
		if err := s.Complete(aaep.Say("Done.")); err != nil {
			return err
		}
	}
	return nil
}
