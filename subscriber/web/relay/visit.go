package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/lookalike"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

const (
	pageGrace     = 10 * time.Second // that a page has to come back
	maxKeptEvents = 256              // events that a page may have missed when its stream broke
	maxKeptBytes  = 4 << 20

	maxNameChars = 256 // characters of a name that are judged
)

// A visit is one page and its subscription at the agent.
type visit struct {
	r    *Relay
	id   string // that the page knows
	conn transports.Resumable
	sub  *subscriber.Subscription

	mu        sync.Mutex
	questions []question       // of the page, oldest first
	noticed   map[leftOut]bool // of

	leftOut chan leftOut // for the page to be told of

	// Of the goroutine that passes events on.
	kept  []frame
	bytes int
	last  int // number of the newest
}

// A frame is an event as it went to the page. The numbers are the ids of the page's stream: unlike
// the events' own, none comes twice.
type frame struct {
	number int
	event  []byte
}

// sendTo sends the frame on a stream.
func (f frame) sendTo(ctx context.Context, st transports.Stream) error {
	return st.SendEvents(ctx, []transports.Event{{Message: f.event, ID: strconv.Itoa(f.number)}})
}

// servePage serves one page from its request to its end: it subscribes to the agent with the page's
// terms, and passes on what comes from either side. Where the agent cannot be reached or refuses,
// the page gets that as a rejection. A page that has to begin anew leaves the agent's subscription
// open for pageGrace. Serve starts it as a goroutine for each page.
func (r *Relay) servePage(ctx context.Context, conn transports.Resumable) {
	defer conn.Close()
	data, err := conn.Receive(ctx)
	if err != nil {
		return
	}
	m, err := aaep.Decode(data)
	request, ok := m.(*aaep.SubscriptionRequest)
	if err != nil || !ok {
		return // the server of the page checked that
	}
	cfg := r.cfg
	cfg.Capabilities = request.Capabilities.With(cfg.Capabilities)
	v := &visit{r: r, id: "sub_" + rand.Text(), conn: conn, noticed: map[leftOut]bool{}, leftOut: make(chan leftOut, 4)}
	cfg.Unreadable = v.noteUnreadable
	dialing, cancel := context.WithTimeout(ctx, answerTime-time.Second)
	defer cancel()
	if v.sub, err = subscriber.Dial(dialing, r.dialer, cfg); err != nil {
		r.cfg.Logger.Info("relay: the agent was not reached", "cause", err)
		sendMessage(ctx, conn, rejectionOf(err))
		return
	}
	r.mu.Lock()
	r.visits[v.id] = v
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.visits, v.id)
	}()
	defer v.sub.Close()
	if v.sendAccepted(ctx) != nil {
		return
	}
	cause := v.forward(ctx)
	beginsAnew := cause != io.EOF && cause != errAway
	if beginsAnew { // until the page has, its place is kept: a question without a page would be over
		select {
		case <-time.After(pageGrace):
		case <-ctx.Done():
		}
	}
}

// forward passes on what comes from either side until one of them ends, tells the page why, closes
// its link, and returns the reason: io.EOF where the page closed, errAway where it did not come
// back, or that of the agent.
func (v *visit) forward(ctx context.Context) (cause error) {
	visiting, stop := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	running.Go(func() { stop(v.forwardEvents(visiting)) })
	running.Go(func() { stop(v.forwardReplies(visiting)) })
	running.Go(func() { stop(v.awaitResubscribed(visiting)) })
	<-visiting.Done()
	cause = context.Cause(visiting)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	closing := &aaep.SubscriptionClose{SubscriptionID: v.id, ReasonCode: aaep.TransportUnavailable}
	var rejection *aaep.Rejection
	if errors.As(cause, &rejection) {
		closing.ReasonCode, closing.ReasonMessage = rejection.Code, rejection.Message
	} else {
		v.r.cfg.Logger.Info("relay: a page's subscription ends", "cause", cause)
	}
	sendMessage(last, v.conn, closing)
	v.conn.Close()
	running.Wait()
	return cause
}

// rejectionOf returns the page's rejection for an error of Dial or Renegotiate: that of the agent,
// or transport_unavailable for any other error.
func rejectionOf(err error) *aaep.SubscriptionRejected {
	var r *aaep.Rejection
	if !errors.As(err, &r) {
		return &aaep.SubscriptionRejected{ReasonCode: aaep.TransportUnavailable,
			ReasonMessage: "The agent cannot be reached."}
	}
	m := &aaep.SubscriptionRejected{ReasonCode: r.Code, ReasonMessage: r.Message}
	if seconds := int64(r.RetryAfter / time.Second); seconds > 0 {
		m.RetryAfterSeconds = &seconds
	}
	return m
}

// sendMessage encodes and sends a message.
func sendMessage(ctx context.Context, conn transports.Conn, m aaep.Message) error {
	data, err := aaep.Encode(m)
	if err != nil {
		return err
	}
	return conn.Send(ctx, data)
}

// proof is what the relay tells its page of who the agent is, as the member "relay" of a
// subscription.accepted. What an agent puts there itself does not reach the page.
type proof struct {
	Verified  bool   `json:"verified"`
	First     bool   `json:"first,omitzero"`      // it has signed, and was never met before
	Misleads  bool   `json:"misleads,omitzero"`   // its name does
	LooksLike string `json:"looks_like,omitzero"` // another agent, which it is not
}

