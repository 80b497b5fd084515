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

// readingTime is how long a question is on the screen before a line that begins is taken as an
// answer to it. What began sooner was typed for something else.
const readingTime = time.Second

// lateAnswer is how long after a question was closed a yes or a no is taken for an answer to it,
// and not for a message to the agent.
const lateAnswer = time.Minute

// toDeliver is how long a link may take to take an answer. Everybody else waits meanwhile, so that
// what the agent does upon it is told after it.
const toDeliver = 3 * time.Second

// hinted is with how many questions it is said how to have more time, which takes as long to hear
// as what is at risk; the terminal shows it with each.
const hinted = 3

// canAnswer reports whether the agreed terms let this listener answer an event.
func (f *followedAgent) canAnswer(ev *aaep.Event) bool {
	terms := f.currentTerms()
	if ev.Type() == aaep.TypeAwaitingClarification {
		return isTrue(terms.SupportsClarificationReply)
	}
	return isTrue(terms.SupportsConfirmationReply)
}

// addQuestion adds a question. One is on the screen at a time, and none takes the place of another,
// so that a person never answers what they have not heard.
func (f *followedAgent) addQuestion(ev *aaep.Event) {
	n := f.asked.Len()
	q := f.asked.Add(time.Now(), f.name, ev)
	if q == nil {
		f.informOfLink(f.phraseText(phrase.AsksTooMuch, ""))
		return
	}
	if f.asked.Len() == n { // it is told once more, in another language
		f.out.planAll(func(a *announce.Announcer, now time.Time) { a.Expect(now, f.name, ev) })
		if q == f.asked.First() && !f.changing { // else it is put with what was agreed, in one language
			f.putQuestion(q)
		}
		return
	}
	f.out.planAll(func(a *announce.Announcer, now time.Time) { a.Expect(now, f.name, ev) })
	if f.asked.Len() > 1 {
		f.printSaid(f.phraseText(phrase.AnotherWaits, "") + " " + f.phraseText(phrase.NextFirst, ""))
		return
	}
	f.putNext()
}

// putNext puts the first question that waits, and says of those before it that their time is over.
func (l *listener) putNext() {
	q := l.asked.First()
	for ; q != nil && q.Left(time.Now()) <= 0; q = l.asked.First() {
		l.removeQuestion(q)
		l.agentOf(q).informOfLink(l.phraseText(phrase.OverNotPut, ""))
	}
	if q != nil {
		l.printLeadUp(q)
		l.putQuestion(q)
	}
}

// putQuestion puts a question, or puts it again: a person who types silences a screen reader for
// good.
func (l *listener) putQuestion(q *announce.Asked) {
	f := l.agentOf(q)
	if q.Event != l.wordFor { // told once more, it has another
		l.word, l.wordFor = "", q.Event
	}
	if p, ok := q.Event.Payload.(*aaep.AwaitingConfirmation); ok && isGrave(p) && l.word == "" && l.sees != nil &&
		!l.sees() {
		l.word = l.newAcceptWord(q)
	}
	w, more := q.Words(time.Now()).And("\n", l.uiLanguage().inLanguage(f.describeAsker(q))),
		l.phraseText(phrase.MoreAsks, "")
	l.speaker = "" // who asks is named in any case
	f.printSaid(w.And("\n", l.howToAnswer(q.Event)).String() + " " + more)
	if q.Put.IsZero() {
		l.questions++
	}
	if l.questions <= hinted {
		w = w.And("\n", l.uiLanguage().inLanguage(more))
	}
	l.out.planAll(func(a *announce.Announcer, now time.Time) { a.Add(now, f.name, q.Event, w) })
	q.Put, l.doubted = time.Now(), nil
}

// howToAnswer returns how to answer a question; nothing where it is not open.
func (l *listener) howToAnswer(question *aaep.Event) announce.Words {
	if l.asked.Find(question) == nil {
		return nil
	}
	return l.uiLanguage().inLanguage(l.promptFor(l.asked.Find(question)))
}

// promptFor returns how to answer a question, with the word for a yes if one is asked for.
func (l *listener) promptFor(q *announce.Asked) string {
	if _, ok := q.Event.Payload.(*aaep.AwaitingConfirmation); ok && q == l.asked.First() {
		return decisionPrompt(l.uiLanguage(), l.word)
	}
	return answerPrompt(l.uiLanguage(), q.Event)
}

// decisionPrompt asks for a yes or a no; for a yes by a word, if there is one.
func decisionPrompt(t uiLanguage, word string) string {
	if word == "" {
		return t.phraseText(phrase.Decide, "")
	}
	return phrase.DecideBy(string(t), word)
}

// newAcceptWord returns a word that a person can only type for a yes to this question when they
// know it. No question before had it, since the person may still mean that one, and the question
// does not say it itself.
func (l *listener) newAcceptWord(q *announce.Asked) string {
	const most = 20 // of some 50
	word := chooseAcceptWord(l.uiLanguage(), l.words, q.Words(time.Now()).String())
	l.words = append(l.words, word)
	l.words = l.words[max(len(l.words)-most, 0):]
	return word
}

