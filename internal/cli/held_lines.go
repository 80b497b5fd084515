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

// While a question is on the screen nothing else is said that can wait: it would stand between the
// question and the warning that its time ends, for a voice says one thing after the other.

// maxMeanwhile is how many lines are kept for after the question.
const maxMeanwhile = 100

// mustWait reports whether an event is printed only when no question is on the screen any more.
func (f *followedAgent) mustWait(ev *aaep.Event) bool {
	if ev.Critical() || f.lastQuestion.hasFailed(f.name, ev) {
		return false
	}
	if p, ok := ev.Payload.(*aaep.StateChanged); f.asked.Len() == 0 {
		return f.hushed != nil && !(ok && p.FromState == aaep.StateAwaitingInput)
	}
	for _, q := range f.asked.All() {
		if q.Source == f.name && (announce.Closes(q.Event, ev) || ev.Type() == aaep.TypeProgressUpdated &&
			ev.SessionID == q.Event.SessionID) {
			return false
		}
	}
	return true
}

// heldLine is a line of an agent that waits until no question is on the screen.
type heldLine struct {
	of   *followedAgent
	ev   *aaep.Event
	text string
}

// holdLine keeps the line of an event until the question is closed. It drops older progress of the
// same session, and where there are too many lines the oldest of the same agent.
func (f *followedAgent) holdLine(ev *aaep.Event, text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	f.waiting = slices.DeleteFunc(f.waiting, func(h heldLine) bool {
		return h.of == f && h.ev.SessionID == ev.SessionID && h.ev.Type() == aaep.TypeProgressUpdated
	})
	if len(f.waiting) >= maxMeanwhile {
		i := max(slices.IndexFunc(f.waiting, func(h heldLine) bool { return h.of == f }), 0)
		f.waiting, f.dropped = slices.Delete(f.waiting, i, i+1), f.dropped+1
	}
	f.waiting = append(f.waiting, heldLine{f, ev, text})
}

// catchUp tells what came while questions were open.
func (l *listener) catchUp() {
	if l.asked.Len() > 0 || l.hushed != nil || len(l.waiting) == 0 {
		return
	}
	begin := l.phraseText(phrase.Meanwhile, "")
	if l.dropped > 0 {
		begin = phrase.Counted(string(l.uiLanguage()), phrase.MeanwhileWithout, l.dropped, "line")
	}
	l.printHeld(begin, func(heldLine) bool { return true })
	l.dropped = 0
}

// printHeld prints the held lines that which selects, behind begin.
func (l *listener) printHeld(begin string, which func(heldLine) bool) {
	if !slices.ContainsFunc(l.waiting, which) {
		return
	}
	l.printLabelled("", begin)
	l.speaker = ""
	for _, h := range l.waiting {
		if which(h) {
			h.of.printSaid(h.text)
		}
	}
	l.waiting = slices.DeleteFunc(l.waiting, which)
}

// offerHeld says, once a question, that lines of its session are held: the question overtook what
// was said right before it, and the decision may depend on that.
func (f *followedAgent) offerHeld() {
	q := f.asked.First()
	if q == nil {
		return
	}
	said := func(h heldLine) bool { return h.ev.Type() == aaep.TypeOutputStreaming && f.isSaidWith(q)(h) }
	if q == f.offered || !slices.ContainsFunc(f.waiting, said) {
		return
	}
	f.offered = q
	f.printSaid(f.phraseText(phrase.SaidMore, ""))
}

// isSaidWith returns a filter of held lines for those of a question's session.
func (l *listener) isSaidWith(q *announce.Asked) func(heldLine) bool {
	return func(h heldLine) bool { return h.of.name == q.Source && h.ev.SessionID == q.Event.SessionID }
}

// putAgain tells what the agent said in the session of a question, and the question again.
func (l *listener) putAgain(q *announce.Asked) {
	l.printHeld(l.phraseText(phrase.Meanwhile, ""), l.isSaidWith(q))
	l.offered = nil
	l.putQuestion(q)
}

