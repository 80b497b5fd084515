package secrets

import (
	"slices"
	"strings"
)

// cardGroups are the groups of digits in which card numbers are printed. One group is a number
// without separators.
var cardGroups = [][]int{
	{4, 4, 4, 4}, {4, 4, 4, 4, 3}, {4, 4, 4, 4, 2}, {4, 6, 5}, {4, 6, 4}, {4, 3, 3, 3}, {4, 4, 4, 1},
	{13}, {14}, {15}, {16}, {17}, {18}, {19},
}

// hasCard reports whether s has digits in the groups of a card, with the length and the first
// digits of an issuer and the right check digit. The groups may be the beginning or the end of a
// longer row of numbers, as after "2 x" or before "12/29".
func hasCard(s string) bool {
	var digits []byte
	var groups []int
	for i := 0; i < len(s); {
		if !isDigit(s[i]) {
			i++
			continue
		}
		// Read one row of numbers that are parted by the same separator.
		start, separator := i, ""
		digits, groups = digits[:0], append(groups[:0], 0)
		for i < len(s) {
			if isDigit(s[i]) {
				digits = append(digits, s[i])
				groups[len(groups)-1]++
				i++
				continue
			}
			sep := separatorAt(s[i:])
			otherSeparator := separator != "" && sep != separator
			if sep == "" || otherSeparator || i+len(sep) >= len(s) || !isDigit(s[i+len(sep)]) {
				break
			}
			separator = sep
			groups = append(groups, 0)
			i += len(sep)
		}
		if standsAlone(s, start, i) && hasCardGroups(digits, groups) {
			return true
		}
	}
	return false
}

// separatorAt returns the separator of groups of digits that s begins with, a blank or a hyphen; ""
// where it begins with neither.
func separatorAt(s string) string {
	for _, sep := range [...]string{" ", "-"} {
		if strings.HasPrefix(s, sep) {
			return sep
		}
	}
	return ""
}

// standsAlone reports whether the digits s[from:to] are a number of their own: no part of a word,
// an identifier, a decimal, a path or a phone number with a plus.
func standsAlone(s string, start, end int) bool {
	if start > 0 {
		switch b := s[start-1]; {
		case isLetter(b), b == '_', b == '+', b == '/', b == '#', b == '$', inURL(s[max(0, start-256):start]):
			return false
		case (b == '-' || b == '.' || b == ',') && start > 1 && isKeyByte(s[start-2]):
			return false
		}
	}
	if end < len(s) {
		switch b := s[end]; {
		case isLetter(b), b == '_', b == '%':
			return false
		case (b == '-' || b == '.' || b == ',') && end+1 < len(s) && (isLetter(s[end+1]) || isDigit(s[end+1])):
			return false
		}
	}
	return true
}

// inURL reports whether what stands before a number is the beginning of a URL.
func inURL(before string) bool {
	return strings.Contains(before[strings.LastIndexAny(before, " \t\n")+1:], "://")
}

// hasCardGroups reports whether a row of digits, in groups of these lengths, begins or ends with a
// card number in the groups in which one is printed.
func hasCardGroups(digits []byte, groups []int) bool {
	for _, form := range cardGroups {
		n, length := len(form), 0
		if n > len(groups) {
			continue
		}
		for _, g := range form {
			length += g
		}
		atStart := slices.Equal(groups[:n], form) && isCard(digits[:length])
		if atStart || slices.Equal(groups[len(groups)-n:], form) && isCard(digits[len(digits)-length:]) {
			return true
		}
	}
	return false
}

// isCard reports whether digits could be the number of a card, and are no article number.
func isCard(digits []byte) bool {
	return isIssuedNumber(digits) && passesLuhn(digits) && !(len(digits) == 13 && isBarcode(digits))
}

// isIssuedNumber reports whether some issuer of cards numbers them so, by the length and the first
// digits. digits has at least 13.
func isIssuedNumber(digits []byte) bool {
	first := func(n int) (v int) {
		for _, d := range digits[:n] {
			v = 10*v + int(d-'0')
		}
		return v
	}
	in := func(v, from, to int) bool { return v >= from && v <= to }
	switch n := len(digits); {
	case first(1) == 4: // Visa
		return n == 13 || n == 16 || n == 19
	case first(2) == 34 || first(2) == 37: // American Express
		return n == 15
	case in(first(3), 300, 305) || first(2) == 36 || first(2) == 38 || first(2) == 39: // Diners
		return n == 14
	case in(first(2), 51, 55), in(first(4), 2221, 2720): // Mastercard
		return n == 16
	case in(first(4), 3528, 3589): // JCB
		return n >= 16
	case first(4) == 6011, first(2) == 65, in(first(3), 644, 649), first(2) == 62: // Discover, UnionPay, RuPay
		return n >= 16
	case first(3) == 506: // Verve
		return n == 16 || n >= 18
	}
	return false
}

// passesLuhn reports whether the last digit is the check digit of the others by Luhn's algorithm,
// as cards have it.
func passesLuhn(digits []byte) bool {
	sum := 0
	for i, d := range digits {
		v := int(d - '0')
		if (len(digits)-i)%2 == 0 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

// isBarcode reports whether 13 digits have the check digit of an article number, as those of German
// goods that begin with a 4.
func isBarcode(digits []byte) bool {
	sum := 0
	for i, d := range digits {
		sum += int(d-'0') * (1 + 2*(i%2))
	}
	return sum%10 == 0
}
