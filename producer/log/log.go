// Package log says what a producer needs of the place that keeps its events for longer than the
// process lives. Package producer/log/sqlite has one for an agent on one machine, and package
// producer/log/jetstream one for an agent that several processes serve. A record is what the
// producer makes of an event: bytes that mean nothing to a store. Limits say how many events, bytes
// and days are kept; its defaults are also those of "aaep run --log".
//
// No event is shown before the store has it, so that what a listener saw last is a place in the log
// after a crash too. A store that does not answer for two seconds is overtaken: events are then
// shown all the same, for a person waits for them. One that fails is given up, and the producer
// goes on in memory: see WaitLogFailed.
package log

import (
	"context"
	"errors"
	"time"
)

// ErrTrimmed is returned by a Store or a Feed where it no longer holds what comes after the cursor.
var ErrTrimmed = errors.New("log: the events after this cursor are no longer kept")

// ErrAway is returned by a Feed that cannot reach where its log is.
var ErrAway = errors.New("log: the log cannot be reached at the moment")

// Store keeps records for longer than a process lives: the first has position 1, each further one
// the next. Append and SetMeta are called by one goroutine at a time; Bounds and Read by many, at
// any time. Package producer/log/logtest has the tests that every store passes. One producer uses a
// Store at a time.
type Store interface {
	// Bounds returns the cursor before the oldest record and the position of the newest, which is
	// the same cursor where there is none. It does not wait.
	Bounds() (start, end uint64)
	// Append adds records, all of them or, with an error, none. When it returns they are kept for
	// whatever the store promises to survive. Where its limits demand that, it also drops some of
	// the oldest; with no records it does only that, and is called again as long as the start
	// moves.
	Append(records [][]byte) error
	// Read returns some records after the cursor, at most n and at least one. ErrTrimmed says that
	// the first of them is gone.
	Read(cursor uint64, n int) ([][]byte, error)
	// Meta returns what SetMeta kept last, or nil; it holds the key of the event ids and is for the
	// owner's eyes. When SetMeta returns it is on the disk, and everything that was appended
	// before.
	Meta() ([]byte, error)
	SetMeta([]byte) error
}

// Feed is a log that a process elsewhere appends to. All its methods may be called at once.
type Feed interface {
	// Bounds, Read and Meta are those of Store.
	Bounds() (start, end uint64)
	Read(cursor uint64, n int) ([][]byte, error)
	Meta() ([]byte, error)
	// Next waits for records after the cursor and returns the first of them. ErrAway says that
	// nothing can be reached for the time being, and the call after it waits on; no records without
	// an error, that this is over. Any other error is that of ctx, or says why there will be no
	// records any more.
	Next(ctx context.Context, cursor uint64) ([][]byte, error)
}

// Shared is what a Store or a Feed has besides, where several processes serve the listeners of one
// agent: the agent itself, which has the Store, and those that follow, which have Feeds. All its
// methods may be called at once.
type Shared interface {
	// Claim settles a token once, in whichever process it is claimed, and returns what settled it;
	// mine says that it was this claim. When it returns without an error that is kept for whatever
	// the log promises to survive. It tries until ctx is done; after an error the claim may have
	// settled the token all the same.
	Claim(ctx context.Context, token string, claim []byte) (first Claim, mine bool, err error)
	// Claims calls f with the tokens of the agent that are settled from now on anywhere. It may
	// miss some. It is called once.
	Claims(f func(token string)) error
	// Send hands a message to the agent and returns its answer.
	Send(ctx context.Context, msg []byte) (answer []byte, err error)
	// Receive has f answer what is sent to the agent, one message at a time. It is called once.
	Receive(f func(msg []byte) (answer []byte)) error
	// SetProfile keeps what the agent says of itself, and Profile returns that, or nil.
	SetProfile([]byte) error
	Profile(ctx context.Context) ([]byte, error)
	// Node is what the process is called.
	Node() string
}

// Claim is what settled a token.
type Claim struct {
	Data []byte
	// At is when the log kept it, by the log's clock.
	At time.Time
}

// Limits say how much a store keeps. Zero is the default, negative no limit.
type Limits struct {
	// Events is how many; the default is 100,000.
	Events int
	// Bytes is how much room they take, more or less; the default is 128 MiB.
	Bytes int64
	// Age is how old they become; the default is a day. It is looked at once a minute.
	Age time.Duration
}

// WithDefaults returns the limits with the defaults filled in where one is zero, and the largest
// number where one is negative.
func (l Limits) WithDefaults() Limits {
	or := func(set *int64, def int64) {
		if *set == 0 {
			*set = def
		}
		if *set < 0 {
			*set = 1<<63 - 1
		}
	}
	events, age := int64(l.Events), int64(l.Age)
	or(&events, 100_000)
	or(&l.Bytes, 128<<20)
	or(&age, int64(24*time.Hour))
	return Limits{int(events), l.Bytes, time.Duration(age)}
}
