// Package rap stands between a runtime of the Reactive Agent Protocol and one of its tool servers,
// so that a person hears what the agent's tools do, and so that no destructive call is made before
// that person said yes. Neither side need know of it: the runtime is given the Tee's address as
// that of the toolset.
//
//	tee, err := rap.New(p, rap.Config{Toolset: "http://127.0.0.1:4000", URL: "http://127.0.0.1:9090"})
//	go http.ListenAndServe("127.0.0.1:9090", tee)
//
// A call that is not held, a result, an event of a subscription and a notice pass unchanged but for
// the URL to which the other side answers; they pass even where nothing can be told. A call is held
// if the toolset marks its tool as destructive, or does not list it. It reaches the tool server
// once, after one accepted answer. Every other outcome, a crash included, is a result that says the
// action was not done.
//
// The protocol has no ids of events and no replay: a repeated event is told twice, a lost one
// never.
//
// Events is the other direction: a toolset with which an agent is told of its user.
//
// Each group of the runtime, a thread of its conversation, is one session, told by a goroutine of
// its own that owns what is known of the group. Begin to read at Tee.ServeHTTP.
//
// What passes and what is held is decided in tee.go, what is told of a thread in thread.go, and a
// tool's choices (user_choice) are asked in choice.go. The protocol's objects are in wire.go,
// posting and posting again in post.go, the sealed names of calls in call_ref.go, and the other
// direction is in events.go.
package rap

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep/internal/bridge/toolcall"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/producer"
)

// Config says between which two sides a Tee stands.
type Config struct {
	// Toolset is the base URL of the tool server.
	Toolset string
	// URL is the base URL by which the runtime and the tool server reach the Tee.
	URL string
	// AskAll holds every call of a tool that is not marked as read-only.
	AskAll bool
	// AnswerTime is how long the user has to answer. Zero is five minutes.
	AnswerTime time.Duration
	// State is a file that remembers which calls are held, and the key of the Tee's URLs, so that a
	// tool server can go on to answer after a restart. Only this user can read it, and only one Tee
	// has it. Empty is memory alone.
	State string
	// Logger receives what was refused or could not be told. Nil discards it.
	Logger *slog.Logger
}

// Tee passes on what a runtime and a tool server post to each other, tells it, and holds what must
// not happen unasked. It is an http.Handler. All its methods may be called at once.
type Tee struct {
	p       *producer.Producer
	cfg     Config
	toolset *url.URL
	poster
	once   poster // of held calls
	sealer sealer
	held   *toolcall.Held[callRef, *callback]

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup // the goroutines of threads and of held calls

	mu      sync.Mutex // a leaf; guards what follows
	tools   *toolset   // the newest that was fetched; nil: none
	threads map[string]*thread
	choices map[callRef]*choice // those of user_choice, by what their URLs stand for
}

const (
	// maxThreads is how many groups are told at once.
	maxThreads = 1024
	// postTimeout is how long the other side may take to receive what is passed on.
	postTimeout = 30 * time.Second
	// attempts are how often a result of our own is posted, with a longer pause before each.
	attempts = 6
)

// New returns a Tee that announces the runtimes' tool calls through p. Calls that an earlier Tee
// held, in the same file, are answered as not made. The error says what in cfg is wrong, or that
// what is held cannot be remembered. Close ends it.
func New(p *producer.Producer, cfg Config) (*Tee, error) {
	base, err := url.Parse(cfg.Toolset)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("rap: Config.Toolset %q is not the URL of a tool server, such as http://127.0.0.1:4000",
			cfg.Toolset)
	}
	if address, err := url.Parse(cfg.URL); err != nil || address.Host == "" {
		return nil, fmt.Errorf("rap: Config.URL %q is not a URL, such as http://127.0.0.1:9090", cfg.URL)
	}
	cfg.Logger = shield.Logger(cfg.Logger)
	base.Path = strings.TrimSuffix(base.Path, "/") + "/"
	cfg.URL = strings.TrimSuffix(cfg.URL, "/")
	held, key, left, err := toolcall.Open[callRef, *callback](cfg.State, newKey(), cfg.Logger)
	if err != nil {
		return nil, fmt.Errorf("rap: what is held cannot be remembered in %s: %w", cfg.State, err)
	}
	sealer, err := newSealer(key)
	if err != nil {
		held.Close()
		return nil, fmt.Errorf("rap: %w", err)
	}
	t := &Tee{p: p, cfg: cfg, toolset: base, sealer: sealer, held: held,
		threads: map[string]*thread{}, choices: map[callRef]*choice{},
		poster: newPoster(false), once: newPoster(true)}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.settleLeft(left)
	return t, nil
}

// settleLeft settles the calls that an earlier Tee left in its file. One that a kill has left again
// meanwhile is settled by the next Tee.
func (t *Tee) settleLeft(left []toolcall.Left[callRef]) {
	for _, call := range left {
		allTold := make(chan struct{})
		t.queueForGroup(call.Record.Group, func(th *thread) {
			th.AnnounceNotice(call.AfterRestart(cmp.Or(toolwords.Label(call.Record.Tool), "a tool")))
			close(allTold)
		})
		t.work.Go(func() {
			if !call.Sent {
				t.refuseCall(call.Record,
					"the bridge was stopped before the user had answered; the action was not done")
			}
			select {
			case <-allTold:
				t.held.SettleLeft(call)
			case <-t.ctx.Done():
			}
		})
	}
}

// Close refuses the held calls, ends the sessions, and returns when all goroutines have ended. The
// error is that of the file of held calls.
func (t *Tee) Close() error {
	t.cancel()
	t.mu.Lock()
	for _, th := range t.threads {
		close(th.news)
	}
	t.threads = nil
	t.mu.Unlock()
	t.work.Wait()
	return t.held.Close()
}

// queueForGroup queues do for the goroutine of a group, which runs it after what was queued before;
// it starts that goroutine for a new group. It reports false, and drops do, where the queue is full
// or the Tee is closed; it never waits.
func (t *Tee) queueForGroup(group string, do func(*thread)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	th := t.threads[group]
	if th == nil {
		if t.threads == nil {
			return false
		}
		if len(t.threads) >= maxThreads {
			t.endOldestThread()
		}
		th = &thread{tee: t, news: make(chan func(*thread), maxNews), subscriptions: map[string]*subscription{},
			Conversation: toolcall.NewConversation(t.p, t.cfg.Logger, "Following an agent's tools.")}
		t.threads[group] = th
		t.work.Go(th.runThread)
	}
	th.used = time.Now()
	select {
	case th.news <- do:
		return true
	default:
		t.cfg.Logger.Warn("rap: too much happens at once in a group; some of it is not told", "group",
			toolwords.Label(group))
		return false
	}
}

// endOldestThread ends the group that has been silent the longest. A runtime need not say when a
// group is over. The caller holds t.mu.
func (t *Tee) endOldestThread() {
	oldest := ""
	for group, th := range t.threads {
		if oldest == "" || th.used.Before(t.threads[oldest].used) {
			oldest = group
		}
	}
	close(t.threads[oldest].news)
	delete(t.threads, oldest)
}

// endThread ends a group's session, after what is queued for it.
func (t *Tee) endThread(group string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if th := t.threads[group]; th != nil {
		close(th.news)
		delete(t.threads, group)
	}
}

// sealURL returns the URL at which the other side's answers to a call are taken.
func (t *Tee) sealURL(kind string, p callRef) (string, error) {
	sealed, err := t.sealer.sealRef(kind, p)
	return t.cfg.URL + "/" + kind + "/" + sealed, err
}
