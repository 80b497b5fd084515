package producer_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// CONF-035: without a wish of the author's, the time to answer suits what is at stake.
func TestDefaultTimeouts(t *testing.T) {
	for _, tt := range []struct {
		risk         aaep.Risk
		irreversible bool
		seconds      int64
	}{
		{aaep.RiskLow, false, 60}, {aaep.RiskMedium, false, 120}, {aaep.RiskHigh, false, 300}, {aaep.RiskLow, true, 300},
	} {
		bubble(t, func(t *testing.T, st *stage) {
			l, s := st.listen(answering(everything())), st.session("Paying.")
			go s.Tool(t.Context(), producer.Tool{Name: "pay", Risk: tt.risk, Irreversible: tt.irreversible, Confirm: true,
				Action: aaep.Say("Pay."), Consequence: aaep.Say("It is gone.")}, func(context.Context) (string, error) { return "", nil })
			synctest.Wait()
			if got := l.question().TimeoutSeconds; got != tt.seconds {
				t.Errorf("risk %s, irreversible %v: %d seconds, want %d", tt.risk, tt.irreversible, got, tt.seconds)
			}
			s.Complete(aaep.Say("Done."))
		})
	}
}
