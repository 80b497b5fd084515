package producer

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer/audit"
	"github.com/aaep-go/aaep/producer/log"
)

// Config says who an agent is and how much it serves. Only Agent.AgentID is required.
//
// A panic in a function or an interface of it does not end the agent: it is logged with its stack
// and counts as an error where there can be one, and nothing is done that would have waited for a
// yes, or for a record.
type Config struct {
	// Agent is written on every event.
	Agent aaep.Agent
	// Contact is an address for the manifest, for questions about the agent's accessibility.
	Contact string
	// Language is the tag of the language the agent's text is in. Empty is "en-US".
	Language string
	// Languages are the tags of further languages that the agent has text in: subscribers that
	// understand one of them better are told what aaep.Text.In adds. Text that is not translated is
	// told in Language.
	Languages []string
	// AnyLanguage serves subscribers of whose languages the agent has none: they get Language, and
	// are not refused. A subscriber that is served already and asks for such a language gets
	// Language in any case.
	AnyLanguage bool
	// FromStart lets a subscriber that comes in the middle of a session have all of it, at its own
	// rate. Otherwise it is told what the agent is doing, and hears what follows.
	FromStart bool
	// MaxEventsPerSecond caps every subscription; zero is no cap.
	MaxEventsPerSecond int
	// MaxSubscriptions is how many may be served at once. Zero is 256.
	MaxSubscriptions int
	// MaxPerPrincipal is how many of them one peer that the transport has authenticated may have;
	// one whose link broke counts until its Grace is over. Zero is no limit but MaxSubscriptions.
	// Only MaxSubscriptions holds for peers that were not asked for credentials, for those may be
	// different people: on one machine the screen reader, the braille display and a log viewer must
	// not lock each other out.
	MaxPerPrincipal int
	// MaxRequestsPerSecond is how many subscription requests of one principal are answered in a
	// second, and of all peers together that were not asked for credentials; the rest are told to
	// wait. Zero is 256, or MaxSubscriptions if that is more, so that after a restart all may come
	// back at once. Negative is no limit.
	MaxRequestsPerSecond int
	// KeepEvents is how many events are kept in memory for subscribers that reconnect. Zero is
	// 4096. More are kept while a subscription that has a stream is yet to read them; all together
	// are at most 64 MiB and a day.
	KeepEvents int
	// Log keeps the events for longer: a subscriber that was there before a restart, or a crash,
	// then goes on where it was. What was open when the last process died is ended by New, and
	// told as not done where no action has begun. New refuses the log of another agent, and one
	// that another Producer of this process writes to. Close it after Shutdown. Nil is memory
	// alone; see package producer/log, also for what happens when it fails, and WaitLogFailed.
	Log log.Store
	// Follow makes a Producer that serves the subscribers of an agent in another process, from its
	// log: package producer/log/jetstream. It has no sessions of its own, and what Agent, Contact,
	// Language, Languages, AnyLanguage, FromStart and MaxEventsPerSecond are is what the agent
	// says. WaitLogFailed says when it receives nothing more of that: call Shutdown then. Nil is an
	// agent.
	Follow Feed
	// Grace is how long a subscriber whose stream broke may stay away before it counts as gone. It
	// holds over Server-Sent Events alone: over any other transport the end of the link is the
	// subscription's, and a question that only it could answer is decided without an answer.
	// Zero is 10 seconds; negative is none.
	Grace time.Duration
	// RefuseSecrets refuses every text that holds a private key, a key or token of a known form, a
	// password in a URL, what an Authorization header holds, or a payment card number. It knows
	// what has a form of its own and nothing else: no other passwords, no names, no account
	// numbers. Streamed output is not looked at: a secret may come in two chunks, and an answer
	// must not break off where it does not.
	RefuseSecrets bool
	// ShortTimeouts allows questions that are open for less than 20 seconds, in which a user cannot
	// hear the question and answer it: for tests and demonstrations.
	ShortTimeouts bool
	// Extensions are those that are served, and that Text.With and Session.Emit take. Nil is
	// extensions.All(); add to it to serve more, or give an empty slice to serve none. What their
	// authors got wrong is logged at level ERROR, with the extension's URI and the field.
	Extensions []handshake.Extension
	// Admit decides whether a subscriber may have what it asks for, and what more it may do;
	// principal is who its transport says it is, or "". A subscriber that is admitted hears every
	// session: see Producer for several users. Nil admits every subscriber with all rights. An
	// error that is an *aaep.Rejection is sent as it is; any other is told as authorization_denied,
	// in words that give nothing away, and logged.
	//
	// It is asked once for each subscription, last of all: the request is valid, within the limits,
	// and could be served on its terms. So it sees no flood, and may count what it admits. A
	// subscriber that is not admitted learns no more than the manifest tells every peer. It may be
	// called many times at once, without any lock held, and may take its time, but must return: the
	// subscriber waits for it, and so does Shutdown. If it panics, the subscriber is refused.
	Admit func(principal string, req *aaep.SubscriptionRequest) (Rights, error)
	// Audit keeps the trail of questions, answers and actions: who allowed what, having been shown
	// which words. What it cannot keep is not done, and what it takes long to keep waits, but
	// nothing else. Shutdown waits for it. New settles in it what a crash left open, as far as Log
	// or an audit.Recovering knows that. Nil is audit.Slog(Logger).
	Audit audit.Sink
	// Signers sign the manifest, with which the producer proves who it is (§5.10.3): the first of
	// them does, and the keys of all are published, so that one can take the place of another. It
	// is called whenever a signature or the keys are wanted, from many goroutines at once; it must
	// return soon, and a subscriber waits five seconds for Sign. Nil signs nothing, and subscribers
	// that demand a signature are refused.
	Signers func() []*manifest.Signer
	// Observer is told what to measure. Nil is no observer.
	Observer Observer
	// Logger receives diagnostics and, where Audit is nil, the audit trail. Nil is the warnings and
	// errors alone to slog.Default; slog.DiscardHandler discards them.
	Logger *slog.Logger
}

