package producer

import (
	"fmt"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/budget"
)

const (
	// maxPrincipals is how many principals have their requests counted each by itself.
	maxPrincipals = 1024
	// maxPatterns is how many patterns one list of event filters may have: each event is compared
	// with all.
	maxPatterns = 256
	// maxBoundaries is how many coalesce boundaries a request may name. There are five; more may
	// come.
	maxBoundaries = 32
	// maxLanguage is how many characters one language tag of a request may have, for it is kept.
	// The tag of a language that is spoken has fewer than 40.
	maxLanguage = 128
)

// requestMeter counts the subscription requests of every principal. The time goes in, so that it
// can be tested alone. Any goroutine may use it.
//
// It stays small whatever comes: a principal that asked nothing for a second is forgotten, and
// principals beyond maxPrincipals share one count.
type requestMeter struct {
	rate int // requests a second; negative is no limit

	mu     sync.Mutex                // a leaf; guards what follows
	each   map[string]*budget.Budget // by principal
	others *budget.Budget            // of the principals beyond maxPrincipals
	swept  time.Time                 // when principals were last forgotten
}

// newRequestMeter returns a meter of rate requests a second.
func newRequestMeter(rate int) *requestMeter {
	return &requestMeter{rate: rate, each: map[string]*budget.Budget{}, others: budget.New(rate)}
}

// countRequest counts one request of a principal and returns zero, or, if that one has spent its
// rate, how long to wait before its next one counts. A negative rate limits nothing. Beyond
// maxPrincipals principals, those that are new share one budget. It takes m.mu.
func (m *requestMeter) countRequest(now time.Time, principal string) time.Duration {
	if m.rate < 0 {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.swept) >= time.Second {
		m.swept = now
		full := budget.New(m.rate).Free(now)
		for name, b := range m.each {
			if b.Free(now) == full {
				delete(m.each, name)
			}
		}
	}
	b := m.each[principal]
	switch {
	case b != nil:
	case len(m.each) < maxPrincipals:
		b = budget.New(m.rate)
		m.each[principal] = b
	default:
		b = m.others
	}
	if b.Take(now) {
		return 0
	}
	return b.Next(now).Sub(now)
}

// checkRequestRate counts a subscription request of one principal, and refuses it if there are too
// many. All peers that were not asked for credentials are one principal here: they cannot be told
// apart. The error is an *aaep.Rejection.
func (p *Producer) checkRequestRate(principal string) error {
	wait := p.asking.countRequest(time.Now(), principal)
	if wait == 0 {
		return nil
	}
	return &aaep.Rejection{Code: aaep.RateLimit, RetryAfter: wait, Message: fmt.Sprintf(
		"At most %d subscription requests a second are answered. Wait, then ask once.", p.cfg.MaxRequestsPerSecond)}
}

// checkRoom returns an *aaep.Rejection with the code RateLimit if one more subscription of a
// principal would exceed Config.MaxSubscriptions or, for a named principal, MaxPerPrincipal; else
// nil. registerSubscription calls it with p.mu held.
func (p *Producer) checkRoom(principal string) error {
	served := *p.audience.Load()
	if len(served) >= p.cfg.MaxSubscriptions {
		return &aaep.Rejection{Code: aaep.RateLimit, RetryAfter: retryFull, Message: fmt.Sprintf(
			"This producer serves at most %d subscriptions at once. Try again when another has ended.",
			p.cfg.MaxSubscriptions)}
	}
	left := p.cfg.MaxPerPrincipal
	if left == 0 || principal == "" {
		return nil
	}
	for _, sub := range served {
		if sub.Link.Principal == principal {
			left--
		}
	}
	if left > 0 {
		return nil
	}
	return &aaep.Rejection{Code: aaep.RateLimit, RetryAfter: retryFull, Message: fmt.Sprintf(
		"You may have at most %d subscriptions at once. Close one, or try again later.", p.cfg.MaxPerPrincipal)}
}

// retryFull is when to try again where there was no room: another subscription has to end first.
const retryFull = 30 * time.Second

// checkCapabilitySize refuses, with an *aaep.Rejection that names the member and its limit,
// capabilities with more than maxPatterns filters of a kind or maxBoundaries boundaries, or with a
// language tag longer than maxLanguage: all are kept, and compared for every event. AAEP itself
// sets no bound.
func checkCapabilitySize(c aaep.Capabilities) error {
	refuse := func(member string, n, most int, advice string) error {
		return &aaep.Rejection{Code: aaep.CapabilitiesIncompatible,
			Message: fmt.Sprintf("%s has %d entries; at most %d are served. %s", member, n, most, advice)}
	}
	const patternAdvice = "A pattern that ends in * stands for many types."
	if f := c.EventFilters; f != nil {
		if n := len(f.Include); n > maxPatterns {
			return refuse("event_filters.include", n, maxPatterns, patternAdvice)
		}
		if n := len(f.Exclude); n > maxPatterns {
			return refuse("event_filters.exclude", n, maxPatterns, patternAdvice)
		}
	}
	if n := len(c.CoalesceBoundaries); n > maxBoundaries {
		return refuse("coalesce_boundaries", n, maxBoundaries,
			"Ask for some of none, word, sentence, paragraph and completion.")
	}
	for _, tag := range c.Languages {
		if n := len(tag); n > maxLanguage {
			return &aaep.Rejection{Code: aaep.CapabilitiesIncompatible, Message: fmt.Sprintf(
				"A language tag has %d characters; at most %d are served. Ask for one such as en-US.", n, maxLanguage)}
		}
	}
	return nil
}
