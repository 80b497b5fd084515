package serving

import (
	"context"
	"fmt"
	"time"

	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

const (
	DrainTime  = 30 * time.Second        // for listeners that are behind to hear the end, when the person wants to be done
	DrainLong  = 10 * time.Minute        // when no person does and nothing is kept: at fourteen cells a second a page takes four minutes
	drainQuiet = 2 * time.Second         // before it is said that they are waited for
	KillTime   = 1200 * time.Millisecond // of the 1.5 s and more that clients give a program between SIGTERM and SIGKILL
)

// DrainListeners shuts p down and gives its listeners up to limit to hear the end, each at its own
// rate; at most DrainTime from when the person wants to be done, which ends ctx. Who takes nothing
// for long is cut off by p. Where it takes a while, it says what is waited for and how long, and in
// the end whether it was in vain.
func DrainListeners(ctx context.Context, p *producer.Producer, limit time.Duration, status *lineio.Printer) {
	drainListeners(ctx, p, limit, DrainTime, status)
}

// DrainBeforeKill is DrainListeners for a program whose parent kills it soon after the signal that
// ends ctx: listeners that are behind then are told so within KillTime, before their links break.
func DrainBeforeKill(ctx context.Context, p *producer.Producer, limit time.Duration, status *lineio.Printer) {
	drainListeners(ctx, p, limit, KillTime, status)
}

// drainListeners does what DrainListeners does, but waits for at most stopLimit once ctx has ended.
// It prints whom it waits for, every drainQuiet. It returns when the producer is shut down.
func drainListeners(ctx context.Context, p *producer.Producer, limit, stopLimit time.Duration, status *lineio.Printer) {
	ending, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	drained := make(chan error, 1)
	go func() { drained <- p.Shutdown(ending) }()
	began := time.Now()
	interrupted := ctx.Done()
	if ctx.Err() != nil || limit <= stopLimit {
		interrupted, limit = nil, stopLimit
	}
	for say, end := time.After(drainQuiet), time.After(limit); ; {
		select {
		case err := <-drained:
			if err != nil {
				status.PrintLabelled("aaep", "Somebody was still behind after "+
					words.Spoken(time.Since(began).Round(time.Second))+", and did not hear the end.")
			}
			return
		case <-say:
			behind := p.Stats().Subscriptions // also those whose link is cut, and who may come back
			hint := ""
			if interrupted != nil {
				hint = " After Ctrl-C it is at most " + words.Spoken(stopLimit) + "."
			}
			status.PrintLabelled("aaep", fmt.Sprintf("Waiting up to %s for whoever is behind to hear the end (%d).%s",
				words.Spoken(limit), behind, hint))
		case <-interrupted:
			interrupted, end = nil, time.After(stopLimit)
		case <-end:
			giveUp()
		}
	}
}
