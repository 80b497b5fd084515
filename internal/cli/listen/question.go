package listen

import (
	"cmp"
	"regexp"
	"strings"
	"sync"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/terms"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// hinted is with how many questions it is said how to have more time: to a person who hears it,
// that takes as long as what is at risk.
const hinted = 3

// eventText returns what is said of an event of an agent: of a question also who asks it, and
// whether that is proven. A question that this person cannot answer says so, and is remembered as
// such. reads says that the words are for lines that stay. Outputs and the terminal call it for
// each event.
func (l *Listener) eventText(source string, ev *aaep.Event, reads bool) announce.Words {
	w := announce.Text(ev, ev.Verbosity)
	switch ev.Payload.(type) {
	case *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
		agent, _ := l.byName.Load(source)
		f, ok := agent.(*FollowedAgent)
		if !ok {
			return w
		}
		language := l.uiLanguage()
		w = w.And("\n", language.InLanguage(f.describeAsker(ev)))
		switch c := terms.InForce(l.wanted, f.sub.Accepted().HonoredCapabilities); {
		case l.inputEnded.Load(), !terms.IsTrue(c.SupportsConfirmationReply) && ev.Type() == aaep.TypeAwaitingConfirmation,
			!terms.IsTrue(c.SupportsClarificationReply) && ev.Type() == aaep.TypeAwaitingClarification: // not every agent knows who can answer
			w = w.And("\n", language.InLanguage(l.PhraseText(phrase.CannotAnswerHere, "")))
			l.unanswerable.Store(ev, true)
		case l.besideEditor:
		case reads || f.asked.Add(1) <= hinted:
			w = w.And("\n", language.InLanguage(l.PhraseText(phrase.MoreAsks, "")))
		}
	}
	if pattern := terms.HapticPattern(ev, l.wanted); pattern != "" && reads {
		w = announce.In("", pattern).And(" ", w)
	}
	return w
}

// printJSON prints an event as it came, on one line, before the next one is taken.
func (l *Listener) printJSON(ev *aaep.Event) {
	if msg, err := ev.MarshalJSON(); err == nil {
		l.PrintLine(lineio.SafeJSON(string(msg)))
	}
	l.awaitPrinted()
}

// describeAsker returns the sentence that says whose question it is, and whether that is proven:
// what a person consents to depends on it. It is "" for an agent that was not reached.
func (f *FollowedAgent) describeAsker(question *aaep.Event) string {
	if f.sub == nil {
		return ""
	}
	id, name, agent := phrase.AskedUnproven, question.Producer.AgentName, question.Producer.AgentID
	if v := f.sub.Verified(); v != nil {
		name, agent = v.Manifest.AgentName, v.Manifest.AgentID
		if !v.Identity.FirstMeeting {
			id = phrase.AskedProven
		}
	}
	name = f.nameOf(name, agent)
	return strings.Join(append([]string{f.PhraseText(id, name)}, f.warnOfName(name)...), " ")
}

// nameOf returns what an agent calls itself. It stands within sentences of this program and ends
// none of them: what comes behind it would be heard as said by this program, such as that the agent
// has proved who it is. Nor is it longer than a person would listen to.
func (l *Listener) nameOf(name, id string) string {
	return cmp.Or(embedPeerText(name), embedPeerText(id), l.PhraseText(phrase.AnAgent, ""))
}

// pauses are commas that a voice pauses at, as in no number.
var pauses = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`,+([^\pL\pN\s/]*)(?:\s|$)`) })

// embedPeerText returns a peer's text in a form that can stand within a sentence of this program,
// also between commas.
func embedPeerText(text string) string {
	text = text[:min(len(text), 1<<16)]
	return words.Within(pauses().ReplaceAllString(words.OneLine(aaep.SafeText(text)), "$1 "))
}
