package serve_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports/sse"
)

// dialSubscriber dials with the real subscriber.
func dialSubscriber(t testing.TB, addr string, c aaep.Capabilities) *subscriber.Subscription {
	t.Helper()
	sub, err := dial(addr, c)
	check(t, err)
	t.Cleanup(func() { sub.Close() })
	return sub
}

// dialSubscriberThrough is dialSubscriber with a proxy in between.
func dialSubscriberThrough(t testing.TB, px *proxy, c aaep.Capabilities) *subscriber.Subscription {
	t.Helper()
	sub, err := dialThrough(px, c)
	check(t, err)
	t.Cleanup(func() { sub.Close() })
	return sub
}

// dial is dialSubscriber that returns an error, for other goroutines than the test's.
func dial(addr string, c aaep.Capabilities) (*subscriber.Subscription, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return subscriber.Dial(ctx, sse.Dialer{URL: "http://" + addr}, subscriber.Config{ID: "real", Capabilities: c})
}

// dialThrough is dial with a proxy in between, which the producer must not notice from the Host.
func dialThrough(px *proxy, c aaep.Capabilities) (*subscriber.Subscription, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return subscriber.Dial(ctx, sse.Dialer{URL: "http://" + px.target, Client: throughProxy(px)},
		subscriber.Config{ID: "real", Capabilities: c})
}

// throughProxy is a client whose every connection goes through a proxy.
func throughProxy(px *proxy) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network,
		_ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, px.ln.Addr().String())
	}}}
}

// readUntil reads events until one matches, which is the last it returns.
func readUntil(sub *subscriber.Subscription, match func(*aaep.Event) bool) (evs []*aaep.Event, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for ev, err := range sub.Events(ctx) {
		if err != nil {
			return evs, err
		}
		evs = append(evs, ev)
		if match(ev) {
			return evs, nil
		}
	}
	return evs, errors.New("the subscription ended")
}

func mustCollect(t testing.TB, sub *subscriber.Subscription, match func(*aaep.Event) bool) []*aaep.Event {
	t.Helper()
	evs, err := readUntil(sub, match)
	if err != nil {
		t.Fatalf("%v after %s", err, summarize(evs))
	}
	return evs
}

// awaitStatus waits until good accepts the subscription's status.
func awaitStatus(t testing.TB, sub *subscriber.Subscription, what string, good func(subscriber.Status) bool) {
	t.Helper()
	late := time.After(patience)
	for {
		st, changed := sub.Status()
		if good(st) {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("never %s: %+v", what, st)
		}
	}
}

// connected accepts the status of a link that works.
func connected(st subscriber.Status) bool { return st.Connected }

// broken accepts the status of a link that is cut.
func broken(st subscriber.Status) bool { return !st.Connected }
