package producer

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/internal/budget"
	"github.com/aaep-go/aaep/producer/audit"
)

// ErrNotRecorded is returned by Tool, Confirm and Clarify where Config.Audit could not keep what must be on record
// first: nothing was run.
var ErrNotRecorded = errors.New("producer: it could not be recorded, and was not done")

// refusals keeps a flood of replies that do not count from filling the trail: those of one subscription that are not
// recorded are counted with the next that is.
type refusals struct {
	pace      *budget.Budget
	more      int
	recording atomic.Bool // one of them is, and what comes meanwhile is counted
}

func (f *refusals) describe(err error) error {
	if f.more == 0 {
		return err
	}
	defer func() { f.more = 0 }()
	return fmt.Errorf("%w; and so did %d before it", err, f.more)
}

// auditIdentity describes a subscription, and the language in which it is shown an event.
func (sub *subscription) auditIdentity(ev *aaep.Event) audit.Subscription {
	who := audit.Subscription{SubscriptionID: sub.id, SubscriberID: sub.subscriberID, Principal: sub.principal}
	if ev == nil {
		return who
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	who.Language = ev.Language()
	if i := handshake.ChooseLanguage(sub.terms.Languages, ev); i > 0 {
		who.Language = ev.Translations[i-1].Language()
	}
	return who
}
