package producer_test

import (
	"cmp"
	"context"
	"errors"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// A call that fails because the session's context has ended is told as a cancellation, whichever of
// the two comes first. A failure of its own is told as a failure.
func TestFailAfterTheContext(t *testing.T) {
	for cause, end := range map[error]string{context.Canceled: "session.cancelled:producer", producer.ErrSessionOver: "session.cancelled:producer", errors.New("no disk"): ""} {
		for range 20 {
			bubble(t, func(t *testing.T, st *stage) {
				l := st.addRecorder()
				ctx, cancel := context.WithCancel(t.Context())
				s, err := st.p.StartSession(ctx, aaep.Say("Copying."))
				if err != nil {
					t.Fatal(err)
				}
				if end != "" {
					cancel()
				}
				err = s.Fail(cause, aaep.Say("Not all was copied."))
				cancel()
				if err != nil && !errors.Is(err, producer.ErrSessionOver) {
					t.Errorf("Fail = %v", err)
				}
				wantStory(t, l.events(), "session.started idle>thinking "+cmp.Or(end, "session.errored:unknown"))
			})
		}
	}
}
