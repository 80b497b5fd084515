package producer

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/ledger"
	"github.com/aaep-go/aaep/internal/lifecycle"
	"github.com/aaep-go/aaep/internal/phrase"
)

// ErrSessionOver is returned by every call on a session after its end.
var ErrSessionOver = errors.New("producer: the session is over")

// ErrNoSession is returned by every call on a nil Session, such as that of a context in which
// SessionOf finds none, and on a Session that no Producer made.
var ErrNoSession = errors.New("producer: there is no session; Producer.StartSession makes one, " +
	"and SessionOf finds one in its Context and in that of its tools")

// Session is one user request's worth of agent activity (§2.2.5). It has one beginning and one end,
// and in between subscribers are told the state of the agent as it changes. All its methods may be
// called at once. Only Tool, Confirm and the Ask methods wait for an answer, and for Config.Audit
// to keep what must be on record first; other calls on the same session go on meanwhile. Until its
// end a session keeps some hundred bytes for each of its calls, questions and outputs, so that none
// is told twice: an agent that runs for months begins one for each thing that it is asked for.
//
// A method that cannot tell something returns an error, and then nothing was told: ErrSessionOver,
// or an *aaep.InvalidError that names the rule it would break.
type Session struct {
	p     *Producer
	id    string
	began time.Time       // when it was started, for its duration
	start uint64          // the position of its first event in the log
	ctx   context.Context // ends with the session
	end   context.CancelFunc
	turn  chan struct{} // holds one while a question is open: the next one waits for its turn

	mu        sync.Mutex        // guards what follows
	unwatch   func() bool       // stops watching the context that the session was started with
	machine   lifecycle.Session // what may come next, and what is open
	over      bool              // its last event has been emitted
	last      time.Time         // the newest timestamp
	pos       uint64            // the position of the newest event
	outputs   []*Output         // open
	calls     []toolCall        // open, and begun by this process
	lastState stateAt           // the newest state, for subscribers that come late
	// explainSettled maps an outcome of the question that is open to the words that announce it;
	// nil: none is open. See askQuestion.
	explainSettled func(*ledger.Outcome) (speech, error)
	failing        error     // with failed, what Failing was given; nil: nothing
	failed         aaep.Text // goes with failing

	// These are of a session that another process began; see replayAsked.
	openAsked map[aaep.ReplyToken]*aaep.Event // the questions that are open
	accepted  *aaep.Event                     // the confirmation that was accepted, and no call announced
}

// stateAt is the newest state of the agent, which a subscriber is sent that comes late.
type stateAt struct {
	ev  *aaep.Event // the newest state.changed
	pos uint64      // its position in the log; zero: there is none
}

// StartSession begins a session, whose summary tells the user what it is about. The agent is then
// thinking. When ctx is done the session ends as cancelled by the producer. The error is ErrClosed,
// or an *aaep.InvalidError for a text that must not be told; with Config.Follow there always is
// one.
func (p *Producer) StartSession(ctx context.Context, summary aaep.Text) (*Session, error) {
	if !p.isMade() {
		return nil, errNotMade
	}
	if p.isReplica() {
		return nil, errFollows
	}
	s := &Session{p: p, id: newID("sess_"), began: time.Now(), turn: make(chan struct{}, 1)}
	s.ctx, s.end = context.WithCancel(context.WithValue(ctx, sessionKey{}, s))
	words := p.authoredSpeech(summary)
	words.data = p.checkData(summary)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.registerSession(words); err != nil {
		s.end()
		return nil, err
	}
	s.unwatch = context.AfterFunc(ctx, func() { s.Cancel(aaep.CancelledByProducer, aaep.Text{}) })
	return s, nil
}

