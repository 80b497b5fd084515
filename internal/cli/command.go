package cli

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
)

// there are the agents whose subscriptions are not over, those that have yet to come among them.
func (l *listener) there() iter.Seq[*following] {
	return func(yield func(*following) bool) {
		for _, f := range l.agents {
			if !f.link.Over && !yield(f) {
				return
			}
		}
	}
}

// A line that begins with a slash changes the terms, or asks for more time, and is never an answer. To answer with one, a space goes
// before it.

// quietTime is how long somebody can be quiet for at most; it is what the extension allows.
const quietTime = 5 * time.Minute

// tellsAnew is how long an agent may take to tell a question in a language that was asked for, until it is put as it is.
const tellsAnew = time.Second

// command obeys a line that begins with a slash. What is wrong gets a line and changes nothing.
func (l *listener) command(ctx context.Context, line string) {
	name, word, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	name, word = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(word)
	if l.talk != nil && l.talk.Command(ctx, name, word) {
		return
	}
	if i := slices.IndexFunc(wishes, func(w wish) bool { return w.name == name }); i >= 0 {
		var change aaep.Capabilities
		if w := wishes[i]; !w.set(&change, word) {
			l.wrong("/"+name+" "+word, w.form)
			return
		}
		for f := range l.there() {
			f.change(ctx, f.safely(change))
		}
		return
	}
	if l.outputCommand(name) {
		return
	}
	switch name {
	case "help", "?":
		l.status.printLabelled("aaep", l.phrase(phrase.CommandsHelp, ""))
	case "terms":
		for f := range l.there() {
			if f.sub == nil {
				continue
			}
			c := f.terms()
			f.note(f.phrase(phrase.YouGet, f.tongue().list(inWords(f.tongue(), c, everyTerm(c)))))
		}
	case "agents":
		for _, f := range l.agents {
			l.inform(announce.Speaker(f.name), f.standing())
		}
	case "next":
		l.putAside()
	case "skip", "newest":
		l.skip(name == "newest")
	case "more":
		if word != "" {
			l.wrong(line, "/more")
			return
		}
		l.askMore(ctx)
	case "quiet":
		if word != "" && word != "on" && word != "off" {
			l.wrong(line, "/quiet, /quiet off")
			return
		}
		l.quieten(ctx, word != "off")
	default:
		if l.talk != nil && l.asked.Len() == 0 && l.talk.Own(line) {
			return
		}
		said := []string{l.phrase(phrase.NoCommand, "/"+name), l.phrase(phrase.HelpIsThere, "")}
		if l.asked.Len() > 0 {
			said = append(said, l.phrase(phrase.SpaceBefore, ""))
		}
		l.inform(said...)
	}
}

// wrong says of a command that it cannot be obeyed, and which could.
func (l *listener) wrong(line, right string) {
	l.inform(l.phrase(phrase.NotUnderstood, words.Sentence(line)), l.phrase(phrase.Expected, words.Sentence(right)))
}

// safely makes a change one that cannot be refused: a producer that has none of the languages ends the
// subscription (§5.7, D-46), so those that are heard now come last.
func (f *following) safely(change aaep.Capabilities) aaep.Capabilities {
	if change.Languages == nil {
		return change
	}
	for _, tag := range f.terms().Languages {
		if !slices.Contains(change.Languages, tag) && len(change.Languages) < 32 {
			change.Languages = append(change.Languages, tag)
		}
	}
	return change
}

// presence says that the person types, or does not. What else is asked of the extension stays, and so do the
// extensions the agent serves; to name one again that it could not might be refused (§7.3.1).
func (f *following) presence(typing bool) aaep.Capabilities {
	c := aaep.Capabilities{SupportedExtensions: f.sub.Accepted().HonoredCapabilities.SupportedExtensions}
	d := readExtension[extensions.Delivery](f.wanted.Extensions[extensions.DeliveryVocabulary.Prefix])
	d.Presence, d.PresenceExpiresIn = "active", 0
	if typing {
		d.Presence, d.PresenceExpiresIn = extensions.PresenceTyping, int64(quietTime/time.Second)
	}
	if err := c.AddExtension(extensions.DeliveryVocabulary, d); err != nil {
		panic(err) // it is of our own making
	}
	return c
}

// quieten has only what cannot wait told from now on, for a time, or ends that. What an agent sends all the same waits here.
func (l *listener) quieten(ctx context.Context, on bool) {
	was := l.hushed != nil
	if l.hushed != nil {
		l.hushed.Stop()
		l.hushed = nil
	}
	for f := range l.there() {
		was = was || f.quiet != nil
		if f.sub != nil && (on || f.quiet != nil) {
			f.change(ctx, f.presence(on))
		}
		if f.quiet != nil {
			f.hush() // once more, in case that this fails
		}
	}
	l.out.each(func(p *present.Presenter) { p.Hush(on) })
	switch {
	case on:
		l.hushed = l.after(quietTime, func(ctx context.Context) { l.quieten(ctx, false) })
		l.inform(phrase.Lasting(string(l.tongue()), phrase.QuietNow, quietTime))
	case was:
		l.inform(l.phrase(phrase.NoLongerQuiet, ""))
		l.catchUp()
	default:
		l.inform(l.phrase(phrase.NotQuiet, ""))
	}
}

