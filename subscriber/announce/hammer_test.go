package announce

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/hearing"
)

// Answers that follow each other without a pause are no answer, and hold a question up no longer
// than it takes to say once, between two of its sentences, why they do not count. INV-60
func TestHammeredAnswers(t *testing.T) {
	for _, reads := range []bool{false, true} {
		for _, line := range []string{"y", "x", "accept"} {
			for _, every := range []time.Duration{20 * time.Millisecond, 300 * time.Millisecond, 900 * time.Millisecond, 3 * time.Second} {
				r := newRoom(t, Preferences{Reads: reads, WordsPerMinute: voiceWPM})
				r.addEvent(highRisk(), "")
				for range int(time.Minute / every) {
					if reply := r.a.Answer(r.now, r.now, line); reply != nil && every < hearing.StillBefore {
						t.Fatalf("%q every %v is an answer, heard %q", line, every, r.heard)
					} else if reply != nil { // at that pace it is one, once all was heard
						r.a.Answered(r.now, reply, errors.New("the link is cut"))
						break
					}
					r.passTime(every)
				}
				last := "No answer: it will not be done."
				if heard := r.heardSince(""); !strings.Contains(heard+"|", last+"|") {
					t.Errorf("of a question that is answered %q every %v is heard %s", line, every, heard)
				}
				r.passTime(time.Minute)
				if reply := r.a.Answer(r.now, r.now, "y"); reply == nil {
					t.Errorf("after %q every %v a yes does not count", line, every)
				}
			}
		}
	}
}
