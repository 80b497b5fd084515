package coalesce

import (
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// firstVisible returns the offset of the first character of b that is not white space, or -1.
func firstVisible(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if c := classOf(r); c != clSpace && c != clLine {
			return i
		}
		i += size
	}
	return -1
}

// clusterEdge reports whether no grapheme cluster spans the end of before and next.
func clusterEdge(before []byte, next rune) bool {
	n := len(before)
	if n == 0 || before[n-1] < utf8.RuneSelf && next < utf8.RuneSelf {
		return n == 0 || before[n-1] != '\r' || next != '\n'
	}
	start := max(0, n-64)
	for start < n && start > 0 && !utf8.RuneStart(before[start]) {
		start++
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

// clusterBefore returns the last offset in b, but at most limit, between two grapheme clusters, or
// where there is none, between two code points. The text in b goes beyond limit.
func clusterBefore(b []byte, limit int) int {
	start := limit
	for start > 0 && (b[start] >= utf8.RuneSelf || b[start-1] >= utf8.RuneSelf || b[start-1] == '\r') {
		start--
	}
	best := start
	for g := graphemes.FromBytes(b[start:]); g.Next() && start+g.End() <= limit; {
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
