package listen

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/cli/terms"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// liveAgents iterates over the agents whose subscriptions are not over, including those that are
// not reached yet.
func (l *Listener) liveAgents() iter.Seq[*FollowedAgent] {
	return func(yield func(*FollowedAgent) bool) {
		for _, f := range l.agents {
			if !f.ended && !yield(f) {
				return
			}
		}
	}
}

// A line that begins with a slash changes the terms, or asks for more time, and is never an answer.
// To answer with one, a space goes before it.

// quietTime is how long a person can be quiet for at most; it is what the extension allows.
const quietTime = 5 * time.Minute

// tellsAnew is how long an agent may take to tell a question in a language that was asked for,
// until it is put as it is.
const tellsAnew = time.Second

// sameLanguage reports whether two tags are of one language.
func sameLanguage(a, b string) bool {
	a, _, _ = strings.Cut(a, "-")
	b, _, _ = strings.Cut(b, "-")
	return strings.EqualFold(a, b)
}

// currentQuestion returns the question that is put, or nil.
func (l *Listener) currentQuestion() (question *aaep.Event) {
	_, question, _, _ = l.questionOutputs()[0].OpenQuestion()
	return question
}

// runCommand obeys a line that begins with a slash. A wrong one gets an answer and changes nothing.
// Commands that one agent answers go to each that is followed. The listener's loop calls it.
func (l *Listener) runCommand(ctx context.Context, line string) {
	name, word, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	name, word = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(word)
	if l.talk != nil && l.talk.Command(ctx, name, word) {
		return
	}
	if i := slices.IndexFunc(terms.Wishes, func(w terms.Wish) bool { return w.Name == name }); i >= 0 {
		l.changeTerms(ctx, terms.Wishes[i], word)
		return
	}
	if l.runOutputCommand(name) || l.runWalkCommand(name, word) {
		return
	}
	switch name {
	case "help", "?":
		l.Status.PrintLabelled("aaep", l.PhraseText(phrase.CommandsHelp, ""))
	case "terms":
		l.describeTerms()
	case "agents":
		for _, f := range l.agents {
			l.informPerson(announce.Speaker(f.name), f.describeState())
		}
	case "more":
		switch {
		case word != "":
			l.informOfMisuse(line, "/more")
		case l.countOpen() == 0:
			present.Answer(time.Now(), " ", l.reads) // which says that nothing is asked
		default:
			present.MoreTime(l.allOutputs()...)
		}
	case "quiet":
		switch word {
		case "", "on":
			l.setQuiet(ctx, true)
		case "off":
			l.setQuiet(ctx, false)
		default:
			l.informOfMisuse(line, "/quiet, /quiet off")
		}
	default:
		l.explainUnknown(line, name)
	}
}

// changeTerms asks all agents for other terms, as a command such as "/rate 5" says; word is what
// stands behind its name.
func (l *Listener) changeTerms(ctx context.Context, w terms.Wish, word string) {
	var change aaep.Capabilities
	if !w.Set(&change, word) {
		l.informOfMisuse("/"+w.Name+" "+word, w.Form)
		return
	}
	for f := range l.liveAgents() {
		f.changeTerms(ctx, f.keepLanguages(change))
	}
}

// describeTerms says what was agreed with each agent that is followed.
func (l *Listener) describeTerms() {
	for f := range l.liveAgents() {
		if f.sub == nil {
			continue
		}
		c := f.currentTerms()
		f.informOfLink(f.PhraseText(phrase.YouGet,
			f.uiLanguage().JoinList(terms.InWords(f.uiLanguage(), c, terms.EveryTerm(c)))))
	}
}

// explainUnknown says that a line with a slash is no command, unless it is one of "aaep acp"
// itself. Where a question is open, the line may have been meant as its answer.
func (l *Listener) explainUnknown(line, name string) {
	if l.talk != nil && l.countOpen() == 0 && l.talk.Own(line) {
		return
	}
	sentences := []string{l.PhraseText(phrase.NoCommand, "/"+name), l.PhraseText(phrase.HelpIsThere, "")}
	if l.countOpen() > 0 {
		sentences = append(sentences, l.PhraseText(phrase.SpaceBefore, ""))
	}
	l.informPerson(sentences...)
}

