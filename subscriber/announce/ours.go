package announce

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aaep-go/aaep/internal/lookalike"
	"github.com/aaep-go/aaep/internal/words"
)

// labels begin lines of ours, and mean something. Who hears them must be able to rely on them.
var labels = skeletons("aaep:", "please decide.", "accepted, and being done:", "action:", "consequence:", "question:", "context:", "verified:", "not verified:",
	"type y to accept", "type y for yes", "type a number", "type your answer", "the time to answer is almost over: you have", youHave)

// quoted is an agent's text, with a word before each line that would otherwise pass for one of ours.
func quoted(text string) string { return marked(text, labels) }

// NotNamed is an agent's text, with a word before each line that would otherwise pass for what one of these agents says.
func NotNamed(text string, agents []string) string {
	starts := make([]string, len(agents))
	for i, name := range agents {
		starts[i] = words.OneLine(name) + ":"
	}
	return marked(text, skeletons(starts...))
}

// skeletons are what texts are compared by: how they look, in small letters.
func skeletons(texts ...string) []string {
	for i, text := range texts {
		texts[i] = lookalike.Skeleton(text, true)
	}
	return texts
}

// As much of a line is compared, in characters: a name may be long.
const whole = 320

func marked(text string, starts []string) string {
	var b strings.Builder
	firsts := map[rune]string{} // how each looks that a line began with
	for line := range strings.Lines(text) {
		// What a voice passes over hides nothing.
		start := strings.TrimLeftFunc(line, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
		first, n := utf8.DecodeRuneInString(start)
		look, known := firsts[first]
		if !known {
			look = looks(start[:n])
			firsts[first] = look
		}
		if n > 0 && begins(look, starts, true) && begins(looks(start), starts, false) {
			b.WriteString("The agent says: ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// begins reports whether a line begins with one of these, or may, of which little is known.
func begins(line string, with []string, may bool) bool {
	return slices.ContainsFunc(with, func(s string) bool {
		if s == youHaveLooks && !may && !strings.Contains(line, toAnswer) {
			return false // a common beginning
		}
		return strings.HasPrefix(line, s) || may && strings.HasPrefix(s, line)
	})
}

var youHaveLooks = lookalike.Skeleton(youHave, true)

// looks is what the beginning of a line is compared by. No letter of another script than Latin may pass for one of that.
func looks(start string) string {
	start = lookalike.Visible(start, whole)
	for i := range len(start) {
		if start[i] >= utf8.RuneSelf {
			return strings.ReplaceAll(lookalike.Skeleton(start, true), " :", ":")
		}
	}
	return strings.ReplaceAll(strings.ToLower(start), " :", ":")
}
