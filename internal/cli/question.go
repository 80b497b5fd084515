package cli

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/answers"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// readingTime is how long a question is on the screen before a line that begins is taken as an answer to it. What began
// sooner was typed for something else.
const readingTime = time.Second

// lateAnswer is how long after a question was closed a yes or a no is taken for an answer to it, and not for a message to the agent.
const lateAnswer = time.Minute

// toDeliver is how long a link may take to take an answer. Everybody else waits meanwhile, so that what the agent does upon it
// is told after it.
const toDeliver = 3 * time.Second

// hinted is with how many questions it is said how to have more time, which takes as long to hear as what is at risk; the terminal shows it
// with each.
const hinted = 3

// canAnswer reports whether the agreed terms let this listener answer an event.
func (f *following) canAnswer(ev *aaep.Event) bool {
	terms := f.terms()
	if ev.Type() == aaep.TypeAwaitingClarification {
		return isTrue(terms.SupportsClarificationReply)
	}
	return isTrue(terms.SupportsConfirmationReply)
}

// ask adds a question. One is put at a time, and none takes the place of another, so that a person never
// answers what they have not heard.
func (f *following) ask(ev *aaep.Event) {
	n := f.asked.Len()
	q := f.asked.Add(time.Now(), f.name, ev)
	if q == nil {
		f.note(f.phrase(phrase.AsksTooMuch, ""))
		return
	}
	if f.asked.Len() == n { // it is told once more, in another language
		f.out.plan(func(a *announce.Announcer, now time.Time) { a.Expect(now, f.name, ev) })
		if q == f.asked.First() && !f.changing { // else it is put with what was agreed, in one language
			f.put(q)
		}
		return
	}
	f.out.plan(func(a *announce.Announcer, now time.Time) { a.Expect(now, f.name, ev) })
	if f.asked.Len() > 1 {
		f.says(f.phrase(phrase.AnotherWaits, "") + " " + f.phrase(phrase.NextFirst, ""))
		return
	}
	f.next()
}

// next puts the first question that waits.
func (l *listener) next() {
	q := l.asked.First()
	for ; q != nil && q.Left(time.Now()) <= 0; q = l.asked.First() {
		l.remove(q)
		l.from(q).note(l.phrase(phrase.OverNotPut, ""))
	}
	if q != nil {
		l.leadUp(q)
		l.put(q)
	}
}

// put puts a question, or puts it again: whoever types silences a screen reader for good.
func (l *listener) put(q *announce.Asked) {
	f := l.from(q)
	if q.Event != l.wordFor { // told once more, it has another
		l.word, l.wordFor = "", q.Event
	}
	if p, ok := q.Event.Payload.(*aaep.AwaitingConfirmation); ok && isGrave(p) && l.word == "" && l.sees != nil && !l.sees() {
		l.word = l.newWord(q)
	}
	w, more := q.Words(time.Now()).And("\n", l.tongue().words(f.askedBy(q))), l.phrase(phrase.MoreAsks, "")
	l.speaker = "" // who asks is named in any case
	f.says(w.And("\n", l.answering(q.Event)).String() + " " + more)
	if q.Put.IsZero() {
		l.questions++
	}
	if l.questions <= hinted {
		w = w.And("\n", l.tongue().words(more))
	}
	l.out.plan(func(a *announce.Announcer, now time.Time) { a.Add(now, f.name, q.Event, w) })
	q.Put, l.doubted = time.Now(), nil
}

// answering is how to answer a question that waits for that.
func (l *listener) answering(question *aaep.Event) announce.Words {
	if l.asked.Find(question) == nil {
		return nil
	}
	return l.tongue().words(l.prompt(l.asked.Find(question)))
}

// prompt is how to answer a question; with the word for a yes, if one is asked for.
func (l *listener) prompt(q *announce.Asked) string {
	if _, ok := q.Event.Payload.(*aaep.AwaitingConfirmation); ok && q == l.asked.First() {
		return decide(l.tongue(), l.word)
	}
	return prompt(l.tongue(), q.Event)
}

// decide asks for a yes or a no; for a yes by a word, if there is one.
func decide(t tongue, word string) string {
	if word == "" {
		return t.says(phrase.Decide, "")
	}
	return phrase.DecideBy(string(t), word)
}

// newWord is a word that a person can only type for a yes to a question when they know it: none that was shown with the questions
// before, one of which they may still mean, and none that the question says itself.
func (l *listener) newWord(q *announce.Asked) string {
	const most = 20 // of some 50
	word := newWord(l.tongue(), l.words, q.Words(time.Now()).String())
	l.words = append(l.words, word)
	l.words = l.words[max(len(l.words)-most, 0):]
	return word
}