// sendAccepted sends the page the terms that hold, under v.id, and what is known of who honors
// them. The latter goes in the member "relay", which only the page knows: whether the agent proved
// who it is, whether it was met for the first time, and whether its name looks like another's.
func (v *visit) sendAccepted(ctx context.Context) error {
	accepted := v.sub.Accepted()
	agent, identity := accepted.Producer, proof{}
	agent.AgentName = v.agentName()
	if p := v.sub.Verified(); p != nil {
		first := p.Identity.FirstMeeting
		identity = proof{Verified: !first, First: first, LooksLike: p.Identity.LooksLike}
	}
	identity.Misleads = lookalike.Misleads(lookalike.Visible(agent.AgentName, maxNameChars))
	data, err := aaep.Encode(&aaep.SubscriptionAccepted{SubscriptionID: v.id, AAEPVersion: accepted.AAEPVersion,
		Producer:            agent,
		HonoredCapabilities: accepted.HonoredCapabilities, NegotiationNotes: accepted.NegotiationNotes})
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	if members["relay"], err = json.Marshal(identity); err != nil {
		return err
	}
	if data, err = json.Marshal(members); err != nil {
		return err
	}
	return v.conn.Send(ctx, data)
}

// agentName returns the agent's name as it has proved it, or else as it was given with the
// subscription. The page gets this name for every event, whatever the events say.
func (v *visit) agentName() string {
	if p := v.sub.Verified(); p != nil {
		return cmp.Or(p.Manifest.AgentName, p.Manifest.AgentID)
	}
	agent := v.sub.Accepted().Producer
	return cmp.Or(agent.AgentName, agent.AgentID)
}

// awaitLink waits until there is a link to the agent, or with false until there is none. The end of
// the subscription ends both.
func (v *visit) awaitLink(ctx context.Context, want bool) error {
	for {
		st, changed := v.sub.Status()
		if st.Over || st.Connected == want {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errAnew ends a visit whose subscription at the agent is a new one.
var errAnew = errors.New("relay: the agent knew the subscription no more")

// awaitResubscribed returns errAnew once the agent had to be subscribed to anew. Only a page that
// does so too learns what is still open.
func (v *visit) awaitResubscribed(ctx context.Context) error {
	for {
		st, changed := v.sub.Status()
		if st.Subscribed > 1 {
			return errAnew
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errAway ends a visit whose page did not come back within pageGrace.
var errAway = errors.New("relay: the page did not come back")

// nextStream waits for the page's next stream, for pageGrace at most while the agent can be
// reached. While it cannot be, the page waits too, and its time does not run.
func (v *visit) nextStream(ctx context.Context) (transports.Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if v.awaitLink(ctx, true) != nil {
			return
		}
		t := time.NewTimer(pageGrace)
		defer t.Stop()
		select {
		case <-t.C:
			cancel(errAway)
		case <-ctx.Done():
		}
	}()
	st, err := v.conn.NextStream(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return st, err
}

// forwardEvents passes the agent's events on to one stream after the other, and returns why there
// are no more.
func (v *visit) forwardEvents(ctx context.Context) error {
	for {
		st, err := v.nextStream(ctx)
		if err != nil {
			return err
		}
		if err := v.feedStream(ctx, st); err != nil {
			return err
		}
	}
}

// errMissed ends a visit whose page missed more events than are kept.
var errMissed = errors.New("relay: the page missed more than was kept")

// feedStream sends what the page has missed, then each event, until the stream is lost, which
// returns the error of ctx, nil while ctx goes on. Any other error is the end of the subscription;
// errMissed says that what the page missed is no longer kept. An event that cannot be sent is left
// out, and logged. forwardEvents calls it.
func (v *visit) feedStream(ctx context.Context, st transports.Stream) error {
	lastSeen, _ := strconv.Atoi(st.LastEventID()) // 0 for a page that has seen none
	lastDropped := v.last - len(v.kept)
	if lastSeen < lastDropped || lastSeen > v.last {
		return errMissed
	}
	for _, f := range v.kept {
		if f.number > lastSeen && f.sendTo(ctx, st) != nil {
			return ctx.Err()
		}
	}
	while, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		v.sendNotices(while, st)
	}()
	for {
		ev, err := v.sub.Next(while)
		switch {
		case err != nil && while.Err() != nil:
			return ctx.Err()
		case err != nil:
			return err
		}
		if ev.Type() == aaep.TypeLost {
			v.queueNotice(lost)
			continue
		}
		f, err := v.keepFrame(ev)
		if err != nil {
			v.r.cfg.Logger.Warn("relay: event left out", "event_id", ev.EventID, "cause", err)
			continue
		}
		if f.sendTo(ctx, st) != nil {
			return ctx.Err()
		}
	}
}

// keepFrame makes the numbered frame of an event, with the name under which the agent is known
// here, and keeps it for a page that may miss it. Beyond maxKeptEvents or maxKeptBytes the oldest
// go. transports.ErrTooLarge is one of its errors.
func (v *visit) keepFrame(ev *aaep.Event) (frame, error) {
	renamed := *ev
	renamed.Producer.AgentName = v.agentName()
	data, err := renamed.MarshalJSON()
	if err == nil && len(data) > transports.MaxMessage {
		err = transports.ErrTooLarge
	}
	if err != nil {
		return frame{}, err
	}
	v.rememberQuestion(ev, len(data))
	v.last++
	f := frame{v.last, data}
	v.kept, v.bytes = append(v.kept, f), v.bytes+len(data)
	for len(v.kept) > 1 && (len(v.kept) > maxKeptEvents || v.bytes > maxKeptBytes) {
		v.bytes -= len(v.kept[0].event)
		v.kept = v.kept[1:]
	}
	return f, nil
}
