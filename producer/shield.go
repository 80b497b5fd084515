package producer

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
)

// logExtensionFault logs a mistake of an extension's author. The handshake calls it, on any
// goroutine.
func logExtensionFault(s *shield.Shield, f *negotiation.Fault) {
	attrs := []any{"extension", f.Extension, "field", f.Field, "error", f.Err}
	if f.Panicked {
		attrs = append(attrs, "stack", string(debug.Stack()))
	}
	s.LogMistake(f.Extension+" "+f.Field, "an extension is wrong, and the agent goes on without that", attrs...)
}

// shieldOthers puts a shield before every function and interface of a complete Config, so that a
// panic in one ends that call alone, and returns the shield. A nil function or store stays nil. New
// calls it last.
func (cfg *Config) shieldOthers() *shield.Shield {
	s := shield.New(cfg.Logger)
	cfg.Audit = sink{s, cfg.Audit}
	if cfg.Observer != Observer(unobserved{}) {
		cfg.Observer = observer{s, cfg.Observer}
	}
	if signers := cfg.Signers; signers != nil {
		cfg.Signers = func() (all []*manifest.Signer) {
			s.Call("Config.Signers", func() error {
				all = withoutNil(s, signers())
				return nil
			})
			return all
		}
	}
	if admit := cfg.Admit; admit != nil {
		cfg.Admit = func(principal string, req *aaep.SubscriptionRequest) (rights Rights, err error) {
			err = s.Call("Config.Admit", func() (err error) {
				rights, err = admit(principal, req)
				return err
			})
			return rights, err
		}
	}
	switch l := cfg.Log.(type) {
	case nil:
	case interface {
		log.Store
		log.Shared
	}:
		cfg.Log = struct {
			store
			shared
		}{store{s, l, &bounds{}}, shared{s, l}}
	default:
		cfg.Log = store{s, l, &bounds{}}
	}
	if f := cfg.Follow; f != nil {
		cfg.Follow = struct {
			feed
			shared
		}{feed{s, f, &bounds{}}, shared{s, f}}
	}
	return s
}

// withoutNil returns the signers that are not nil. One that is nil is logged as a mistake of the
// Config.
func withoutNil(s *shield.Shield, signers []*manifest.Signer) (all []*manifest.Signer) {
	for _, signer := range signers {
		if signer == nil {
			s.LogMistake("nil Signer", "Config.Signers returns a nil Signer, which signs nothing")
			continue
		}
		all = append(all, signer)
	}
	return all
}

// sink is Config.Audit behind the shield: a record counts as not kept if the sink panics.
type sink struct {
	*shield.Shield
	inner audit.Sink
}

// Record returns an error if the sink panics, so that what it was to keep is not done.
func (s sink) Record(r audit.Record) error {
	return s.Call("Config.Audit", func() error { return s.inner.Record(r) })
}

// Questions makes sink an audit.Recovering. It returns nil if the caller's sink is not one, or
// panics.
func (s sink) Questions() (all []audit.Record) {
	recovering, ok := s.inner.(audit.Recovering)
	if !ok {
		return nil
	}
	_ = s.Call("Config.Audit", func() error { all = recovering.Questions(); return nil }) // it is logged
	return all
}

// observer is Config.Observer behind the shield.
type observer struct {
	*shield.Shield
	inner Observer
}

// Began returns a function that does nothing if the Observer panicked or returned nil.
func (o observer) Began(what Operation) func(error) {
	var ended func(error)
	o.Call("Observer.Began", func() error { ended = o.inner.Began(what); return nil })
	return func(err error) {
		if ended != nil {
			o.Call("Observer.Began", func() error { ended(err); return nil })
		}
	}
}

// Critical does nothing more if the Observer panics.
func (o observer) Critical(delay time.Duration) {
	o.Call("Observer.Critical", func() error { o.inner.Critical(delay); return nil })
}

// store is Config.Log behind the shield: a store that panics has failed.
type store struct {
	*shield.Shield
	inner  log.Store
	bounds *bounds
}

// Bounds returns the last known bounds if the store panics.
func (s store) Bounds() (start, end uint64) {
	return s.bounds.currentBounds(s.Shield, "Store.Bounds", s.inner.Bounds)
}

// Append adds records, or returns an error if the store panics.
func (s store) Append(records [][]byte) error {
	return s.Call("Store.Append", func() error { return s.inner.Append(records) })
}

// Read returns the records after the cursor, or an error if the store panics.
func (s store) Read(cursor uint64, n int) (records [][]byte, err error) {
	err = s.Call("Store.Read", func() (err error) { records, err = s.inner.Read(cursor, n); return err })
	return records, err
}

