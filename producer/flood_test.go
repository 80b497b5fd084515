package producer_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// flood sends n renegotiations that lower the rate from n to 1, as fast as the link takes them.
func (l *listener) flood(n int) {
	l.t.Helper()
	for i := range n {
		l.send(&aaep.SubscriptionRenegotiate{SubscriptionID: l.id, Capabilities: aaep.Capabilities{MaxEventsPerSecond: int64(n - i)}})
	}
}

// acceptedRates returns the rates of all the accepted answers, and when they came.
func (l *listener) acceptedRates() (rates []int64, at []time.Time) {
	for _, a := range l.arrivals() {
		if m, ok := a.msg.(*aaep.SubscriptionAccepted); ok {
			rates, at = append(rates, m.HonoredCapabilities.MaxEventsPerSecond), append(at, a.at)
		}
	}
	return rates, at
}

// HS-073, INV-26: of a thousand renegotiations at once each has its answer, in order and never more
// than asked for until then; but at most ten a second take effect, and the last one soon. Events go
// on at once.
func TestEndlessRenegotiation(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		const n = 1000
		good, bad := st.listen(termsWith(3, aaep.BoundarySentence)), st.listen(allEvents())
		time.Sleep(10 * time.Second)
		began := time.Now()
		bad.flood(n)
		st.startSession("Talking.")
		for _, l := range []*listener{good, bad} {
			if at := arrivalOf(l, aaep.TypeSessionStarted); at != began {
				t.Errorf("the event came after %v", at.Sub(began))
			}
		}
		time.Sleep(2 * time.Second)
		rates, at := bad.acceptedRates()
		if len(rates) != n || rates[n-1] != 1 {
			t.Fatalf("%d answers, the last with the rate %d; want %d and 1", len(rates), rates[len(rates)-1], n)
		}
		for i, rate := range rates[:9] { // before any can be taken together
			if rate != int64(n-i) {
				t.Errorf("the answer %d says %d, want %d", i, rate, n-i)
			}
		}
		var changes []time.Time
		for i, rate := range rates {
			if rate > int64(n-i) || i > 0 && rate > rates[i-1] {
				t.Errorf("the answer %d says %d", i, rate)
			}
			if i == 0 || rate != rates[i-1] {
				changes = append(changes, at[i])
			}
		}
		if most := mostIn(time.Second, changes); most > 10 {
			t.Errorf("%d changes took effect in a second, want at most 10", most)
		}
		if took := at[n-1].Sub(began); took > time.Second {
			t.Errorf("the last one took %v", took)
		}
	})
}

// mostIn returns how many of the times lie in one window of this length.
func mostIn(window time.Duration, at []time.Time) (most int) {
	for i, from := range at {
		n := 0
		for _, x := range at[i:] {
			if x.Sub(from) < window {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// A person who moves a slider keeps the agent, and soon has what the slider says.
func TestManyRenegotiationsOfSlider(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(allEvents())
		for i := range 300 {
			l.send(&aaep.SubscriptionRenegotiate{SubscriptionID: l.id, Capabilities: aaep.Capabilities{PaceWPM: int64(50 + i)}})
			time.Sleep(16 * time.Millisecond)
		}
		time.Sleep(time.Second)
		if all := st.p.Subscriptions(); len(all) != 1 || all[0].Terms.PaceWPM != 349 {
			t.Errorf("the subscriptions are %+v, want one with the last pace", all)
		}
		if rates, _ := l.acceptedRates(); len(rates) != 300 {
			t.Errorf("%d answers, want 300", len(rates))
		}
	})
}

// A reply, a goodbye and a broken link do not wait behind a flood of the same subscription (INV-26,
// D-38).
func TestReplyDoesNotWaitBehindFlood(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*listener, *aaep.AwaitingConfirmation)
		want error
	}{
		"reply": {func(l *listener, q *aaep.AwaitingConfirmation) { l.reply(q, aaep.Reject) }, producer.ErrRejected},
		"close": {func(l *listener, _ *aaep.AwaitingConfirmation) {
			l.send(&aaep.SubscriptionClose{SubscriptionID: l.id, ReasonCode: aaep.SubscriberShutdown, ReasonMessage: "Bye."})
		}, producer.ErrUnreachable},
		"link": {func(l *listener, _ *aaep.AwaitingConfirmation) { l.conn.Close() }, producer.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				l, s := st.listen(mayAnswer(allEvents())), st.startSession("Paying.")
				paid := callTool(s, pay, &action{})
				q := l.question()
				time.Sleep(10 * time.Second)
				began := time.Now()
				l.flood(1000)
				c.end(l, q)
				if r := <-paid; !errors.Is(r.err, c.want) || r.at != began {
					t.Errorf("Tool = %v after %v", r.err, r.at.Sub(began))
				}
				if name != "reply" {
					<-l.served
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("its end took %v", took)
				}
			})
		})
	}
}