// registerSession emits the first two events of the session and adds the session to those that
// Shutdown ends, or does neither. StartSession calls it with s.mu held; it takes the Producer's mu.
func (s *Session) registerSession(summary speech) (err error) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.p.closed {
		return ErrClosed
	}
	// The second event is checked first: one that is not valid must not leave a session half begun.
	thinking := s.p.speechOrPhrase(aaep.Text{}, stateWords(aaep.StateThinking), "")
	changed := &aaep.StateChanged{FromState: s.machine.State(), ToState: aaep.StateThinking}
	if _, err := s.buildEvent(thinking, changed); err != nil {
		return err
	}
	if s.start, err = s.emitEvent(summary, &aaep.SessionStarted{}); err != nil {
		return err
	}
	s.p.sessions = append(s.p.sessions, s)
	return s.enterStateSaying(aaep.StateThinking, thinking)
}

// ID returns the session id that is on every event; "" for a nil Session.
func (s *Session) ID() string {
	if s == nil {
		return ""
	}
	return s.id
}

// Context returns a context that is done when the session is over. SessionOf finds the session in
// it.
func (s *Session) Context() context.Context {
	if s == nil || s.p == nil {
		return over
	}
	return s.ctx
}

// over is the Context of a nil Session.
var over = func() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrNoSession)
	return ctx
}()

// sessionKey is the key under which a Session is found in its Context.
type sessionKey struct{}

