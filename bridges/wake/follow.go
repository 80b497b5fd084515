package wake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/bridge"
	"github.com/aaep-go/aaep/internal/toolwords"
)

// A Server is the memory server of a swarm, which speaks the Model Context Protocol over HTTP.
type Server struct {
	// URL is where it takes messages, such as https://swarm.example/mcp.
	URL string
	// Token is sent as a bearer token. Empty is none.
	Token string
	// Subscriptions are the ids of those whose wakes are taken. Empty are all that the server lists
	// for the identity of the token as active and sent by notifications; where there is none, one
	// is made for each trigger.
	Subscriptions []string
	// Poll is how often the server is asked for what its notifications did not bring. Zero is
	// never.
	Poll time.Duration
}

const (
	mostFollows = 64               // subscriptions of one server
	highestLog  = 1<<53 - 1        // that JSON carries exactly
	pingTime    = 30 * time.Second // between two looks whether a server that is not polled is there
)

// A link is what is followed at a Server.
type link struct {
	Server
	conn     *bridge.MCPClient
	identity string // whose subscriptions they are, once it is known
	noPoll   bool   // the server does not know the action poll-digest
	// caughtUp are the subscriptions of which all was taken that came before this session; guarded
	// by Bridge.mu. Until then a notification must not move the place: what is between would be
	// lost.
	caughtUp map[string]bool
}

// dialServer begins a session with the server.
func (l *link) dialServer(ctx context.Context) (*bridge.MCPClient, error) {
	events := []string{"wake/" + sentToMe, "wake/" + taskState, "wake/" + permission, "wake/" + digest}
	return bridge.DialMCP(ctx, bridge.MCPServer{URL: l.URL, Token: l.Token, Peer: "swarm", Experimental: map[string]any{
		"neo-wake-substrate": map[string]any{"version": "1.0", "supportedEvents": events}}})
}

// manageSubscription calls the server's tool for wake subscriptions, and reads its answer into
// result.
func (l *link) manageSubscription(ctx context.Context, arguments map[string]any, result any) error {
	return l.conn.CallTool(ctx, "manage_wake_subscription", arguments, result)
}

// Follow announces the wakes that a server notifies of, and those it missed while it was away,
// until ctx ends. The server is known by its address: its wakes carry no signature. A cut link is
// connected again after a minute at most; the cut and the return are announced once. The error is
// ctx's, or says why the server could not be followed at first.
func (b *Bridge) Follow(ctx context.Context, s Server) error {
	l := &link{Server: s, identity: b.cfg.Identity}
	if err := b.connectLink(ctx, l); err != nil {
		return fmt.Errorf("wake: the swarm at %s cannot be followed: %w", toolwords.Label(s.URL), err)
	}
	link := bridge.Link{
		Peer:    "swarm",
		Connect: func(ctx context.Context) error { return b.connectLink(ctx, l) },
		Attend:  func(ctx context.Context) error { return b.attendLink(ctx, l) },
		Note:    func(text string) { b.announceNews(l.identity, text) },
		Logger:  b.cfg.Logger,
	}
	return link.Keep(ctx)
}

// connectLink begins a session with the swarm's server, and finds what is to be followed where that
// is not known yet. More than mostFollows subscriptions are an error.
func (b *Bridge) connectLink(ctx context.Context, l *link) (err error) {
	if l.conn, err = l.dialServer(ctx); err != nil {
		return err
	}
	if len(l.Subscriptions) == 0 {
		if err := l.findSubscriptions(ctx); err != nil {
			return err
		}
	}
	if len(l.Subscriptions) > mostFollows {
		return fmt.Errorf("there are %d subscriptions; %d can be followed at most", len(l.Subscriptions), mostFollows)
	}
	return nil
}

// findSubscriptions finds the subscriptions that are sent by notifications, and makes one for each
// trigger where there is none.
func (l *link) findSubscriptions(ctx context.Context) error {
	if err := l.listSubscriptions(ctx); err != nil || len(l.Subscriptions) > 0 {
		return err
	}
	var created []string
	for _, trigger := range []string{"SENT_TO_ME", "TASK_STATE_CHANGED", "PERMISSION_GRANTED"} {
		var answer struct {
			ID string `json:"subscriptionId"`
		}
		ask := map[string]any{"action": "subscribe", "trigger": trigger, "harnessTarget": "mcp-notifications"}
		err := l.manageSubscription(ctx, ask, &answer)
		if err == nil && answer.ID == "" {
			err = bridge.ErrUnreadable
		}
		if err != nil {
			return fmt.Errorf("it makes no subscription to %s: %w", trigger, err)
		}
		created = append(created, answer.ID)
	}
	err := l.listSubscriptions(ctx) // which says whose they are
	l.Subscriptions = created
	return err
}

