package serve_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// A follower follows one wire by hand: it comes back at once, so that it meets many faults, and
// writes down exactly what it heard, and when it had to subscribe anew.
type follower struct {
	last, name  string // session, and who this is
	dialer      transports.Dialer
	actions     *actionRecord
	direct      bool // no proxy is in between
	ctx         context.Context
	cancel      context.CancelFunc
	over        chan error
	replies     sync.WaitGroup
	generations atomic.Int64
	reopened    int
	twice       int
	id          string       // of the subscription
	lost        error        // why the one before ended
	broken      error        // what should not have come
	step        atomic.Int64 // of the background session's progress

	meaning map[string]uint64        // what an id meant, over all subscriptions
	texts   map[string]*receivedText // as told to who leaves out what it knows by its id; anew with each subscription
	heard   []hearing
	delays  []time.Duration // of a direct one
}

// hearing is one event that was heard. An empty id says that here the subscription began anew; or,
// with anew, that its stream was opened again and had no place to go on from. With state it may be
// told to say how things are, out of its turn. A question has its token for an id, and no sum but
// that of its words: one that was put on record late is asked by an event of its own, with the time
// that is left.
type hearing struct {
	id       string
	sum      uint64
	critical bool
	state    bool
	anew     bool
}

var sums = maphash.MakeSeed()

