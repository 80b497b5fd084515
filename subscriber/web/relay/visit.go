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
	grace     = 10 * time.Second // that a page has to come back
	keptCount = 256              // events that a page may have missed when its stream broke
	keptBytes = 4 << 20

	longestName = 256 // characters of a name that are judged
)

// A visit is one page and its subscription at the agent.
type visit struct {
	r    *Relay
	id   string // that the page knows
	conn transports.Resumable
	sub  *subscriber.Subscription

	mu    sync.Mutex
	asked []question       // of the page, oldest first
	told  map[leftOut]bool // of

	leftOut chan leftOut // for the page to be told of

	// Of the goroutine that passes events on.
	kept  []frame
	bytes int
	last  int // number of the newest
}

// A frame is an event as it went to the page. The numbers are the ids of the page's stream: unlike the events' own, none
// comes twice.
type frame struct {
	number int
	event  []byte
}

func (f frame) send(ctx context.Context, st transports.Stream) error {
	return st.SendEvents(ctx, []transports.Event{{Message: f.event, ID: strconv.Itoa(f.number)}})
}

// serve takes a page from its request to its end.
func (r *Relay) serve(ctx context.Context, conn transports.Resumable) {
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
	v := &visit{r: r, id: "sub_" + rand.Text(), conn: conn, told: map[leftOut]bool{}, leftOut: make(chan leftOut, 4)}
	cfg.Unreadable = v.unreadable
	dialing, cancel := context.WithTimeout(ctx, answerTime-time.Second)
	defer cancel()
	sub, err := subscriber.Dial(dialing, r.dialer, cfg)
	if err != nil {
		r.cfg.Logger.Info("relay: the agent was not reached", "cause", err)
		send(ctx, conn, refusal(err))
		return
	}
	v.sub = sub
	r.mu.Lock()
	r.visits[v.id] = v
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.visits, v.id)
	}()
	defer sub.Close()
	if v.accept(ctx) != nil {
		return
	}
	visiting, stop := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	running.Go(func() { stop(v.listen(visiting)) })
	running.Go(func() { stop(v.obey(visiting)) })
	running.Go(func() { stop(v.watch(visiting)) })
	<-visiting.Done()
	cause := context.Cause(visiting)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	closing := &aaep.SubscriptionClose{SubscriptionID: v.id, ReasonCode: aaep.TransportUnavailable}
	var rejection *aaep.Rejection
	if errors.As(cause, &rejection) {
		closing.ReasonCode, closing.ReasonMessage = rejection.Code, rejection.Message
	} else {
		r.cfg.Logger.Info("relay: a page's subscription ends", "cause", cause)
	}
	send(last, conn, closing)
	conn.Close()
	running.Wait()
	if cause == io.EOF || cause == errAway {
		return
	}
	// The page begins anew. Until it has, its place is kept: a question that nobody is there for would be over.
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// refusal is what a page is told for an error of Dial.
func refusal(err error) *aaep.SubscriptionRejected {
	var r *aaep.Rejection
	if !errors.As(err, &r) {
		return &aaep.SubscriptionRejected{ReasonCode: aaep.TransportUnavailable, ReasonMessage: "The agent cannot be reached."}
	}
	m := &aaep.SubscriptionRejected{ReasonCode: r.Code, ReasonMessage: r.Message}
	if seconds := int64(r.RetryAfter / time.Second); seconds > 0 {
		m.RetryAfterSeconds = &seconds
	}
	return m
}

func send(ctx context.Context, conn transports.Conn, m aaep.Message) error {
	data, err := aaep.Encode(m)
	if err != nil {
		return err
	}
	return conn.Send(ctx, data)
}

// proof is what the relay tells its page of who the agent is, as the member "relay" of a subscription.accepted. What
// an agent puts there itself does not reach the page.
type proof struct {
	Verified  bool   `json:"verified"`
	First     bool   `json:"first,omitzero"`      // it has signed, and was never met before
	Misleads  bool   `json:"misleads,omitzero"`   // its name does
	LooksLike string `json:"looks_like,omitzero"` // another agent, which it is not
}

