package rap

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/bridge/ownagent"
	"github.com/aaep-go/aaep/internal/bridge/toolcall"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
)

// EventsConfig says where an Events is found.
type EventsConfig struct {
	// URL is the base URL by which runtimes reach it.
	URL string
	// State is a file that remembers who has subscribed, so that a restart goes on. Only this user
	// can read it, and only one Events has it. Empty is memory alone.
	State string
	// Logger receives what could not be delivered. Nil discards it.
	Logger *slog.Logger
}

// Events is a tool server of its own: its toolset, aaep-events, lets a runtime's agent be told when
// its user has answered, is busy or has gone, and what else is told by a Producer. No tool of it
// answers anything for a user. It is an http.Handler. All its methods may be called at once.
//
// An event is a text of JSON with its type, its summary in words, and what it is of. A slow runtime
// gets less: five events a second at most, of which those that matter less are joined. A runtime
// that cannot be reached is tried for ten minutes, or until 1,024 events wait for it, and then
// unsubscribed; so is one that answers from 400 to 499.
type Events struct {
	poster
	p       *producer.Producer
	cfg     EventsConfig
	toolset []byte // with the endpoint
	sub     *subscriber.Subscription
	kept    *toolcall.Held[follower, struct{}]
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	work    sync.WaitGroup

	mu       sync.Mutex
	active   map[toolcall.Name]*delivery
	sessions []agentSession // the newest last
}

// follower is a runtime's call that has subscribed, as it is kept.
type follower struct {
	To          string    `json:"to"` // the callback URL
	Group       string    `json:"group"`
	ID          string    `json:"id"`
	Session     string    `json:"session,omitzero"` // of which alone it is told
	Types       []string  `json:"types,omitzero"`   // of events it is told; none: all
	Associative bool      `json:"associative,omitzero"`
	Until       time.Time `json:"until,omitzero"`
}

// Name returns what the call is known by.
func (f follower) Name() toolcall.Name { return toolcall.Name{Group: f.Group, ID: f.ID} }

// delivery is a follower's queue. Its goroutine posts what is in it.
type delivery struct {
	follower
	call  *toolcall.Call[follower, struct{}]
	queue chan []byte
	ctx   context.Context // ends with the subscription
}

// agentSession is what is known of a session.
type agentSession struct {
	ID    string `json:"session_id"`
	Text  string `json:"summary"` // the newest
	State string `json:"state,omitzero"`
	Over  bool   `json:"over"`
}

const (
	maxFollowers   = 256 // of all groups
	maxOfGroup     = 16
	maxUndelivered = 1024 // events that wait for a runtime
	maxSessions    = 256  // that are known
	eventRate      = 5    // events a second
	// eventAttempts are how often an event is posted: for some ten minutes.
	eventAttempts = 14
	presencePause = time.Second // between two looks at who listens
	maxLifetime   = 30 * 24 * time.Hour
)

// The types of events that are of the user and not of the agent.
const (
	personHere = "person.here"
	personBusy = "person.busy"
	personAway = "person.away"
)

// eventsToolset is the toolset, without its endpoint.
//
//go:embed toolset.json
var eventsToolset []byte

