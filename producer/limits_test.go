package producer_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/transports"
)

// known is a link whose peer a transport has authenticated.
type known struct {
	transports.Conn
	name string
}

// Principal returns the name of the peer.
func (k known) Principal() string { return k.name }

// connectAs is connect for an authenticated peer.
func (st *stage) connectAs(name string) *listener {
	a, b := transports.Pipe()
	l := &listener{t: st.t, conn: a, served: make(chan struct{})}
	st.all = append(st.all, l)
	go func() {
		defer close(l.served)
		st.p.ServeConn(known{b, name})
	}()
	l.startReading()
	return l
}

// request sends a request with capabilities as JSON, and returns the one answer.
func (l *listener) request(capabilities string) aaep.Message {
	l.t.Helper()
	l.sendRaw(`{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"raw","capabilities":` + capabilities + `}`)
	return l.theAnswer()
}

// theAnswer returns the one message that has come.
func (l *listener) theAnswer() aaep.Message {
	l.t.Helper()
	l.lastMessage()
	got := l.arrivals()
	if len(got) != 1 {
		l.t.Fatalf("there are %d answers, want one", len(got))
	}
	return got[0].msg
}

// wantNo checks that an answer is a refusal for this reason, with these words in its message.
func wantNo(t *testing.T, m aaep.Message, want aaep.ReasonCode, words string) *aaep.SubscriptionRejected {
	t.Helper()
	no, isNo := m.(*aaep.SubscriptionRejected)
	if !isNo || no.ReasonCode != want || !strings.Contains(no.ReasonMessage, words) {
		t.Errorf("the answer is %+v, want %s and %q", m, want, words)
		return &aaep.SubscriptionRejected{}
	}
	return no
}

// INV-50, HS-058: one principal has at most so many subscriptions. It is told what the limit is,
// other principals do not notice, and there is room again when one of its own has ended.
func TestMaxPerPrincipal(t *testing.T) {
	var logged bytes.Buffer
	bubbleWith(t, producer.Config{MaxPerPrincipal: 2, Logger: slog.New(slog.NewTextHandler(&logged, nil))}, func(t *testing.T, st *stage) {
		first := st.connectAs("alice")
		first.request("{}")
		st.connectAs("alice").request("{}")
		no := wantNo(t, st.connectAs("alice").request("{}"), aaep.RateLimit, "at most 2 subscriptions")
		if no.RetryAfterSeconds == nil || *no.RetryAfterSeconds != 30 {
			t.Errorf("retry_after_seconds is %v, want 30", no.RetryAfterSeconds)
		}
		wantNo(t, st.connectAs("alice").request("{}"), aaep.RateLimit, "at most 2 subscriptions")
		if said := logged.String(); strings.Count(said, "turned away") != 1 || !strings.Contains(said, "principal=alice") {
			t.Errorf("the operator reads %q", said)
		}
		for _, name := range []string{"bob", "", "", ""} { // peers without credentials are not one principal
			if m, ok := st.connectAs(name).request("{}").(*aaep.SubscriptionAccepted); !ok {
				t.Errorf("%q is answered %+v", name, m)
			}
		}
		first.conn.Close()
		<-first.served
		if m, ok := st.connectAs("alice").request("{}").(*aaep.SubscriptionAccepted); !ok {
			t.Errorf("after one has gone the answer is %+v", m)
		}
	})
}

// INV-50, HS-058: requests above the rate are answered, but not served; a second later they are.
func TestMaxRequestsPerSecond(t *testing.T) {
	bubbleWith(t, producer.Config{MaxRequestsPerSecond: 3}, func(t *testing.T, st *stage) {
		for _, who := range []string{"alice", ""} {
			for i := range 5 {
				l := st.connectAs(who)
				m := l.request(`{"languages":["yo"]}`)
				if i < 3 { // a bad request counts too
					wantNo(t, m, aaep.CapabilitiesIncompatible, "")
				} else if no := wantNo(t, m, aaep.RateLimit, "At most 3 subscription requests a second"); *no.RetryAfterSeconds != 1 {
					t.Errorf("retry_after_seconds is %d, want 1", *no.RetryAfterSeconds)
				}
				<-l.served
			}
		}
		if m, ok := st.connectAs("bob").request("{}").(*aaep.SubscriptionAccepted); !ok {
			t.Errorf("another one is answered %+v", m)
		}
		time.Sleep(time.Second)
		if m, ok := st.connectAs("alice").request("{}").(*aaep.SubscriptionAccepted); !ok {
			t.Errorf("a second later the answer is %+v", m)
		}
	})
}