// newFollower follows a producer until the session last ends.
func newFollower(last, name string, d transports.Dialer, actions *actionRecord, direct bool) *follower {
	f := &follower{last: last, name: name, dialer: d, actions: actions, direct: direct, over: make(chan error, 1),
		meaning: map[string]uint64{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	go func() { f.over <- f.followToEnd() }()
	return f
}

// stop ends the following, and waits for replies that are being sent.
func (f *follower) stop() { f.cancel(); f.replies.Wait() }

var errDone = errors.New("the last session is over")

// followToEnd subscribes, again after each error, until the last session has ended.
func (f *follower) followToEnd() error {
	for {
		conn, err := f.subscribe()
		if err == nil {
			f.heard = append(f.heard, hearing{})
			f.generations.Add(1)
			f.texts = map[string]*receivedText{}
			err = f.readEvents(conn)
		}
		if conn != nil {
			conn.Close()
		}
		if err == errDone {
			return nil
		}
		if f.ctx.Err() != nil {
			return f.ctx.Err()
		}
		if f.generations.Load() > 0 {
			f.lost = err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// subscribe dials and negotiates. The connection is returned also with an error, to be closed.
func (f *follower) subscribe() (transports.Conn, error) {
	ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
	defer cancel()
	conn, err := f.dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	msg, err := aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "follower",
		Capabilities: everything})
	if err == nil {
		err = conn.Send(ctx, msg)
	}
	if err == nil {
		msg, err = conn.Receive(ctx)
	}
	if err == nil {
		var acc *aaep.SubscriptionAccepted
		if acc, err = decodeAccepted(msg); err == nil {
			f.id = acc.SubscriptionID
		}
	}
	return conn, err
}

// decodeAccepted decodes a subscription.accepted; every other answer is an error.
func decodeAccepted(msg []byte) (*aaep.SubscriptionAccepted, error) {
	m, err := aaep.Decode(msg)
	if acc, ok := m.(*aaep.SubscriptionAccepted); ok {
		return acc, err
	}
	return nil, fmt.Errorf("the answer is %s (%v)", msg, err)
}

// readEvents writes down the events of a subscription until it ends; an interrupted stream is
// opened again.
func (f *follower) readEvents(conn transports.Conn) error {
	seen, last := map[string]uint64{}, map[string]time.Time{}
	for {
		msg, err := conn.Receive(f.ctx)
		if err != nil {
			if err = f.reopenStream(conn, err); err != nil {
				return err
			}
			continue
		}
		m, err := aaep.Decode(msg)
		if err != nil {
			return fmt.Errorf("%s: %w in %s", f.name, err, msg)
		}
		ev, isEvent := m.(*aaep.Event)
		if !isEvent {
			return fmt.Errorf("%s: %s", f.name, msg)
		}
		if before, known := f.meaning[ev.EventID]; known && before != maphash.Bytes(sums, msg) {
			f.broken = fmt.Errorf("%s came before with other bytes (INV-23)", msg)
		}
		f.meaning[ev.EventID] = maphash.Bytes(sums, msg)
		// To others it may have had another stamp, and so another id (D-09).
		stamp := fmt.Appendf(nil, "%q", ev.Timestamp.Format("2006-01-02T15:04:05.000Z"))
		sum := maphash.Bytes(sums, bytes.Replace(msg, stamp, nil, 1))
		if _, again := seen[ev.EventID]; again {
			f.twice++
			continue
		}
		if !bytes.Contains(msg, stamp) || ev.Timestamp.Before(last[ev.SessionID]) {
			f.broken = fmt.Errorf("%s came after the stamp %v", msg, last[ev.SessionID])
		}
		last[ev.SessionID], seen[ev.EventID] = ev.Timestamp, sum
		n := hearing{id: ev.EventID, sum: sum, critical: ev.Critical(),
			state: ev.Type() == aaep.TypeStateChanged || lacksPlace(conn)}
		if q, asks := ev.Payload.(*aaep.AwaitingConfirmation); asks {
			n.id, n.sum = string(q.ReplyToken), maphash.String(sums, q.Action+q.Consequence)
		}
		f.heard = append(f.heard, n)
		if err := f.handleEvent(conn, ev); err != nil {
			return err
		}
	}
}

// lacksPlace reports whether a stream that can be opened again would not go on where it is now, for
// no event that came over it was a place to go on after: all of them told how things are (D-65).
func lacksPlace(conn transports.Conn) bool {
	l, ok := conn.(interface{ LastEventID() string })
	return ok && l.LastEventID() == ""
}

// reopenStream opens a stream again that can be, and notes it.
func (f *follower) reopenStream(conn transports.Conn, err error) error {
	r, ok := conn.(transports.Reopener)
	for ok && errors.Is(err, transports.ErrInterrupted) && f.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
		err = r.Reopen(ctx)
		cancel()
		if err == nil {
			f.reopened++
			if lacksPlace(conn) {
				f.heard = append(f.heard, hearing{anew: true})
			}
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return err
}

// handleEvent answers a question, collects text, and returns errDone for the end of the last
// session.
func (f *follower) handleEvent(conn transports.Conn, ev *aaep.Event) error {
	switch p := ev.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		says, any := f.actions.decideReply(p.Action, f.direct)
		if !any {
			return nil
		}
		msg, err := aaep.Encode(&aaep.ConfirmationReply{ReplyToken: p.ReplyToken, Decision: says, SubscriptionID: f.id,
			Timestamp: time.Now()})
		if err != nil {
			return err
		}
		f.replies.Go(func() { // an unknown fate is answered with the same bytes
			ctx, cancel := context.WithTimeout(f.ctx, 2*time.Second)
			defer cancel()
			for range 3 {
				if conn.Send(ctx, msg) == nil {
					return
				}
			}
		})
	case *aaep.OutputStreaming:
		heard := f.texts[p.OutputID]
		if heard == nil {
			heard = new(receivedText)
			f.texts[p.OutputID] = heard
		}
		heard.add(p)
		if heard.problem != "" && (heard.first == 0 || f.direct) {
			f.broken = fmt.Errorf("the text %s: %s", p.OutputID, heard.problem)
		}
		for word := range strings.FieldsSeq(p.Chunk) {
			if at, err := strconv.ParseInt(strings.TrimPrefix(word, "t"), 10, 64); err == nil && f.direct {
				f.delays = append(f.delays, time.Since(time.Unix(0, at)))
			}
		}
	case *aaep.ProgressUpdated:
		f.step.Store(p.Progress.Step)
	case *aaep.SessionCompleted:
		if ev.SessionID == f.last {
			return errDone
		}
	}
	return nil
}

// receivedText is an output, put together of its chunks.
type receivedText struct {
	strings.Builder
	first   int64 // where it begins, which is not zero for those who could not say where to go on (D-65)
	next    int64
	ended   int
	problem string
}

// add appends a chunk, and notes the first that is not where it should be.
func (x *receivedText) add(p *aaep.OutputStreaming) {
	if x.Len() == 0 && x.next == 0 {
		x.first = p.Position
	}
	if p.Position != x.next && x.problem == "" {
		x.problem = fmt.Sprintf("a chunk is at %d, want %d", p.Position, x.next)
	}
	x.WriteString(p.Chunk)
	x.next = p.Position + int64(utf8.RuneCountInString(p.Chunk))
	if p.Complete {
		x.ended++
	}
}

// describeProblem says what is wrong with a text, for a test's message.
func (x *receivedText) describeProblem() string {
	if x == nil {
		return "nothing came"
	}
	return fmt.Sprintf("%s, %d ends", x.problem, x.ended)
}

// compareFollowers compares what each follower received with what the first one received, which has
// no proxy.
func compareFollowers(t *testing.T, followers []*follower) {
	t.Helper()
	first := followers[0]
	heard := map[string]int{} // by so many who have no proxy
	for _, f := range followers {
		for _, n := range f.heard {
			if f.direct {
				heard[n.id]++
			}
		}
	}
	whole := map[string]int{} // of each event: where it is among those that are not critical, or -1
	sum := map[string]hearing{}
	var order []string
	for _, n := range first.heard {
		switch {
		case n.id == "" || heard[n.id] == 1: // what it was told first is for it alone
			continue
		case n.critical:
			whole[n.id] = -1
		default:
			whole[n.id], order = len(order), append(order, n.id)
		}
		sum[n.id] = n
	}
	for id, x := range first.texts {
		if x.problem != "" || x.ended != 1 || strings.Count(x.String(), "👩🏽‍🌾") != 30 {
			t.Errorf("the text %s is %.80q: %s", id, x, x.describeProblem())
		}
	}
	for _, f := range followers {
		if err := f.compareHeard(whole, sum, len(order)); err != nil {
			t.Errorf("%s: %v; it was lost because of %v", f.name, err, f.lost)
		}
		if f.direct {
			slices.Sort(f.delays)
			if f.generations.Load() != 1 || len(f.delays) == 0 || f.delays[len(f.delays)-1] > 15*time.Second {
				t.Errorf("%s was disturbed: subscribed %d times, the slowest of %d took %v", f.name,
					f.generations.Load(), len(f.delays), f.delays[max(len(f.delays)-1, 0)])
			}
			t.Logf("%s: %d events, p50 %v, p99 %v, most %v", f.name, len(f.heard)-1, f.delays[len(f.delays)/2],
				f.delays[len(f.delays)*99/100], f.delays[len(f.delays)-1])
		} else {
			t.Logf("%s: %d events, subscribed %d times, resumed %d times, %d came twice", f.name, len(f.heard),
				f.generations.Load(), f.reopened, f.twice)
		}
	}
}

// compareHeard checks that between two gaps nothing is missing, nothing is twice, nothing is out of
// order and every byte is the same; and that after a gap the states come first. A critical event
// may overtake others, but is not lost either.
func (f *follower) compareHeard(whole map[string]int, sum map[string]hearing, all int) error {
	if f.broken != nil {
		return f.broken
	}
	gaps, late := 0, false
	at := -1      // where the newest event since the gap stands; -1 before the first
	told := false // whether some of the state came since the gap
	var came = map[string]bool{}
	reached := map[int]bool{} // what was heard of the others
	for _, n := range f.heard {
		pos, known := whole[n.id]
		switch {
		case n.anew: // what it has of the state comes again under the same id, and is left out before this; so told stays
			late, at = true, -1
			continue
		case n.id == "":
			gaps, at, told = gaps+1, -1, false
			clear(came)
			continue
		case came[n.id]:
			return fmt.Errorf("%s came twice", n.id)
		case !known && !n.state:
			return fmt.Errorf("no other follower heard %s", n.id)
		}
		came[n.id] = true
		switch {
		case !known:
			told = true
		case sum[n.id].sum != n.sum:
			return fmt.Errorf("%s has other bytes than elsewhere", n.id)
		case pos < 0: // critical
		case at < 0 && n.state: // how things are may be told by the event itself, before its turn
			told, reached[pos] = true, true
		case at < 0 && !told:
			return fmt.Errorf("after gap %d came event %d, and nothing of the state before it", gaps, pos)
		case at >= 0 && pos != at+1:
			return fmt.Errorf("after event %d came %d", at, pos)
		default:
			at = pos
			reached[pos] = true
		}
	}
	if at != all-1 {
		return fmt.Errorf("the last event was %d of %d", at, all)
	}
	if strings.HasPrefix(f.name, "sse") {
		if gaps != 1 {
			return fmt.Errorf("%d subscriptions, though the log held everything", gaps)
		}
		if len(reached) != all && !late {
			return fmt.Errorf("%d of %d events", len(reached), all)
		}
	}
	return nil
}
