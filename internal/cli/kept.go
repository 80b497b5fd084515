package cli

import (
	"context"
	"fmt"

	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// openLog opens the folder that what is said is kept in.
func openLog(dir string, crashOnly bool) (*sqlite.Store, error) {
	kept, err := sqlite.Open(dir, &sqlite.Options{SurvivesCrash: crashOnly})
	if err != nil {
		return nil, &exitError{exitFailed, fmt.Errorf("cannot take --log: %s", plain(err))}
	}
	return kept, nil
}

// watchLog says when the log cannot be written any more, until the function that it returns is called.
func (r *runner) watchLog(ctx context.Context, p *producer.Producer) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.WaitLogFailed(ctx); ctx.Err() == nil {
			r.status.say("aaep", fmt.Sprintf("From here on nothing is kept: %s. Whoever listens hears all of it; after a restart they would not find their place.", plain(err)))
		}
	}()
	return func() { cancel(); <-done }
}
