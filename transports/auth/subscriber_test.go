package auth_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/auth"
	"github.com/aaep-go/aaep/transports/sse"
)

// A reader whose token was replaced in time goes on with the subscription it has when its link
// breaks. One whose token is good for nothing is told so, and goes on when there is another in the
// file. TR-015, INV-52
func TestReaderWithANewToken(t *testing.T) {
	journal := &journal{}
	theirs, mine := newFile(t, "ada "+tokenA), newFile(t, tokenA)
	tokens, err := auth.TokenFile(theirs, journal.logger())
	requireNoError(t, err)
	s := newSite(t, tokens, newCA(t, "clients"), journal)
	type result struct {
		sub *subscriber.Subscription
		err error
	}
	dialed := make(chan result, 1)
	go func() {
		sub, err := subscriber.Dial(t.Context(),
			sse.Dialer{URL: s.url, TLS: s.clientTLS(t, "", ""), Credentials: auth.BearerFile(mine)},
			subscriber.Config{ID: "reader-1"})
		dialed <- result{sub, err}
	}()
	conn, err := s.sse.Accept(t.Context())
	requireNoError(t, err)
	defer conn.Close()
	_, err = conn.Receive(t.Context())
	requireNoError(t, err)
	requireNoError(t, conn.Send(t.Context(), []byte(accepted)))
	d := <-dialed
	requireNoError(t, d.err)
	defer d.sub.Close()
	tell := func(n int) {
		t.Helper()
		st, err := conn.(transports.Resumable).NextStream(t.Context())
		requireNoError(t, err)
		ev := fmt.Sprintf(
			`{"@context":%q,"type":"acme:thing","event_id":"evt_%d","session_id":"sess_1",`+
				`"timestamp":"2026-05-24T14:22:25.000Z","producer":{"agent_id":"agent"}}`, aaep.CoreContext, n)
		requireNoError(t, st.SendEvents(t.Context(), []transports.Event{{Message: []byte(ev), ID: fmt.Sprint("evt_", n)}}))
		if got, err := d.sub.Next(t.Context()); err != nil || got.EventID != fmt.Sprint("evt_", n) {
			t.Fatalf("Next = %v, %v; want event %d", got, err, n)
		}
	}
	tell(1)
	replaceFile(t, theirs, []byte("ada "+tokenC))
	replaceFile(t, mine, []byte(tokenC))
	s.cut()
	tell(2)
	if id := d.sub.Accepted().SubscriptionID; id != "sub_1" {
		t.Errorf("the subscription is now %s", id)
	}
	replaceFile(t, theirs, []byte("ada "+tokenB))
	s.cut()
	for {
		status, changed := d.sub.Status()
		if status.Over {
			t.Fatalf("Status = %+v, want that others are waited for", status)
		}
		if errors.Is(status.Err, aaep.AuthenticationRequired) && status.Awaits == mine {
			break
		}
		<-changed
	}
	replaceFile(t, mine, []byte(tokenB))
	again, err := s.sse.Accept(t.Context())
	requireNoError(t, err)
	defer again.Close()
	_, err = again.Receive(t.Context())
	requireNoError(t, err)
	requireNoError(t, again.Send(t.Context(), []byte(strings.Replace(accepted, "sub_1", "sub_2", 1))))
	conn = again
	if lost, err := d.sub.Next(t.Context()); err != nil || lost.Type() != aaep.TypeLost {
		// this one knows no place to go on after
		t.Fatalf("Next = %v, %v; want that events may be lost", lost, err)
	}
	tell(3)
	replaceFile(t, theirs, []byte("bob "+tokenA)) // who begins is told at once
	if _, err := subscriber.Dial(t.Context(),
		sse.Dialer{URL: s.url, TLS: s.clientTLS(t, "", ""), Credentials: auth.BearerFile(mine)},
		subscriber.Config{ID: "reader-2"}); !errors.Is(err, aaep.AuthenticationRequired) {
		t.Errorf("Dial = %v, want that credentials are required", err)
	}
}
