package log

import (
	"context"
	"errors"
	"time"
)

// ErrAway is returned by a Feed that cannot reach where its log is.
var ErrAway = errors.New("log: the log cannot be reached at the moment")

// Feed is a log that a process elsewhere appends to. All its methods may be called at once.
type Feed interface {
	// Bounds, Read and Meta are those of Store.
	Bounds() (start, end uint64)
	Read(cursor uint64, n int) ([][]byte, error)
	Meta() ([]byte, error)
	// Next waits for records after the cursor and returns the first of them. ErrAway says that nothing can be reached for the
	// time being, and the call after it waits on; no records without an error, that this is over. Any other error is that of ctx,
	// or says why there will be no records any more.
	Next(ctx context.Context, cursor uint64) ([][]byte, error)
}

// Shared is what a Store or a Feed has besides, where several processes serve the listeners of one agent: the agent itself,
// which has the Store, and those that follow, which have Feeds. All its methods may be called at once.
type Shared interface {
	// Claim settles a token once, whoever claims it where, and returns what settled it; mine says that it was this claim. When
	// it returns without an error that is kept for whatever the log promises to survive. It tries until ctx is done; after
	// an error the claim may have settled the token all the same.
	Claim(ctx context.Context, token string, claim []byte) (first Claim, mine bool, err error)
	// Claims calls f with the tokens of the agent that are settled from now on anywhere. It may miss some. It is called once.
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
	// At is when it was kept, by the clock of who keeps it.
	At time.Time
}
