package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// ErrQuiet is returned by Follow where there was nothing to measure.
var ErrQuiet = errors.New("the agent said nothing; measure while it is busy")

// Follow follows a server for a while: what it sends is its own affair. With the id of its process,
// on this machine, its processor time and memory are measured too, and beside it a plain handler
// that sends one event at a time. The delays are those between an event's timestamp and its
// receipt, and so good to a millisecond, where both clocks agree.
func Follow(ctx context.Context, o Options, dialer transports.Dialer, pid string) error {
	r, err := o.followURL(ctx, dialer, pid)
	if err == nil && r.CPU > 0 {
		report := o.Report
		o.Report = func(plain Result) { r.Ratio = map[string]float64{plain.Server: r.CPU / plain.CPU} }
		err = o.compareBursts(ctx, SSE, 1, contender{plain, alike, Single})
		o.Report = report
	}
	if err == nil {
		o.Report(r)
	}
	return err
}

// followURL measures a server that was started elsewhere, over dialer, for o.Length; pid is its
// process on this machine, or "". ErrQuiet says that it sent nothing.
func (o Options) followURL(ctx context.Context, dialer transports.Dialer, pid string) (Result, error) {
	r := Result{Load: "what it sends", Server: "the server", Listeners: o.Listeners}
	before := residentBytes(pid)
	var d delays
	end, err := o.connectListeners(ctx, dialer, &d)
	defer end()
	if err != nil {
		return r, err
	}
	select {
	case <-time.After(time.Second): // nothing says when each has been told what the agent is doing
	case <-ctx.Done():
	}
	if after := residentBytes(pid); before > 0 {
		r.Idle = float64(after-before) / float64(o.Listeners)
	}
	d.resetCounts()
	used, began := cpuOf(pid), time.Now()
	select {
	case <-time.After(o.Length):
	case <-ctx.Done():
	}
	spent := time.Since(began)
	r.Deliveries, r.P50, r.P99, r.P999 = d.n.Load(), microseconds(d.quantile(.5)), microseconds(d.quantile(.99)),
		microseconds(d.quantile(.999))
	r.PerSecond = float64(r.Deliveries) / spent.Seconds()
	if used = cpuOf(pid) - used; used > 0 {
		r.Cores = used.Seconds() / spent.Seconds()
		if r.Deliveries > 0 {
			r.CPU = float64(used) / float64(r.Deliveries)
		}
	}
	if r.Deliveries == 0 {
		return r, ErrQuiet
	}
	return r, nil
}

// connectListeners subscribes the listeners, each of which adds to d how late what it receives is,
// on a goroutine of its own. end closes their links and waits for them, also after an error.
func (o Options) connectListeners(ctx context.Context, dialer transports.Dialer, d *delays) (end func(), err error) {
	var conns []transports.Conn
	var reading sync.WaitGroup
	end = func() {
		for _, c := range conns {
			c.Close()
		}
		reading.Wait()
	}
	for i := range o.Listeners {
		conn, err := subscribeToAll(ctx, dialer)
		if err != nil {
			return end, fmt.Errorf("listener %d: %w", i+1, err)
		}
		conns = append(conns, conn)
		reading.Go(func() {
			for {
				msg, err := conn.Receive(ctx)
				if err != nil {
					return
				}
				if sent, ok := findTimestamp(msg); ok {
					d.addDelay(time.Since(sent))
				}
			}
		})
	}
	return end, nil
}

// microseconds returns a duration in microseconds, with its fraction.
func microseconds(d time.Duration) float64 { return float64(d) / 1000 }

// subscribeToAll returns a link that is subscribed to all events, in the agent's own pieces, and to
// no question: the agent must not wait for listeners that have no user. The error is that of the
// link.
func subscribeToAll(ctx context.Context, dialer transports.Dialer) (transports.Conn, error) {
	conn, err := dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	ask, err := aaep.Encode(&aaep.SubscriptionRequest{AAEPVersion: aaep.Version, SubscriberID: "aaep-bench",
		Capabilities: aaep.Capabilities{
			CoalesceBoundaries: []aaep.Boundary{aaep.BoundaryNone}, SupportsConfirmationReply: new(false),
			SupportsClarificationReply: new(false)}})
	if err == nil {
		err = conn.Send(ctx, ask)
	}
	var answer []byte
	if err == nil {
		answer, err = conn.Receive(ctx)
	}
	if err == nil {
		var m aaep.Message
		if m, err = aaep.Decode(answer); err == nil {
			switch m := m.(type) {
			case *aaep.SubscriptionAccepted:
				return conn, nil
			case *aaep.SubscriptionRejected:
				err = &aaep.Rejection{Code: m.ReasonCode, Message: m.ReasonMessage, Remote: true}
			default:
				err = fmt.Errorf("it answers with a %s", m.MessageType())
			}
		}
	}
	conn.Close()
	return nil, err
}

var timestampKey = []byte(`"timestamp":"`)

// findTimestamp returns when the event in msg was made, by its first timestamp, without decoding
// it; false where it has none.
func findTimestamp(msg []byte) (time.Time, bool) {
	_, rest, found := bytes.Cut(msg, timestampKey)
	value, _, _ := bytes.Cut(rest, []byte{'"'})
	t, err := time.Parse(time.RFC3339, string(value))
	return t, found && err == nil
}
