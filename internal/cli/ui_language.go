package cli

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/transports"
)

// uiLanguage is the language of this program's own words to a listener: the first of their
// languages that there are phrases in.
type uiLanguage string

const english uiLanguage = ownLanguage

func (t uiLanguage) phraseText(id phrase.ID, arg string) string {
	says, _ := phrase.In(string(t), id, arg)
	return says
}

// isEnglish reports whether it is English, of whatever region.
func (t uiLanguage) isEnglish() bool {
	return t == english || strings.HasPrefix(string(t), ownLanguage+"-")
}

// inLanguage returns text marked with its language.
func (t uiLanguage) inLanguage(text string) announce.Words { return announce.In(string(t), text) }

// joinList joins pieces to a list; in English "and" stands before the last.
func (t uiLanguage) joinList(pieces []string) string {
	switch {
	case len(pieces) == 0:
		return t.phraseText(phrase.NothingElse, "")
	case t.isEnglish():
		return andList(pieces)
	}
	return strings.Join(pieces, t.listComma())
}

// listComma returns what stands between the pieces of a list.
func (t uiLanguage) listComma() string {
	or := t.phraseText(phrase.Or, "") // begins with one
	_, n := utf8.DecodeRuneInString(or)
	return or[:n] + " "
}

// explainError returns an error as a sentence. An error without a phrase is in English, or in the
// peer's words.
func (t uiLanguage) explainError(err error) string {
	if id, arg := phraseForError(err); id != "" {
		return words.Sentence(t.phraseText(id, arg))
	}
	return words.Sentence(plainError(err))
}

// phraseForError returns the phrase that says what an error is, and its argument; "" where there is
// none.
func phraseForError(err error) (id phrase.ID, arg string) {
	var refused *aaep.Rejection
	var network *net.OpError
	var noName *net.DNSError
	switch {
	case errors.As(err, &refused) && refused.Message != "":
	case errors.As(err, &noName):
		return phrase.NoMachine, noName.Name
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return phrase.NotInTime, ""
	case network != nil && network.Op == "dial":
		return phrase.NothingAnswers, ""
	case errors.Is(err, transports.ErrInterrupted), errors.Is(err, transports.ErrClosed), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF):
		return phrase.LinkBroke, ""
	case errors.Is(err, subscriber.ErrUnknownEvent):
		return phrase.NotOpen, ""
	}
	return "", ""
}

// uiLanguage returns the listener's language. Several goroutines may call it at once.
func (l *listener) uiLanguage() uiLanguage {
	if t, ok := l.language.Load().(uiLanguage); ok {
		return t
	}
	return english
}

// setLanguages takes over the languages that the listener asked for. A language that no output can
// speak is left out, for it would not be heard.
func (l *listener) setLanguages(languages []string) {
	spoken := slices.DeleteFunc(slices.Clone(languages), func(tag string) bool { return !l.out.canSpeak(tag) })
	l.language.Store(uiLanguage(phrase.Best(spoken)))
	l.out.forEach(func(p *present.Presenter) { p.SetLanguage(languages...) })
	if l.reads != nil {
		l.reads.SetLanguage(languages...)
	}
}

// phraseText returns one of this program's own sentences, in the listener's language.
func (l *listener) phraseText(id phrase.ID, arg string) string {
	return l.uiLanguage().phraseText(id, arg)
}

// informPerson prints sentences of this program itself, and has the outputs say them.
func (l *listener) informPerson(sentences ...string) {
	l.status.printLabelled("aaep", words.OneLine(strings.Join(sentences, " ")))
}

// greetPerson prints sentences that a question which comes first makes needless: the outputs leave
// them out then.
func (l *listener) greetPerson(sentences ...string) {
	text := words.OneLine(strings.Join(sentences, " "))
	l.status.printToTerminal("aaep", text)
	l.out.planAll(func(a *announce.Announcer, now time.Time) { a.Mention(now, text) })
}

// systemLanguages returns the languages of the person at this system, best first, as far as its
// environment tells.
func systemLanguages() []string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if locale := os.Getenv(name); locale != "" {
			tag, _, _ := strings.Cut(locale, ".")
			tag, _, _ = strings.Cut(tag, "@")
			tag = strings.ReplaceAll(tag, "_", "-")
			if language, _, _ := strings.Cut(tag, "-"); len(language) > 1 && language != "en" &&
				aaep.ValidLanguageTag(tag) && tag != "POSIX" {
				return []string{tag, "en-US"}
			}
			break
		}
	}
	return []string{"en-US"}
}
