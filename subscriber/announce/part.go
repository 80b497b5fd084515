package announce

import (
	"strings"
	"time"

	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

// Words are what is said, in parts of one language each: what this package says beside an agent's
// text is in that text's language, where it knows the language, and else in English. A voice or a
// table for one language garbles another.
type Words []Part

// Part is what is said in one language, by its tag; "" is unknown.
type Part struct {
	Language, Text string
	speaker        string // the agent whose name Text begins with; "" is none
}

// ownLanguage is what is spoken where nothing else is known.
const ownLanguage = "en"

// In returns a text in one language as Words; nil for an empty text.
func In(language, text string) Words {
	if text == "" {
		return nil
	}
	return Words{{Language: language, Text: text}}
}

// String returns all of the words, in whatever language, as one text.
func (w Words) String() string {
	var b strings.Builder
	for _, p := range w {
		b.WriteString(p.Text)
	}
	return b.String()
}

// And returns w followed by separator and next. Neighbours in one language become one part.
func (w Words) And(separator string, next Words) Words {
	if len(w) == 0 || len(next) == 0 {
		return append(w[:len(w):len(w)], next...)
	}
	w = append(Words{}, w...)
	last := &w[len(w)-1]
	last.Text += separator
	if first := next[0]; sharesVoice(last.Language, first.Language) {
		last.Language, last.Text = max(last.Language, first.Language), last.Text+first.Text
		next = next[1:]
	}
	return append(w, next...)
}

// sharesVoice reports whether one voice can say both languages: they are the same, or one is this
// package's own English and the other is any English.
func sharesVoice(a, b string) bool {
	isWider := func(a, b string) bool {
		return a == ownLanguage && strings.HasPrefix(strings.ToLower(b), ownLanguage+"-")
	}
	return a == b || isWider(a, b) || isWider(b, a)
}

// endSentence returns w with the end of a sentence, so that a voice pauses behind it.
func (w Words) endSentence() Words {
	if len(w) > 0 {
		w = append(Words{}, w...)
		w[len(w)-1].Text = words.Sentence(w[len(w)-1].Text)
	}
	return w
}

// oneLine returns w without line breaks.
func (w Words) oneLine() (one Words) {
	for _, p := range w {
		p.Text = words.OneLine(p.Text)
		one = one.And(" ", Words{p})
	}
	return one
}

// phraseIn returns a phrase in a language, or in English where the language is not known.
func phraseIn(language string, id phrase.ID, arg string) Words {
	text, known := phrase.In(language, id, arg)
	if !known {
		language = ownLanguage
	}
	return In(language, text)
}

// labelText returns a phrase with the agent's text in it, or the English phrase and then the text,
// where the phrase is not known in the text's language.
func labelText(language string, id phrase.ID, text string) Words {
	if whole, known := phrase.In(language, id, text); known {
		return In(language, whole)
	}
	return phraseIn(language, id, "").And("", In(language, text))
}

// timeToAnswer says in a language, or in English, how much time is left to answer, or that it is
// over where that would be no second.
func timeToAnswer(language string, remaining time.Duration) Words {
	if isOver(remaining) {
		return phraseIn(language, phrase.TimeIsOver, "")
	}
	return phraseIn(language, phrase.TimeToAnswer, phrase.Time(language, remaining))
}

// isOver reports whether the time that remains would be told as no second.
func isOver(remaining time.Duration) bool { return remaining.Round(time.Second) <= 0 }

// tellsTime reports whether a sentence is one of timeToAnswer, which says how long a question is
// open, or that its time is over, in the sentence's own language.
func tellsTime(p Part) bool {
	if over, _ := phrase.In(p.Language, phrase.TimeIsOver, ""); p.Text == over {
		return true
	}
	whole, _ := phrase.In(p.Language, phrase.TimeToAnswer, "\x00")
	before, after, _ := strings.Cut(whole, "\x00")
	return strings.HasPrefix(p.Text, before) && strings.HasSuffix(p.Text, after)
}
