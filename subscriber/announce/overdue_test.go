package announce

import (
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// addUntold lets an agent say something without asking what is told before all of it is there, as
// where a program that was stopped goes on and reads what came meanwhile.
func (r *room) addUntold(id string, at time.Time, p aaep.Payload, urgency aaep.Urgency, text string) {
	ev := &aaep.Event{EventID: id, SessionID: "sess_1", Timestamp: at, Urgency: urgency, Payload: p,
		Summary: aaep.Say(text), LocalizationHints: in("en")}
	r.a.Add(r.now, "Planner", ev, Text(ev, aaep.VerbosityNormal))
}

// Where a program goes on that was stopped, or the person listened to something else, until the
// time of a question is over, neither the question nor that its time is almost over is told any
// more, but what came of it; without that, that it was not put. Given more time, it is put.
func TestOverdueIsLeftOut(t *testing.T) {
	warning := func(left time.Duration) *aaep.ProgressUpdated {
		return &aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(100 * (1 - left.Seconds()/90))},
			ETAMS: new(left.Milliseconds())}
	}
	rejected := &aaep.StateChanged{FromState: aaep.StateAwaitingInput, ToState: aaep.StateThinking}
	for name, tc := range map[string]struct {
		stopped time.Duration
		then    func(r *room, asked time.Time)
		want    string
	}{
		"what came of it is there": {90 * time.Second, func(r *room, asked time.Time) {
			r.takeActions()
			r.addUntold("evt_end", r.now, rejected, aaep.UrgencyNormal, "Nobody answered in time.")
		}, "Nobody answered in time."},
		"nothing came of it": {2 * time.Minute, func(r *room, asked time.Time) {},
			"A question that waited is skipped: its time to answer is over."},
		"more time": {2 * time.Minute, func(r *room, asked time.Time) {
			r.takeActions()
			r.addUntold("evt_more", r.now, &aaep.ProgressUpdated{Progress: aaep.Progress{Percent: new(40.0)},
				ETAMS: new((180 * time.Second).Milliseconds())}, aaep.UrgencyBackground, "")
		}, "Pay $20."},
		"some is left": {80 * time.Second, func(r *room, asked time.Time) {},
			"You have 5 seconds to answer."},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, Preferences{WordsPerMinute: voiceWPM})
			asked := r.now
			p := payQuestion()
			p.Action = "Pay $20."
			r.addUntold("evt_ask", asked, p, aaep.UrgencyCritical, "")
			r.now = r.now.Add(tc.stopped)
			r.addUntold("evt_time", asked.Add(65*time.Second), warning(25*time.Second), aaep.UrgencyCritical,
				"The time to answer is almost over. Time left: about 25 seconds.")
			tc.then(r, asked)
			r.passTime(20 * time.Second)
			heard := strings.Join(r.heard, "|")
			isLate := tc.stopped >= 90*time.Second
			if strings.Contains(heard, "25 seconds") || isLate && strings.Contains(heard, "almost over") ||
				isLate && name != "more time" && strings.Contains(heard, "Pay $20.") || !strings.Contains(heard, tc.want) {
				t.Errorf("heard %s; want %s", heard, tc.want)
			}
		})
	}
}
