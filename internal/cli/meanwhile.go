package cli

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/answers"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/spoken"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// While a question is on the screen nothing else is said that can wait: it would stand between the question and the
// warning that its time ends, for a voice says one thing after the other.

// maxMeanwhile is how many lines are kept for after the question.
const maxMeanwhile = 100

// waits reports whether an event is told only when no question is on the screen any more.
func (f *following) waits(ev *aaep.Event) bool {
	if ev.Critical() || f.before.failed(f.name, ev) {
		return false
	}
	if p, ok := ev.Payload.(*aaep.StateChanged); f.asked.Len() == 0 {
		return f.hushed != nil && !(ok && p.FromState == aaep.StateAwaitingInput)
	}
	for _, q := range f.asked.All() {
		if q.Source == f.name && (announce.Closes(q.Event, ev) || ev.Type() == aaep.TypeProgressUpdated && ev.SessionID == q.Event.SessionID) {
			return false
		}
	}
	return true
}

// held is a line of an agent that waits.
type held struct {
	of   *following
	ev   *aaep.Event
	text string
}

// keep keeps what an event says for after the question. Progress is no news any more when its session tells something newer. An agent
// that says more than is kept crowds out itself.
func (f *following) keep(ev *aaep.Event, text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	f.meanwhile = slices.DeleteFunc(f.meanwhile, func(h held) bool {
		return h.of == f && h.ev.SessionID == ev.SessionID && h.ev.Type() == aaep.TypeProgressUpdated
	})
	if len(f.meanwhile) >= maxMeanwhile {
		i := max(slices.IndexFunc(f.meanwhile, func(h held) bool { return h.of == f }), 0)
		f.meanwhile, f.dropped = slices.Delete(f.meanwhile, i, i+1), f.dropped+1
	}
	f.meanwhile = append(f.meanwhile, held{f, ev, text})
}

// catchUp tells what came while questions were open.
func (l *listener) catchUp() {
	if l.asked.Len() > 0 || l.hushed != nil || len(l.meanwhile) == 0 {
		return
	}
	begin := l.phrase(phrase.Meanwhile, "")
	if l.dropped > 0 {
		begin = phrase.Counted(string(l.tongue()), phrase.MeanwhileWithout, l.dropped, "line")
	}
	l.release(begin, func(held) bool { return true })
	l.dropped = 0
}

// release tells some of the lines that wait, if there are any.
func (l *listener) release(begin string, which func(held) bool) {
	if !slices.ContainsFunc(l.meanwhile, which) {
		return
	}
	l.printLabelled("", begin)
	l.speaker = ""
	for _, h := range l.meanwhile {
		if which(h) {
			h.of.says(h.text)
		}
	}
	l.meanwhile = slices.DeleteFunc(l.meanwhile, which)
}

// offer says, once, that lines of the session whose question is on the screen wait: a question overtakes what was said right
// before it, and what is decided may depend on that.
func (f *following) offer() {
	q := f.asked.First()
	if q == nil {
		return
	}
	said := func(h held) bool { return h.ev.Type() == aaep.TypeOutputStreaming && f.said(q)(h) }
	if q == f.offered || !slices.ContainsFunc(f.meanwhile, said) {
		return
	}
	f.offered = q
	f.says(f.phrase(phrase.SaidMore, ""))
}

// said reports which lines belong to the session of a question.
func (l *listener) said(q *announce.Asked) func(held) bool {
	return func(h held) bool { return h.of.name == q.Source && h.ev.SessionID == q.Event.SessionID }
}

// putAgain tells what the agent said in the session of a question, and the question again.
func (l *listener) putAgain(q *announce.Asked) {
	l.release(l.phrase(phrase.Meanwhile, ""), l.said(q))
	l.offered = nil
	l.put(q)
}

// leadUp tells what an agent said before it asked a question that had to wait: what is decided may depend on it. Times that an
// agent gives to what it sends never run backwards (D-09).
func (l *listener) leadUp(q *announce.Asked) {
	if q.Put.IsZero() {
		l.release(l.phrase(phrase.BeforeNext, ""), func(h held) bool { return h.of.name == q.Source && !h.ev.Timestamp.After(q.Event.Timestamp) })
	}
}

