package subscriber

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// takeStory takes n events: the ids of the producer's, and "lost" for what the subscription says
// itself.
func takeStory(t *testing.T, sub *Subscription, n int) (told []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for range n {
		ev, err := sub.Next(ctx)
		if err != nil {
			t.Fatalf("after %q Next = %v", told, err)
		}
		if ev.Type() == aaep.TypeLost {
			told = append(told, "lost")
		} else {
			told = append(told, ev.EventID)
		}
	}
	return told
}

// Whose subscription began anew, without its place, is told where something may be missing, in
// order, once for each time, in their language; the place to go on after stays what it was. P8
func TestLost(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{ID: "reader",
			Capabilities: aaep.Capabilities{Languages: []string{"es", "en"}}})
		p.sendRaw(t, numberedEvent(1))
		for range 2 {
			_ = p.Close()
			p = st.nextPeer(t)
			p.acceptRequest(t, "sub_2")
		}
		p.sendRaw(t, numberedEvent(2))
		if got := takeStory(t, sub, 4); !slices.Equal(got, []string{"evt_1", "lost", "lost", "evt_2"}) {
			t.Errorf("told is %q", got)
		}
		_ = p.Close()
		p = st.nextPeer(t)
		p.acceptRequest(t, "sub_3")
		ev, err := sub.Next(t.Context())
		if err != nil || ev.Type() != aaep.TypeLost {
			t.Fatalf("Next = %v, %v", ev, err)
		}
		if text, ok := ev.Utterance(aaep.VerbosityTerse); !ok ||
			text != "Puede faltar lo que se dijo mientras tanto." || ev.Language() != "es" {
			t.Errorf("it says %q in %q", text, ev.Language())
		}
		closeBoth(t, sub, p)
	})
}

// A cut that is mended in time loses nothing, and none is told.
func TestNothingLost(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		sub, f, p := openFlaky(t, newStage(), Config{})
		f.in <- numberedEvent(1)
		f.cutAll()
		awaitStatus(sub, false)
		awaitStatus(sub, true)
		f.in <- numberedEvent(2)
		if got := takeStory(t, sub, 2); !slices.Equal(got, []string{"evt_1", "evt_2"}) {
			t.Errorf("told is %q", got)
		}
		closeBoth(t, sub, p)
	})
}

// A producer that says on an event that others were lost before it is believed, once for each such
// event.
func TestProducerSaysLost(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{})
		p.sendRaw(t, numberedEvent(1))
		lost := eventMessage("evt_2", "acme:thing", `,"extensions":{"delivery":{"lost":true}}`)
		p.sendRaw(t, lost)
		p.sendRaw(t, lost)
		p.sendRaw(t, eventMessage("evt_3", "acme:thing", `,"extensions":{"delivery":{"relevance":1}}`))
		if got := takeStory(t, sub, 4); !slices.Equal(got, []string{"evt_1", "lost", "evt_2", "evt_3"}) {
			t.Errorf("told is %q", got)
		}
		closeBoth(t, sub, p)
	})
}

// Where no caller takes the events, and there is no room to say that some are lost, that waits, and
// Close does not wait for it.
func TestLostWaitsForRoom(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{})
		for n := range waitingEvents {
			p.sendRaw(t, numberedEvent(n))
		}
		_ = p.Close()
		p = st.nextPeer(t)
		p.acceptRequest(t, "sub_2")
		told := takeStory(t, sub, waitingEvents)
		if want := fmt.Sprintf("evt_%d", waitingEvents-1); told[len(told)-1] != want || slices.Contains(told, "lost") {
			t.Errorf("told are %q", told)
		}
		if got := takeStory(t, sub, 1); got[0] != "lost" {
			t.Errorf("then comes %s", got[0])
		}
		closeBoth(t, sub, p)
		if _, err := sub.Next(context.Background()); !errors.Is(err, io.EOF) {
			t.Errorf("Next = %v", err)
		}
	})
}

// A question that cannot be read is told as that, once among what cannot be read between two
// events, also behind another message that cannot; any other is told as lost.
func TestUnreadableQuestion(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		sub, p := openSubscription(t, st, Config{ID: "reader", Capabilities: aaep.Capabilities{Languages: []string{"en"}}})
		bad := func(kind string) string {
			return `{"@context":"` + aaep.CoreContext + `","type":"aaep:agent.` + kind + `","event_id":"evt_x","session_id":"sess_1"}`
		}
		p.sendRaw(t, bad("tool.invoked"))
		for range 3 {
			p.sendRaw(t, bad("awaiting.confirmation"))
		}
		p.sendRaw(t, bad("tool.invoked"))
		p.sendRaw(t, numberedEvent(1))
		p.sendRaw(t, bad("awaiting.clarification"))
		p.sendRaw(t, numberedEvent(2))
		const lost, asks = "What was said meanwhile may be missing.", "The agent asks something that cannot be read or answered here."
		for i, want := range []string{lost, asks, "", asks, ""} {
			ev, err := sub.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			text := ev.Text(aaep.VerbosityNormal)
			if isLost := ev.Type() == aaep.TypeLost; isLost != (want != "") || isLost && text != want {
				t.Errorf("event %d is %s %q, want %q", i, ev.Type(), text, want)
			}
		}
		closeBoth(t, sub, p)
	})
}