// chooseAcceptWord draws a word that is neither in before nor in said.
func chooseAcceptWord(t uiLanguage, before []string, said string) string {
	list := slices.DeleteFunc(phrase.Words(string(t)), func(word string) bool {
		return slices.ContainsFunc(before, func(b string) bool { return phrase.Is(b, word) }) ||
			strings.Contains(strings.ToLower(said), strings.ToLower(word))
	})
	if len(list) == 0 { // it says all of them
		list = phrase.Words(string(t))
	}
	return list[rand.N(len(list))]
}

// putAside puts another question that waits, and this one after it.
func (l *listener) putAside() {
	if l.asked.Len() < 2 {
		l.informPerson(l.phraseText(phrase.NoOtherWaits, ""))
		return
	}
	l.asked.Later()
	l.putNext()
}

// agentOf returns the agent that asks a question.
func (l *listener) agentOf(q *announce.Asked) *followedAgent {
	for _, f := range l.agents {
		if f.name == q.Source {
			return f
		}
	}
	return &followedAgent{listener: l, name: q.Source}
}

// describeAsker says whose question it is, and whether that is proven: what a person consents to
// depends on it.
func (f *followedAgent) describeAsker(q *announce.Asked) string {
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
	return strings.Join(append([]string{f.phraseText(id, name)}, f.warnOfName(name)...), " ")
}

// nameOf returns what an agent calls itself. It stands within sentences of this program and ends
// none of them: what comes behind it would be heard as said by this program, such as that the agent
// has proved who it is. Nor is it longer than a person would listen to.
func (l *listener) nameOf(name, id string) string {
	return cmp.Or(embedPeerText(name), embedPeerText(id), l.phraseText(phrase.AnAgent, ""))
}

