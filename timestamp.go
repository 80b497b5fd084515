package aaep

import (
	"strings"
	"time"
)

// FormatTimestamp writes t the way AAEP wants it: UTC, with milliseconds, or with microseconds
// where t has them (§3.2.5).
func FormatTimestamp(t time.Time) string {
	if t.Nanosecond()%int(time.Millisecond) >= int(time.Microsecond) {
		return t.UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// ParseTimestamp reads an RFC 3339 date-time with up to 9 digits of fraction (D-09), in lower case
// too, and takes a leap second for the moment it ends. A moment outside the years 0 to 9999 in UTC
// could not be written again and is refused.
func ParseTimestamp(s string) (t time.Time, ok bool) {
	if !dateTimeShape(s) {
		return time.Time{}, false
	}
	s = strings.ToUpper(s)
	leap := s[16:19] == ":60"
	if leap {
		s = s[:16] + ":59" + s[19:]
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, false
	}
	if leap {
		t = t.Truncate(time.Second).Add(time.Second)
	}
	return t, validYear(t)
}

// dateTimeShape reports whether every character of s is where RFC 3339 wants it. Go's parser is
// laxer: it takes a comma for the point, hours of one digit, and offsets of a hundred hours.
func dateTimeShape(s string) bool {
	const shape = "0000-00-00T00:00:00"
	if len(s) <= len(shape) || !hasShape(s[:len(shape)], shape) {
		return false
	}
	rest := s[len(shape):]
	if rest[0] == '.' {
		digits := strings.TrimLeft(rest[1:], "0123456789")
		if n := len(rest) - 1 - len(digits); n < 1 || n > 9 { // what a time cannot hold would be lost
			return false
		}
		rest = digits
	}
	return rest == "Z" || rest == "z" ||
		(hasShape(rest, "+00:00") || hasShape(rest, "-00:00")) && rest[1:3] <= "23" && rest[4:] <= "59"
}

// hasShape reports whether s has a digit where shape has 0, and shape's character everywhere else;
// t counts as T.
func hasShape(s, shape string) bool {
	if len(s) != len(shape) {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch {
		case shape[i] == '0' && isDigit(s[i]), shape[i] == s[i], shape[i] == 'T' && s[i] == 't':
		default:
			return false
		}
	}
	return true
}

// A stamp is the time of an event and how it was written.
type stamp struct {
	at     time.Time
	digits int  // how many digits its fraction of a second has
	lower  bool // whether its t or z is in lower case
}

// newStamp returns at with how s spells it: the digits of its fraction and lower case, which decide
// whether it is written as AAEP writes it. ParseTimestamp has read s as at.
func newStamp(s string, at time.Time) stamp {
	v := stamp{at: at, lower: s[10] == 't' || s[len(s)-1] == 'z'}
	if s[19] == '.' {
		for v.digits = 0; isDigit(s[20+v.digits]); v.digits++ {
		}
	}
	return v
}
