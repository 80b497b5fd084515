package producer_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
)

// declareTyping declares for five minutes that the user is typing.
func (l *listener) declareTyping() {
	l.send(&aaep.SubscriptionRenegotiate{SubscriptionID: l.id, Capabilities: aaep.Capabilities{Extensions: map[string]json.RawMessage{
		"delivery": json.RawMessage(`{"presence":"user_typing","presence_expires_in":300}`)}}})
}

// P7, D-49: a subscriber that declares that its user must not be disturbed is told at once, all the
// same, of an action that is irreversible or of high risk; and no action waits for it.
func TestQuietHearsOfTheAction(t *testing.T) {
	for name, rate := range map[string]int64{"no rate": 0, "one a second": 1} {
		bubble(t, func(t *testing.T, st *stage) {
			asked, quiet := st.listen(mayAnswer(allEvents())), st.listen(mayAnswer(termsWith(rate, aaep.BoundaryNone)))
			s := st.startSession("Paying.")
			synctest.Wait()
			quiet.declareTyping()
			synctest.Wait()
			for range 8 {
				s.Tool(context.Background(), look, succeed)
			}
			began := time.Now()
			ran := callLater(func() (string, error) { return s.Tool(context.Background(), pay, succeed) })
			asked.reply(asked.question(), aaep.Accept)
			if r := <-ran; r.err != nil || !r.at.Equal(began) {
				t.Errorf("%s: it ran after %v: %v", name, r.at.Sub(began), r.err)
			}
			if at := arrivalOf(quiet, aaep.TypeToolInvoked); !at.Equal(began) {
				t.Errorf("%s: it was told after %v", name, at.Sub(began))
			}
			if n := len(payloadsOf[*aaep.ToolInvoked](quiet.events())); n != 1 {
				t.Errorf("%s: %d calls were told while it was to be quiet", name, n)
			}
		})
	}
}

// A declared quiet time counts from when it was declared: a subscriber that later changes another
// extension is neither silent anew, nor for longer.
func TestQuietIsNotDeclaredAnew(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		l := st.listen(mayAnswer(allEvents()))
		s := st.startSession("Talking.")
		l.events()
		l.declareTyping()
		time.Sleep(200 * time.Second)
		before := len(l.events())
		s.Tool(context.Background(), look, succeed)
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
		s.Tool(context.Background(), look, succeed)
		if n := len(l.events()) - before; n == 0 {
			t.Error("silent again, long after the user typed")
		}
	})
}
