package producer_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

var all = producer.Rights{Reply: true, Renegotiate: true}

// HS-058, HS-061: what the application says no to is refused in its own words, or in words that give nothing away.
func TestAdmit(t *testing.T) {
	const neutral = "You are not allowed to subscribe here."
	var none *aaep.Rejection
	for name, c := range map[string]struct {
		err   error
		want  aaep.ReasonCode
		words string
		retry int64
	}{
		"rejection":  {&aaep.Rejection{Code: aaep.RateLimit, Message: "Your plan allows none.", RetryAfter: 90500 * time.Millisecond}, aaep.RateLimit, "Your plan allows none.", 91},
		"wrapped":    {fmt.Errorf("policy 7: %w", &aaep.Rejection{Code: aaep.AuthenticationRequired, Message: "Log in again.", Err: errors.New("secret")}), aaep.AuthenticationRequired, "Log in again.", 0},
		"no words":   {&aaep.Rejection{Code: aaep.TransportUnavailable}, aaep.TransportUnavailable, neutral, 0},
		"own code":   {&aaep.Rejection{Code: "secret_reason", Message: "No."}, aaep.AuthorizationDenied, neutral, 0},
		"long words": {&aaep.Rejection{Code: aaep.RateLimit, Message: strings.Repeat("long ", 5000), RetryAfter: 1e6 * time.Hour}, aaep.RateLimit, "long long", 86400},
		"error":      {errors.New("secret row missing in table users"), aaep.AuthorizationDenied, neutral, 0},
		"bare code":  {aaep.RateLimit, aaep.AuthorizationDenied, neutral, 0},
		"typed nil":  {none, aaep.AuthorizationDenied, neutral, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var logged bytes.Buffer
			bubbleWith(t, producer.Config{
				Logger: slog.New(slog.NewTextHandler(&logged, nil)),
				Admit:  func(string, *aaep.SubscriptionRequest) (producer.Rights, error) { return all, c.err },
			}, func(t *testing.T, st *stage) {
				l := st.connectAs("alice")
				no := wantNo(t, l.ask("{}"), c.want, c.words)
				if strings.Contains(no.ReasonMessage, "secret") {
					t.Errorf("the message tells %q", no.ReasonMessage)
				}
				if got := no.RetryAfterSeconds; got == nil && c.retry != 0 || got != nil && *got != c.retry {
					t.Errorf("retry_after_seconds is %v, want %d", got, c.retry)
				}
				<-l.served
			})
			if name == "error" && !strings.Contains(logged.String(), "table users") {
				t.Errorf("the cause is not logged: %s", &logged)
			}
		})
	}
}

// Admit is asked once for each subscription that could be served, and never about anything else.
func TestAdmitIsAskedLast(t *testing.T) {
	var asked []string
	bubbleWith(t, producer.Config{MaxRequestsPerSecond: 5, Admit: func(principal string, req *aaep.SubscriptionRequest) (producer.Rights, error) {
		asked = append(asked, principal+" as "+req.SubscriberID)
		if principal == "" {
			return all, errors.New("not you")
		}
		return all, nil
	}}, func(t *testing.T, st *stage) {
		st.connectAs("").ask("{}")
		st.connectAs("alice").ask(`{"languages":["yo"]}`)
		l := st.connectAs("alice")
		acc, ok := l.ask("{}").(*aaep.SubscriptionAccepted)
		if !ok {
			t.Fatalf("the answer is %+v", l.lastMessage())
		}
		l.id = acc.SubscriptionID
		l.renegotiate(aaep.Capabilities{MaxEventsPerSecond: 3})
		for range 10 {
			st.connectAs("").ask("{}")
		}
		if got := strings.Join(asked[:2], ", "); len(asked) != 6 || got != " as raw, alice as raw" {
			t.Errorf("it was asked %d times: %q", len(asked), asked)
		}
	})
}

// It is not asked about those for whom there is no room.
func TestAdmitIsAskedWhereThereIsRoom(t *testing.T) {
	asked := 0
	bubbleWith(t, producer.Config{MaxSubscriptions: 1, Admit: func(string, *aaep.SubscriptionRequest) (producer.Rights, error) {
		asked++
		return all, nil
	}}, func(t *testing.T, st *stage) {
		first := st.connectAs("alice")
		if acc, ok := first.ask("{}").(*aaep.SubscriptionAccepted); ok {
			first.id = acc.SubscriptionID
		}
		if r, ok := st.connectAs("bob").ask("{}").(*aaep.SubscriptionRejected); !ok || r.ReasonCode != aaep.RateLimit || asked != 1 {
			t.Errorf("the second is told %+v, and Admit was asked %d times", r, asked)
		}
	})
}
