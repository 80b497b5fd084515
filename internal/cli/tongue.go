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

// A tongue is the language of this program's own words to a listener: the first of their languages that there are phrases in.
type tongue string

const english tongue = ownLanguage

func (t tongue) says(id phrase.ID, arg string) string {
	says, _ := phrase.In(string(t), id, arg)
	return says
}

// isEnglish reports whether it is English, of whatever region.
func (t tongue) isEnglish() bool {
	return t == english || strings.HasPrefix(string(t), ownLanguage+"-")
}

// words is what it says, with its language.
func (t tongue) words(text string) announce.Words { return announce.In(string(t), text) }

// list joins pieces; English has a word before the last.
func (t tongue) list(pieces []string) string {
	switch {
	case len(pieces) == 0:
		return t.says(phrase.NothingElse, "")
	case t.isEnglish():
		return andList(pieces)
	}
	return strings.Join(pieces, t.comma())
}

// comma is what is between the pieces of a list.
func (t tongue) comma() string {
	or := t.says(phrase.Or, "") // begins with one
	_, n := utf8.DecodeRuneInString(or)
	return or[:n] + " "
}

// why is an error as a sentence; what nobody has a phrase for is in English, or in the words of whoever sent it.
func (t tongue) why(err error) string {
	if id, arg := phraseFor(err); id != "" {
		return words.Sentence(t.says(id, arg))
	}
	return words.Sentence(plainError(err))
}

// phraseFor is the phrase that says what an error is, or -1.
func phraseFor(err error) (id phrase.ID, arg string) {
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
	case errors.Is(err, transports.ErrInterrupted), errors.Is(err, transports.ErrClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return phrase.LinkBroke, ""
	case errors.Is(err, subscriber.ErrUnknownEvent):
		return phrase.NotOpen, ""
	}
	return "", ""
}

// tongue is the listener's. It may be called by several goroutines at once.
func (l *listener) tongue() tongue {
	if t, ok := l.own.Load().(tongue); ok {
		return t
	}
	return english
}

// speak takes over the languages that the listener asked for. What cannot be spoken would not be heard.
func (l *listener) speak(languages []string) {
	spoken := slices.DeleteFunc(slices.Clone(languages), func(tag string) bool { return !l.out.speaks(tag) })
	l.own.Store(tongue(phrase.Best(spoken)))
	l.out.each(func(p *present.Presenter) { p.SetLanguage(languages...) })
}

// phrase is one of this program's own sentences, in the listener's language.
func (l *listener) phrase(id phrase.ID, arg string) string { return l.tongue().says(id, arg) }

// inform says such sentences.
func (l *listener) inform(sentences ...string) {
	l.status.printLabelled("aaep", words.OneLine(strings.Join(sentences, " ")))
}

// greet is inform of what a question that comes first says too, or makes needless.
func (l *listener) greet(sentences ...string) {
	text := words.OneLine(strings.Join(sentences, " "))
	l.status.printToTerminal("aaep", text)
	l.out.plan(func(a *announce.Announcer, now time.Time) { a.Mention(now, text) })
}

// homeLanguages are those of the person at this system, best first, as far as its environment tells.
func homeLanguages() []string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if locale := os.Getenv(name); locale != "" {
			tag, _, _ := strings.Cut(locale, ".")
			tag, _, _ = strings.Cut(tag, "@")
			tag = strings.ReplaceAll(tag, "_", "-")
			if language, _, _ := strings.Cut(tag, "-"); len(language) > 1 && language != "en" && aaep.ValidLanguageTag(tag) && tag != "POSIX" {
				return []string{tag, "en-US"}
			}
			break
		}
	}
	return []string{"en-US"}
}