// NewEvents returns a tool server that offers the agent's events to RAP runtimes, and resumes the
// subscriptions in cfg.State. The error says what in cfg is wrong, or that the agent cannot be
// followed. Close ends it.
func NewEvents(p *producer.Producer, cfg EventsConfig) (*Events, error) {
	if address, err := url.Parse(cfg.URL); err != nil || address.Host == "" {
		return nil, fmt.Errorf("rap: EventsConfig.URL %q is not a URL, such as http://127.0.0.1:9090/events", cfg.URL)
	}
	cfg.URL = strings.TrimSuffix(cfg.URL, "/")
	cfg.Logger = shield.Logger(cfg.Logger)
	toolset, err := replaceMember(eventsToolset, "endpoint", cfg.URL+invokePath)
	if err != nil {
		return nil, fmt.Errorf("rap: the toolset cannot be written: %w", err)
	}
	file, _, left, err := toolcall.Open[follower, struct{}](cfg.State, nil, cfg.Logger)
	if err != nil {
		return nil, fmt.Errorf("rap: who subscribes cannot be remembered in %s: %w", cfg.State, err)
	}
	sub, err := ownagent.Follow(p, "aaep-events", eventRate, cfg.Logger)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("rap: the agent cannot be followed: %w", err)
	}
	e := &Events{poster: newPoster(false), p: p, cfg: cfg, toolset: toolset, sub: sub, kept: file,
		active: map[toolcall.Name]*delivery{}}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	for _, call := range left {
		if err := e.keepFollower(call.Record); err != nil {
			cfg.Logger.Warn("rap: a subscription is not gone on with after the restart", "error", err)
			file.SettleLeft(call)
			continue
		}
		e.beginDelivery(call.Record.Name())
	}
	e.work.Go(e.followAgent)
	e.work.Go(e.followPresence)
	return e, nil
}

// Close delivers nothing more. With EventsConfig.State the subscriptions go on with the next
// Events.
func (e *Events) Close() error {
	e.cancel()
	err := e.sub.Close()
	e.work.Wait()
	return errors.Join(err, e.kept.Close())
}

// ServeHTTP serves the toolset, takes calls and notices of runtimes. A call is answered at once,
// and its result posted. Another path gets 404.
func (e *Events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == wellKnown && r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "application/json")
		w.Write(e.toolset)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "messages are posted here", http.StatusMethodNotAllowed)
	case r.URL.Path == invokePath:
		e.serveInvocation(w, r)
	case r.URL.Path == cancelPath || r.URL.Path == closePath:
		if n, ok := readNotice(w, r); ok {
			e.unsubscribeMatching(func(f follower) bool {
				return f.Group == n.ThreadID && (r.URL.Path == closePath || f.ID == n.ToolCallID)
			})
		}
	default:
		http.Error(w, "there are "+wellKnown+", "+invokePath+", "+cancelPath+" and "+closePath, http.StatusNotFound)
	}
}

// serveInvocation answers a runtime's call of one of the tools at once; a goroutine runs it and
// posts its result to the callback URL. A subscription whose result did not arrive is ended.
func (e *Events) serveInvocation(w http.ResponseWriter, r *http.Request) {
	in, _, ok := readInvocation(w, r)
	if !ok {
		return
	}
	if e.ctx.Err() != nil {
		http.Error(w, "this tool server is being stopped", http.StatusServiceUnavailable)
		return
	}
	e.work.Go(func() {
		text, subscription, err := e.runTool(in)
		if err != nil {
			text = "Error: " + err.Error()
		}
		if text == "" {
			return // the call was made before
		}
		body, err := json.Marshal(struct {
			Type         string `json:"type"`
			GroupID      string `json:"group_id"`
			ID           string `json:"id"`
			CallID       string `json:"call_id,omitzero"`
			Text         string `json:"text"`
			Subscription bool   `json:"subscription,omitzero"`
		}{toolResult, in.GroupID, in.ID, in.CallID, text, subscription})
		if err == nil {
			err = e.postAgain(e.ctx, in.CallbackURL, body, attempts)
		}
		switch {
		case err != nil:
			e.cfg.Logger.Warn("rap: a result did not reach the runtime", "error", err)
			e.unsubscribeMatching(func(f follower) bool { return f.Name() == in.makeRef().Name() })
		case subscription:
			e.beginDelivery(toolcall.Name{Group: in.GroupID, ID: in.ID})
		}
	})
}

