package producer_test

import (
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
