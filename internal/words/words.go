// Package words makes numbers, times and sentences fit for a voice, in English.
package words

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// Count returns a number with its noun: "1 event", "2 events".
func Count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Thousands(int64(n)) + " " + thing + "s"
}

// Thousands returns a number with commas between the thousands, without which a voice reads it
// digit by digit.
func Thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Spoken returns a duration in words, to the second: "1 minute 30 seconds".
func Spoken(d time.Duration) string {
	seconds := max(int64(d.Round(time.Second)/time.Second), 0)
	var parts []string
	for _, unit := range []struct {
		seconds int64
		name    string
	}{{3600, "hour"}, {60, "minute"}, {1, "second"}} {
		if n := seconds / unit.seconds; n > 0 {
			parts = append(parts, Count(n, unit.name))
			seconds %= unit.seconds
		}
	}
	if parts == nil {
		return "0 seconds"
	}
	return strings.Join(parts, " ")
}

// OneLine is text that cannot pretend to be another line.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// sentenceEnds are what a voice pauses at as at the end of a sentence, as at no point within a URL.
var sentenceEnds = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[.!?:;]+([^\pL\pN\s/]*)(?:\s|$)|[。！？：；؟؛।॥…۔።፧։՞၊။។៕｡．]+()`)
})

// Within returns a peer's text in a form that can stand within a sentence of this program and ends
// none of them, on one line: what comes behind it would be heard as said by this program. Of a long
// one, such as no person would listen to, it is the beginning.
func Within(text string) string {
	const most = 100 // characters
	text = strings.ToValidUTF8(text[:min(len(text), 20*most)], "")
	text = OneLine(sentenceEnds().ReplaceAllString(OneLine(text), "$1 "))
	if r := []rune(text); len(r) > most {
		text = strings.TrimSpace(string(r[:most])) + "…"
	}
	return text
}

// Sentence ends a text with a full stop, so that a voice pauses before what follows. What ends in
// the mark of another script, or in one within quotation marks, has an end.
func Sentence(text string) string {
	text = strings.TrimSpace(text)
	bare := strings.TrimRightFunc(text, func(r rune) bool { return unicode.In(r, unicode.Pe, unicode.Pf, unicode.Pi) || r == '"' || r == '\'' })
	if last, _ := utf8.DecodeLastRuneInString(bare); text == "" || unicode.Is(unicode.STerm, last) || strings.ContainsRune("…;\u037e", last) {
		return text
	}
	return text + "."
}

// Fit shortens a text to some bytes, 100 at least, and says where it did.
func Fit(text string, most int) string {
	const note = " … (This is not all: the rest is too long to be told.)"
	if len(text) <= most {
		return text
	}
	cut := most - len(note)
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + note
}
