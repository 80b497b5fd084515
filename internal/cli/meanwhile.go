package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// While a question is on the screen nothing else is said that can wait: it would stand between the question and the
// warning that its time ends, for a voice says one thing after the other.

// maxMeanwhile is how many lines are kept for after the question.
const maxMeanwhile = 100

// waits reports whether an event is told only when no question is on the screen any more.
func (l *listener) waits(ev *aaep.Event) bool {
	if len(l.asked) == 0 || ev.Critical() {
		return false
	}
	for _, q := range l.asked {
		if announce.Closes(q.ev, ev) || ev.Type() == aaep.TypeProgressUpdated && ev.SessionID == q.ev.SessionID {
			return false
		}
	}
	return true
}

// keep keeps what an event says for after the question.
func (l *listener) keep(text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	if len(l.meanwhile) == maxMeanwhile {
		l.meanwhile, l.dropped = l.meanwhile[1:], l.dropped+1
	}
	l.meanwhile = append(l.meanwhile, text)
}

// catchUp tells what came while questions were open.
func (l *listener) catchUp() {
	if len(l.asked) > 0 || len(l.meanwhile) == 0 {
		return
	}
	begin := "What came meanwhile:"
	if l.dropped > 0 {
		begin = fmt.Sprintf("What came meanwhile, without the first %s:", words.Count(int64(l.dropped), "line"))
	}
	l.say("", begin)
	for _, text := range l.meanwhile {
		l.say("", text)
	}
	l.meanwhile, l.dropped = nil, 0
}

// usualPace is how fast somebody is taken to listen who did not say, in words per minute.
const usualPace = 170

// tooSoon reports whether an acceptance of what cannot be undone, or is of high risk, comes before the action and its
// consequence can have been heard. It is then asked for once more: a key silences a screen reader, and what it had yet
// to say is not said again.
func (l *listener) tooSoon(q *question, p *aaep.AwaitingConfirmation, d aaep.Decision, at time.Time) bool {
	if d != aaep.Accept || q.warned || p.RiskLevel != aaep.RiskHigh && !p.IsIrreversible() {
		return false
	}
	pace := l.terms().PaceWPM
	if pace == 0 {
		pace = usualPace
	}
	n := len(strings.Fields(p.Action + " " + p.Consequence))
	heard, known := l.out.heard(q.ev)
	if !known { // the terminal cannot tell; it takes so long at the least
		heard = at.Sub(q.put) >= time.Duration(n)*time.Minute/time.Duration(pace)
	}
	if heard {
		return false
	}
	q.warned, q.put = true, at
	l.status.say("aaep", "You may not have heard all of it. Action: "+words.Sentence(words.OneLine(p.Action))+" Consequence: "+words.Sentence(words.OneLine(p.Consequence))+" Type y again to accept.")
	return true
}