// runTool runs a tool of this server and returns its result; an empty text means that the call
// repeats an earlier subscription. subscription says that events follow. A tool that there is not
// is an error.
func (e *Events) runTool(in *invocation) (text string, subscription bool, err error) {
	var args struct {
		SessionID   string   `json:"session_id"`
		EventTypes  []string `json:"event_types"`
		Associative bool     `json:"associative"`
		TTLSeconds  int64    `json:"ttl_seconds"`
	}
	if in.Arguments != nil && bridge.Decode(in.Arguments, &args) != nil {
		return "", false, errors.New("the arguments are not those of the tool")
	}
	switch in.Operation {
	case "subscribe_agent_events":
		f := follower{To: in.CallbackURL, Group: in.GroupID, ID: in.ID, Session: args.SessionID, Types: args.EventTypes,
			Associative: args.Associative}
		if args.TTLSeconds < 0 || args.TTLSeconds > int64(maxLifetime/time.Second) {
			return "", false, errors.New("ttl_seconds must be from 1 to 2592000")
		}
		if args.TTLSeconds > 0 {
			f.Until = time.Now().Add(time.Duration(args.TTLSeconds) * time.Second)
		}
		switch err := e.keepFollower(f); {
		case errors.Is(err, errSubscribed):
			return "", false, nil
		case err != nil:
			return "", false, err
		}
		return "Subscribed to the events of the agent and its user. Subscription ID: " + in.ID, true, nil
	case "list_agent_sessions":
		e.mu.Lock()
		defer e.mu.Unlock()
		body, err := json.Marshal(struct {
			Sessions []agentSession `json:"sessions"`
		}{append([]agentSession{}, e.sessions...)})
		return string(body), false, err
	case "get_agent_session":
		e.mu.Lock()
		defer e.mu.Unlock()
		if i := e.indexSession(args.SessionID); i >= 0 {
			body, err := json.Marshal(e.sessions[i])
			return string(body), false, err
		}
		return "", false, errors.New("there is no such session")
	}
	return "", false, errors.New("there is no such tool")
}

// errSubscribed says that a call has subscribed already.
var errSubscribed = errors.New("this call has subscribed already")

// keepFollower keeps a follower. Nothing is posted to it before beginDelivery, for its result comes
// first; after a restart it has had that. Beyond maxOfGroup of a group or maxFollowers in all, and
// where it cannot be remembered, it is refused; errSubscribed says that it is kept already.
func (e *Events) keepFollower(f follower) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	ofGroup := 0
	for name := range e.active {
		if name.Group == f.Group {
			ofGroup++
		}
	}
	if ofGroup >= maxOfGroup || len(e.active) >= maxFollowers {
		return fmt.Errorf("there are too many subscriptions: %d of a conversation and %d in all are served",
			maxOfGroup, maxFollowers)
	}
	ctx, cancel := context.WithCancelCause(e.ctx)
	call, fresh, err := e.kept.Hold(f, cancel)
	switch {
	case !fresh:
		cancel(nil)
		return errSubscribed
	case err != nil:
		cancel(nil)
		e.cfg.Logger.Error("rap: a subscription cannot be remembered", "error", err)
		return errors.New("the subscription cannot be remembered")
	}
	e.active[f.Name()] = &delivery{follower: f, call: call, queue: make(chan []byte, maxUndelivered), ctx: ctx}
	return nil
}

// beginDelivery starts the goroutine that posts what is queued for the follower of this name;
// nothing where its subscription has ended or e is being closed. It takes e.mu.
func (e *Events) beginDelivery(name toolcall.Name) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.active[name]; d != nil && e.ctx.Err() == nil {
		e.work.Go(func() { e.deliverQueue(d) })
	}
}

// unsubscribeMatching ends the subscriptions for which match reports true. Nothing more is posted
// to them.
func (e *Events) unsubscribeMatching(match func(follower) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, d := range e.active {
		if match(d.follower) {
			e.endDelivery(name, d)
		}
	}
}