// informOfMisuse says that a command cannot be obeyed, and which one could.
func (l *Listener) informOfMisuse(line, right string) {
	l.informPerson(l.PhraseText(phrase.NotUnderstood, words.Sentence(line)),
		l.PhraseText(phrase.Expected, words.Sentence(right)))
}

// keepLanguages adds the languages in force to the end of those that a change asks for, so that it
// cannot be refused: a producer that has none of the languages ends the subscription (§5.7, D-46).
func (f *FollowedAgent) keepLanguages(change aaep.Capabilities) aaep.Capabilities {
	if change.Languages == nil {
		return change
	}
	for _, tag := range f.currentTerms().Languages {
		if !slices.Contains(change.Languages, tag) && len(change.Languages) < 32 {
			change.Languages = append(change.Languages, tag)
		}
	}
	return change
}

// presenceTerms returns terms that say whether the person types. What else is asked of the
// extension stays, and so do the extensions that the agent serves: to name again one that it could
// not serve might be refused (§7.3.1).
func (f *FollowedAgent) presenceTerms(typing bool) aaep.Capabilities {
	c := aaep.Capabilities{SupportedExtensions: f.sub.Accepted().HonoredCapabilities.SupportedExtensions}
	d := terms.ReadExtension[extensions.Delivery](f.wanted.Extensions[extensions.DeliveryVocabulary.Prefix])
	d.Presence, d.PresenceExpiresIn = "active", 0
	if typing {
		d.Presence, d.PresenceExpiresIn = extensions.PresenceTyping, int64(quietTime/time.Second)
	}
	if err := c.AddExtension(extensions.DeliveryVocabulary, d); err != nil {
		panic(err) // it is of our own making
	}
	return c
}

// setQuiet asks the agents to hold back all that can wait, for quietTime, or ends that. The outputs
// hold back what an agent sends all the same. The person is told, and quiet that ends by itself
// comes back here.
func (l *Listener) setQuiet(ctx context.Context, on bool) {
	wasQuiet := l.hushed != nil
	if l.hushed != nil {
		l.hushed.Stop()
		l.hushed = nil
	}
	for f := range l.liveAgents() {
		wasQuiet = wasQuiet || f.quiet != nil
		if f.sub != nil && (on || f.quiet != nil) {
			f.changeTerms(ctx, f.presenceTerms(on))
		}
		if f.quiet != nil {
			f.startQuiet() // once more, in case that this fails
		}
	}
	for _, p := range l.allOutputs() {
		p.Hush(on)
	}
	switch {
	case on:
		l.hushed = l.after(quietTime, func(ctx context.Context) { l.setQuiet(ctx, false) })
		l.informPerson(phrase.Lasting(string(l.uiLanguage()), phrase.QuietNow, quietTime))
	case wasQuiet:
		l.informPerson(l.PhraseText(phrase.NoLongerQuiet, ""))
	default:
		l.informPerson(l.PhraseText(phrase.NotQuiet, ""))
	}
}

// startQuiet marks the agent as one that holds back, and starts the timer that ends that after
// quietTime.
func (f *FollowedAgent) startQuiet() {
	f.endQuiet()
	var timer *time.Timer
	timer = f.after(quietTime, func(ctx context.Context) {
		if f.quiet == timer && f.hushed == nil { // else it was ended, or began anew, or setQuiet ends it
			f.changeTerms(ctx, f.presenceTerms(false))
		}
	})
	f.quiet = timer
}

// endQuiet marks the agent as one that does not hold back, and stops the timer.
func (f *FollowedAgent) endQuiet() {
	if f.quiet != nil {
		f.quiet.Stop()
		f.quiet = nil
	}
}

// isQuiet reports whether terms say that the person types.
func isQuiet(c aaep.Capabilities) bool {
	return terms.ReadExtension[extensions.Delivery](c.Extensions[extensions.DeliveryVocabulary.Prefix]).Presence == extensions.PresenceTyping
}

