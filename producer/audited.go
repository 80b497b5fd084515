package producer

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/budget"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/producer/audit"
)

// ErrNotRecorded is returned by Tool, Confirm and the Ask methods where Config.Audit could not keep
// what must be on record first: nothing was run.
var ErrNotRecorded = errors.New("producer: it could not be recorded, and was not done")

// refusals keeps a flood of replies without effect from filling the audit log. A reply of one
// subscription that is not recorded is counted, and the count goes on record with the next one that
// is. It belongs to the goroutine that receives.
type refusals struct {
	pace       *budget.Budget // how many may be recorded
	unrecorded int            // how many came, and were not recorded, since the last that was
	recording  atomic.Bool    // one is being recorded; those that arrive meanwhile are not
}

// describe returns err, which is why a reply has no effect, with how many were counted before it,
// and sets that number back. The receiving goroutine calls it for a reply that it records.
func (f *refusals) describe(err error) error {
	if f.unrecorded == 0 {
		return err
	}
	defer func() { f.unrecorded = 0 }()
	return fmt.Errorf("%w; and so did %d before it", err, f.unrecorded)
}

// AuditIdentity returns the subscription as the audit log names it, with the language in which it
// is shown ev; a nil ev leaves the language out. Any goroutine may call it.
func (sub *subscription) AuditIdentity(ev *aaep.Event) audit.Subscription {
	identity := audit.Subscription{SubscriptionID: sub.id, SubscriberID: sub.subscriberID,
		Principal: sub.Link.Principal}
	if ev == nil {
		return identity
	}
	identity.Language = ev.Language()
	if i := negotiation.ChooseLanguage(sub.terms.Load().Languages, ev); i > 0 {
		identity.Language = ev.Translations[i-1].Language()
	}
	return identity
}