// endDelivery removes a subscription, also from the file. The caller holds e.mu.
func (e *Events) endDelivery(name toolcall.Name, d *delivery) {
	delete(e.active, name)
	d.call.Cancel(toolcall.ErrCancelled)
	e.kept.Settle(d.call)
}

// deliverQueue posts what is queued for a follower, until its subscription ends, its time is over,
// or its runtime cannot be reached. It is a goroutine of its own.
func (e *Events) deliverQueue(d *delivery) {
	var timeout <-chan time.Time
	if !d.Until.IsZero() {
		timer := time.NewTimer(time.Until(d.Until))
		defer timer.Stop()
		timeout = timer.C
	}
	for {
		select {
		case body := <-d.queue:
			if d.ctx.Err() != nil {
				return
			}
			err := e.postAgain(d.ctx, d.To, body, eventAttempts)
			if err != nil && d.ctx.Err() == nil {
				e.cfg.Logger.Warn("rap: a subscription has ended, for its runtime cannot be reached", "error", err)
				e.unsubscribeMatching(func(f follower) bool { return f.Name() == d.Name() })
			}
		case <-timeout:
			e.endWith(d, "its time is over")
			return
		case <-d.ctx.Done():
			return
		}
	}
}

// endWith ends a subscription by an event that is final and says the reason, and forgets it, also
// where the event did not arrive.
func (e *Events) endWith(d *delivery, reason string) {
	last := eventText{Type: "subscription.ended", Summary: "These events are over: " + reason + "."}
	body, err := d.encodeEvent(last, true)
	if err == nil {
		err = e.postAgain(d.ctx, d.To, body, attempts)
	}
	if err != nil {
		e.cfg.Logger.Warn("rap: a runtime was not told that a subscription has ended", "error", err)
	}
	e.unsubscribeMatching(func(f follower) bool { return f.Name() == d.Name() })
}

// eventText is what an agent reads of an event.
type eventText struct {
	Type    string    `json:"type"`
	Summary string    `json:"summary,omitzero"`
	Session string    `json:"session_id,omitzero"`
	EventID string    `json:"event_id,omitzero"` // by which an event that comes twice is known
	Time    time.Time `json:"timestamp,omitzero"`
	From    string    `json:"from_state,omitzero"`
	To      string    `json:"to_state,omitzero"`
}

// encodeEvent returns the message in which a subscription gets an event; final says that it is the
// last one.
func (d *delivery) encodeEvent(text eventText, final bool) ([]byte, error) {
	content, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Type        string `json:"type"`
		GroupID     string `json:"group_id"`
		ToolCallID  string `json:"tool_call_id"`
		Text        string `json:"text"`
		Associative bool   `json:"associative,omitzero"`
		Final       bool   `json:"final,omitzero"`
	}{subscriptionEvent, d.Group, d.ID, string(content), d.Associative, final})
}

// publishEvent queues an event for the subscriptions that want it. ends says that it ends its
// session, and so the subscriptions to that session. A subscription whose queue is full is ended.
func (e *Events) publishEvent(text eventText, ends bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, d := range e.active {
		final := ends && d.Session != "" && d.Session == text.Session
		isOfOther := d.Session != "" && text.Session != "" && d.Session != text.Session
		isUnwanted := len(d.Types) > 0 && !slices.Contains(d.Types, text.Type)
		if !final && (isOfOther || isUnwanted) {
			continue
		}
		body, err := d.encodeEvent(text, final)
		if err != nil {
			e.cfg.Logger.Error("rap: an event cannot be written", "error", err)
			continue
		}
		select {
		case d.queue <- body:
		default:
			e.cfg.Logger.Warn("rap: a subscription has ended, for its runtime does not keep up")
			e.endDelivery(name, d)
		}
	}
}