// After a restart all subscribers may come back at once; none is told to wait.
func TestAllSubscribeAtOnceAfterRestart(t *testing.T) {
	bubbleWith(t, producer.Config{MaxSubscriptions: 300}, func(t *testing.T, st *stage) {
		for range 300 {
			st.connectAs("gateway").request("{}")
		}
		if n := len(st.p.Subscriptions()); n != 300 {
			t.Errorf("%d are served, want 300", n)
		}
	})
	bubbleWith(t, producer.Config{MaxSubscriptions: 1000, MaxRequestsPerSecond: -1}, func(t *testing.T, st *stage) {
		for range 1000 {
			st.connectAs("gateway").request("{}")
		}
		if n := len(st.p.Subscriptions()); n != 1000 {
			t.Errorf("%d are served, want 1000", n)
		}
	})
}

// HS-043, P10: what is too long is refused once, in few and clear words; what is just not too long
// is served.
func TestOversizedRequests(t *testing.T) {
	list := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, ","+format, i)
		}
		return "[" + b.String()[1:] + "]"
	}
	for name, c := range map[string]struct {
		capabilities string
		want         aaep.ReasonCode
		words        string
	}{
		"filters":              {`{"event_filters":{"include":` + list(10000, `"a:%d"`) + `}}`, aaep.CapabilitiesIncompatible, "at most 256"},
		"excluding filters":    {`{"event_filters":{"exclude":` + list(257, `"a:%d"`) + `}}`, aaep.CapabilitiesIncompatible, "at most 256"},
		"a long filter":        {`{"event_filters":{"include":["` + strings.Repeat("a", 300) + `"]}}`, aaep.ReasonUnknown, "/event_filters/include/0"},
		"a long language":      {`{"languages":["en-x` + strings.Repeat("-abcdefgh", 14) + `"]}`, aaep.CapabilitiesIncompatible, "at most 128"},
		"no language tags":     {`{"languages":["English, please","!"]}`, aaep.ReasonUnknown, "language tag"},
		"languages":            {`{"languages":` + list(10000, `"en-x-%d"`) + `}`, aaep.ReasonUnknown, "1 to 32"},
		"ten thousand no tags": {`{"languages":` + list(10000, `"?%d"`) + `}`, aaep.ReasonUnknown, "language tag"},
		"boundaries":           {`{"coalesce_boundaries":` + list(10000, `"b%d"`) + `}`, aaep.CapabilitiesIncompatible, ""},
		"boundaries, one good": {`{"coalesce_boundaries":["word",` + list(10000, `"b%d"`)[1:] + `}`, aaep.CapabilitiesIncompatible, "at most 32"},
		"levels":               {`{"supported_conformance_levels":` + list(10000, `%d`) + `}`, aaep.ReasonUnknown, "1 to 3"},
		"extensions":           {`{"supported_extensions":` + list(10000, `"https://a.example/%d"`) + `}`, aaep.ReasonUnknown, "at most 64"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				l := st.connectAs("alice")
				no := wantNo(t, l.request(c.capabilities), c.want, c.words)
				if n := len(no.ReasonMessage); n > 4096 {
					t.Errorf("the message is %d bytes long", n)
				}
				<-l.served

				// The same of a subscription that is there costs that one, and is answered too
				// (HS-073).
				if c.want == aaep.CapabilitiesIncompatible {
					l := st.listen(allEvents())
					l.sendRaw(`{"type":"subscription.renegotiate","subscription_id":"` + l.id + `","capabilities":` + c.capabilities + `}`)
					wantNo(t, l.lastMessage(), c.want, c.words)
					<-l.served
				}
			})
		})
	}
	bubble(t, func(t *testing.T, st *stage) {
		for _, c := range []string{`{"event_filters":{"include":` + list(256, `"a:%d"`) + `,"exclude":` + list(256, `"a:%d"`) + `}}`,
			`{` + strings.Trim(list(10000, `"ext%d":{}`), "[]") + `}`} { // unknown extensions are no reason (HS-042)
			if m, ok := st.connectAs("alice").request(c).(*aaep.SubscriptionAccepted); !ok {
				t.Errorf("the answer to %.60s is %+v", c, m)
			}
		}
	})
}