// listSubscriptions adds to l the active subscriptions that are sent by notifications, and whose
// they are.
func (l *link) listSubscriptions(ctx context.Context) error {
	var answer struct {
		Subscriptions []struct {
			ID       string `json:"id"`
			IDToo    string `json:"subscriptionId"`
			Identity string `json:"agentIdentity"`
			Target   string `json:"harnessTarget"`
			Status   string `json:"status"`
		} `json:"subscriptions"`
	}
	if err := l.manageSubscription(ctx, map[string]any{"action": "list"}, &answer); err != nil {
		return err
	}
	for _, s := range answer.Subscriptions {
		id, active := cmp.Or(s.ID, s.IDToo), s.Status == "" || s.Status == "active"
		if id != "" && active && s.Target == "mcp-notifications" {
			l.Subscriptions, l.identity = append(l.Subscriptions, id), s.Identity
		}
	}
	return nil
}

// attendLink takes what was missed, and then notifications, and asks every l.Poll, or pings, until
// the link ends; the error says why. It returns when its listening goroutine has ended.
func (b *Bridge) attendLink(ctx context.Context, l *link) error {
	b.mu.Lock()
	l.caughtUp = map[string]bool{}
	b.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	var listening sync.WaitGroup
	listening.Go(func() { ended <- l.conn.Listen(ctx, func(message []byte) { b.takeNotification(l, message) }) })
	defer listening.Wait() // l belongs to one link at a time
	defer cancel()
	period := pingTime
	if l.Poll > 0 {
		period = l.Poll
	}
	due := time.NewTicker(period)
	defer due.Stop()
	for first := true; ; first = false {
		for _, id := range l.Subscriptions {
			if err := b.catchUp(ctx, l, id, first); err != nil {
				return err
			}
			b.mu.Lock()
			l.caughtUp[id] = true
			b.mu.Unlock()
		}
		if err := l.awaitPoll(ctx, due.C, ended); err != nil {
			return err
		}
	}
}

// awaitPoll returns nil when the subscriptions are to be asked about again, which is due every
// l.Poll. Without l.Poll it pings instead whenever that is due. The error is why the link ended.
func (l *link) awaitPoll(ctx context.Context, due <-chan time.Time, ended <-chan error) error {
	for {
		select {
		case err := <-ended:
			return err
		case <-due:
		}
		if l.Poll > 0 {
			return nil
		}
		if err := l.conn.Ping(ctx); err != nil {
			return err
		}
	}
}

// takeNotification takes a notification: the wake is its data, as the decision record has it, or
// its parameters themselves, as Neo sends it. A swarm may notify each of its clients of the wakes
// of all: those of other subscriptions are left out. It moves the place of a subscription that was
// caught up. The listening goroutine calls it.
func (b *Bridge) takeNotification(l *link, message []byte) {
	var m struct {
		Method string         `json:"method"`
		Params jsontext.Value `json:"params"`
	}
	var form struct {
		Data jsontext.Value `json:"data"`
		Type string         `json:"eventType"`
	}
	if bridge.Decode(message, &m) != nil || m.Method != "notifications/message" ||
		bridge.Decode(m.Params, &form) != nil {
		return
	}
	wake := m.Params
	if form.Type == "" {
		wake = form.Data
	}
	if len(wake) == 0 || wake.Kind() != '{' {
		return // another message for a log
	}
	e, err := decodeEnvelope(wake)
	if err == nil && slices.Contains(l.Subscriptions, e.Subscription) {
		_, err = b.takeAll([]*envelope{e})
		b.mu.Lock()
		caughtUp := l.caughtUp[e.Subscription]
		b.mu.Unlock()
		if caughtUp && (err == nil || errors.Is(err, ErrUnknown)) {
			b.advancePlace(e.Subscription, e.log)
		}
	}
	if err != nil && !errors.Is(err, ErrUnknown) {
		b.cfg.Logger.Warn("wake: a notification was not told", "error", err)
	}
}

