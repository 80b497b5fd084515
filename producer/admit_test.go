package producer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
	"github.com/aaep-go/aaep/producer"
)

var all = producer.Rights{Reply: true}

// HS-058, HS-061: what the application says no to is refused in its own words, or in words that
// give nothing away.
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
				no := wantNo(t, l.request("{}"), c.want, c.words)
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

// Where Admit panics over a request, that subscriber is refused. Where an extension panics, it is
// not honored, now and when the terms change. The agent and the other subscribers go on.
func TestPanicInAdmitRefusesSubscriber(t *testing.T) {
	var logged bytes.Buffer
	trap := handshake.Extension{Vocabulary: aaep.Vocabulary{Prefix: "trap", URI: "https://trap.example/aaep/v1"},
		Honor: func(asked json.RawMessage) (e handshake.Effect) {
			switch {
			case bytes.Contains(asked, []byte("spring")):
				panic("sprung")
			case bytes.Contains(asked, []byte("later")):
				e.Keep = func(*aaep.Event, json.RawMessage) bool { panic("kept") }
				e.Data = func(*aaep.Event, json.RawMessage) json.RawMessage { panic("data") }
			}
			return e
		}}
	bubbleWith(t, producer.Config{
		Logger:     slog.New(slog.NewTextHandler(&logged, nil)),
		Extensions: []handshake.Extension{trap},
		Admit: func(principal string, _ *aaep.SubscriptionRequest) (producer.Rights, error) {
			return *map[string]*producer.Rights{"": &all, "alice": &all}[principal], nil // nil for other principals
		},
	}, func(t *testing.T, st *stage) {
		good := st.listen(mayAnswer(allEvents()))
		wantNo(t, st.connectAs("nobody").request("{}"), aaep.AuthorizationDenied, "You are not allowed")
		spring := declare(mayAnswer(allEvents()), trap.Vocabulary, map[string]bool{"spring": true})
		now, then := st.listen(spring), st.listen(declare(mayAnswer(allEvents()), trap.Vocabulary, map[string]bool{"later": true}))
		changing := st.listen(mayAnswer(allEvents()))
		changing.renegotiate(spring)
		s := st.startSession("Planning.")
		paid := callTool(s, pay, &action{})
		good.reply(good.question(), aaep.Accept)
		if r := <-paid; r.err != nil {
			t.Error(r.err)
		}
		s.Complete(aaep.Say("Done."))
		for _, l := range []*listener{good, now, then, changing} {
			wantStory(t, l.events(), asked+"awaiting_input>calling_tool tool.invoked tool.success calling_tool>thinking session.completed")
		}
	})
	for _, field := range []string{"Config.Admit", "field=Honor", "field=Effect.Keep", "field=Effect.Data"} {
		if n := strings.Count(logged.String(), field); n != 1 {
			t.Errorf("%s is logged %d times", field, n)
		}
	}
	if n := strings.Count(logged.String(), "level=ERROR"); n != 4 || strings.Count(logged.String(), "admit_test.go") < 4 {
		t.Errorf("%d panics are logged, want 4 with their stacks: %s", n, &logged)
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
		st.connectAs("").request("{}")
		st.connectAs("alice").request(`{"languages":["yo"]}`)
		l := st.connectAs("alice")
		acc, ok := l.request("{}").(*aaep.SubscriptionAccepted)
		if !ok {
			t.Fatalf("the answer is %+v", l.lastMessage())
		}
		l.id = acc.SubscriptionID
		l.renegotiate(aaep.Capabilities{MaxEventsPerSecond: 3})
		for range 10 {
			st.connectAs("").request("{}")
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
		if acc, ok := first.request("{}").(*aaep.SubscriptionAccepted); ok {
			first.id = acc.SubscriptionID
		}
		if r, ok := st.connectAs("bob").request("{}").(*aaep.SubscriptionRejected); !ok || r.ReasonCode != aaep.RateLimit || asked != 1 {
			t.Errorf("the second is told %+v, and Admit was asked %d times", r, asked)
		}
	})
}

// byName gives alice all rights, and every other principal those of a log viewer.
func byName(principal string, _ *aaep.SubscriptionRequest) (producer.Rights, error) {
	if principal == "alice" {
		return all, nil
	}
	return producer.Rights{}, nil
}

