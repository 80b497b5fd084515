package subscriber

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/transports"
)

// An answer whose time is over is not sent, and its user is told so, whatever extensions both sides
// know. What is over does not depend on what the agent's clock shows. CONF-039
func TestAnswerAfterItsTime(t *testing.T) {
	const minute = time.Minute
	var timing aaep.Capabilities
	if err := timing.AddExtension(extensions.TimingVocabulary, extensions.Timing{TimeoutMultiplier: 1}); err != nil {
		t.Fatal(err)
	}
	granted := `{"supports_confirmation_reply":true,"timing":{"timeout_multiplier":1}}`
	unknown := `{"supports_confirmation_reply":true}`
	told := func(limit, over time.Duration) string {
		return eventMessage("evt_2", "aaep:agent.progress.updated",
			fmt.Sprintf(`,"summary_normal":"More.","progress":{"percent":%f},"eta_ms":%d`,
				100*over.Seconds()/limit.Seconds(), (limit-over).Milliseconds()))
	}
	for name, tt := range map[string]struct {
		wants   aaep.Capabilities
		honored string
		skew    time.Duration // of the agent's clock, behind ours
		more    time.Duration // that the agent tells of after half a minute
		after   time.Duration
		want    error
	}{
		"in time":                                 {timing, unknown, 0, 0, minute, nil},
		"late, to one that gives no more":         {timing, unknown, 0, 0, minute + 1, ErrLate},
		"late, to one that may have given more":   {timing, granted, 0, 0, minute + 1, ErrLate},
		"late, and nobody knows what it can give": {allReplies(), unknown, 0, 0, minute + 1, ErrLate},
		"two seconds late":                        {allReplies(), unknown, 0, 0, minute + 2*time.Second, ErrLate},
		"in time, by a clock that is behind":      {timing, unknown, time.Hour, 0, minute, nil},
		"late, by a clock that is ahead":          {timing, unknown, -time.Hour, 0, minute + 1, ErrLate},
		"in time, for there is more":              {timing, granted, 0, 2 * minute, 2 * minute, nil},
		"late, though there was more":             {timing, granted, 0, 2 * minute, 2*minute + 1, ErrLate},
	} {
		t.Run(name, func(t *testing.T) {
			runVirtual(t, func(t *testing.T) {
				st, dialed := newStage(), make(chan *Subscription)
				go func() {
					sub, err := Dial(t.Context(), st, Config{ID: "reader", Capabilities: allReplies().With(tt.wants)})
					if err != nil {
						t.Error(err)
					}
					dialed <- sub
				}()
				p := st.nextPeer(t)
				mustRead[*aaep.SubscriptionRequest](t, p)
				p.sendRaw(t, acceptedMessage("sub_1", tt.honored))
				sub := <-dialed
				p.sendRaw(t, messageFrom(tt.skew, confirmationMessage("evt_1", "rpl_1", "")))
				ev := takeEvent(t, sub, "evt_1")
				asked := time.Now()
				if tt.skew > 0 {
					asked = asked.Add(-holdTime)
				}
				if tt.more > 0 {
					time.Sleep(minute / 2)
					p.sendRaw(t, told(tt.more, minute/2))
					takeEvent(t, sub, "evt_2")
				}
				time.Sleep(time.Until(asked.Add(tt.after)))
				if err := sub.Question(ev).Accept(t.Context()); !errors.Is(err, tt.want) ||
					(err == nil) != (tt.want == nil) {
					t.Errorf("Reply = %v, want %v", err, tt.want)
				}
				again := ErrLate
				if tt.want == nil {
					mustRead[*aaep.ConfirmationReply](t, p)
					again = ErrUnknownEvent
				}
				if err := sub.Question(ev).Accept(t.Context()); !errors.Is(err, again) {
					t.Errorf("a second Reply = %v, want %v", err, again)
				}
				p.checkSilent(t, minute)
				closeBoth(t, sub, p)
			})
		})
	}
}