// sentenceEnds are what a voice pauses at, as in no URL.
var sentenceEnds = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[.!?:;,]+([^\pL\pN\s/]*)(?:\s|$)|[。！？：；؟؛।॥…۔።፧։՞၊။។៕｡．]+()`)
})

// embedPeerText returns a peer's text in a form that can stand within a sentence of this program.
func embedPeerText(text string) string {
	const most = 100 // characters
	text = strings.ToValidUTF8(text[:min(len(text), 20*most)], "")
	text = words.OneLine(sentenceEnds().ReplaceAllString(words.OneLine(aaep.SafeText(text)), "$1 "))
	if r := []rune(text); len(r) > most {
		text = strings.TrimSpace(string(r[:most])) + "…"
	}
	return text
}

// settleQuestions says which questions an event closed, and puts the next; first was on the screen
// before.
func (l *listener) settleQuestions(first *announce.Asked, closed []*announce.Asked, ev *aaep.Event) {
	for _, q := range closed {
		what, mine := phrase.WaitingClosed, phrase.NotAnswered
		if q == first {
			what = phrase.QuestionClosed
			l.lastQuestion.recordLeft(q)
			l.lastQuestion.recordOutcome(q.Source, ev)
		}
		if l.tried[q] {
			mine = phrase.MayHaveArrived
		}
		delete(l.tried, q)
		l.agentOf(q).informOfLink(l.phraseText(what, ""), l.phraseText(mine, ""))
	}
	if slices.Contains(closed, first) {
		l.putNext()
	}
}

// loseQuestions takes away the questions of an agent, which can be answered no more.
func (f *followedAgent) loseQuestions() {
	first, lost, tried := f.asked.First(), 0, false
	for _, q := range f.asked.All() {
		if q.Source == f.name {
			tried = tried || f.tried[q]
			f.removeQuestion(q)
			lost++
		}
	}
	if lost == 0 {
		return
	}
	said := []string{f.phraseText(phrase.QuestionClosed, ""), f.phraseText(phrase.AsksAgain, "")}
	if tried {
		said = slices.Insert(said, 1, f.phraseText(phrase.MayHaveArrived, ""))
	}
	f.informOfLink(said...)
	if first.Source == f.name {
		f.lastQuestion = lastQuestion{}
		f.putNext()
		f.catchUp()
	}
}

// closeQuestion says news, takes the question off the screen, and puts the next.
func (l *listener) closeQuestion(news string) {
	l.informPerson(news)
	q := l.asked.First()
	l.lastQuestion.recordLeft(q)
	l.removeQuestion(q)
	l.putNext()
	l.catchUp()
}

// removeQuestion removes a question that needs no answer any more, here and in the outputs.
func (l *listener) removeQuestion(q *announce.Asked) {
	l.asked.Remove(q)
	delete(l.tried, q)
	l.out.planAll(func(a *announce.Announcer, now time.Time) { a.Settle(now, q.Event) })
}

// answerQuestion takes a line that the person typed as the answer to the question on the screen,
// and reports whether it was sent.
func (l *listener) answerQuestion(ctx context.Context, text string, aim lineContext) (sent bool) {
	q := l.asked.First()
	if q == nil {
		switch {
		case text == "":
		case l.talk == nil:
			l.informNothingAsked()
		case aim.question != nil || answers.Decision(text, string(l.uiLanguage())) != "" &&
			time.Since(l.askedAt) < lateAnswer:
			l.informNothingAsked()
			l.talk.Keep(text)
		default:
			l.talk.Prompt(text)
		}
		return false
	}
	if q.Put.IsZero() || aim.question != q || aim.began.Sub(q.Put) < readingTime {
		switch {
		case aim.elsewhere:
			l.informPerson(l.phraseText(phrase.TypedTooSoon, ""))
		case text != "":
			l.informPerson(l.phraseText(phrase.TypedTooSoon, ""), l.phraseText(phrase.EnterThenAnswer, ""))
			if l.talk != nil {
				l.talk.Keep(text)
			}
		}
		return false
	}
	if strings.TrimSpace(text) == "" {
		l.putAgain(q)
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, toDeliver)
	defer cancel()
	sub := l.agentOf(q).sub
	var err error
	said := ""
	switch p := q.Event.Payload.(type) {
	case *aaep.AwaitingConfirmation:
		d := answers.Decision(text, q.Event.Language(), string(l.uiLanguage()))
		byWord := l.word != "" && phrase.Is(text, l.word)
		if byWord {
			d = aaep.Accept
		}
		switch {
		case d == "":
			l.explainAnswers(q, aim.unseen)
			return false
		case p.AllowedReplies != nil && !slices.Contains(p.AllowedReplies, d):
			l.informPerson(l.phraseText(phrase.AnswerNotTaken, ""))
			return false
		case d == aaep.Accept && !byWord && aim.unseen && isGrave(p):
			l.explainAnswers(q, true)
			return false
		case d == aaep.Accept && l.refuseUnheard(q, aim):
			return false
		case (!byWord || l.sees == nil || l.sees()) &&
			l.acceptedTooSoon(q, p, d, aim): // else the word came with the question
			return false
		}
		err, said = sub.Reply(ctx, q.Event, d), l.phraseText(phrase.SaidReject, "")
		if d == aaep.Accept {
			said = l.phraseText(phrase.SaidAccept, "")
		}
	case *aaep.AwaitingClarification:
		response := answers.Response(p, text, q.Event.Language(), string(l.uiLanguage()))
		switch {
		case response.Response == nil:
			l.explainAnswers(q, aim.unseen)
			return false
		case response.Doubtful && l.twoChoices != (doubtfulChoice{q, strings.TrimSpace(text)}):
			l.twoChoices = doubtfulChoice{q, strings.TrimSpace(text)}
			l.informPerson(l.phraseText(phrase.ChoiceMeant,
				words.Sentence(words.OneLine(p.Choices[response.Choice-1].Label))))
			return false
		case l.answeredTooSoon(q, response, aim):
			return false
		}
		err, said = sub.Answer(ctx, q.Event, response.Response), repeatAnswer(l.uiLanguage(), p, response.Response)
	}
	to := l.speakerPrefix(q)
	switch {
	case errors.Is(err, subscriber.ErrLate):
		l.closeQuestion(to + l.phraseText(phrase.AnswerLate, ""))
	case errors.Is(err, subscriber.ErrUnknownEvent):
		l.closeQuestion(to + l.phraseText(phrase.QuestionClosed, ""))
	case err != nil:
		if l.tried == nil {
			l.tried = map[*announce.Asked]bool{}
		}
		var network *net.OpError
		l.tried[q] = l.tried[q] || !errors.As(err, &network) || network.Op != "dial" // then no agent was reached
		l.informPerson(to+l.phraseText(phrase.NotDelivered, l.uiLanguage().explainError(err)),
			l.phraseText(phrase.TypeItAgain, ""))
	case said != "":
		l.closeQuestion(to + l.phraseText(phrase.AnswerSentIs, words.Sentence(said)))
		l.expectOutcome(q)
		return true
	default:
		l.closeQuestion(to + l.phraseText(phrase.AnswerSent, ""))
		l.expectOutcome(q)
		return true
	}
	return false
}

// speakerPrefix returns the name of the agent that asks, to stand before what is said of its
// question; "" where there is one agent.
func (l *listener) speakerPrefix(q *announce.Asked) string {
	if !l.hasSeveral() {
		return ""
	}
	return announce.Speaker(q.Source) + " "
}

// expectOutcome notes that an outcome must follow an answer, where the person's terms let it come.
func (l *listener) expectOutcome(q *announce.Asked) {
	if l.agentOf(q).currentTerms().EventFilters.Match(aaep.TypeStateChanged) {
		l.asked.Answered(time.Now(), q)
	}
}

// explainAnswers says how to answer a question. A line whose keys were not seen may have silenced
// the question, so a high-impact one asks for a word from then on.
func (l *listener) explainAnswers(q *announce.Asked, unseen bool) {
	if p, ok := q.Event.Payload.(*aaep.AwaitingConfirmation); ok && isGrave(p) && unseen && l.word == "" {
		l.word = l.newAcceptWord(q)
	}
	l.informPerson(l.phraseText(phrase.NoAnswer, ""), l.promptFor(q), l.phraseText(phrase.EnterAgain, ""))
}
