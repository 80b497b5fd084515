package ledger

import "strconv"

// parseNumber reads a decimal number as a clarification's default spells it; hexadecimal,
// infinities and the like are none.
func parseNumber(s string) (float64, bool) {
	for _, r := range s {
		if (r < '0' || r > '9') && r != '.' && r != '-' && r != '+' && r != 'e' && r != 'E' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}
