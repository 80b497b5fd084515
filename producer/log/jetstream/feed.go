package jetstream

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/aaep-go/aaep/producer/log"
)

// Feed is the log of an agent that is another process: a log.Feed. It hears what the stream
// republishes once it is kept, and reads what it missed. All its methods may be called at once.
type Feed struct {
	streamReader
	*sharedSubjects

	begun time.Time     // when the stream was made
	more  chan struct{} // holds one value when a message has come

	// Of Next alone:
	last  time.Time // when the servers were reached last
	away  bool      // that was longer than patience ago, and Next has said so
	short time.Time // since when the stream ends before a message that has come from it; zero: it does not

	mu     sync.Mutex
	heard  map[uint64][]byte // messages that have come and that Next has not returned, by sequence
	newest uint64            // the newest sequence that is known
}

const (
	maxHeard = 1024 // messages that are kept; the others are read from the stream
	// lookUp is how long Next waits for a message before it asks the servers whether there is one.
	lookUp = 2 * time.Second
	// patience is how long the servers may be out of reach before that is told: longer than it
	// takes until another leads.
	patience = 10 * time.Second
)

// Follow returns the log of an agent. The error is ErrNoAgent inside one that names it, where there
// never was one.
func (c *Cluster) Follow(ctx context.Context, agent string) (*Feed, error) {
	f := &Feed{streamReader: streamReader{c: c, agent: agent, stream: agentStream + subjectToken(agent)},
		sharedSubjects: newSharedSubjects(c, agent),
		more:           make(chan struct{}, 1),
		heard:          map[uint64][]byte{}}
	// before the first look, so that nothing is between
	err := f.sharedSubjects.subscribeTo("aaep.l."+subjectToken(agent), f.bufferMessage)
	if err == nil {
		var info *jetstream.StreamInfo
		if info, err = f.streamInfo(ctx); err == nil {
			f.begun, f.last = info.Created, time.Now()
			f.raiseTo(startOf(info.State), info.State.LastSeq)
		}
	}
	if err != nil {
		f.Close()
		return nil, c.explainError("cannot follow "+agent, err)
	}
	return f, nil
}

// Close ends what Follow began.
func (f *Feed) Close() error { f.sharedSubjects.unsubscribeAll(); return nil }

// bufferMessage keeps a message of the stream that the subscription delivers, for takeBuffered, and
// wakes Next. It runs in a goroutine of the client. Beyond maxHeard messages it only notes how far
// the stream is, so that they are read from it.
func (f *Feed) bufferMessage(m *nats.Msg) {
	seq, err := strconv.ParseUint(m.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return
	}
	f.raiseTo(0, seq)
	f.mu.Lock()
	f.newest = max(f.newest, seq)
	if len(f.heard) < maxHeard {
		f.heard[seq] = m.Data
	}
	f.mu.Unlock()
	select {
	case f.more <- struct{}{}:
	default:
	}
}

// takeBuffered removes and returns the messages kept right after the cursor, without a gap. missing
// says that the stream goes on beyond them, so that the next one has to be read.
func (f *Feed) takeBuffered(cursor uint64) (records [][]byte, missing bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		r, ok := f.heard[cursor+1]
		if !ok {
			break
		}
		cursor++
		delete(f.heard, cursor)
		records = append(records, r)
	}
	if len(records) == 0 {
		for seq := range f.heard { // those up to the cursor were read from the stream
			if seq <= cursor {
				delete(f.heard, seq)
			}
		}
	}
	return records, f.newest > cursor
}

// Next waits for the records after the cursor, as log.Feed demands. It returns those that the
// subscription has delivered, or reads those that it has not. One goroutine at a time calls it.
func (f *Feed) Next(ctx context.Context, cursor uint64) ([][]byte, error) {
	look := time.NewTimer(lookUp)
	defer look.Stop()
	for {
		records, missing := f.takeBuffered(cursor)
		if missing && len(records) == 0 {
			var err error
			if records, err = f.readMissing(ctx, cursor); err != nil {
				return nil, err
			}
		}
		if len(records) > 0 {
			f.last, f.away = time.Now(), false
			return records, nil
		}
		if missing { // and not in the store yet
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(pause / 5):
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-f.more:
		case <-look.C:
			look.Reset(lookUp)
			if back, err := f.checkServer(ctx); back || err != nil {
				return nil, err
			}
		}
	}
}

// readMissing reads the records after the cursor from the store. It returns none, and no error, if
// the next message was dropped, if this server does not have it yet, or if reading failed in a way
// that may pass.
func (f *Feed) readMissing(ctx context.Context, cursor uint64) ([][]byte, error) {
	records, err := f.readBatch(cursor, maxReadMsgs)
	if err == nil && len(records) == 0 {
		if err = f.refreshEnd(ctx); err != nil && !isPassing(err) {
			return nil, err
		}
		if err == nil {
			err = f.skipHole(ctx, cursor)
		}
		if start, _ := f.current(); cursor < start {
			return nil, fmt.Errorf("the log of %s does not go back to event %d any more, but to %d: this process was "+
				"away for too long, or events were removed from the stream %s; start this again", f.agent, cursor+1,
				start+1, f.stream)
		}
	}
	if err != nil && f.isLost() {
		return nil, log.ErrAway
	}
	return records, nil
}

// checkServer asks the server for the end of the log where nothing came for a while. It reports
// whether the server is back after it was away, and returns an error that ends the feed or
// log.ErrAway.
func (f *Feed) checkServer(ctx context.Context) (back bool, err error) {
	err = f.refreshEnd(ctx)
	switch {
	case err == nil:
		back, f.away = f.away, false
		return back, nil
	case !isPassing(err):
		return false, err
	case f.isLost():
		return false, log.ErrAway
	}
	return false, nil
}

// refreshEnd asks the leader of the stream how far it goes, within lookUp. The error is a
// lastingError if the stream was made anew, or has been shorter than what came from it for longer
// than patience.
func (f *Feed) refreshEnd(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookUp)
	defer cancel()
	info, err := f.streamInfo(ctx)
	if err != nil {
		return err
	}
	if !info.Created.Equal(f.begun) {
		return lastingError{fmt.Errorf("the log of %s was begun anew", f.agent)}
	}
	f.last = time.Now()
	switch _, end := f.current(); { // a new leader may take a while to know of the newest messages
	case info.State.LastSeq >= end:
		f.short = time.Time{}
	case f.short.IsZero():
		f.short = f.last
	case time.Since(f.short) > patience:
		return lastingError{
			fmt.Errorf(
				"the servers have lost events %d to %d of %s, which they had acknowledged: set sync_interval: "+
					"always in their jetstream settings, and start this again",
				info.State.LastSeq+1, end, f.agent)}
	}
	f.raiseTo(startOf(info.State), info.State.LastSeq)
	f.mu.Lock()
	f.newest = max(f.newest, info.State.LastSeq)
	f.mu.Unlock()
	return nil
}

// isLost reports that the servers have been out of reach for longer than patience; only the first
// call that finds it so reports true, until they are reached again.
func (f *Feed) isLost() bool {
	if f.away || time.Since(f.last) < patience {
		return false
	}
	f.away = true
	return true
}

// Meta is that of log.Store. The error is log.ErrAway inside one that says more where waiting may
// mend it.
func (f *Feed) Meta() ([]byte, error) {
	data, _, err := f.streamReader.readMeta(context.Background())
	if err != nil && isPassing(err) {
		err = fmt.Errorf("%w: %w", log.ErrAway,
			f.c.explainError("cannot read what the log of "+f.agent+" says of itself", err))
	}
	return data, err
}
