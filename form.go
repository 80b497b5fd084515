package aaep

import (
	"net/url"
	"strings"
	"time"
)

// isLetter reports whether b is an ASCII letter.
func isLetter(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

// isDigit reports whether b is an ASCII digit.
func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// madeOf reports whether every byte of s is a letter, a digit, or one of others.
func madeOf(s, others string) bool {
	for i := 0; i < len(s); i++ {
		if b := s[i]; !isLetter(b) && !isDigit(b) && strings.IndexByte(others, b) < 0 {
			return false
		}
	}
	return true
}

// validID reports whether s is the prefix and 1 to 64 letters or digits.
func validID(s, prefix string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	return ok && rest != "" && len(rest) <= 64 && madeOf(rest, "")
}

// ValidLanguageTag reports whether s has the form of a language tag: subtags of one to eight
// letters or digits joined by hyphens, the first of letters alone.
func ValidLanguageTag(s string) bool {
	for first, hasMore := true, true; hasMore; first = false {
		var sub string
		sub, s, hasMore = strings.Cut(s, "-")
		if sub == "" || len(sub) > 8 || !madeOf(sub, "") || first && strings.ContainsAny(sub, "0123456789") {
			return false
		}
	}
	return true
}

// validVersion reports whether s is three numbers with dots, as 1.0.0, perhaps with a pre-release
// behind a hyphen.
func validVersion(s string) bool {
	core, pre, tagged := strings.Cut(s, "-")
	if tagged && (pre == "" || !madeOf(pre, ".-")) {
		return false
	}
	dots, digits := 0, 0
	for i := 0; i < len(core); i++ {
		switch {
		case isDigit(core[i]):
			digits++
		case core[i] == '.' && digits > 0:
			dots, digits = dots+1, 0
		default:
			return false
		}
	}
	return dots == 2 && digits > 0
}

// validTool reports whether s can be the name of a tool (§4.2.3).
func validTool(s string) bool {
	return s != "" && len(s) <= 256 && (isLetter(s[0]) || s[0] == '_') && madeOf(s, "_.-")
}

// validSnake reports whether s is 2 to 64 characters long, of digits, underscores and letters of
// ASCII between from and to, with a letter first.
func validSnake(s string, from, to byte) bool {
	for i := 0; i < len(s); i++ {
		if b := s[i]; !(b >= from && b <= to || i > 0 && (b == '_' || isDigit(b))) {
			return false
		}
	}
	return len(s) >= 2 && len(s) <= 64
}

// validContentType reports whether s is a media type without parameters.
func validContentType(s string) bool {
	major, minor, _ := strings.Cut(s, "/")
	return len(s) <= 256 && major != "" && minor != "" && isLetter(major[0]) && isLetter(minor[0]) &&
		madeOf(major, ".+_-") && madeOf(minor, ".+_-")
}

// validScript reports whether s has the form of an ISO 15924 code such as Latn.
func validScript(s string) bool {
	if len(s) != 4 || s[0] < 'A' || s[0] > 'Z' {
		return false
	}
	for i := 1; i < 4; i++ {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return true
}

// validJWS reports whether s has the compact form of a signed manifest; it does not check the
// signature.
func validJWS(s string) bool {
	header, rest, _ := strings.Cut(s, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	return header != "" && payload != "" && signature != "" &&
		madeOf(header, "_-") && madeOf(payload, "_-") && madeOf(signature, "_-")
}

// validURI reports whether s is a URI of RFC 3986: ASCII, with a scheme and something after it.
func validURI(s string) bool {
	scheme, rest, _ := strings.Cut(s, ":")
	if scheme == "" || !isLetter(scheme[0]) || !madeOf(scheme, "+-.") || rest == "" || rest[0] == '?' ||
		rest[0] == '#' {
		return false
	}
	fragment := false
	for i := 0; i < len(rest); i++ {
		switch b := rest[i]; {
		case isLetter(b) || isDigit(b) || strings.IndexByte("-._~:@!$&'()*+,;=/?", b) >= 0:
		case b == '%' && i+2 < len(rest) && isHex(rest[i+1]) && isHex(rest[i+2]):
			i += 2
		case b == '#' && !fragment:
			fragment = true
		case (b == '[' || b == ']') && strings.HasPrefix(rest, "//"):
			// Part of an IPv6 address, or refused below.
		default:
			return false
		}
	}

	if !strings.HasPrefix(rest, "//") {
		return true
	}
	host, path := rest[2:], ""
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host, path = host[:i], host[i:]
	}
	if host == "" && (path == "" || path[0] != '/') || strings.ContainsAny(path, "[]") {
		return false
	}
	if madeOf(host, ".-") { // as nearly all are; url.Parse is slower
		return true
	}
	_, err := url.Parse(s)
	return err == nil
}

// isHex reports whether b is a hexadecimal digit.
func isHex(b byte) bool { return isDigit(b) || b|0x20 >= 'a' && b|0x20 <= 'f' }

// validYear reports whether t can be written as a timestamp.
func validYear(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 0 && year <= 9999
}

// hasRepeats reports whether a value comes twice in a list; an empty list has none.
func hasRepeats[T comparable](list []T) bool {
	if len(list) <= 16 { // a map costs more
		for i, v := range list {
			for _, w := range list[:i] {
				if v == w {
					return true
				}
			}
		}
		return false
	}
	seen := make(map[T]bool, len(list))
	for _, v := range list {
		if seen[v] {
			return true
		}
		seen[v] = true
	}
	return false
}
