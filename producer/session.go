package producer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/lifecycle"
)

// ErrSessionOver is returned by every call on a session after its end.
var ErrSessionOver = errors.New("producer: the session is over")

// Session is one user request's worth of agent activity (§2.2.5). It has one beginning and one end, and
// the state the agent is in between is told as it changes. All its methods may be called at once. None
// but Tool, Confirm and Clarify waits for anybody.
type Session struct {
	p     *Producer
	id    string
	began time.Time
	start uint64          // where it begins in the log
	ctx   context.Context // ends with the session
	end   context.CancelFunc
	turn  chan struct{} // holds a value while a question is open: one at a time

	mu      sync.Mutex
	unwatch func() bool // stops watching the context the session was started with
	machine lifecycle.Session
	over    bool
	last    time.Time // the newest timestamp
	outputs []*Output // open
	told    tellings
}

// tellings is what a subscriber who comes late is told first.
type tellings struct {
	from, to aaep.State
	text     aaep.Text
	lang     string
	pos      uint64 // of the newest state.changed
}

// StartSession begins a session and tells what it is about. The agent is then thinking. When ctx is done
// the session ends as cancelled by the producer.
func (p *Producer) StartSession(ctx context.Context, about aaep.Text) (*Session, error) {
	s := &Session{p: p, id: newID("sess_"), began: time.Now(), turn: make(chan struct{}, 1)}
	s.ctx, s.end = context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(about); err != nil {
		s.end()
		return nil, err
	}
	if err := s.enter(aaep.StateThinking, aaep.Text{}); err != nil {
		return nil, err
	}
	s.unwatch = context.AfterFunc(ctx, func() { s.Cancel(aaep.CancelledByProducer, aaep.Text{}) })
	return s, nil
}

// begin tells that the session starts and makes it one of those that Shutdown ends, or does neither.
func (s *Session) begin(about aaep.Text) (err error) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.p.closed {
		return ErrClosed
	}
	if s.start, err = s.emit(about, &aaep.SessionStarted{}); err != nil {
		return err
	}
	s.p.sessions = append(s.p.sessions, s)
	return nil
}

// ID returns the session id that is on every event.
func (s *Session) ID() string { return s.id }

// Context returns a context that is done when the session is over.
func (s *Session) Context() context.Context { return s.ctx }

// State says what the agent does now. The states of questions, tools and outputs are told without it.
// Saying the same state again is not an event.
func (s *Session) State(state aaep.State, text aaep.Text) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enter(state, text)
}

