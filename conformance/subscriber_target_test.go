package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/replies"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/transports"
)

// hook is the reader's end of a hook.
type hook interface {
	Tell(line []byte)
	Next(ctx context.Context) ([]byte, error)
}

// reader is a screen reader in small: what package subscriber and its neighbours make of events,
// told to the hook.
type reader struct {
	dialer transports.Dialer
	voice  time.Duration // that each utterance takes
	caps   aaep.Capabilities
	f      fault
}

func usualReader() aaep.Capabilities {
	caps := subscriber.ScreenReader("en-US")
	caps.SupportsConfirmationReply, caps.SupportsClarificationReply = new(true), new(true)
	caps.SupportedConformanceLevels, caps.MaxEventsPerSecond = []int64{1, 2, 3}, 0
	if err := caps.AddExtension(extensions.TimingVocabulary, extensions.Timing{TimeoutMultiplier: 2}); err != nil {
		panic(err)
	}
	return caps
}

// what a user may do, as the hook tells it.
type act struct {
	EventID   string        `json:"event_id"`
	Decision  aaep.Decision `json:"decision"`
	Response  any           `json:"response"`
	Verbosity aaep.Verbosity
	Quit      bool
}

// Run is follow, as a conformance.Subscriber.
func (rd *reader) Run(ctx context.Context, h *conformance.Hook) error { return rd.followEvents(ctx, h) }

// followEvents follows the runner until the user ends it.
func (rd *reader) followEvents(ctx context.Context, h hook) error {
	log := slog.New(slog.NewJSONHandler(logLines{h, rd.f},
		&slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.MessageKey {
				a.Key = "log"
			}
			return a
		}}))
	var d transports.Dialer = dialer(func(ctx context.Context) (transports.Conn, error) {
		c, err := rd.dialer.Dial(ctx)
		if err != nil || rd.f.conn == nil {
			return c, err
		}
		return rd.f.conn(c, h), nil
	})
	cfg := subscriber.Config{ID: rd.f.faultyName("reader"), Capabilities: rd.caps, Logger: log, NoReconnect: rd.f.stays}
	if rd.caps.AcceptSignedManifestsOnly != nil {
		cfg.Trust = &manifest.Trust{Verifier: manifest.Verifier{Keys: new(manifest.KeySet)}}
	}
	sub, err := subscriber.Dial(ctx, d, cfg)
	if err != nil {
		return err
	}
	verbosity := aaep.VerbosityNormal
	if v := sub.Accepted().HonoredCapabilities.PreferredVerbosity; v != "" {
		verbosity = v
	}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	p := present.New(announce.Preferences{})
	v := voice{h, rd.voice, rd.f}
	running.Go(func() { p.Run(ctx, v) })
	add := func(ev *aaep.Event, text string) {
		p.Plan(func(a *announce.Announcer, now time.Time) { a.Add(now, "", ev, announce.In(ev.Language(), text)) })
	}
	if rd.f.fifo {
		queue := make(chan announce.Utterance, 1000)
		running.Go(func() {
			for {
				select {
				case u := <-queue:
					voice{h, time.Duration(len(u.Text)/400) * 20 * time.Second, rd.f}.Present(ctx, u)
				case <-ctx.Done():
					return
				}
			}
		})
		add = func(ev *aaep.Event, text string) {
			if ev.Type() == aaep.TypeOutputStreaming {
				return
			}
			queue <- announce.Utterance{Event: ev, Text: text, Critical: ev.Critical()}
		}
	}
	acts := make(chan act)
	running.Go(func() {
		for {
			line, err := h.Next(ctx)
			var a act
			if err != nil || jsonv2.Unmarshal(line, &a, jsonv2.MatchCaseInsensitiveNames(true)) != nil {
				return
			}
			select {
			case acts <- a:
			case <-ctx.Done():
			}
		}
	})
	events := make(chan *aaep.Event)
	over := make(chan error, 1)
	running.Go(func() {
		for {
			ev, err := sub.Next(ctx)
			if err != nil {
				over <- err
				return
			}
			select {
			case events <- ev:
			case <-ctx.Done():
			}
		}
	})
	prompts := map[string]*aaep.Event{}
	agreed := make(chan aaep.Verbosity, 8)
	for {
		select {
		case ev := <-events:
			for id, q := range prompts {
				if sub.Question(q).Err() != nil {
					delete(prompts, id)
				}
			}
			switch ev.Payload.(type) {
			case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
				prompts[ev.EventID] = ev
			}
			if text := rd.f.faultyText(ev, announce.Text(ev, rd.f.presentedVerbosity(verbosity)).String()); text != "" {
				add(ev, text)
			}
			if d := rd.f.userDecision(ev); d != "" {
				replies.Send(ctx, sub.Question(ev), d, nil)
			}
		case a := <-acts:
			q := prompts[a.EventID]
			switch {
			case a.Quit:
				stop()
				return sub.Close()
			case a.Verbosity != "" && rd.f.alone:
				verbosity = a.Verbosity
			case a.Verbosity != "":
				running.Go(func() {
					if _, err := sub.Renegotiate(ctx,
						aaep.Capabilities{PreferredVerbosity: rd.f.chosenVerbosity(a.Verbosity)}); err == nil {
						agreed <- a.Verbosity
					}
				})
			case q == nil:
			case a.Decision != "":
				replies.Send(ctx, sub.Question(q), rd.f.sentDecision(a.Decision), nil)
			default:
				replies.Send(ctx, sub.Question(q), "", a.Response)
			}
		case verbosity = <-agreed:
		case err := <-over:
			if ctx.Err() != nil {
				stop()
				sub.Close()
				return nil
			}
			return err
		}
	}
}

