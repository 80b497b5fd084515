package producer_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
)

// A producer without a Logger logs to slog.Default what went wrong, and no word of its trail.
func TestNoLogger(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	bubbleWith(t, producer.Config{}, func(t *testing.T, st *stage) {
		l := st.listen(mayAnswer(allEvents()))
		s := st.startSession("Paying.")
		go s.Tool(t.Context(), pay, func(context.Context) (string, error) { return "", errors.New("the bank is closed") })
		l.reply(l.question(), aaep.Accept)
		synctest.Wait()
	})
	if got := log.String(); !strings.Contains(got, "the bank is closed") || strings.Contains(got, "level=INFO") {
		t.Errorf("logged %s", got)
	}
}

// What a handoff would not carry on the wire is refused, with what carries it.
func TestHandoffOfWhatIsOnlyRead(t *testing.T) {
	bubble(t, func(t *testing.T, st *stage) {
		s := st.startSession("Booking.")
		for _, h := range []aaep.HandoffRequested{{Target: "Bob"}, {ContextSummary: "All of it."}} {
			if err := s.Handoff(aaep.Say("Bob takes over."), h); err == nil || !strings.Contains(err.Error(), "PackagedContext") {
				t.Errorf("%+v: %v", h, err)
			}
		}
	})
}
