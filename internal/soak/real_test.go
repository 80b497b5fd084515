package soak_test

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/ipc"
	"github.com/aaep-go/aaep/transports/sse"
	"github.com/aaep-go/aaep/transports/websocket"
)

// real is the SDK's own subscriber in this process, which finds its place by itself.
type real struct {
	name  string
	shape shape
	sub   *subscriber.Subscription
	stop  func()
	mu    sync.Mutex
	notes []note
}

func follow(t *testing.T, wire, at, host string, shape shape) *real {
	t.Helper()
	var dialer transports.Dialer
	switch wire {
	case "sse":
		there := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", at)
		}}
		t.Cleanup(there.CloseIdleConnections)
		dialer = sse.Dialer{URL: "http://" + host, Client: &http.Client{Transport: there}}
	case "websocket":
		dialer = websocket.Dialer{URL: "ws://" + at, Header: http.Header{"Host": {host}}}
	default:
		dialer = ipc.Dialer{Path: at}
	}
	l := &real{name: "real-" + wire + "-" + shape.Name, shape: shape}
	kept := &linkRecorder{Dialer: dialer}
	sub, err := subscriber.Dial(t.Context(), kept, subscriber.Config{ID: l.name, Capabilities: shape.asking("")})
	for late := time.Now().Add(patience); err != nil && time.Now().Before(late); { // the first link may break, too
		sub, err = subscriber.Dial(t.Context(), kept, subscriber.Config{ID: l.name, Capabilities: shape.asking("")})
	}
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan bool)
	l.sub, l.stop = sub, sync.OnceFunc(func() { cancel(); <-over; sub.Close() })
	t.Cleanup(l.stop)
	go func() {
		defer close(over)
		id := ""
		for ev, err := range sub.Events(ctx) {
			if err != nil {
				l.add(note{Closed: err.Error()})
				return
			}
			if now := sub.Accepted().SubscriptionID; now != id {
				st, _ := sub.Status()
				var d extensions.Delivery
				_ = extensions.DeliveryVocabulary.Read(sub.Accepted().HonoredCapabilities.Extensions["delivery"], &d)
				l.add(note{At: time.Now(),
					Link:  &link{Subscription: now, After: d.ResumeAfter, Kept: id != "", GoesOn: st.Resumed},
					Place: kept.place()})
				id = now
			}
			data, err := aaep.Encode(ev)
			if err != nil {
				panic(err)
			}
			place := ""
			if wire != "sse" && isPlace(ev) {
				place = ev.EventID
			}
			l.add(note{At: time.Now(), Event: data, Place: place})
		}
	}()
	return l
}

func (l *real) add(n note) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(l.notes, n)
}

// heard reports whether one of these sessions is among what came last.
func (l *real) heard(sessions []string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.notes[max(len(l.notes)-lately, 0):], func(n note) bool {
		return containsAny(n.Event, sessions)
	})
}

// told waits until it has read that the producer ends.
func (l *real) told(t *testing.T) {
	t.Helper()
	for late := time.After(patience); ; {
		st, changed := l.sub.Status()
		if !st.Connected {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Errorf("%s is not told that the producer ends", l.name)
			return
		}
	}
}

// linkRecorder keeps the links, some of which know the place to go on from once they are broken.
type linkRecorder struct {
	transports.Dialer
	mu    sync.Mutex
	links []interface{ LastEventID() string }
}

func (k *linkRecorder) Dial(ctx context.Context) (transports.Conn, error) {
	conn, err := k.Dialer.Dial(ctx)
	if knows, ok := conn.(interface{ LastEventID() string }); ok {
		k.mu.Lock()
		k.links = append(k.links, knows)
		k.mu.Unlock()
	}
	return conn, err
}

// place is the newest that a link knows.
func (k *linkRecorder) place() (place string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, conn := range k.links {
		place = cmp.Or(conn.LastEventID(), place)
	}
	return place
}