func newWord(t tongue, before []string, said string) string {
	list := slices.DeleteFunc(phrase.Words(string(t)), func(word string) bool {
		return slices.ContainsFunc(before, func(b string) bool { return phrase.Is(b, word) }) || strings.Contains(strings.ToLower(said), strings.ToLower(word))
	})
	if len(list) == 0 { // it says all of them
		list = phrase.Words(string(t))
	}
	return list[rand.N(len(list))]
}

// putAside puts another question that waits, and this one after it.
func (l *listener) putAside() {
	if l.asked.Len() < 2 {
		l.inform(l.phrase(phrase.NoOtherWaits, ""))
		return
	}
	l.asked.Later()
	l.next()
}

// from is the agent that asks a question.
func (l *listener) from(q *announce.Asked) *following {
	for _, f := range l.agents {
		if f.name == q.Source {
			return f
		}
	}
	return &following{listener: l, name: q.Source}
}

// askedBy says whose question it is, and whether that is proven: what a person consents to depends on it.
func (f *following) askedBy(q *announce.Asked) string {
	if f.sub == nil {
		return ""
	}
	id, name, agent := phrase.AskedUnproven, q.Event.Producer.AgentName, q.Event.Producer.AgentID
	if v := f.sub.Verified(); v != nil {
		name, agent = v.Manifest.AgentName, v.Manifest.AgentID
		if !v.Identity.FirstMeeting {
			id = phrase.AskedProven
		}
	}
	name = f.nameOf(name, agent)
	return strings.Join(append([]string{f.phrase(id, name)}, f.misled(name)...), " ")
}

// nameOf is what people call an agent, who chose it. It stands within sentences of ours, so it ends none of them: what comes
// behind it would be heard as said by us, such as that the agent has proved who it is. Nor is it longer than a person would listen to.
func (l *listener) nameOf(name, id string) string {
	return cmp.Or(embedded(name), embedded(id), l.phrase(phrase.AnAgent, ""))
}

