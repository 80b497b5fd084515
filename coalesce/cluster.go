package coalesce

import (
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// clusterEdge reports whether no grapheme cluster spans the end of before and next.
func clusterEdge(before []byte, next rune) bool {
	n := len(before)
	if n == 0 || before[n-1] < utf8.RuneSelf && next < utf8.RuneSelf {
		return n == 0 || before[n-1] != '\r' || next != '\n'
	}
	if before[n-1] == ' ' && joinsNothing(next) {
		return true
	}
	if c := classOf(next); c == clWide || c == clUpper || c == clLower || c == clDigit {
		if last, _ := utf8.DecodeLastRune(before); unjoined[classOf(last)] {
			return true
		}
	}
	start := n
	for start > max(0, n-64) {
		r, size := utf8.DecodeLastRune(before[:start])
		if r == utf8.RuneError && size == 1 { // nothing joins a byte that is no character
			break
		}
		start -= size
	}
	window := utf8.AppendRune(append(make([]byte, 0, 80), before[start:]...), next)
	n -= start
	for g := graphemes.FromBytes(window); g.Next(); {
		if g.End() >= n {
			return g.End() == n
		}
	}
	return true
}

// unjoined are the classes of characters after which a letter of another class begins a cluster for sure.
var unjoined = [classes]bool{clWide: true, clUpper: true, clLower: true, clDigit: true, clStop: true, clBang: true, clAsk: true, clFull: true, clFullClause: true}

// joinsNothing reports whether r is a letter or digit that begins a cluster.
func joinsNothing(r rune) bool {
	switch c := classOf(r); c {
	case clUpper, clLower, clDigit:
		return true
	case clLetter, clWide:
		return r != '\u0E33' && r != '\u0EB3' // the vowels of Thai and Lao that are letters but join
	}
	return false
}

// clusterBefore returns the last offset in b, but at most limit, between two grapheme clusters, or
// where there is none, between two code points. The text in b goes beyond limit.
func clusterBefore(b []byte, limit int) int {
	start := limit
	for start > 0 && start < len(b) && !utf8.RuneStart(b[start]) && limit-start < utf8.UTFMax {
		start--
	}
	for start > 0 && (start == len(b) || b[start] >= utf8.RuneSelf || b[start-1] >= utf8.RuneSelf || b[start-1] == '\r') {
		r, size := utf8.DecodeLastRune(b[:start])
		if r == utf8.RuneError && size == 1 {
			break
		}
		start -= size
	}
	end := start
	for end <= limit && end < len(b) {
		r, size := utf8.DecodeRune(b[end:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		end += size
	}
	best := start
	for g := graphemes.FromBytes(b[start:end]); g.Next() && start+g.End() <= limit; {
		best = start + g.End()
	}
	if best > 0 {
		return best
	}
	for best = limit; best > max(0, limit-utf8.UTFMax); best-- {
		if utf8.RuneStart(b[best]) {
			return best
		}
	}
	return limit // not UTF-8 anyway
}
