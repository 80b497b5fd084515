package producer

import (
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
)

// offer is what of the producer's this subscriber may have.
func (sub *subscription) offer() handshake.Offer {
	offer := sub.p.offer
	offer.ReadOnly, offer.Withhold = !sub.rights.Reply, sub.rights.Withhold
	return offer
}

// setTerms takes over terms, which nobody changes any more.
func (sub *subscription) setTerms(t *handshake.Terms) {
	sub.patience.Store(int64(t.TimeoutMultiplier * 1000))
	sub.least.Store(int64(t.MinTimeout / time.Second))
	sub.pace.Store(t.PaceWPM)
	sub.confirms.Store(t.ConfirmationReply)
	sub.clarifies.Store(t.ClarificationReply)
	sub.mu.Lock()
	defer sub.mu.Unlock()
	sub.terms, sub.key = t, groupKey{}
}

// agreements keep one copy of terms that are alike: thousands of listeners want no more than a few different things.
type agreements struct {
	mu sync.Mutex
	of map[string]*handshake.Terms // by what was asked for, and what of the offer differs from one to the other
}

const (
	maxAgreements = 64
	maxAgreed     = 4 << 10 // bytes that were asked for
)

// share returns terms that are as t, which came of asked. Negotiation depends on nothing else.
func (a *agreements) share(asked aaep.Capabilities, offer handshake.Offer, t handshake.Terms) *handshake.Terms {
	key, err := jsonv2.Marshal([]any{&asked, offer.ReadOnly, offer.Withhold}, jsonv2.Deterministic(true))
	if err != nil || len(key) > maxAgreed || t.ResumeAfter != "" || t.MoreTime != "" { // or of this subscription alone
		return &t
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if same := a.of[string(key)]; same != nil {
		return same
	}
	if a.of == nil || len(a.of) >= maxAgreements {
		a.of = map[string]*handshake.Terms{}
	}
	a.of[string(key)] = &t
	return &t
}