// SessionOf returns the session whose Context ctx is, or comes from, as in the function of one of
// its tools; or nil, on which every call is ErrNoSession.
func SessionOf(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

// State announces what the agent does now: a state of the protocol, or one of the agent's own,
// whose name is of letters, digits, "_", "-", "." and ":". Questions, tools and outputs announce
// their states by themselves, and awaiting_input is theirs alone. The same state again is no event,
// and an error where it has other words than before, which would not be announced.
func (s *Session) State(state aaep.State, text aaep.Text) error {
	if s == nil || s.p == nil {
		return ErrNoSession
	}
	if err := checkStateName(state); err != nil {
		return err
	}
	words := s.p.speechOrPhrase(text, stateWords(state), string(state))
	words.data = s.p.checkData(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !text.IsZero() {
		if err := s.checkStateWords(state, words); err != nil {
			return err
		}
	}
	return s.enterStateSaying(state, words)
}

// checkStateWords refuses the author's words for the state that the session is in already, unless
// that state was announced with them: no event would have them. The error is an *aaep.InvalidError.
// State calls it with s.mu held.
func (s *Session) checkStateWords(state aaep.State, words speech) error {
	if s.over || state != s.machine.State() {
		return nil
	}
	ev, err := s.buildEvent(words, &aaep.StateChanged{FromState: state, ToState: state})
	if err != nil {
		return err
	}
	if last := s.lastState.ev; last != nil && ev.Summary == last.Summary {
		return nil
	}
	return fmt.Errorf("producer: State: %w", invalidMember(aaep.TypeStateChanged, "EVT-030", "/to_state",
		fmt.Sprintf("is %s, as it is already, so the words would not be told; "+
			"give a state of the agent's own, such as reading, or use Progress", state)))
}

// checkStateName refuses, with an *aaep.InvalidError, a state that State cannot announce:
// awaiting_input, and one whose name has other characters than a state may have.
func checkStateName(state aaep.State) error {
	problem := ""
	switch {
	case state == aaep.StateAwaitingInput:
		problem = "is the state of a question, and none is asked; Tool, Confirm and AskText ask, and tell it"
	case state == "" || strings.ContainsFunc(string(state), func(r rune) bool {
		return !strings.ContainsRune("_-.:", r) && !unicode.IsDigit(r) && !unicode.IsLetter(r)
	}):
		problem = `must be a name of letters, digits, "_", "-", "." and ":"`
	default:
		return nil
	}
	return fmt.Errorf("producer: State: %w", invalidMember(aaep.TypeStateChanged, "EVT-028", "/to_state", problem))
}

// Progress announces how far the agent is. A zero or negative eta is unknown; one above a day is
// left out. Without text and Description the percentage or the step is announced, in the language
// of each listener.
func (s *Session) Progress(text aaep.Text, progress aaep.Progress, eta time.Duration) error {
	if s == nil || s.p == nil {
		return ErrNoSession
	}
	if progress.Percent != nil {
		progress.Percent = new(*progress.Percent) // the event keeps its own copy
	}
	progress.Description, _ = textIn(aaep.Say(progress.Description), "")
	update := aaep.ProgressUpdated{Progress: progress}
	if eta > 0 && eta <= 24*time.Hour {
		update.ETAMS = new(eta.Milliseconds())
	}
	var words speech
	switch {
	case !text.IsZero():
		words = s.p.authoredSpeech(text)
		words.setPayloads(func(tag string) (aaep.Payload, bool) {
			translated := update
			if progress.Description != "" {
				translated.Progress.Description, _ = textIn(text, tag)
			}
			return &translated, true
		})
	case progress.Description != "":
		described := wording{lang: s.p.cfg.Language, text: aaep.Say(progress.Description)}
		words = speech{wordings: []wording{described}, extensionData: text}
	default:
		words = s.p.progressSpeech(progress)
		words.extensionData = text
	}
	words.data = s.p.checkData(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.emitEvent(words, &update)
	return err
}

// progressSpeech returns the package's own phrase for how far an agent is: with the percentage,
// else with the step, else that it goes on.
func (p *Producer) progressSpeech(progress aaep.Progress) speech {
	switch {
	case progress.Percent != nil: // as exact as a person wants to hear it
		percent := strconv.FormatFloat(math.Round(*progress.Percent*10)/10, 'f', -1, 64)
		return p.phraseSpeech(phrase.ProgressPercent, func(string) (string, bool) { return percent, true })
	case progress.Step > 0 && progress.TotalSteps > 0:
		return p.phraseSpeech(phrase.ProgressStep, func(tag string) (string, bool) {
			of, _ := phrase.In(tag, phrase.OfSteps, strconv.FormatInt(progress.TotalSteps, 10))
			return strconv.FormatInt(progress.Step, 10) + " " + of, true
		})
	case progress.Step > 0:
		return p.phraseSpeech(phrase.ProgressStep, func(string) (string, bool) {
			return strconv.FormatInt(progress.Step, 10), true
		})
	}
	return p.phraseSpeech(phrase.ProgressMade, func(string) (string, bool) { return "", true })
}

// Handoff asks another agent or a person to take over (§4.4.3). An empty TargetKind is
// aaep.TargetHuman, an empty Reason the words of text. The session goes on until it is ended. It is
// an error to set Target or ContextSummary, which are not on the wire.
func (s *Session) Handoff(text aaep.Text, h aaep.HandoffRequested) error {
	if s == nil || s.p == nil {
		return ErrNoSession
	}
	if h.Target != "" || h.ContextSummary != "" {
		return errors.New("producer: Target and ContextSummary of a HandoffRequested are only read, from other producers: " +
			"say who takes over in TargetURI or the text, and what they should know in PackagedContext")
	}
	if h.TargetKind == "" {
		h.TargetKind = aaep.TargetHuman
	}
	if h.Reason == "" {
		h.Reason, _ = textIn(text, "")
	}
	h.PackagedContext = bytes.Clone(h.PackagedContext)
	h.Reason, _ = textIn(aaep.Say(h.Reason), "") // in normal form
	words := s.p.authoredSpeech(text)
	words.setPayloads(func(tag string) (aaep.Payload, bool) {
		h := h
		h.Reason, _ = textIn(text, tag)
		return &h, true
	})
	words.data = s.p.checkData(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.emitEvent(words, &h)
	return err
}

// Emit emits an event of an extension's own type, which is the vocabulary's prefix, a colon and
// name (§7.4). Members is what the JSON library writes as an object; its members stand beside the
// envelope. The event goes to subscribers whose filters ask for it, such as "medai:*", and to none
// by default. The vocabulary is that of one of Config.Extensions.
func (s *Session) Emit(v aaep.Vocabulary, name string, text aaep.Text, members any) error {
	if s == nil || s.p == nil {
		return ErrNoSession
	}
	if err := v.Validate(); err != nil {
		return err
	}
	if strings.Contains(name, ":") {
		return fmt.Errorf("producer: Emit was given %q; give the name of the type alone, without %q",
			name, v.Prefix+":")
	}
	if err := s.p.extensionViolation(v.Prefix, []string{v.URI}, nil); err != nil {
		return &aaep.InvalidError{Message: v.Prefix + ":" + name, Violations: []aaep.Violation{*err}}
	}
	raw, err := jsonv2.Marshal(members, jsonv2.Deterministic(true))
	if err != nil {
		return fmt.Errorf("producer: the members of %s:%s: %w", v.Prefix, name, err)
	}
	if len(raw) == 0 || raw[0] != '{' {
		return fmt.Errorf("producer: the members of %s:%s: %T is written as %s in JSON, and must be an object; "+
			"give a struct or a map, and struct{}{} for none", v.Prefix, name, members, kindOfJSON(raw))
	}
	words := s.p.authoredSpeech(text)
	words.vocabulary, words.members, words.data = v, json.RawMessage(raw), s.p.checkData(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.emitEvent(words, &aaep.ExtensionPayload{Type: aaep.Type(v.Prefix + ":" + name)})
	return err
}

// kindOfJSON names the kind of a valid JSON value that is no object, such as "a list", for an
// error.
func kindOfJSON(raw []byte) string {
	switch jsontext.Value(raw).Kind() {
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "a boolean"
}

// enterState changes the state, with s.mu held. An empty text is replaced by the package's own
// phrase for the state. Entering the present state does nothing.
func (s *Session) enterState(to aaep.State, text aaep.Text) error {
	return s.enterStateSaying(to, s.p.speechOrPhrase(text, stateWords(to), string(to)))
}

// enterStateSaying emits a state.changed to the state, with these words, with s.mu held, and notes
// it as lastState. Entering the present state does nothing. Before a tool or a question, all text
// that was written is emitted first, to the last letter. The error is ErrSessionOver or an
// *aaep.InvalidError.
func (s *Session) enterStateSaying(to aaep.State, words speech) error {
	if to == aaep.StateCallingTool || to == aaep.StateAwaitingInput {
		for _, o := range s.outputs {
			if err := o.flushHeld(); err != nil {
				return err
			}
		}
	}
	from := s.machine.State()
	switch {
	case s.over:
		return ErrSessionOver
	case from == to:
		return nil
	}
	ev, err := s.prepareEvent(words, &aaep.StateChanged{FromState: from, ToState: to})
	if err == nil {
		s.pos = s.p.appendEvent(ev)
		s.lastState = stateAt{ev, s.pos}
	}
	return err
}

// resumeState goes back to the state that the agent was in before a tool or a question, with s.mu
// held: calling_tool while another call is open, else writing_output while an output is, else
// thinking. news says what came of the tool or the question. With the zero speech the package's own
// phrase for the state is emitted, and nothing while a question is open: the state then stays
// awaiting_input.
func (s *Session) resumeState(news speech) error {
	to, questionOpen := aaep.StateThinking, len(s.machine.OpenQuestions()) > 0
	switch {
	case questionOpen && news.wordings == nil:
		return nil
	case len(s.machine.OpenTools()) > 0:
		to = aaep.StateCallingTool
	case len(s.machine.OpenOutputs()) > 0:
		to = aaep.StateWritingOutput
	}
	if news.wordings == nil {
		news = s.p.speechOrPhrase(aaep.Text{}, stateWords(to), "")
	}
	return s.enterStateSaying(to, news)
}

// emitEvent appends an event to the log and returns its position, with s.mu held. Every event of a
// session goes this way or through prepareEvent. Subscribers receive it from the log.
func (s *Session) emitEvent(words speech, payload aaep.Payload) (uint64, error) {
	ev, err := s.prepareEvent(words, payload)
	if err != nil {
		return 0, err
	}
	s.pos = s.p.appendEvent(ev)
	return s.pos, nil
}

// prepareEvent makes the session's next event, with s.mu held: it is valid, and legal after the
// events before. The caller must append it. Text that was written before is appended first.
func (s *Session) prepareEvent(words speech, payload aaep.Payload) (*aaep.Event, error) {
	if s.over {
		return nil, ErrSessionOver
	}
	if _, text := payload.(*aaep.OutputStreaming); !text {
		for _, o := range s.outputs {
			if err := o.appendText(o.takeGathered()); err != nil {
				return nil, err
			}
		}
	}
	ev, err := s.buildEvent(words, payload)
	if err != nil {
		return nil, err
	}
	if err := s.machine.Next(ev); err != nil {
		return nil, err
	}
	s.last = ev.Timestamp
	return ev, nil
}

// buildEvent makes an event of words and a payload and validates it by itself, with s.mu held; its
// place in the session's order is for prepareEvent. It changes nothing, so that callers also use it
// to ask whether an event would be valid. The error is an *aaep.InvalidError, or one of Text.In or
// Text.With.
func (s *Session) buildEvent(words speech, payload aaep.Payload) (*aaep.Event, error) {
	first := words.wordings[0]
	ev := &aaep.Event{
		AAEPVersion:       aaep.Version,
		EventID:           "evt_0", // the log gives it its own
		SessionID:         s.id,
		Timestamp:         s.nextStamp(),
		Producer:          s.p.cfg.Agent,
		Verbosity:         aaep.VerbosityNormal,
		Urgency:           urgencyOf(payload),
		LocalizationHints: localizationHints(first.lang, first.text.Normal),
		Summary:           normalForm(first.text),
		Payload:           payload,
	}
	for _, t := range words.wordings[1:] {
		ev.Translations = append(ev.Translations, aaep.Translation{
			LocalizationHints: localizationHints(t.lang, t.text.Normal),
			Summary:           normalForm(t.text), Payload: t.payload})
	}
	if words.urgent {
		ev.Urgency = aaep.UrgencyCritical
	}
	if words.members != nil {
		ev.Context, ev.Unknown = []string{aaep.CoreContext, words.vocabulary.URI}, words.members
	}
	if err := words.extensionData.Extend(ev); err != nil {
		return nil, err
	}
	if err := checkHasWords(ev); err != nil {
		return nil, err
	}
	if words.data == nil {
		words.data = &dataCheck{s.p.dataViolation(ev)}
	}
	if v := words.data.violation; v != nil {
		return nil, &aaep.InvalidError{Message: ev.MessageType(), Violations: []aaep.Violation{*v}}
	}
	return ev, s.p.validateEvent(ev)
}

// nextStamp returns the time to stamp the next event with, in milliseconds, with s.mu held. It
// never goes back.
func (s *Session) nextStamp() time.Time {
	now := time.Now().UTC().Round(0).Truncate(time.Millisecond)
	if now.Before(s.last) {
		now = s.last
	}
	return now
}

// urgencyOf returns the urgency of an event by its type, by the table of §3.3.2: critical,
// background for states and progress, else normal. buildEvent stamps it.
func urgencyOf(p aaep.Payload) aaep.Urgency {
	switch t := p.EventType(); {
	case t.Critical():
		return aaep.UrgencyCritical
	case t == aaep.TypeStateChanged || t == aaep.TypeProgressUpdated:
		return aaep.UrgencyBackground
	}
	return aaep.UrgencyNormal
}

// newID returns a random id with a prefix such as "sub_".
func newID(prefix string) string {
	var b [16]byte
	rand.Read(b[:])
	return prefix + hex.EncodeToString(b[:])
}