// Progress tells how far the agent is. A zero eta is unknown; one above a day is left out.
func (s *Session) Progress(text aaep.Text, progress aaep.Progress, eta time.Duration) error {
	if progress.Percent != nil {
		progress.Percent = new(*progress.Percent) // an event is shared, and the caller's variable is not
	}
	p := &aaep.ProgressUpdated{Progress: progress}
	if eta > 0 && eta <= 24*time.Hour {
		p.ETAMS = new(eta.Milliseconds())
	}
	if text.IsZero() {
		text.Normal = progress.Description
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text, lang := s.words(text, (&aaep.Event{Payload: p}).Text(aaep.VerbosityNormal))
	_, err := s.emitIn(text, lang, p)
	return err
}

// Handoff asks somebody else to take over (§4.4.3). The session goes on until it is ended.
func (s *Session) Handoff(text aaep.Text, h aaep.HandoffRequested) error {
	if h.TargetKind == "" {
		h.TargetKind = aaep.TargetHuman
	}
	if h.Reason == "" {
		h.Reason = text.Normal
	}
	h.PackagedContext = bytes.Clone(h.PackagedContext)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.emit(text, &h)
	return err
}

// Complete ends a session that reached its aim.
func (s *Session) Complete(text aaep.Text) error {
	return s.finish(text, "The agent finished.", func() aaep.Payload {
		return &aaep.SessionCompleted{
			DurationMS:           millis(time.Since(s.began)),
			ToolInvocationsCount: new(int64(s.machine.ToolInvocations())),
		}
	})
}

// Fail ends a session that failed. Text is what the user hears; cause decides the error category and is
// not told, since errors may hold what is nobody's business.
func (s *Session) Fail(cause error, text aaep.Text) error {
	category, code := categorize(cause)
	s.p.cfg.Logger.Warn("session failed", "session_id", s.id, "error", cause)
	return s.finish(text, "The agent failed.", func() aaep.Payload {
		return &aaep.SessionErrored{ErrorCategory: category, ErrorCode: code, Recoverable: new(category == aaep.ErrorTransient)}
	})
}

// Cancel ends a session that somebody stopped.
func (s *Session) Cancel(by aaep.CancelledBy, text aaep.Text) error {
	return s.finish(text, "Cancelled.", func() aaep.Payload {
		return &aaep.SessionCancelled{CancelledBy: by}
	})
}

// Close ends the session if nothing else has: as failed while the goroutine panics, as cancelled
// otherwise. Use it as "defer s.Close()", so that no way out of a function leaves a session open.
func (s *Session) Close() error {
	if crash := recover(); crash != nil {
		s.Fail(fmt.Errorf("panic: %v", crash), aaep.Text{})
		panic(crash)
	}
	if err := s.Cancel(aaep.CancelledByProducer, aaep.Text{}); err != nil && !errors.Is(err, ErrSessionOver) {
		return err
	}
	return nil
}

// finish closes what is open, in the order the protocol wants, and ends the session (D-30).
func (s *Session) finish(text aaep.Text, otherwise string, payload func() aaep.Payload) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return ErrSessionOver
	}
	text, lang := s.words(text, otherwise)
	end := payload()
	// The last event is checked first: a text nobody may send must not leave a session half closed.
	if err := s.p.check(s.build(text, lang, end)); err != nil {
		return err
	}
	s.end()
	if s.unwatch != nil {
		s.unwatch()
	}
	s.p.desk.withdraw("", s.id)
	for _, token := range s.machine.OpenQuestions() {
		s.p.forget(token)
		s.machine.Settled(token, aaep.Reject)
	}
	for _, call := range s.machine.OpenTools() {
		s.completeTool(call, &aaep.ToolCompleted{Status: aaep.ToolError, ErrorMessage: "The session ended."},
			aaep.Say(sentence(call.Tool)+" did not finish."))
	}
	for _, o := range slices.Clone(s.outputs) {
		o.complete()
	}
	_, err := s.emitIn(text, lang, end)
	s.over = true
	s.p.mu.Lock()
	s.p.sessions = slices.DeleteFunc(s.p.sessions, func(x *Session) bool { return x == s })
	s.p.mu.Unlock()
	return err
}

// enter changes the state, with s.mu held. An empty text says it in the package's own words.
func (s *Session) enter(to aaep.State, text aaep.Text) error {
	return s.enterSaying(to, text, stateWords(to))
}

// enterSaying is enter with words of the package's own for an empty text.
func (s *Session) enterSaying(to aaep.State, text aaep.Text, otherwise string) error {
	from := s.machine.State()
	switch {
	case s.over:
		return ErrSessionOver
	case from == to:
		return nil
	}
	text, lang := s.words(text, otherwise)
	pos, err := s.emitIn(text, lang, &aaep.StateChanged{FromState: from, ToState: to})
	if err == nil {
		s.told = tellings{from, to, text, lang, pos}
	}
	return err
}

// resume goes back to what the agent was doing before a tool or a question, with s.mu held. While a question
// is open, the agent waits. News is what came of it, in the package's own words, or empty.
func (s *Session) resume(news string) error {
	to := aaep.StateThinking
	switch {
	case len(s.machine.OpenQuestions()) > 0:
		return nil
	case len(s.machine.OpenTools()) > 0:
		to = aaep.StateCallingTool
	case len(s.machine.OpenOutputs()) > 0:
		to = aaep.StateWritingOutput
	}
	return s.enterSaying(to, aaep.Text{}, cmp.Or(news, stateWords(to)))
}