// Meta returns what SetMeta kept, or an error if the store panics.
func (s store) Meta() (data []byte, err error) {
	err = s.Call("Store.Meta", func() (err error) { data, err = s.inner.Meta(); return err })
	return data, err
}

// SetMeta keeps data of the log's own, or returns an error if the store panics.
func (s store) SetMeta(data []byte) error {
	return s.Call("Store.SetMeta", func() error { return s.inner.SetMeta(data) })
}

// replicated is a log that several servers have a copy of. The error is that of a log that does not
// answer.
type replicated interface {
	ServersBehind(ctx context.Context) (names []string, err error)
}

// ServersBehind returns the servers that have no copy of the store that is up to date; nil of a
// store that is on no servers. It returns an error if the store panics.
func (s store) ServersBehind(ctx context.Context) (names []string, err error) {
	if inner, ok := s.inner.(replicated); ok {
		err = s.Call("Store.ServersBehind", func() (err error) { names, err = inner.ServersBehind(ctx); return err })
	}
	return names, err
}

// feed is Config.Follow behind the shield, as the log of the agent.
type feed struct {
	*shield.Shield
	inner  log.Feed
	bounds *bounds
}

// Bounds returns the last known bounds if the feed panics.
func (f feed) Bounds() (start, end uint64) {
	return f.bounds.currentBounds(f.Shield, "Feed.Bounds", f.inner.Bounds)
}

// Read returns the records after the cursor, or an error if the feed panics.
func (f feed) Read(cursor uint64, n int) (records [][]byte, err error) {
	err = f.Call("Feed.Read", func() (err error) { records, err = f.inner.Read(cursor, n); return err })
	return records, err
}

// Meta returns what the agent's SetMeta kept, or an error if the feed panics.
func (f feed) Meta() (data []byte, err error) {
	err = f.Call("Feed.Meta", func() (err error) { data, err = f.inner.Meta(); return err })
	return data, err
}

// Next waits for records after the cursor. It returns an error if the feed panics.
func (f feed) Next(ctx context.Context, cursor uint64) (records [][]byte, err error) {
	err = f.Call("Feed.Next", func() (err error) { records, err = f.inner.Next(ctx, cursor); return err })
	return records, err
}

// shared is what the processes of an agent share, behind the shield.
type shared struct {
	*shield.Shield
	inner log.Shared
}

// Claim settles a token for all processes of the agent. After an error, a panic included, mine is
// false.
func (s shared) Claim(ctx context.Context, token string, claim []byte) (first log.Claim, mine bool, err error) {
	err = s.Call("Shared.Claim", func() (err error) { first, mine, err = s.inner.Claim(ctx, token, claim); return err })
	return first, mine && err == nil, err
}

// Claims has f called with the tokens that any process settles, or returns an error if it
// panics.
func (s shared) Claims(f func(token string)) error {
	return s.Call("Shared.Claims", func() error { return s.inner.Claims(f) })
}

// Send hands a message to the agent and returns its answer, or an error if it panics.
func (s shared) Send(ctx context.Context, msg []byte) (answer []byte, err error) {
	err = s.Call("Shared.Send", func() (err error) { answer, err = s.inner.Send(ctx, msg); return err })
	return answer, err
}

// Receive has f answer the messages to the agent, or returns an error if it panics.
func (s shared) Receive(f func(msg []byte) []byte) error {
	return s.Call("Shared.Receive", func() error { return s.inner.Receive(f) })
}

// SetProfile keeps what the agent says of itself, or returns an error if it panics.
func (s shared) SetProfile(data []byte) error {
	return s.Call("Shared.SetProfile", func() error { return s.inner.SetProfile(data) })
}

// Profile returns what the agent says of itself, or an error if it panics.
func (s shared) Profile(ctx context.Context) (data []byte, err error) {
	err = s.Call("Shared.Profile", func() (err error) { data, err = s.inner.Profile(ctx); return err })
	return data, err
}

// Node returns the name of the process, or "" if it panics.
func (s shared) Node() (name string) {
	s.Call("Shared.Node", func() error { name = s.inner.Node(); return nil })
	return name
}

// bounds are the bounds that a log had last, which are used if it panics.
type bounds struct {
	mu         sync.Mutex // a leaf; guards start and end
	start, end uint64
}

// currentBounds returns the bounds that ask returns, or those that it returned last if it panics.
// doing names it for the log.
func (b *bounds) currentBounds(s *shield.Shield, doing string, ask func() (start, end uint64)) (start, end uint64) {
	err := s.Call(doing, func() error { start, end = ask(); return nil })
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.start, b.end = start, end
	}
	return b.start, b.end
}