// catchUp fetches and announces the wakes of a subscription after its place: the position in the
// swarm's log up to which it was announced. Without a place, the head of the log becomes it and
// nothing is announced. first says that the link is new; the wake at the place itself is fetched
// then too, since a log without it was rebuilt.
func (b *Bridge) catchUp(ctx context.Context, l *link, id string, first bool) error {
	place, known := b.placeOf(id)
	if !known {
		return b.findHead(ctx, l, id)
	}
	if !first && !l.noPoll {
		pending, err := b.pollPending(ctx, l, id, place)
		if err != nil || pending == 0 {
			return err
		}
	}
	since := place
	if first {
		since = max(place-1, 0)
	}
	missed, last, err := l.fetchWakes(ctx, id, since)
	if isRefused(err) {
		b.cfg.Logger.Warn("wake: what was missed cannot be had", "subscription", id, "error", err)
		return nil
	}
	if errors.Is(err, bridge.ErrTooLong) {
		b.announceNews(l.identity,
			"More wakes were missed than can be had at once. They are not told; what comes from now on is.")
		return b.findHead(ctx, l, id)
	}
	if err != nil {
		return err
	}
	if last < place {
		b.announceNews(l.identity,
			"The swarm's log no longer reaches the place up to which you heard it. Wakes may be missing.")
		if missed, last, err = l.fetchWakes(ctx, id, 0); err != nil {
			return err
		}
		b.forgetPlace(id)
	}
	if _, err := b.takeAll(missed); err != nil && !errors.Is(err, ErrUnknown) {
		return err
	}
	b.advancePlace(id, last)
	return nil
}

// findHead sets the place of a subscription to the head of the swarm's log, so that what was before
// is not told. A refusal is an error that names the subscription.
func (b *Bridge) findHead(ctx context.Context, l *link, id string) error {
	_, head, err := l.fetchWakes(ctx, id, highestLog)
	if err == nil && head >= highestLog { // it gives back what it was given
		_, head, err = l.fetchWakes(ctx, id, 0)
	}
	if isRefused(err) {
		return fmt.Errorf("the subscription %s cannot be followed: %w", toolwords.Label(id), err)
	}
	if err == nil {
		b.advancePlace(id, head)
	}
	return err
}

// fetchWakes has the server give the wakes of a subscription after a place in its log, and the last
// place that it looked at.
func (l *link) fetchWakes(ctx context.Context, id string, since int64) (wakes []*envelope, last int64, err error) {
	var answer struct {
		Events []jsontext.Value `json:"events"`
		Last   int64            `json:"lastLogId"`
	}
	err = l.manageSubscription(ctx, map[string]any{"action": "resync", "subscriptionId": id, "sinceLogId": since},
		&answer)
	for _, event := range answer.Events {
		if e, err := decodeEnvelope(event); err == nil && e.Subscription == id {
			wakes = append(wakes, e)
		}
	}
	return wakes, answer.Last, err
}

// pollPending asks how many wakes there are after a place in the swarm's log. Of a server that does
// not know that question it is -1: they are asked for themselves.
func (b *Bridge) pollPending(ctx context.Context, l *link, id string, since int64) (pending int64, err error) {
	var answer struct {
		Pending   int64 `json:"pending"`
		Watermark int64 `json:"watermark"`
	}
	err = l.manageSubscription(ctx, map[string]any{"action": "poll-digest", "subscriptionId": id, "sinceLogId": since},
		&answer)
	if isRefused(err) {
		l.noPoll = true
		return -1, nil
	}
	if err == nil && answer.Pending == 0 {
		b.advancePlace(id, answer.Watermark)
	}
	return answer.Pending, err
}

// isRefused reports whether the swarm answered, and did not do what it was asked for.
func isRefused(err error) bool {
	var e *bridge.RemoteError
	return errors.As(err, &e)
}

// announceNews announces a sentence about the swarm that is no wake, in the session of an identity,
// as an output, which later news does not replace. After Close it does nothing. It takes b.mu.
func (b *Bridge) announceNews(identity, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	in, err := b.inboxOf(identity)
	if err == nil {
		err = in.announceResult(b.p, text)
	}
	if err == nil {
		err = in.enterIdle()
	}
	if err != nil {
		b.cfg.Logger.Error("wake: it could not be told", "error", err)
	}
}

// placeOf returns the position in the swarm's log up to which a subscription was announced, and
// whether there is one.
func (b *Bridge) placeOf(id string) (int64, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	place, known := b.places[id]
	return place, known
}

// advancePlace moves the place of a subscription forward to a position in the swarm's log, and
// saves it. It never moves it back. It takes b.mu.
func (b *Bridge) advancePlace(id string, log int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if place, known := b.places[id]; known && log <= place {
		return
	}
	b.places[id] = log
	b.savePlaces()
}

// forgetPlace deletes the place of a subscription.
func (b *Bridge) forgetPlace(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.places, id)
}

// savePlaces writes the places to their file. The caller holds b.mu. A file that is behind has
// wakes sent again, which are known by their names.
func (b *Bridge) savePlaces() {
	if err := bridge.WriteState(bridge.PlacesFile(b.cfg.Seen), b.places); err != nil {
		b.cfg.Logger.Error("wake: how far the swarm's log was told is not remembered across a restart", "error", err)
	}
}