// Feed is the log of an agent in another process, and what the processes of that agent share
// besides.
type Feed interface {
	log.Feed
	log.Shared
}

// applyDefaults fills in the defaults, and with Follow what the agent says of itself. It returns
// the languages that the agent has text in, its own first, or an error that says which field is
// wrong. New calls it. A nil Extensions becomes all of this SDK's, and an empty Language becomes
// en-US.
func (cfg *Config) applyDefaults() (languages []string, err error) {
	for i, value := range []any{cfg.Log, cfg.Follow, cfg.Audit, cfg.Observer} {
		if value == nil {
			continue
		}
		field := []string{"Log", "Follow", "Audit", "Observer"}[i]
		if err := shield.CheckNil("producer: Config."+field, value); err != nil {
			return nil, err
		}
	}
	if cfg.Extensions == nil {
		cfg.Extensions = extensions.All()
	}
	if cfg.Follow != nil {
		if err := cfg.readProfile(); err != nil {
			return nil, err
		}
	}
	if cfg.Language == "" {
		cfg.Language = "en-US"
	}
	languages = append([]string{cfg.Language}, cfg.Languages...)
	for _, tag := range languages {
		if !isLanguage(tag) {
			return nil, fmt.Errorf("producer: %q in Config.Language or Languages is no language tag such as en-US", tag)
		}
	}
	if err := checkServedExtensions(cfg.Extensions); err != nil {
		return nil, err
	}
	// With a negative limit no subscriber would be served.
	if min(cfg.MaxSubscriptions, cfg.MaxPerPrincipal, cfg.MaxEventsPerSecond, cfg.KeepEvents) < 0 {
		return nil, errors.New("producer: MaxSubscriptions, MaxPerPrincipal, MaxEventsPerSecond or KeepEvents " +
			"of Config is negative; zero is the usual")
	}
	cfg.fillZeroFields()
	if cfg.Agent.AgentID == "" {
		return nil, errors.New("producer: Config.Agent.AgentID is empty; give the agent an id that stays the same")
	}
	// The identity is on every message, so an error in it is reported now.
	probe := &aaep.SubscriptionAccepted{SubscriptionID: "sub_0", AAEPVersion: aaep.Version, Producer: cfg.Agent}
	if err := aaep.Validate(probe); err != nil {
		return nil, fmt.Errorf("producer: Config.Agent: %w", err)
	}
	return languages, nil
}

// fillZeroFields replaces the limits, the Logger, the Observer and the Audit that are not set by
// those that the comments of Config name. applyDefaults calls it.
func (cfg *Config) fillZeroFields() {
	cfg.MaxSubscriptions = cmp.Or(cfg.MaxSubscriptions, 256)
	cfg.MaxRequestsPerSecond = cmp.Or(cfg.MaxRequestsPerSecond, max(256, cfg.MaxSubscriptions))
	cfg.KeepEvents = cmp.Or(cfg.KeepEvents, 4096)
	cfg.Grace = cmp.Or(cfg.Grace, 10*time.Second)
	cfg.Logger = shield.LoggerOrDefault(cfg.Logger)
	if cfg.Observer == nil {
		cfg.Observer = unobserved{}
	}
	if cfg.Audit == nil {
		cfg.Audit = audit.Slog(cfg.Logger)
	}
}

// checkServedExtensions returns an error for one of Config.Extensions that is not valid, that is
// there twice, or that has the prefix of another of this project's own. applyDefaults calls it.
func checkServedExtensions(served []handshake.Extension) error {
	for i, ext := range served {
		if err := ext.Validate(); err != nil {
			return fmt.Errorf("producer: Config.Extensions[%d]: %w", i, err)
		}
		for _, standard := range extensions.All() {
			if ext.Prefix == standard.Prefix && ext.URI != standard.URI {
				return fmt.Errorf("producer: Config.Extensions[%d]: the prefix %q is that of %s; "+
					"take another for %s", i, ext.Prefix, standard.URI, ext.URI)
			}
		}
		if slices.ContainsFunc(served[:i], func(other handshake.Extension) bool { return other.URI == ext.URI }) {
			return fmt.Errorf("producer: Config.Extensions[%d]: %s is there twice", i, ext.URI)
		}
	}
	return nil
}

// isLanguage reports whether a tag names a language. A well-formed tag may name none.
func isLanguage(tag string) bool { return aaep.ValidLanguageTag(tag) && phrase.NamesLanguage(tag) }