// printLeadUp prints what an agent said before it asked a question that had to wait: the decision
// may depend on it. The timestamps of one agent never run backwards (D-09).
func (l *listener) printLeadUp(q *announce.Asked) {
	if q.Put.IsZero() {
		l.printHeld(l.phraseText(phrase.BeforeNext, ""),
			func(h heldLine) bool { return h.of.name == q.Source && !h.ev.Timestamp.After(q.Event.Timestamp) })
	}
}

// usualPace is how fast a person is taken to listen who did not say, in words per minute.
const usualPace = 170

// lineContext is what is known of a line when its first key is pressed: a person who types does not
// hear what comes then.
type lineContext struct {
	began        time.Time
	question     *announce.Asked // that was on the screen
	heard, known bool            // whether the person had all of it, and whether an output can know
	unseen       bool            // the line may have begun long before
	elsewhere    bool            // it comes from another window, where Enter does nothing
}

// newLineContext returns what holds for a line whose first key is pressed at began.
func (l *listener) newLineContext(began time.Time) lineContext {
	a := lineContext{began: began, question: l.asked.First()}
	if q := a.question; q != nil && !began.IsZero() {
		a.heard, a.known = l.out.heardWhole(began, q.Event)
	}
	return a
}

// refuseUnheard refuses what accepts a question that was not heard, for there is no voice for its
// language.
func (l *listener) refuseUnheard(q *announce.Asked, a lineContext) bool {
	refuses := a.known && !a.heard && !l.out.plain && !l.out.canSpeak(q.Event.Language())
	if refuses {
		l.informPerson(l.phraseText(phrase.NotAllHeard, ""), l.phraseText(phrase.OtherWays, ""))
	}
	return refuses
}

// doubtfulChoice is a line that may mean two choices of a question, and means one when it comes
// again.
type doubtfulChoice struct {
	question *announce.Asked
	line     string
}

// answeredTooSoon reports whether an answer to a clarification, which cannot be taken back, comes
// before the question was heard, or, where no output can know that, a choice or a yes or no before
// it can have been. The question is put once more, and the answer asked for again.
func (l *listener) answeredTooSoon(q *announce.Asked, r answers.Reading, a lineContext) bool {
	if l.refuseUnheard(q, a) {
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
		if a.began.Sub(q.Put) >= spoken.Time(aaep.SafeText(strings.Join(asked, "")), l.listeningPace()) {
			return false
		}
	}
	l.informPerson(l.phraseText(phrase.NotAllHeard, ""))
	l.putAgain(q)
	l.doubted = q
	return true
}

// isGrave reports whether a yes to a question needs more than a key: to what cannot be undone or is
// of high risk, or of one that is not known.
func isGrave(p *aaep.AwaitingConfirmation) bool {
	return p.RiskLevel != aaep.RiskLow && p.RiskLevel != aaep.RiskMedium || p.IsIrreversible()
}

// acceptedTooSoon reports whether an acceptance comes before the question was heard up to the
// action and its consequence, or, where no output can know, before it can have been: then of what
// cannot be undone, or is of high risk. It is asked for once more: a key silences a screen reader,
// and what it had yet to say is not said again.
func (l *listener) acceptedTooSoon(q *announce.Asked, p *aaep.AwaitingConfirmation, d aaep.Decision,
	a lineContext) bool {
	if d != aaep.Accept || q == l.doubted || !a.known && !isGrave(p) {
		return false
	}
	if !a.known { // the terminal cannot tell; it takes so long at the least
		asked := q.Words(q.Put).String()
		asked = asked[:strings.LastIndexByte(asked, '\n')] // the last line says how much time there is
		a.heard = a.began.Sub(q.Put) >= spoken.Time(aaep.SafeText(asked), l.listeningPace())
	}
	if a.heard {
		return false
	}
	l.doubted, q.Put = q, time.Now()
	l.informPerson(l.phraseText(phrase.NotAllHeard, ""),
		l.phraseText(phrase.ActionIs, words.Sentence(words.OneLine(p.Action))),
		l.phraseText(phrase.ConsequenceIs, words.Sentence(words.OneLine(p.Consequence))),
		l.phraseText(phrase.DecideAgain, ""))
	return true
}