// usualPace is how fast somebody is taken to listen who did not say, in words per minute.
const usualPace = 170

// aiming is what is known of a line when its first key is pressed: whoever types does not hear what comes then.
type aiming struct {
	began        time.Time
	question     *announce.Asked // that was on the screen
	heard, known bool            // whether the person had all of it, and whether anybody can know
	unseen       bool            // the line may have begun long before
}

// aimed is what holds for a line that begins.
func (l *listener) aimed(began time.Time) aiming {
	a := aiming{began: began, question: l.asked.First()}
	if q := a.question; q != nil && !began.IsZero() {
		a.heard, a.known = l.out.heard(began, q.Event)
	}
	return a
}

// unheard refuses what accepts a question that nobody could hear, for there is no voice for its language.
func (l *listener) unheard(q *announce.Asked, a aiming) bool {
	refuses := a.known && !a.heard && !l.out.plain && !l.out.speaks(q.Event.Language())
	if refuses {
		l.inform(l.phrase(phrase.NotAllHeard, ""), l.phrase(phrase.OtherWays, ""))
	}
	return refuses
}

// doubtful is a line that may mean two choices of a question, and means one when it comes again.
type doubtful struct {
	question *announce.Asked
	line     string
}

// answeredTooSoon reports whether an answer to a clarification, which cannot be taken back, comes before the question was heard, or, where
// nobody can know that, a choice or a yes or no before it can have been. The question is put once more, and the answer asked for again.
func (l *listener) answeredTooSoon(q *announce.Asked, r answers.Reading, a aiming) bool {
	if l.unheard(q, a) {
		return true
	}
	if a.heard || q == l.doubted {
		return false
	}
	if _, yesNo := r.Response.(bool); !a.known {
		if r.Choice == 0 && !yesNo {
			return false
		}
		asked := strings.SplitAfter(q.Words(q.Put).String(), "\n")
		asked = asked[:len(asked)-1] // the last line says how much time there is
		for i, line := range asked {
			if r.Choice > 0 && strings.HasPrefix(line, strconv.Itoa(r.Choice)+": ") {
				asked = asked[:i+1]
				break
			}
		}
		if a.began.Sub(q.Put) >= spoken.Time(aaep.SafeText(strings.Join(asked, "")), l.pace()) {
			return false
		}
	}
	l.inform(l.phrase(phrase.NotAllHeard, ""))
	l.putAgain(q)
	l.doubted = q
	return true
}

// isGrave reports whether a yes to a question needs more than a key: to what cannot be undone or is of high risk, or of one that is
// not known.
func isGrave(p *aaep.AwaitingConfirmation) bool {
	return p.RiskLevel != aaep.RiskLow && p.RiskLevel != aaep.RiskMedium || p.IsIrreversible()
}

// tooSoon reports whether an acceptance comes before the question was heard up to the action and its consequence, or, where nobody
// can know, before it can have been: then of what cannot be undone, or is of high risk. It is asked for once more: a key silences a screen
// reader, and what it had yet to say is not said again.
func (l *listener) tooSoon(q *announce.Asked, p *aaep.AwaitingConfirmation, d aaep.Decision, a aiming) bool {
	if d != aaep.Accept || q == l.doubted || !a.known && !isGrave(p) {
		return false
	}
	if !a.known { // the terminal cannot tell; it takes so long at the least
		asked := q.Words(q.Put).String()
		asked = asked[:strings.LastIndexByte(asked, '\n')] // the last line says how much time there is
		a.heard = a.began.Sub(q.Put) >= spoken.Time(aaep.SafeText(asked), l.pace())
	}
	if a.heard {
		return false
	}
	l.doubted, q.Put = q, time.Now()
	l.inform(l.phrase(phrase.NotAllHeard, ""), l.phrase(phrase.ActionIs, words.Sentence(words.OneLine(p.Action))),
		l.phrase(phrase.ConsequenceIs, words.Sentence(words.OneLine(p.Consequence))), l.phrase(phrase.DecideAgain, ""))
	return true
}
