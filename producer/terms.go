package producer

import (
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
)

// currentOffer returns the producer's offer to this subscriber: what its rights allow of it.
func (sub *subscription) currentOffer() negotiation.Offer {
	offer := sub.p.offer
	offer.ReadOnly, offer.Withhold = !sub.rights.Reply, sub.rights.Withhold
	return offer
}

// setTerms makes t the terms of the subscription, which must not change afterwards. The owner calls
// it, with Board.HoldRecipients held once the subscription is registered.
func (sub *subscription) setTerms(t *negotiation.Terms) {
	sub.patience.Store(int64(t.TimeoutMultiplier * 1000))
	sub.least.Store(int64(t.MinTimeout / time.Second))
	sub.pace.Store(t.PaceWPM)
	sub.confirms.Store(t.ConfirmationReply)
	sub.clarifies.Store(t.ClarificationReply)
	sub.terms.Store(t)
	sub.SetTerms(t)
}

// agreements keep one copy of terms that are alike: thousands of subscribers ask for no more than a
// few different things. Any goroutine may use them.
type agreements struct {
	mu sync.Mutex // a leaf; guards byRequest
	// byRequest has the terms by what was asked for, with what in the offer differs between
	// subscribers, as JSON.
	byRequest map[string]*negotiation.Terms
}

const (
	// maxAgreements is how many terms are kept; then all are forgotten.
	maxAgreements = 64
	// maxAgreed is how many bytes a request may have for its terms to be kept.
	maxAgreed = 4 << 10
)

// shareTerms returns terms equal to t, which were negotiated for the capabilities asked and the
// offer. Negotiation depends on nothing else, so equal requests get one copy. negotiateRequest
// calls it.
func (a *agreements) shareTerms(
	asked aaep.Capabilities, offer negotiation.Offer, t negotiation.Terms) *negotiation.Terms {
	key, err := jsonv2.Marshal([]any{&asked, offer.ReadOnly, offer.Withhold}, jsonv2.Deterministic(true))
	// Terms with one of the last two fields are for this subscription alone.
	if err != nil || len(key) > maxAgreed || t.ResumeAfter != "" || t.MoreTime != "" {
		return &t
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if same := a.byRequest[string(key)]; same != nil {
		return same
	}
	if a.byRequest == nil || len(a.byRequest) >= maxAgreements {
		a.byRequest = map[string]*negotiation.Terms{}
	}
	a.byRequest[string(key)] = &t
	return &t
}