// followAgent publishes the events of the agent's sessions, until e.ctx ends. It runs in a
// goroutine of its own.
func (e *Events) followAgent() {
	for ev, err := range e.sub.Events(e.ctx) {
		if err != nil {
			if e.ctx.Err() == nil {
				e.cfg.Logger.Warn("rap: the agent is not followed any more", "error", err)
			}
			return
		}
		text := eventText{Type: strings.TrimPrefix(string(ev.Type()), "aaep:"), Session: ev.SessionID,
			EventID: ev.EventID,
			Time:    ev.Timestamp, Summary: toolcall.Line(ev.Text(aaep.VerbosityNormal))}
		ends := false
		switch p := ev.Payload.(type) {
		case *aaep.StateChanged:
			text.From, text.To = string(p.FromState), string(p.ToState)
		case *aaep.OutputStreaming:
			text.Summary = toolcall.Line(p.Chunk)
		case *aaep.SessionCompleted, *aaep.SessionErrored, *aaep.SessionCancelled:
			ends = true
		}
		e.noteSession(text, ends)
		e.publishEvent(text, ends)
	}
}

// noteSession stores the text and state of an event's session, for list_agent_sessions; ends says
// that the session is over. Beyond maxSessions the oldest is forgotten. It takes e.mu.
func (e *Events) noteSession(text eventText, ends bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := e.indexSession(text.Session)
	if i < 0 {
		if e.sessions = append(e.sessions, agentSession{ID: text.Session}); len(e.sessions) > maxSessions {
			e.sessions = e.sessions[1:]
		}
		i = len(e.sessions) - 1
	}
	s := &e.sessions[i]
	s.Text, s.State, s.Over = cmp.Or(text.Summary, s.Text), cmp.Or(text.To, s.State), s.Over || ends
}

// indexSession returns where a session is in e.sessions, or -1, with e.mu held.
func (e *Events) indexSession(id string) int {
	return slices.IndexFunc(e.sessions, func(s agentSession) bool { return s.ID == id })
}

// followPresence publishes whether a user listens who can answer. It is a goroutine of its own. It
// looks every presencePause.
func (e *Events) followPresence() {
	tick := time.NewTicker(presencePause)
	defer tick.Stop()
	busy := map[string]time.Time{}
	current := e.findPresence(busy)
	for {
		select {
		case <-tick.C:
		case <-e.ctx.Done():
			return
		}
		if now := e.findPresence(busy); now != current {
			current = now
			e.publishEvent(eventText{Type: now, Summary: presenceWords[now]}, false)
		}
	}
}

// presenceWords say what each presence is.
var presenceWords = map[string]string{
	personHere: "A user listens who can answer.",
	personBusy: "The user is busy, and hears only what cannot wait.",
	personAway: "No user listens who can answer.",
}

// findPresence returns personHere where any user who can answer listens, else personBusy where one
// does who must not be talked to now, and else personAway. busy is since when each subscription
// says so of its user; a subscription that has said it for longer than it may counts as here.
func (e *Events) findPresence(busy map[string]time.Time) string {
	presence, now := personAway, time.Now()
	still := map[string]bool{}
	for _, s := range e.p.Subscriptions() {
		if c := s.Terms.SupportsConfirmationReply; !s.Connected || c == nil || !*c {
			continue
		}
		var asked extensions.Delivery
		raw := s.Terms.Extensions[extensions.DeliveryVocabulary.Prefix]
		if raw == nil || extensions.DeliveryVocabulary.Read(raw, &asked) != nil ||
			asked.Presence != extensions.PresenceTyping {
			presence = personHere
			continue
		}
		still[s.SubscriptionID] = true
		if busy[s.SubscriptionID].IsZero() {
			busy[s.SubscriptionID] = now
		}
		switch lasts := time.Duration(cmp.Or(asked.PresenceExpiresIn, 30)) * time.Second; {
		case now.Sub(busy[s.SubscriptionID]) >= lasts:
			presence = personHere
		case presence == personAway:
			presence = personBusy
		}
	}
	maps.DeleteFunc(busy, func(id string, _ time.Time) bool { return !still[id] })
	return presence
}