// skip leaves out the lines that wait on the terminal, and says how many; of the newest of them, what it is.
func (l *listener) skip(newest bool) {
	n := l.dropped + len(l.meanwhile)
	if n == 0 {
		l.inform(l.phrase(phrase.NothingMore, ""))
		return
	}
	last := l.meanwhile[len(l.meanwhile)-1]
	l.meanwhile, l.dropped = nil, 0
	if newest {
		n--
	}
	if n > 0 {
		l.inform(phrase.Counted(string(l.tongue()), phrase.LinesLeftOut, n, "line"))
	}
	if newest {
		l.printLabelled("", l.phrase(phrase.TheNewest, ""))
		last.of.says(last.text)
	}
}

// hush notes that an agent is quiet for a time, and ends that.
func (f *following) hush() {
	f.loud()
	var until *time.Timer
	until = f.after(quietTime, func(ctx context.Context) {
		if f.quiet == until && f.hushed == nil { // else it was ended, or began anew, or quieten ends it
			f.change(ctx, f.presence(false))
		}
	})
	f.quiet = until
}

// loud ends the time for which it is quiet.
func (f *following) loud() {
	if f.quiet != nil {
		f.quiet.Stop()
		f.quiet = nil
	}
}

// isQuiet reports whether terms say that the person types.
func isQuiet(c aaep.Capabilities) bool {
	return readExtension[extensions.Delivery](c.Extensions[extensions.DeliveryVocabulary.Prefix]).Presence == extensions.PresenceTyping
}

// change asks for other terms. Nothing waits for the answer: announcements and questions go on. What is asked for
// meanwhile is asked for together when it has come.
func (f *following) change(ctx context.Context, change aaep.Capabilities) {
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
		f.post(ctx, func() { f.agreed(ctx, change, err) })
	}()
}

// agreed tells what came of a change, and asks for what came up meanwhile.
func (f *following) agreed(ctx context.Context, change aaep.Capabilities, err error) {
	f.changing = false
	gone := change.SupportsConfirmationReply != nil           // nobody can type here any more, which was said
	switch mine := change.PaceWPM == f.pace && f.pace != 0; { // which nobody asked for, and nobody is told
	case ctx.Err() != nil || f.link.Over:
		return
	case err == nil:
		f.wanted = f.wanted.With(change)
		if gone {
			change.SupportsConfirmationReply, change.SupportsClarificationReply = nil, nil
		}
		if mine {
			change.PaceWPM = 0
		}
		f.tell(ctx, change)
	case !mine && !gone:
		asked := inWords(f.tongue(), change, change)
		if asked == nil { // of all that is asked for, only this has no words
			asked = []string{f.phrase(phrase.EndOfQuiet, "")}
		}
		f.note(f.phrase(phrase.AskedFor, f.tongue().list(asked)), f.phrase(phrase.NotChanged, f.tongue().why(err)))
		if refused := new(aaep.Rejection); errors.As(err, &refused) {
			f.loud() // the new subscription knows of no quiet
		} else if f.quiet != nil {
			f.hush() // to end it, if that is what failed
		}
	case mine:
		f.paceless = f.paceless || errors.As(err, new(*aaep.Rejection))
	}
	if q := f.asked.First(); q != nil && q.Put.IsZero() { // it was told once more meanwhile
		f.put(q)
	}
	if next := f.later; next != nil {
		f.later = nil
		f.change(ctx, *next)
	}
}

// tell says what holds from now on of what was asked for.
func (f *following) tell(ctx context.Context, change aaep.Capabilities) {
	terms := f.terms()
	delivery := extensions.DeliveryVocabulary.Prefix
	if presence := change.Extensions[delivery]; presence != nil {
		f.loud()
		switch asked := isQuiet(change); {
		case asked && isQuiet(terms):
			f.hush()
		case asked:
			f.change(ctx, f.presence(false)) // so that it is not asked for when the link begins anew
		}
	}
	change.Extensions = nil
	was := f.tongue()
	if change.Languages != nil {
		f.speak(f.wanted.Languages)
	}
	if list := inWords(f.tongue(), terms, change); len(list) > 0 {
		f.note(f.phrase(phrase.FromNowOn, f.tongue().list(list)))
		f.explain(terms.With(change))
	}
	if q := f.asked.First(); q != nil && f.tongue() != was { // what is to be typed is another key
		put := q.Put
		f.after(tellsAnew, func(context.Context) {
			if f.asked.First() == q && q.Put.Equal(put) {
				f.put(q)
			}
		})
	}
}
