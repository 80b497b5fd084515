package producer_test

import (
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// HS-076: those who asked for the same have the same terms, until one of them changes its own; and who may not reply has others
// than who may, whatever both asked for.
func TestTermsOfEach(t *testing.T) {
	mayReply := true
	cfg := producer.Config{Admit: func(string, *aaep.SubscriptionRequest) (producer.Rights, error) {
		return producer.Rights{Reply: mayReply, Renegotiate: true}, nil
	}}
	bubbleWith(t, cfg, func(t *testing.T, st *stage) {
		same := answering(caps(5, aaep.BoundarySentence))
		a, b := st.listen(same), st.listen(same)
		mayReply = false
		silent := st.listen(same)
		mayReply = true
		check := func(l *listener, rate int64, replies bool) {
			t.Helper()
			synctest.Wait()
			for _, s := range st.p.Subscriptions() {
				if c := s.Terms; s.SubscriptionID == l.id && (c.MaxEventsPerSecond != rate || *c.SupportsConfirmationReply != replies) {
					t.Errorf("%d events a second, replies %t; want %d, %t", c.MaxEventsPerSecond, *c.SupportsConfirmationReply, rate, replies)
				}
			}
		}
		check(a, 5, true)
		check(b, 5, true)
		check(silent, 5, false)
		a.renegotiate(caps(2, aaep.BoundaryNone))
		check(a, 2, true)
		check(b, 5, true)
		check(silent, 5, false)
		check(st.listen(same), 5, true) // who comes later gets what it asked for too
		b.renegotiate(aaep.Capabilities{SupportsConfirmationReply: new(false)})
		check(b, 5, false)
		check(a, 2, true)
	})
}
