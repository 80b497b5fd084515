package producer_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
)

func (l *listener) typing() {
	l.send(&aaep.SubscriptionRenegotiate{SubscriptionID: l.id, Capabilities: aaep.Capabilities{Extensions: map[string]json.RawMessage{
		"delivery": json.RawMessage(`{"presence":"user_typing","presence_expires_in":300}`)}}})
}

// P7, D-49: a deed waits until everybody was told of it. Who keeps declaring that they must not be disturbed does not
// keep it waiting: not before it is told, nor while that waits for the budget.
func TestQuietForEver(t *testing.T) {
	for name, rate := range map[string]int64{"no rate": 0, "one a second": 1} {
		for _, irreversible := range []bool{true, false} {
			bubble(t, func(t *testing.T, st *stage) {
				asked, bad := st.listen(answering(everything())), st.listen(caps(rate, aaep.BoundaryNone))
				s := st.session("Paying.")
				bad.typing()
				for range 8 {
					s.Tool(context.Background(), look, ok)
				}
				high := pay
				high.Irreversible = irreversible
				ran := later(func() (string, error) { return s.Tool(context.Background(), high, ok) })
				asked.reply(asked.question(), aaep.Accept)
				synctest.Wait()
				for range 10 {
					bad.typing()
					time.Sleep(200 * time.Second)
				}
				select {
				case r := <-ran:
					if r.err != nil {
						t.Errorf("%s, %v: %v", name, irreversible, r.err)
					}
				default:
					t.Errorf("%s, %v: it waits for half an hour", name, irreversible)
				}
			})
		}
	}
}

// What was declared holds from when it was: who says something else of another extension later does not fall silent
// anew, nor for longer.
func TestQuietIsNotDeclaredAnew(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(answering(everything()))
		s := st.session("Talking.")
		l.events()
		l.typing()
		time.Sleep(200 * time.Second)
		before := len(l.events())
		s.Tool(context.Background(), look, ok)
		other := aaep.Capabilities{Extensions: map[string]json.RawMessage{"braille": json.RawMessage(`{"cells":40}`), "timing": json.RawMessage(`{}`)}}
		l.renegotiate(other)
		time.Sleep(90 * time.Second)
		if n := len(l.events()) - before; n == 0 {
			time.Sleep(15 * time.Second)
			if n = len(l.events()) - before; n == 0 {
				t.Error("silent for longer than was declared")
			}
		} else {
			t.Errorf("%d events came while the user typed", n)
		}
		time.Sleep(10 * time.Minute)
		l.renegotiate(other)
		before = len(l.events())
		s.Tool(context.Background(), look, ok)
		if n := len(l.events()) - before; n == 0 {
			t.Error("silent again, long after the user typed")
		}
	})
}
