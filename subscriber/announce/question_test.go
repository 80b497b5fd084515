package announce

import (
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// An event counts as news of a question's time only where its numbers agree with the question's; it never takes time
// away. CONF-039
func TestTimeIn(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	q := &Asked{Event: event(pay(), "")} // 90 seconds
	q.Event.Timestamp = at
	for _, tt := range []struct {
		name    string
		after   time.Duration
		percent float64
		eta     time.Duration
		want    time.Duration
	}{
		{"half of the time", 45 * time.Second, 50, 45 * time.Second, 90 * time.Second},
		{"more time", 60 * time.Second, 100.0 / 3, 120 * time.Second, 180 * time.Second},
		{"more time, told a little late", 61 * time.Second, 100.0 / 3, 119 * time.Second, 180 * time.Second},
		{"ten times more, at once", 0, 0, 990 * time.Second, 990 * time.Second},
		{"less time", 45 * time.Second, 90, 5 * time.Second, 0},
		{"other work", 60 * time.Second, 80, 120 * time.Second, 0},
		{"other work, nearly done", 60 * time.Second, 99, time.Hour, 0},
		{"of before", -time.Second, 0, 120 * time.Second, 0},
		{"more than a day", 60 * time.Second, 0.1, 30 * time.Hour, 0},
		{"over", 60 * time.Second, 100, 0, 0},
	} {
		ev := event(&aaep.ProgressUpdated{Progress: aaep.Progress{Percent: &tt.percent}, ETAMS: new(tt.eta.Milliseconds())}, "")
		ev.Timestamp = at.Add(tt.after)
		limit, ok := q.TimeIn(ev)
		if ok != (tt.want > 0) || ok && limit != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, limit, ok, tt.want)
		}
		ev.SessionID = "sess_2"
		if _, ok := q.TimeIn(ev); ok {
			t.Errorf("%s: another session's", tt.name)
		}
	}
	for _, p := range []aaep.Payload{&aaep.ProgressUpdated{ETAMS: new(int64(1))}, &aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(0.0)}}, &aaep.SessionStarted{}} {
		if _, ok := q.TimeIn(event(p, "")); ok {
			t.Errorf("%+v tells the time", p)
		}
	}
}
