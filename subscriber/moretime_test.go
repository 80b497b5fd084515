package subscriber

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
)

// More time is one message, which keeps what else was declared and does not last. It says whether
// there is more.
func TestMoreTime(t *testing.T) {
	runVirtual(t, func(t *testing.T) {
		st := newStage()
		c := allReplies()
		if err := c.AddExtension(extensions.TimingVocabulary, extensions.Timing{TimeoutMultiplier: 2}); err != nil {
			t.Fatal(err)
		}
		sub, p := openSubscription(t, st, Config{ID: "reader", Capabilities: c})
		p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
		ev := takeEvent(t, sub, "evt_1")
		ask := func(ev *aaep.Event) chan error {
			done := make(chan error, 1)
			go func() { done <- sub.Question(ev).MoreTime(t.Context()) }()
			return done
		}
		for honored, want_ := range map[string]error{
			`{"timing":{"timeout_multiplier":2,"more_time_for":"rpl_1"}}`: nil,
			`{"timing":{"timeout_multiplier":2}}`:                         ErrNoMoreTime,
			`{}`:                                                          ErrNoMoreTime,
			`{"timing":{"more_time_for":"rpl_2"}}`:                        ErrNoMoreTime,
		} {
			done := ask(ev)
			m := mustRead[*aaep.SubscriptionRenegotiate](t, p)
			if got := string(m.Capabilities.Extensions["timing"]); got != `{"timeout_multiplier":2,"more_time_for":"rpl_1"}` || len(m.Capabilities.SupportedExtensions) != 0 {
				t.Errorf("asked %+v", m.Capabilities)
			}
			p.sendRaw(t, acceptedMessage("sub_1", honored))
			if err := <-done; !errors.Is(err, want_) {
				t.Errorf("%s: %v, want %v", honored, err, want_)
			}
		}
		other := *ev
		for _, ev := range []*aaep.Event{nil, &other, {Payload: &aaep.SessionStarted{}}} {
			if err := <-ask(ev); !errors.Is(err, ErrUnknownEvent) {
				t.Errorf("%+v: %v", ev, err)
			}
		}
		_ = p.Close() // a new subscription does not ask for time for a question that is gone
		p = st.nextPeer(t)
		if req := p.acceptRequest(t, "sub_2"); string(req.Capabilities.Extensions["timing"]) != `{"timeout_multiplier":2}` {
			t.Errorf("asked anew for %s", req.Capabilities.Extensions)
		}
		synctest.Wait()
		if err := <-ask(ev); !errors.Is(err, ErrUnknownEvent) {
			t.Errorf("after a new beginning: %v", err)
		}
		closeBoth(t, sub, p)
	})
}
