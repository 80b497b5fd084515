package manifest

import look "github.com/aaep-go/aaep/internal/lookalike"

// looksAlike reports whether two names that differ look the same, or nearly so: in case, in width,
// in characters that cannot be seen, or in letters of other scripts and digits that have the same
// shape. It is for a warning, and is no proof in either direction. Of a long name the first 256
// characters count that can be seen; package lookalike says what is not found.
func looksAlike(a, b string) bool {
	if a == b {
		return false
	}
	a, b = look.Visible(a, maxNameRunes), look.Visible(b, maxNameRunes)
	// Shapes differ with case, so they are compared twice: as they are written, and all in small
	// letters.
	return look.Skeleton(a, false) == look.Skeleton(b, false) || look.Skeleton(a, true) == look.Skeleton(b, true)
}

// NameMisleads reports whether a name could mislead who hears or reads it: it mixes scripts, has
// letters of full width or another style, or says of itself that it is verified, in words or by a
// sign. It is for a warning beside the name: an honest name may have that too.
func NameMisleads(name string) bool { return look.Misleads(look.Visible(name, maxNameRunes)) }

const maxNameRunes = 256 // characters that count