// words returns the author's text, or the package's own, which is English.
func (s *Session) words(text aaep.Text, otherwise string) (aaep.Text, string) {
	if text.Normal != "" {
		return text, s.p.cfg.Language
	}
	if !text.IsZero() {
		text.Normal = text.At(aaep.VerbosityNormal)
		return text, s.p.cfg.Language
	}
	return aaep.Say(otherwise), s.p.ownLanguage
}

func (s *Session) emit(text aaep.Text, payload aaep.Payload) (uint64, error) {
	return s.emitIn(text, s.p.cfg.Language, payload)
}

// emitIn appends an event to the log, with s.mu held.
func (s *Session) emitIn(text aaep.Text, lang string, payload aaep.Payload) (uint64, error) {
	ev, err := s.prepare(text, lang, payload)
	if err != nil {
		return 0, err
	}
	return s.p.log.Append(ev), nil
}

// prepare makes an event that is valid and in order, with s.mu held. It must be appended.
func (s *Session) prepare(text aaep.Text, lang string, payload aaep.Payload) (*aaep.Event, error) {
	if s.over {
		return nil, ErrSessionOver
	}
	ev := s.build(text, lang, payload)
	if err := s.p.check(ev); err != nil {
		return nil, err
	}
	if err := s.machine.Next(ev); err != nil {
		return nil, err
	}
	s.last = ev.Timestamp
	return ev, nil
}

func (s *Session) build(text aaep.Text, lang string, payload aaep.Payload) *aaep.Event {
	now := time.Now().UTC().Round(0).Truncate(time.Millisecond)
	if now.Before(s.last) {
		now = s.last
	}
	ev := &aaep.Event{
		AAEPVersion: aaep.Version,
		EventID:     "evt_0", // the log gives it its own
		SessionID:   s.id,
		Timestamp:   now,
		Producer:    s.p.cfg.Agent,
		Verbosity:   aaep.VerbosityNormal,
		Urgency:     urgencyOf(payload),
		LocalizationHints: &aaep.LocalizationHints{
			PrimaryLanguage: lang, TextDirection: direction(lang),
		},
		Summary: aaep.Text{Terse: norm.NFC.String(text.Terse), Normal: norm.NFC.String(text.Normal), Detailed: norm.NFC.String(text.Detailed)},
		Payload: payload,
	}
	return ev
}

// urgencyOf follows the table of §3.3.2.
func urgencyOf(p aaep.Payload) aaep.Urgency {
	switch t := p.EventType(); {
	case t.Critical():
		return aaep.UrgencyCritical
	case t == aaep.TypeStateChanged || t == aaep.TypeProgressUpdated:
		return aaep.UrgencyBackground
	}
	return aaep.UrgencyNormal
}

func direction(lang string) aaep.TextDirection {
	script, _ := language.Make(lang).Script()
	switch script.String() {
	case "Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm", "Rohg", "Mand", "Samr":
		return aaep.DirectionRTL
	}
	return aaep.DirectionLTR
}

func stateWords(s aaep.State) string {
	switch s {
	case aaep.StateThinking:
		return "Thinking."
	case aaep.StateCallingTool:
		return "Using a tool."
	case aaep.StateWritingOutput:
		return "Answering."
	case aaep.StateAwaitingInput:
		return "Waiting for an answer."
	}
	return "Now: " + spaced(string(s)) + "."
}

// categorize says what an error means for the user (§4.1.3).
func categorize(err error) (aaep.ErrorCategory, string) {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return aaep.ErrorTransient, "TIMEOUT"
	case errors.Is(err, fs.ErrPermission):
		return aaep.ErrorRequiresUser, "PERMISSION_DENIED"
	}
	return aaep.ErrorUnknown, ""
}

// millis is a duration as the wire has it, or nil where it is above a day (D-26).
func millis(d time.Duration) *int64 {
	if d < 0 || d > 24*time.Hour {
		return nil
	}
	return new(d.Milliseconds())
}

func newID(prefix string) string {
	var b [16]byte
	rand.Read(b[:])
	return prefix + hex.EncodeToString(b[:])
}
