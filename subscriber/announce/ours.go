package announce

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/aaep-go/aaep/internal/lookalike"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

// A mark is how a line of ours looks, by its start and what else is in it, if that alone is a
// common beginning. Who hears it must be able to rely on it, in any language.
type mark struct{ start, in string }

// marks are those of every language, made when the first text of an agent is told.
var marks = sync.OnceValue(func() []mark {
	all := startMarks("aaep:", "type a number", "the time to answer is almost over: you have")
	for _, o := range phrase.Offers() {
		all = append(all, mark{skeletonOf(o.Start), skeletonOf(o.In)})
	}
	for _, tag := range phrase.Languages() {
		for _, id := range []phrase.ID{phrase.AskedProven, phrase.AskedUnproven, phrase.AcceptedDoing,
			phrase.AcceptedEarlier} {
			text, _ := phrase.In(tag, id, "")
			verdict, _, _ := strings.Cut(text, ":")
			all = append(all, startMarks(verdict+":")...)
		}
		for _, id := range []phrase.ID{phrase.ToDecide, phrase.ActionIs, phrase.ConsequenceIs, phrase.QuestionIs,
			phrase.ContextIs} {
			text, _ := phrase.In(tag, id, "")
			all = append(all, startMarks(text)...)
		}
		whole, _ := phrase.In(tag, phrase.TimeToAnswer, "\x00")
		before, after, _ := strings.Cut(whole, "\x00")
		all = append(all, mark{skeletonOf(before), skeletonOf(after)})
	}
	return all
})

// startMarks returns the marks of lines that begin as texts do.
func startMarks(texts ...string) (list []mark) {
	for _, text := range texts {
		list = append(list, mark{start: skeletonOf(text)})
	}
	return list
}

// quoteAgent returns an agent's text, with a word before each line that would otherwise pass for
// one of ours.
func quoteAgent(language, text string) string { return prefixMarked(language, text, marks()) }

// quoteNames returns an agent's text, with a word before each line that would otherwise pass for
// what one of these agents says.
func quoteNames(language, text string, agents []string) string {
	names := make([]string, len(agents))
	for i, name := range agents {
		names[i] = words.OneLine(name) + ":"
	}
	return prefixMarked(language, text, startMarks(names...))
}

// compared is how many characters of a line are compared with the marks: a name may be long.
const compared = 320

// prefixMarked returns an agent's text with a word in its language before each line that begins
// like words of this program; marks are the beginnings of those.
func prefixMarked(language, text string, marks []mark) string {
	var b strings.Builder
	firsts := map[rune]bool{} // that a line began with: whether one of ours may begin so
	for line := range strings.Lines(text) {
		// What a voice passes over hides nothing.
		start := strings.TrimLeftFunc(line, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
		first, n := utf8.DecodeRuneInString(start)
		mayBeOurs, known := firsts[first]
		if !known && n > 0 {
			look := comparableStart(start[:n])
			mayBeOurs = slices.ContainsFunc(marks, func(m mark) bool { return strings.HasPrefix(m.start, look) })
			firsts[first] = mayBeOurs
		}
		if mayBeOurs && hasMark(comparableStart(start), marks) {
			label, _ := phrase.In(language, phrase.AgentSays, "")
			b.WriteString(label)
		}
		b.WriteString(line)
	}
	return b.String()
}

// hasMark reports whether a line, as comparableStart returns it, passes for one with any of the
// marks.
func hasMark(line string, marks []mark) bool {
	return slices.ContainsFunc(marks, func(m mark) bool {
		rest, begins := strings.CutPrefix(line, m.start)
		return begins && strings.Contains(rest, m.in)
	})
}

// comparableStart returns the beginning of a line as it is compared with the marks.
func comparableStart(start string) string { return skeletonOf(lookalike.Visible(start, compared)) }

// skeletonOf returns how a text looks and sounds: without capitals, spaces and accents, and with
// Latin letters for those of other scripts that look the same. It is for comparing, not for people.
func skeletonOf(text string) string {
	drop := func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			plain := strings.Map(drop, norm.NFKD.String(text))
			return strings.Map(drop, lookalike.Skeleton(norm.NFKD.String(plain), true))
		}
	}
	return strings.Map(drop, text)
}
