package aaeptest

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/transports"
)

// Reader is a screen reader in small, on the subscriber of this SDK: it proves how that subscriber
// reaches agents, and shows what a hook does. An assistive technology of your own needs one of its
// own.
type Reader struct {
	Dialer       transports.Dialer
	Capabilities aaep.Capabilities
}

// Run connects to the runner as a subscriber that speaks, reports what is spoken through the hook,
// and does what its user does, until the user ends it, ctx is done, which is nil, or the
// subscription ends, which is its error.
func (rd Reader) Run(ctx context.Context, h *conformance.Hook) error {
	logger := slog.New(slog.NewJSONHandler(operator{h},
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.MessageKey {
				a.Key = "log"
			}
			return a
		}}))
	sub, err := subscriber.Dial(ctx, rd.Dialer,
		subscriber.Config{ID: "aaeptest-reader", Capabilities: rd.Capabilities, Logger: logger})
	if err != nil {
		return err
	}
	defer sub.Close()
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	speech := present.New(announce.Preferences{})
	running.Go(func() { speech.Run(ctx, voice{h}) })
	s := screen{sub: sub, verbosity: sub.Accepted().HonoredCapabilities.PreferredVerbosity,
		open: map[string]*aaep.Event{}}
	running.Go(func() {
		defer stop() // the user ends it
		for s.performUserAct(ctx, h) {
		}
	})
	for {
		ev, err := sub.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		words := s.showEvent(ev)
		speech.Plan(func(a *announce.Announcer, now time.Time) { a.Add(now, "", ev, words) })
	}
}

// screen is what a user sees, and acts on.
type screen struct {
	sub *subscriber.Subscription

	mu        sync.Mutex
	verbosity aaep.Verbosity
	open      map[string]*aaep.Event
}

// showEvent takes questions that are settled off the screen, adds what the event asks, and returns
// the words to be said of it.
func (s *screen) showEvent(ev *aaep.Event) announce.Words {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, q := range s.open {
		if s.sub.Question(q).Err() != nil {
			delete(s.open, id)
		}
	}
	switch ev.Payload.(type) {
	case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
		s.open[ev.EventID] = ev
	}
	return announce.Text(ev, s.verbosity)
}

// performUserAct waits for what the user does next, answers the question, changes the verbosity or
// quits, and reports whether there may be more. A question that is off the screen is not answered.
func (s *screen) performUserAct(ctx context.Context, h *conformance.Hook) bool {
	line, err := h.Next(ctx)
	if err != nil {
		return false
	}
	var act struct {
		EventID   string         `json:"event_id"`
		Decision  aaep.Decision  `json:"decision"`
		Response  any            `json:"response"`
		Verbosity aaep.Verbosity `json:"verbosity"`
		Quit      bool           `json:"quit"`
	}
	if err := json.Unmarshal(line, &act); err != nil || act.Quit {
		return false
	}
	s.mu.Lock()
	q, asked := s.open[act.EventID]
	s.mu.Unlock()
	switch {
	case act.Verbosity != "":
		if _, err := s.sub.Renegotiate(ctx, aaep.Capabilities{PreferredVerbosity: act.Verbosity}); err == nil {
			s.mu.Lock()
			s.verbosity = act.Verbosity
			s.mu.Unlock()
		}
	case !asked: // it is off the screen
	case act.Decision != "":
		_ = replies.Send(ctx, s.sub.Question(q), act.Decision, nil) // if its time is over, it is not sent
	default:
		_ = replies.Send(ctx, s.sub.Question(q), "", act.Response)
	}
	return true
}

// voice tells the hook what is said.
type voice struct{ h *conformance.Hook }

// Present reports an utterance through the hook, as the line that the subscriber presents.
func (v voice) Present(_ context.Context, u announce.Utterance) error {
	if u.Event == nil {
		return nil
	}
	kind := string(u.Kind)
	if u.Critical {
		kind = "critical " + kind
	}
	line, err := json.Marshal(map[string]string{"event_id": u.Event.EventID, "text": u.Text, "kind": kind,
		"language": u.Language})
	if err != nil {
		return err
	}
	v.h.Tell(line)
	return nil
}

// Speaks says that it has every language.
func (voice) Speaks(string) bool { return true }

// Close ends nothing.
func (voice) Close() error { return nil }

// operator tells the hook what an operator reads.
type operator struct{ h *conformance.Hook }

// Write tells the hook a line that an operator is to read. It never fails.
func (o operator) Write(line []byte) (int, error) {
	o.h.Tell(line)
	return len(line), nil
}