// More time that was given to this subscription counts, though no event says so.
func TestAnswerInTheTimeThatWasAdded(t *testing.T) {
	for after, want_ := range map[time.Duration]error{2 * time.Minute: nil, 2*time.Minute + 1: ErrLate} {
		runVirtual(t, func(t *testing.T) {
			sub, p := openSubscription(t, newStage(), Config{})
			p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
			ev, asked := takeEvent(t, sub, "evt_1"), time.Now()
			more := make(chan error)
			go func() { more <- sub.Question(ev).MoreTime(t.Context()) }()
			mustRead[*aaep.SubscriptionRenegotiate](t, p)
			p.sendRaw(t, acceptedMessage("sub_1", `{"timing":{"more_time_for":"rpl_1"}}`))
			if err := <-more; err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Until(asked.Add(after)))
			if err := sub.Question(ev).Reject(t.Context()); err != want_ {
				t.Errorf("after %v: %v, want %v", after, err, want_)
			}
			if want_ == nil {
				mustRead[*aaep.ConfirmationReply](t, p)
			}
			closeBoth(t, sub, p)
		})
	}
}

// A question that is told again, on a new subscription or in another language, has the time that it
// had. CONF-039
func TestTimeDoesNotBeginAnew(t *testing.T) {
	const minute = time.Minute
	again := map[string]string{
		"the same event": confirmationMessage("evt_1", "rpl_1", ""),
		"the time that was left": strings.Replace(confirmationMessage("evt_2", "rpl_1", ""), `"timeout_seconds":60`,
			`"timeout_seconds":10`, 1),
	}
	for name, msg := range again {
		for after, want_ := range map[time.Duration]error{minute: nil, minute + 1: ErrLate} {
			runVirtual(t, func(t *testing.T) {
				st := newStage()
				sub, p := openSubscription(t, st, Config{})
				p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
				takeEvent(t, sub, "evt_1")
				asked := time.Now()
				time.Sleep(40 * time.Second)
				_ = p.Close()
				p = st.nextPeer(t)
				p.acceptRequest(t, "sub_2")
				time.Sleep(time.Until(asked.Add(50 * time.Second)))
				p.sendRaw(t, msg)
				ev := takeEvent(t, sub, "")
				time.Sleep(time.Until(asked.Add(after)))
				if err := sub.Question(ev).Accept(t.Context()); err != want_ {
					t.Errorf("%s: after %v: %v, want %v", name, after, err, want_)
				}
				if want_ == nil {
					mustRead[*aaep.ConfirmationReply](t, p)
				}
				closeBoth(t, sub, p)
			})
		}
	}
}

// stalledLink takes what is sent after some time.
type stalledLink struct {
	transports.Conn
	takes time.Time // until then it takes nothing
}

func (l *stalledLink) Send(ctx context.Context, msg []byte) error {
	select {
	case <-time.After(time.Until(l.takes)):
		return l.Conn.Send(ctx, msg)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// An answer that was given in time, and that the link would take only when the time is over, is not
// sent any more, with or without the extension for more time. CONF-039
func TestAnswerThatWaitsForTheLink(t *testing.T) {
	for _, hasTiming := range []bool{false, true} {
		wants, honored := allReplies(), `{"supports_confirmation_reply":true}`
		if hasTiming {
			honored = `{"supports_confirmation_reply":true,"timing":{"timeout_multiplier":1}}`
			if err := wants.AddExtension(extensions.TimingVocabulary, extensions.Timing{TimeoutMultiplier: 1}); err != nil {
				t.Fatal(err)
			}
		}
		for late, sent := range map[time.Duration]bool{-time.Second: true, time.Second: false} {
			runVirtual(t, func(t *testing.T) {
				a, b := transports.Pipe()
				p, link := &peer{b}, &stalledLink{Conn: a}
				p.sendRaw(t, acceptedMessage("sub_1", honored))
				sub, err := Dial(t.Context(), dialer(func(context.Context) (transports.Conn, error) { return link, nil }),
					Config{ID: "reader", Capabilities: wants})
				if err != nil {
					t.Fatal(err)
				}
				mustRead[*aaep.SubscriptionRequest](t, p)
				p.sendRaw(t, confirmationMessage("evt_1", "rpl_1", ""))
				ev := takeEvent(t, sub, "evt_1")
				until, _ := sub.Question(ev).Deadline()
				link.takes = until.Add(late)
				time.Sleep(time.Until(until.Add(-2 * time.Second)))
				if err := sub.Question(ev).Accept(t.Context()); (err == nil) != sent || time.Now().After(until.Add(time.Millisecond)) {
					t.Errorf("Accept = %v, %v before the end", err, time.Until(until))
				}
				if sent {
					mustRead[*aaep.ConfirmationReply](t, p)
				}
				p.checkSilent(t, time.Minute)
				closeBoth(t, sub, p)
			})
		}
	}
}