// §5.7: a refusal in a flood is the last answer: those before it have theirs, those after it have
// none.
func TestRefusalInAFlood(t *testing.T) {
	for name, bad := range map[string]*aaep.SubscriptionRenegotiate{
		"terms":    {Capabilities: aaep.Capabilities{AcceptSignedManifestsOnly: new(true)}},
		"wrong id": {SubscriptionID: "sub_1"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, st *stage) {
				l := st.listen(allEvents())
				time.Sleep(time.Second)
				l.flood(50)
				if bad.SubscriptionID == "" {
					bad.SubscriptionID = l.id
				}
				l.send(bad)
				l.send(&aaep.SubscriptionRenegotiate{SubscriptionID: l.id, Capabilities: aaep.Capabilities{Languages: []string{"en"}}})
				<-l.served
				no, ok := l.lastMessage().(*aaep.SubscriptionRejected)
				if rates, _ := l.acceptedRates(); len(rates) != 50 || !ok || len(l.arrivals()) != 51 {
					t.Errorf("%d answers and %+v, want 50 and a refusal", len(rates), no)
				}
			})
		})
	}
}

// A subscription that floods and does not read the answers is closed in time, as any that does not
// read.
func TestFloodWithoutReading(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(allEvents())
		time.Sleep(10 * time.Second)
		began := time.Now()
		l.stopReading()
		l.flood(1000)
		<-l.served
		if took := time.Since(began); took > sendingTakes {
			t.Errorf("it took %v", took)
		}
		synctest.Wait()
		if n := len(st.p.Subscriptions()); n != 0 {
			t.Errorf("%d subscriptions are left", n)
		}
	})
}

// sendingTakes is the longest that a subscription that does not read is waited for: an event, or
// the answers of a second and the goodbye.
const sendingTakes = 14 * time.Second

// INV-50, HS-073: one subscription has a thousand renegotiations at once and a hundred a second
// answered; the one that is too much is refused, and with it the subscription. Other subscriptions
// go on.
func TestRenegotiationsHaveABudget(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		good, bad := st.listen(allEvents()), st.listen(allEvents())
		time.Sleep(10 * time.Second)
		bad.flood(1000)
		for range 5 { // as many as come again
			time.Sleep(10 * time.Millisecond)
			bad.flood(1)
		}
		time.Sleep(time.Second)
		if rates, _ := bad.acceptedRates(); len(rates) != 1005 {
			t.Fatalf("%d answers, want 1005", len(rates))
		}
		bad.flood(5000)
		<-bad.served
		no, ok := bad.lastMessage().(*aaep.SubscriptionRejected)
		if !ok || no.ReasonCode != aaep.RateLimit || no.RetryAfterSeconds == nil || *no.RetryAfterSeconds != 10 {
			t.Errorf("the last message is %+v, want that there were too many", bad.lastMessage())
		}
		if rates, _ := bad.acceptedRates(); len(rates) > 1005+101 {
			t.Errorf("%d answers, want about a hundred for the second that passed", len(rates)-1005)
		}
		st.startSession("Talking.")
		arrivalOf(good, aaep.TypeSessionStarted)
		if n := len(st.p.Subscriptions()); n != 1 {
			t.Errorf("%d subscriptions are left, want 1", n)
		}
	})
}

// INV-50: who is refused for too many renegotiations, and subscribes anew, has few at once.
func TestRenegotiationsAfterARefusal(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		answered := 0
		for range 50 {
			l := st.listen(allEvents())
			l.flood(100)
			<-l.served
			synctest.Wait()
			rates, _ := l.acceptedRates()
			answered += len(rates)
		}
		if answered != 50*20 {
			t.Errorf("%d are answered to 50 subscriptions one after another, want 20 to each", answered)
		}
	})
}