// changeTerms asks for other terms without waiting for the answer: announcements and questions go
// on. Further changes are gathered, and asked for together when the answer has come.
func (f *FollowedAgent) changeTerms(ctx context.Context, change aaep.Capabilities) {
	if f.changing {
		if f.later == nil {
			f.later = new(aaep.Capabilities)
		}
		*f.later = f.later.With(change)
		return
	}
	f.changing = true
	go func() {
		_, err := f.sub.Renegotiate(ctx, change)
		f.runInLoop(ctx, func() { f.handleTermsAnswer(ctx, change, err) })
	}()
}

// handleTermsAnswer says what came of a change of terms, where err is the agent's refusal or nil,
// and asks for the changes that were gathered since. The listener's loop calls it. A change of pace
// that this program asked for by itself is not told.
func (f *FollowedAgent) handleTermsAnswer(ctx context.Context, change aaep.Capabilities, err error) {
	f.changing = false
	isUnread := change.SupportsConfirmationReply != nil            // no person can type here any more, which was said
	switch isOwnPace := change.PaceWPM == f.pace && f.pace != 0; { // which the person did not ask for, and is not told
	case ctx.Err() != nil || f.ended:
		return
	case err == nil:
		f.wanted = f.wanted.With(change)
		if isUnread {
			change.SupportsConfirmationReply, change.SupportsClarificationReply = nil, nil
		}
		if isOwnPace {
			change.PaceWPM = 0
		}
		f.announceTerms(ctx, change)
	case !isOwnPace && !isUnread:
		changes := terms.InWords(f.uiLanguage(), change, change)
		if changes == nil { // of all that is asked for, only this has no words
			changes = []string{f.PhraseText(phrase.EndOfQuiet, "")}
		}
		f.informOfLink(f.PhraseText(phrase.AskedFor, f.uiLanguage().JoinList(changes)),
			f.PhraseText(phrase.NotChanged, f.uiLanguage().ExplainError(err)))
		if refused := new(aaep.Rejection); errors.As(err, &refused) {
			f.endQuiet() // the new subscription knows of no quiet
		} else if f.quiet != nil {
			f.startQuiet() // to end it, if that is what failed
		}
	case isOwnPace:
		f.paceless = f.paceless || errors.As(err, new(*aaep.Rejection))
	}
	if next := f.later; next != nil {
		f.later = nil
		f.changeTerms(ctx, *next)
	}
}

// announceTerms says which of the terms that a change asked for hold from now on, and which do not.
// A change of languages changes the language in which this program speaks, and puts an open
// question once more in it.
func (f *FollowedAgent) announceTerms(ctx context.Context, change aaep.Capabilities) {
	now := f.currentTerms()
	delivery := extensions.DeliveryVocabulary.Prefix
	if presence := change.Extensions[delivery]; presence != nil {
		f.endQuiet()
		switch wantsQuiet := isQuiet(change); {
		case wantsQuiet && isQuiet(now):
			f.startQuiet()
		case wantsQuiet:
			f.changeTerms(ctx, f.presenceTerms(false)) // so that it is not asked for when the link begins anew
		}
	}
	change.Extensions = nil
	oldLanguage := f.uiLanguage()
	if change.Languages != nil {
		f.setLanguages(f.wanted.Languages)
	}
	if list := terms.InWords(f.uiLanguage(), now, change); len(list) > 0 {
		f.informOfLink(f.PhraseText(phrase.FromNowOn, f.uiLanguage().JoinList(list)))
		f.explainRefusals(now.With(change))
	}
	question := f.currentQuestion()
	if question != nil && f.uiLanguage() != oldLanguage && !sameLanguage(question.Language(), string(f.uiLanguage())) {
		// The agent does not tell it in that language, and what is to be typed is another key.
		f.after(tellsAnew, func(context.Context) {
			if f.currentQuestion() == question {
				present.Answer(time.Now(), "", f.reads)
			}
		})
	}
}
