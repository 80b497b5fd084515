package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

const (
	drainTime  = 30 * time.Second // for listeners that are behind, to hear the end
	drainQuiet = 2 * time.Second  // before it is said that they are waited for
)

// drain shuts p down and gives its listeners time to hear the end, each at its own rate. Where that takes a while, it says what
// is waited for and how long, and in the end whether it was in vain.
func drain(ctx context.Context, p *producer.Producer, status *announcer) {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	over := make(chan error, 1)
	go func() { over <- p.Shutdown(ending) }()
	var err error
	select {
	case err = <-over:
	case <-time.After(drainQuiet):
		status.say("aaep", fmt.Sprintf("Waiting up to %s for whoever is behind to hear the end (%d).", words.Spoken(drainTime), len(p.Subscriptions())))
		err = <-over
	}
	if err != nil {
		status.say("aaep", "Somebody was still behind after "+words.Spoken(drainTime)+", and did not hear the end.")
	}
}
