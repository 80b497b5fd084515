package coalesce

import (
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// clusterEdge reports whether a cut between the text before and the character next divides no
// grapheme cluster. The first cases are short cuts for most text; the rest asks the package
// graphemes, about the last 64 bytes of before.
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
		if r == utf8.RuneError && size == 1 { // nothing joins an invalid byte
			break
		}
		start -= size
	}
	window := utf8.AppendRune(append(make([]byte, 0, 80), before[start:]...), next)
	n -= start // the place to cut, as an offset in window
	for g := graphemes.FromBytes(window); g.Next(); {
		if g.End() >= n {
			return g.End() == n
		}
	}
	return true
}

// unjoined has the classes of characters behind which a letter or digit always begins a cluster.
var unjoined = [classes]bool{
	clWide: true, clUpper: true, clLower: true, clDigit: true, clStop: true, clBang: true, clAsk: true, clFull: true,
	clFullClause: true,
}

// joinsNothing reports whether r is a letter or digit that begins a grapheme cluster, so that a cut
// may stand in front of it. False only means that package graphemes has to be asked.
func joinsNothing(r rune) bool {
	switch c := classOf(r); c {
	case clUpper, clLower, clDigit:
		return true
	case clLetter, clWide:
		return r != '\u0E33' && r != '\u0EB3' // the vowels of Thai and Lao that are letters but join
	}
	return false
}

// clusterBefore returns the last offset in b, at most limit, between two grapheme clusters. Where
// there is none, it returns the last between two code points. The text in b goes on behind limit.
func clusterBefore(b []byte, limit int) int {
	// Clusters are counted from start, which is certainly the edge of one: between two ASCII
	// characters that are not CR and LF, behind an invalid byte, or the beginning of b.
	start := limit
	for start > 0 && start < len(b) && !utf8.RuneStart(b[start]) && limit-start < utf8.UTFMax {
		start--
	}
	for start > 0 {
		if start < len(b) && b[start] < utf8.RuneSelf && b[start-1] < utf8.RuneSelf && b[start-1] != '\r' {
			break
		}
		r, size := utf8.DecodeLastRune(b[:start])
		if r == utf8.RuneError && size == 1 {
			break
		}
		start -= size
	}

	end := start // behind the first character that lies beyond limit
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

	// All of b up to limit is one cluster.
	for best = limit; best > max(0, limit-utf8.UTFMax); best-- {
		if utf8.RuneStart(b[best]) {
			return best
		}
	}
	return limit // b is not UTF-8
}
