package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/words"
)

// A line that begins with a slash changes the terms, or asks for more time, and is never an answer. To answer with one, a space goes
// before it.

const commandsHelp = `Type a line with one of these:
/rate 1: at most one event a second.
/verbosity terse, or normal, or detailed.
/language yo,en: the languages you want, best first.
/load low, or medium, or high: how much is told.
/pace 300: how many words a minute your voice speaks.
/boundary sentence, or word, paragraph, completion, none: where answers are cut.
/quiet: only what cannot wait, for 5 minutes. /quiet off ends it.
/more: more time to answer the question on the screen.
/terms: what holds now.
/again, /where, /waiting, /details: with --output, what was said last, how it stands, what is to come, and what you missed.
Nothing but Enter: the question on the screen again.`

// quietTime is how long somebody can be quiet for at most; it is what the extension allows.
const quietTime = 5 * time.Minute

// command obeys a line that begins with a slash. What is wrong gets a line and changes nothing.
func (l *listener) command(ctx context.Context, line string) {
	name, word, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	name, word = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(word)
	if i := slices.IndexFunc(wishes, func(w wish) bool { return w.name == name }); i >= 0 {
		var change aaep.Capabilities
		if w := wishes[i]; !w.set(&change, word) {
			l.wrong(name, w.must, word)
			return
		}
		l.change(ctx, l.safely(change))
		return
	}
	if l.outputCommand(name) {
		return
	}
	switch name {
	case "help", "?":
		l.status.say("aaep", commandsHelp)
	case "terms":
		c := l.terms()
		l.status.say("aaep", words.OneLine("You get "+andList(inWords(c, everyTerm(c)))+"."))
	case "more":
		if word != "" {
			l.wrong(name, "nothing", word)
			return
		}
		l.askMore(ctx)
	case "quiet":
		switch {
		case word == "" || word == "on":
			l.change(ctx, l.presence(true))
		case word != "off":
			l.wrong(name, "nothing or by off", word)
		case l.quiet == nil:
			l.status.say("aaep", "It is not quiet.")
		default:
			l.change(ctx, l.presence(false))
		}
	default:
		text := "There is no command /" + words.OneLine(name) + ". Type /help for those there are."
		if len(l.asked) > 0 {
			text += " If it is your answer, type a space before it."
		}
		l.status.say("aaep", text)
	}
}

func (l *listener) wrong(name, must, is string) {
	text := "/" + name + " must be followed by " + must
	if is != "" {
		text += ", not by \"" + is + "\""
	}
	l.status.say("aaep", words.OneLine(text+"."))
}

// safely makes a change one that cannot be refused: a producer that has none of the languages ends the
// subscription (§5.7, D-46), so those that are heard now come last.
func (l *listener) safely(change aaep.Capabilities) aaep.Capabilities {
	if change.Languages == nil {
		return change
	}
	for _, tag := range l.terms().Languages {
		if !slices.Contains(change.Languages, tag) && len(change.Languages) < 32 {
			change.Languages = append(change.Languages, tag)
		}
	}
	return change
}

// presence says that the person types, or does not. What else is asked of the extension stays, and so do the
// extensions the agent serves; to name one again that it could not might be refused (§7.3.1).
func (l *listener) presence(typing bool) aaep.Capabilities {
	c := aaep.Capabilities{SupportedExtensions: l.sub.Accepted().HonoredCapabilities.SupportedExtensions}
	d := read[extensions.Delivery](l.wanted.Extensions[extensions.DeliveryVocabulary.Prefix])
	d.Presence, d.PresenceExpiresIn = "active", 0
	if typing {
		d.Presence, d.PresenceExpiresIn = extensions.PresenceTyping, int64(quietTime/time.Second)
	}
	if err := c.AddExtension(extensions.DeliveryVocabulary, d); err != nil {
		panic(err) // it is of our own making
	}
	return c
}

// isQuiet reports whether terms say that the person types.
func isQuiet(c aaep.Capabilities) bool {
	return read[extensions.Delivery](c.Extensions[extensions.DeliveryVocabulary.Prefix]).Presence == extensions.PresenceTyping
}

// renegotiated is what came of a change.
type renegotiated struct {
	change aaep.Capabilities
	err    error
}

// change asks for other terms. Nothing waits for the answer: announcements and questions go on. What is asked for
// meanwhile is asked for together when it has come.
func (l *listener) change(ctx context.Context, change aaep.Capabilities) {
	if l.changing {
		if l.later == nil {
			l.later = new(aaep.Capabilities)
		}
		*l.later = l.later.With(change)
		return
	}
	l.changing = true
	go func() {
		_, err := l.sub.Renegotiate(ctx, change)
		l.changed <- renegotiated{change, err} // there is room for one, and there is only one
	}()
}

// agreed tells what came of a change, and asks for what came up meanwhile.
func (l *listener) agreed(ctx context.Context, r renegotiated) {
	l.changing = false
	if ctx.Err() != nil {
		return
	}
	if r.err == nil {
		l.wanted = l.wanted.With(r.change)
		l.tell(ctx, r.change)
	} else {
		l.status.say("aaep", "Not changed so far: "+words.Sentence(plain(r.err)))
		if l.quiet != nil {
			l.quiet = time.After(quietTime) // to end it, if that is what failed
		}
	}
	if next := l.later; next != nil {
		l.later = nil
		l.change(ctx, *next)
	}
}

// tell says what holds from now on of what was asked for.
func (l *listener) tell(ctx context.Context, change aaep.Capabilities) {
	terms := l.terms()
	delivery := extensions.DeliveryVocabulary.Prefix
	if presence := change.Extensions[delivery]; presence != nil {
		was := l.quiet != nil
		l.quiet = nil
		switch asked := isQuiet(change); {
		case asked && isQuiet(terms):
			l.quiet = time.After(quietTime)
			l.status.say("aaep", "Quiet for "+words.Spoken(quietTime)+", except for what cannot wait. /quiet off ends it.")
		case asked:
			l.status.say("aaep", "This agent cannot be quiet. It goes on as before.")
			l.change(ctx, l.presence(false)) // so that nobody is asked for it when the link begins anew
		case was:
			l.status.say("aaep", "No longer quiet. What was held back follows.")
		}
	}
	change.Extensions = nil
	if list := inWords(terms, change); len(list) > 0 {
		l.status.say("aaep", words.OneLine("From now on: "+andList(list)+"."))
		l.explain(terms.With(change))
	}
}