// SEC-017: a subscriber that may only listen hears everything, is told that it may only listen, is
// not asked, and a reply in its name changes nothing.
func TestReadOnly(t *testing.T) {
	const wants = `{"supports_confirmation_reply":true,"supports_clarification_reply":true,"coalesce_boundaries":["none"]}`
	bubbleWith(t, producer.Config{Admit: byName}, func(t *testing.T, st *stage) {
		join := func(name string) (*listener, *aaep.SubscriptionAccepted) {
			l := st.connectAs(name)
			acc, ok := l.request(wants).(*aaep.SubscriptionAccepted)
			if !ok {
				t.Fatalf("%s is not accepted: %+v", name, l.lastMessage())
			}
			l.id = acc.SubscriptionID
			return l, acc
		}
		alice, _ := join("alice")
		viewer, terms := join("viewer")
		if may := terms.HonoredCapabilities.SupportsConfirmationReply; may != nil && *may || !strings.Contains(terms.NegotiationNotes, "questions are put to others") {
			t.Errorf("the viewer is promised %+v, with the note %q", terms.HonoredCapabilities, terms.NegotiationNotes)
		}
		s, d := st.startSession("Paying."), &action{}
		paid := callTool(s, pay, d)
		q := alice.question()
		if asked := payloadsOf[*aaep.AwaitingConfirmation](viewer.events()); len(asked) > 0 {
			t.Error("the viewer was asked")
		}
		viewer.reply(q, aaep.Accept) // with a token that it found out
		synctest.Wait()
		if d.times != 0 {
			t.Fatal("the viewer decided")
		}
		alice.reply(q, aaep.Reject)
		if r := <-paid; !errors.Is(r.err, producer.ErrRejected) || d.times != 0 {
			t.Errorf("Tool = %v after %d runs, want alice's decision", r.err, d.times)
		}
	})
}

// SEC-024: a subscriber without clearance receives nothing that is withheld, whatever it asks for,
// then and later, and is told so. The one with clearance receives it. Critical events reach both.
func TestWithhold(t *testing.T) {
	admit := func(principal string, _ *aaep.SubscriptionRequest) (producer.Rights, error) {
		switch principal {
		case "guest":
			return producer.Rights{Withhold: []string{"aaep:agent.output.*", string(aaep.TypeToolInvoked), string(aaep.TypeSessionErrored)}}, nil
		case "typo":
			return producer.Rights{Withhold: []string{"aaep:*.output"}}, nil
		}
		return all, nil
	}
	bubbleWith(t, producer.Config{Admit: admit}, func(t *testing.T, st *stage) {
		done := func(context.Context) (string, error) { return "done", nil }
		const wants = `{"coalesce_boundaries":["none"],"event_filters":{"include":["*"],"exclude":[]}}`
		alice, second := st.connectAs("alice"), st.connectAs("guest")
		alice.request(wants)
		acc, ok := second.request(wants).(*aaep.SubscriptionAccepted)
		if !ok || !strings.Contains(acc.NegotiationNotes, "You are not told of aaep:agent.output.*, ") {
			t.Fatalf("the guest's terms are %+v", acc)
		}
		for range 2 {
			s := st.startSession("Reading the file.")
			out := s.Output()
			out.WriteString("What is in it. ")
			out.Close()
			if _, err := s.Tool(t.Context(), look, done); err != nil {
				t.Error(err)
			}
			s.Fail(nil, aaep.Text{})
			second.send(&aaep.SubscriptionRenegotiate{SubscriptionID: acc.SubscriptionID, Capabilities: aaep.Capabilities{EventFilters: &aaep.EventFilters{Include: []string{"*"}}}})
			synctest.Wait()
		}
		for who, l := range map[string]*listener{"alice": alice, "guest": second} {
			evs := l.events()
			want := map[string]int{"alice": 2}[who]
			if n := len(payloadsOf[*aaep.ToolInvoked](evs)); n != want {
				t.Errorf("%s heard of %d tools, want %d", who, n, want)
			}
			if n := len(payloadsOf[*aaep.OutputStreaming](evs)); (n > 0) != (want > 0) {
				t.Errorf("%s heard %d pieces of the answers", who, n)
			}
			if n := len(payloadsOf[*aaep.SessionErrored](evs)); n != 2 {
				t.Errorf("%s heard of %d errors, want 2", who, n)
			}
		}
		if again, ok := second.lastMessage().(*aaep.SubscriptionAccepted); !ok || len(again.HonoredCapabilities.EventFilters.Exclude) != 3 {
			t.Errorf("after the renegotiations the guest has %+v", second.lastMessage())
		}
		if _, refused := st.connectAs("typo").request(wants).(*aaep.SubscriptionRejected); !refused {
			t.Error("what cannot be withheld was let through")
		}
	})
}

// SEC-017: who may only listen says how fast, now and later, and gets no right by that.
func TestRenegotiateWithoutRights(t *testing.T) {
	bubbleWith(t, producer.Config{Admit: byName}, func(t *testing.T, st *stage) {
		for name, may := range map[string]bool{"alice": true, "viewer": false} {
			l := st.connectAs(name)
			l.id = l.request("{}").(*aaep.SubscriptionAccepted).SubscriptionID
			acc := l.renegotiate(aaep.Capabilities{MaxEventsPerSecond: 1, SupportsConfirmationReply: new(true)})
			if c := acc.HonoredCapabilities; c.MaxEventsPerSecond != 1 || *c.SupportsConfirmationReply != may {
				t.Errorf("%s is accepted with %+v", name, c)
			}
		}
	})
}