// voice tells the hook.
type voice struct {
	h     hook
	takes time.Duration
	f     fault
}

func (v voice) Present(ctx context.Context, u announce.Utterance) error {
	kind := string(u.Kind)
	if u.Critical {
		kind = "critical " + kind
	}
	if u.Event == nil {
		return nil
	}
	v.h.Tell(encodeObject(object{"event_id": u.Event.EventID, "text": u.Text, "kind": v.f.presentedKind(kind),
		"language": firstNonzero(v.f.language, u.Language)}))
	if v.takes == 0 {
		return nil
	}
	select {
	case <-time.After(v.takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (voice) Speaks(string) bool { return true }
func (voice) Close() error       { return nil }

type logLines struct {
	h hook
	f fault
}

func (l logLines) Write(line []byte) (int, error) {
	if !l.f.logsNothing {
		l.h.Tell(line)
	}
	return len(line), nil
}

// memListener is where readers come to, within this process.
type memListener struct {
	arrivals chan transports.Conn
}

func newStation() *memListener { return &memListener{arrivals: make(chan transports.Conn)} }

func (s *memListener) Accept(ctx context.Context) (transports.Conn, error) {
	select {
	case c := <-s.arrivals:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *memListener) Close() error { return nil }

func (s *memListener) Dial(ctx context.Context) (transports.Conn, error) {
	a, b := transports.Pipe()
	select {
	case s.arrivals <- b:
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// proveReader judges a reader in virtual time.
func proveReader(t *testing.T, level int, f fault, slow time.Duration, only ...string) (report *conformance.Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := newStation()
		caps := usualReader()
		if f.caps != nil {
			f.caps(&caps)
		}
		rd := &reader{dialer: st, caps: caps, f: f, voice: slow}
		var target conformance.Subscriber = rd
		if f.runs != nil {
			target = conformance.SubscriberFunc(func(ctx context.Context,
				h *conformance.Hook) error {
				return f.runs(ctx, h, rd)
			})
		}
		var err error
		report, err = conformance.SubscriberRun{Listener: st, Subscriber: target, Level: level,
			Only: only}.Prove(t.Context())
		if err != nil && !errors.Is(err, conformance.ErrUnreachable) {
			t.Error(err)
		}
	})
	return report
}

func notPassed(r *conformance.Report) (text string) {
	for _, res := range r.Results {
		if res.Verdict != conformance.Pass && res.Verdict != conformance.Skipped {
			text += fmt.Sprintf("%s %s (%s): %s\n%v\n", res.Verdict, res.Case.Name, res.Play, res.Seen, res.Evidence)
		}
	}
	return text
}

// Our own subscriber passes, at once and with a voice that takes its time: what is told and how:
// LVL-013, LVL-014, LVL-015, LVL-016, LVL-017, TERM-009, TERM-012, EVT-012, EVT-022, EVT-023,
// EVT-061; what is unusual: ENV-004, ENV-010, ENV-015, ENV-044, ENV-048, ENV-056, ENV-062, ENV-064,
// ENV-065, ENV-068, ENV-070, EVT-031, EVT-032, VER-003, VER-011, I18N-005, I18N-011, I18N-018,
// HS-034; questions: EVT-077, EVT-078, EVT-079, CONF-010, CONF-012, CONF-013, CONF-014, CONF-015,
// CONF-017, CONF-039, CONF-040, CONF-041, CONF-042, CONF-053, HS-022, LVL-023, LVL-024, LVL-025,
// LVL-026, LVL-028, SEC-002; terms and links: HS-001, HS-006, HS-063, HS-068, HS-070, HS-074,
// HS-077, HS-079, HS-080, HS-081, EXT-007, TR-008, TR-010, LVL-035, LVL-036, LVL-037, LVL-038,
// LVL-040; all of it, LVL-041, LVL-042, LVL-043.
func TestOurSubscriber(t *testing.T) {
	for _, slow := range []time.Duration{0, time.Second} {
		f := fault{}
		if slow > 0 {
			f.caps = func(c *aaep.Capabilities) { c.MaxEventsPerSecond = 2 }
		}
		r := proveReader(t, 3, f, slow)
		if r == nil {
			t.FailNow()
		}
		if text := notPassed(r); text != "" || r.Verdict != conformance.Pass {
			t.Error(text, r.Summary())
		}
		for _, res := range r.Results {
			if res.Verdict == conformance.Skipped {
				t.Log(res.Case.Name, res.Seen)
			}
		}
		t.Log(r.Summary())
	}
}

// A target that starts its agent anew for each link may take as long to ask again as it took to
// come. (EXT-007)
func TestAsksAgainLate(t *testing.T) {
	runs := func(ctx context.Context, h *conformance.Hook, rd *reader) error {
		link := rd.dialer
		rd.dialer = dialer(func(ctx context.Context) (transports.Conn,
			error) {
			time.Sleep(8 * time.Second)
			return link.Dial(ctx)
		})
		return rd.Run(ctx, h)
	}
	r := proveReader(t, 3, fault{runs: runs}, 0, "asks-for-less")
	if r == nil || verdictsByCase(r)["asks-for-less"] != conformance.Pass {
		t.Error(notPassed(r))
	}
}
