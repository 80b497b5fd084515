package producer

import "context"

// This file tells that the log has failed. An agent goes on in memory then, with its subscribers; a
// replica ends. That a log elsewhere is out of reach for a while, and back, is announced by
// AnnounceLink in replicas.go.

// logStoreFailure logs that the store of Config.Log keeps nothing any more. A replica writes to
// none, and says nothing. wakeAsLogGrows calls it, once.
func (p *Producer) logStoreFailure() {
	if !p.isReplica() {
		p.cfg.Logger.Error("nothing is kept any more: listeners hear all of it, and a restart loses what comes",
			"error", p.log.Err())
	}
}

// WaitLogFailed waits until Config.Log cannot keep what happens any more, and returns why: a full
// disk, for example. The agent goes on, and its subscribers hear all of it; but a restart loses
// what comes from then on. A program that does not want that calls Shutdown. The error is that of
// ctx if that is done first; without a Config.Log, it always is.
func (p *Producer) WaitLogFailed(ctx context.Context) error {
	if !p.isMade() {
		return errNotMade
	}
	select {
	case <-p.log.Failed():
		return p.log.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