// accept tells the page the terms that hold, and who it is that honors them.
func (v *visit) accept(ctx context.Context) error {
	was := v.sub.Accepted()
	who, what := was.Producer, proof{}
	who.AgentName = v.name()
	if p := v.sub.Verified(); p != nil {
		first := p.Identity.FirstMeeting
		what = proof{Verified: !first, First: first, LooksLike: p.Identity.LooksLike}
	}
	what.Misleads = lookalike.Misleads(lookalike.Visible(who.AgentName, longestName))
	data, err := aaep.Encode(&aaep.SubscriptionAccepted{SubscriptionID: v.id, AAEPVersion: was.AAEPVersion, Producer: who,
		HonoredCapabilities: was.HonoredCapabilities, NegotiationNotes: was.NegotiationNotes})
	if err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	if members["relay"], err = json.Marshal(what); err != nil {
		return err
	}
	if data, err = json.Marshal(members); err != nil {
		return err
	}
	return v.conn.Send(ctx, data)
}

// name is the agent's, as it has proved it, or else as it was said with the subscription. The page has no other, whatever the events
// say: what it tells of the name is told of this one.
func (v *visit) name() string {
	if p := v.sub.Verified(); p != nil {
		return cmp.Or(p.Manifest.AgentName, p.Manifest.AgentID)
	}
	who := v.sub.Accepted().Producer
	return cmp.Or(who.AgentName, who.AgentID)
}

// linked waits until there is a link to the agent, or none. The end of the subscription is both.
func (v *visit) linked(ctx context.Context, want bool) error {
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

var errAnew = errors.New("relay: the agent knew the subscription no more")

// watch returns when the agent had to be subscribed to anew. Only a page that does so too learns what is open still.
func (v *visit) watch(ctx context.Context) error {
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

var errAway = errors.New("relay: the page did not come back")

// nextStream waits for the page to come, or come back. While the agent is out of reach the page is kept waiting, which
// is not its fault.
func (v *visit) nextStream(ctx context.Context) (transports.Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if v.linked(ctx, true) != nil {
			return
		}
		t := time.NewTimer(grace)
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

// listen passes the agent's events on to one stream after the other, and returns why there are no more.
func (v *visit) listen(ctx context.Context) error {
	for {
		st, err := v.nextStream(ctx)
		if err != nil {
			return err
		}
		if err := v.feed(ctx, st); err != nil {
			return err
		}
	}
}

var errMissed = errors.New("relay: the page missed more than was kept")

// feed goes on after what the page had, until the stream is lost. An error is the end of the subscription.
func (v *visit) feed(ctx context.Context, st transports.Stream) error {
	had, _ := strconv.Atoi(st.LastEventID())
	if first := v.last - len(v.kept); had < first || had > v.last {
		return errMissed
	}
	for _, f := range v.kept {
		if f.number > had && f.send(ctx, st) != nil {
			return ctx.Err()
		}
	}
	while, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		v.warn(while, st)
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
			v.tellOf(lost)
			continue
		}
		f, err := v.keep(ev)
		if err != nil {
			v.r.cfg.Logger.Warn("relay: event left out", "event_id", ev.EventID, "cause", err)
			continue
		}
		if f.send(ctx, st) != nil {
			return ctx.Err()
		}
	}
}

// keep remembers an event for a page that may have missed it.
func (v *visit) keep(ev *aaep.Event) (frame, error) {
	said := *ev
	said.Producer.AgentName = v.name()
	data, err := said.MarshalJSON()
	if err == nil && len(data) > transports.MaxMessage {
		err = transports.ErrTooLarge
	}
	if err != nil {
		return frame{}, err
	}
	v.ask(ev, len(data))
	v.last++
	f := frame{v.last, data}
	v.kept, v.bytes = append(v.kept, f), v.bytes+len(data)
	for len(v.kept) > 1 && (len(v.kept) > keptCount || v.bytes > keptBytes) {
		v.bytes -= len(v.kept[0].event)
		v.kept = v.kept[1:]
	}
	return f, nil
}
