package producer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// byName gives alice all rights, and everybody else those of a log viewer.
func byName(principal string, _ *aaep.SubscriptionRequest) (producer.Rights, error) {
	if principal == "alice" {
		return all, nil
	}
	return producer.Rights{}, nil
}

// SEC-017: who may only listen hears everything, is told so, is not asked, and a reply in their name changes nothing.
func TestReadOnly(t *testing.T) {
	const wants = `{"supports_confirmation_reply":true,"supports_clarification_reply":true,"coalesce_boundaries":["none"]}`
	bubbleWith(t, producer.Config{Admit: byName}, func(t *testing.T, st *stage) {
		join := func(name string) (*listener, *aaep.SubscriptionAccepted) {
			l := st.connectAs(name)
			acc, ok := l.ask(wants).(*aaep.SubscriptionAccepted)
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
		s, d := st.session("Paying."), &deed{}
		paid := tool(s, pay, d)
		q := alice.question()
		if asked := of[*aaep.AwaitingConfirmation](viewer.events()); len(asked) > 0 {
			t.Error("the viewer was asked")
		}
		viewer.reply(q, aaep.Accept) // with a token that it got somewhere
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

// SEC-024: who has no clearance is told of nothing that is withheld, whatever it asks for, then and later, and is told so; others
// are, and what is critical is told both.
func TestWithhold(t *testing.T) {
	admit := func(principal string, _ *aaep.SubscriptionRequest) (producer.Rights, error) {
		switch principal {
		case "guest":
			return producer.Rights{Renegotiate: true, Withhold: []string{"aaep:agent.output.*", string(aaep.TypeToolInvoked), string(aaep.TypeSessionErrored)}}, nil
		case "typo":
			return producer.Rights{Withhold: []string{"aaep:*.output"}}, nil
		}
		return all, nil
	}
	bubbleWith(t, producer.Config{Admit: admit}, func(t *testing.T, st *stage) {
		done := func(context.Context) (string, error) { return "done", nil }
		const wants = `{"coalesce_boundaries":["none"],"event_filters":{"include":["*"],"exclude":[]}}`
		alice, guest := st.connectAs("alice"), st.connectAs("guest")
		alice.ask(wants)
		acc, ok := guest.ask(wants).(*aaep.SubscriptionAccepted)
		if !ok || !strings.Contains(acc.NegotiationNotes, "You are not told of aaep:agent.output.*, ") {
			t.Fatalf("the guest's terms are %+v", acc)
		}
		for range 2 {
			s := st.session("Reading the file.")
			out := s.Output()
			out.WriteString("What is in it. ")
			out.Close()
			if _, err := s.Tool(t.Context(), look, done); err != nil {
				t.Error(err)
			}
			s.Fail(nil, aaep.Text{})
			guest.send(&aaep.SubscriptionRenegotiate{SubscriptionID: acc.SubscriptionID, Capabilities: aaep.Capabilities{EventFilters: &aaep.EventFilters{Include: []string{"*"}}}})
			synctest.Wait()
		}
		for who, l := range map[string]*listener{"alice": alice, "guest": guest} {
			evs := l.events()
			want := map[string]int{"alice": 2}[who]
			if n := len(of[*aaep.ToolInvoked](evs)); n != want {
				t.Errorf("%s heard of %d tools, want %d", who, n, want)
			}
			if n := len(of[*aaep.OutputStreaming](evs)); (n > 0) != (want > 0) {
				t.Errorf("%s heard %d pieces of the answers", who, n)
			}
			if n := len(of[*aaep.SessionErrored](evs)); n != 2 {
				t.Errorf("%s heard of %d errors, want 2", who, n)
			}
		}
		if again, ok := guest.lastMessage().(*aaep.SubscriptionAccepted); !ok || len(again.HonoredCapabilities.EventFilters.Exclude) != 3 {
			t.Errorf("after the renegotiations the guest has %+v", guest.lastMessage())
		}
		if _, refused := st.connectAs("typo").ask(wants).(*aaep.SubscriptionRejected); !refused {
			t.Error("what cannot be withheld was let through")
		}
	})
}

// SEC-017: terms are changed only by those who may.
func TestRenegotiateRight(t *testing.T) {
	bubbleWith(t, producer.Config{Admit: byName}, func(t *testing.T, st *stage) {
		for name, want := range map[string]bool{"alice": true, "viewer": false} {
			l := st.connectAs(name)
			l.id = l.ask("{}").(*aaep.SubscriptionAccepted).SubscriptionID
			l.send(&aaep.SubscriptionRenegotiate{SubscriptionID: l.id, Capabilities: aaep.Capabilities{MaxEventsPerSecond: 1}})
			synctest.Wait()
			switch m := l.lastMessage().(type) {
			case *aaep.SubscriptionAccepted:
				if !want || m.HonoredCapabilities.MaxEventsPerSecond != 1 {
					t.Errorf("%s is accepted with %+v", name, m.HonoredCapabilities)
				}
			case *aaep.SubscriptionRejected:
				if want || m.ReasonCode != aaep.AuthorizationDenied {
					t.Errorf("%s is refused: %+v", name, m)
				}
			default:
				t.Errorf("%s is answered %+v", name, m)
			}
		}
	})
}