// sentenceEnds are what a voice pauses at, as in no URL.
var sentenceEnds = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[.!?:;,]+([^\pL\pN\s/]*)(?:\s|$)|[。！？：；؟؛।॥…۔።፧։՞၊။។៕｡．]+()`)
})

// embedded is a peer's text that stands within a sentence of ours.
func embedded(text string) string {
	const most = 100 // characters
	text = strings.ToValidUTF8(text[:min(len(text), 20*most)], "")
	text = words.OneLine(sentenceEnds().ReplaceAllString(words.OneLine(aaep.SafeText(text)), "$1 "))
	if r := []rune(text); len(r) > most {
		text = strings.TrimSpace(string(r[:most])) + "…"
	}
	return text
}

// settle tells of the questions that an event closed; first was on the screen before.
func (l *listener) settle(first *announce.Asked, closed []*announce.Asked, ev *aaep.Event) {
	for _, q := range closed {
		what, mine := phrase.WaitingClosed, phrase.NotAnswered
		if q == first {
			what = phrase.QuestionClosed
			l.before.leave(q)
			l.before.heed(q.Source, ev)
		}
		if l.tried[q] {
			mine = phrase.MayHaveArrived
		}
		delete(l.tried, q)
		l.from(q).note(l.phrase(what, ""), l.phrase(mine, ""))
	}
	if slices.Contains(closed, first) {
		l.next()
	}
}

// loseQuestions takes away the questions of an agent, which can be answered no more.
func (f *following) loseQuestions() {
	first, lost, tried := f.asked.First(), 0, false
	for _, q := range f.asked.All() {
		if q.Source == f.name {
			tried = tried || f.tried[q]
			f.remove(q)
			lost++
		}
	}
	if lost == 0 {
		return
	}
	said := []string{f.phrase(phrase.QuestionClosed, ""), f.phrase(phrase.AsksAgain, "")}
	if tried {
		said = slices.Insert(said, 1, f.phrase(phrase.MayHaveArrived, ""))
	}
	f.note(said...)
	if first.Source == f.name {
		f.before = past{}
		f.next()
		f.catchUp()
	}
}

// done takes away the question on the screen, and puts the next.
func (l *listener) done(news string) {
	l.inform(news)
	q := l.asked.First()
	l.before.leave(q)
	l.remove(q)
	l.next()
	l.catchUp()
}

// remove takes away a question that needs no answer any more.
func (l *listener) remove(q *announce.Asked) {
	l.asked.Remove(q)
	delete(l.tried, q)
	l.out.plan(func(a *announce.Announcer, now time.Time) { a.Settle(now, q.Event) })
}

// answer takes a line the person typed.
func (l *listener) answer(ctx context.Context, text string, aim aiming) {
	q := l.asked.First()
	if q == nil {
		switch {
		case text == "":
		case l.talk == nil:
			l.nothingAsked()
		case aim.question != nil || answers.Decision(text, string(l.tongue())) != "" && time.Since(l.askedAt) < lateAnswer:
			l.nothingAsked()
			l.talk.Keep(text)
		default:
			l.talk.Prompt(text)
		}
		return
	}
	if q.Put.IsZero() || aim.question != q || aim.began.Sub(q.Put) < readingTime {
		if text != "" {
			l.inform(l.phrase(phrase.TypedTooSoon, ""), l.phrase(phrase.EnterThenAnswer, ""))
			if l.talk != nil {
				l.talk.Keep(text)
			}
		}
		return
	}
	if strings.TrimSpace(text) == "" {
		l.putAgain(q)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, toDeliver)
	defer cancel()
	sub := l.from(q).sub
	var err error
	said := ""
	switch p := q.Event.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		d := answers.Decision(text, q.Event.Language(), string(l.tongue()))
		byWord := l.word != "" && phrase.Is(text, l.word)
		if byWord {
			d = aaep.Accept
		}
		switch {
		case d == "":
			l.noAnswer(q, aim.unseen)
			return
		case p.AllowedReplies != nil && !slices.Contains(p.AllowedReplies, d):
			l.inform(l.phrase(phrase.AnswerNotTaken, ""))
			return
		case d == aaep.Accept && !byWord && aim.unseen && isGrave(p):
			l.noAnswer(q, true)
			return
		case d == aaep.Accept && l.unheard(q, aim):
			return
		case (!byWord || l.sees == nil || l.sees()) && l.tooSoon(q, p, d, aim): // else the word came with the question
			return
		}
		err, said = sub.Reply(ctx, q.Event, d), l.phrase(phrase.SaidReject, "")
		if d == aaep.Accept {
			said = l.phrase(phrase.SaidAccept, "")
		}
	case *aaep.AwaitingClarification:
		response := answers.Response(p, text, q.Event.Language(), string(l.tongue()))
		switch {
		case response.Response == nil:
			l.noAnswer(q, aim.unseen)
			return
		case response.Doubtful && l.twoChoices != (doubtful{q, strings.TrimSpace(text)}):
			l.twoChoices = doubtful{q, strings.TrimSpace(text)}
			l.inform(l.phrase(phrase.ChoiceMeant, words.Sentence(words.OneLine(p.Choices[response.Choice-1].Label))))
			return
		case l.answeredTooSoon(q, response, aim):
			return
		}
		err, said = sub.Answer(ctx, q.Event, response.Response), inShort(l.tongue(), p, response.Response)
	}
	to := l.named(q)
	switch {
	case errors.Is(err, subscriber.ErrLate):
		l.done(to + l.phrase(phrase.AnswerLate, ""))
	case errors.Is(err, subscriber.ErrUnknownEvent):
		l.done(to + l.phrase(phrase.QuestionClosed, ""))
	case err != nil:
		if l.tried == nil {
			l.tried = map[*announce.Asked]bool{}
		}
		var network *net.OpError
		l.tried[q] = l.tried[q] || !errors.As(err, &network) || network.Op != "dial" // then nobody was reached
		l.inform(to+l.phrase(phrase.NotDelivered, l.tongue().why(err)), l.phrase(phrase.TypeItAgain, ""))
	case said != "":
		l.done(to + l.phrase(phrase.AnswerSentIs, words.Sentence(said)))
		l.sent(q)
	default:
		l.done(to + l.phrase(phrase.AnswerSent, ""))
		l.sent(q)
	}
}

// named names the agent whose question it is, before what is said of that, where there are several.
func (l *listener) named(q *announce.Asked) string {
	if !l.several() {
		return ""
	}
	return announce.Speaker(q.Source) + " "
}

// sent notes that something has to come of an answer, where the person wants to hear of what the agent does then.
func (l *listener) sent(q *announce.Asked) {
	if l.from(q).terms().EventFilters.Match(aaep.TypeStateChanged) {
		l.asked.Answered(time.Now(), q)
	}
}

// noAnswer says how to answer a question; the line may have silenced it.
func (l *listener) noAnswer(q *announce.Asked, unseen bool) {
	if p, ok := q.Event.Payload.(*aaep.AwaitingConfirmation); ok && isGrave(p) && unseen && l.word == "" {
		l.word = l.newWord(q)
	}
	l.inform(l.phrase(phrase.NoAnswer, ""), l.prompt(q), l.phrase(phrase.EnterAgain, ""))
}
