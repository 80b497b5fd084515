// Package nesting finds out how deep a JSON text nests before it is decoded. A decoder that
// recurses, here or in a library, needs stack for each level that a peer wrote. The package decodes
// nothing itself and has no state.
package nesting

// Most is how deep what a peer sends may nest. The protocol asks for 8 (§3.7).
const Most = 64

// TooDeep reports whether the text opens more than Most arrays and objects at once. It looks only
// at brackets outside strings, so it is right for every text that is JSON.
func TooDeep(data []byte) bool {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > Most {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}
