package aaep

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxText  = 16384
	maxShort = 4096
	dayMS    = 24 * 60 * 60 * 1000
	maxRate  = 100000
)

// A checker collects violations.
type checker struct{ found []Violation }

func (c *checker) fail(req, pointer, format string, args ...any) {
	c.found = append(c.found, Violation{req, pointer, fmt.Sprintf(format, args...)})
}

func (c *checker) err(message string) error {
	if len(c.found) == 0 {
		return nil
	}
	return &InvalidError{message, c.found}
}

func (c *checker) id(req, pointer, s, prefix string) {
	rest, ok := strings.CutPrefix(s, prefix)
	ok = ok && len(rest) >= 1 && len(rest) <= 64
	for i := 0; ok && i < len(rest); i++ {
		b := rest[i]
		ok = b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
	}
	if !ok {
		c.fail(req, pointer, "must be %q and 1 to 64 letters or digits", prefix)
	}
}

func (c *checker) optionalID(req, pointer, s, prefix string) {
	if s != "" {
		c.id(req, pointer, s, prefix)
	}
}

// text checks what people read: its length in bytes, which is never more than the published schemas
// allow in characters, its encoding, and that nothing in it deceives.
func (c *checker) text(req, pointer, s string, least, most int) {
	if len(s) < least {
		c.fail(req, pointer, "must not be empty")
	}
	if len(s) > most {
		c.fail(req, pointer, "is %d bytes long; at most %d are allowed", len(s), most)
	}
	switch i := firstUnsafe(s, isolatesBalanced(s)); {
	case i < 0:
	case !utf8.ValidString(s):
		c.fail("ENV-064", pointer, "is not UTF-8")
	default:
		r, _ := utf8.DecodeRuneInString(s[i:])
		c.fail("INV-57", pointer, "has the character U+%04X, which could deceive or disturb its reader", r)
	}
}

// length checks a string of a peer: in characters, as JSON Schema counts.
func (c *checker) length(req, pointer, s string, least, most int) {
	if n := utf8.RuneCountInString(s); n < least || n > most {
		c.fail(req, pointer, "must be %d to %d characters long, is %d", least, most, n)
	}
}

func (c *checker) required(req, pointer, s string, allowed ...string) {
	if !slices.Contains(allowed, s) {
		c.fail(req, pointer, "must be one of %s", strings.Join(allowed, ", "))
	}
}

func (c *checker) oneOf(req, pointer, s string, allowed ...string) {
	if s != "" {
		c.required(req, pointer, s, allowed...)
	}
}

func (c *checker) millis(pointer string, v *int64) {
	if v != nil && (*v < 0 || *v > dayMS) {
		c.fail("EVT-008", pointer, "must be from 0 to %d, which is a day", int64(dayMS))
	}
}

func (c *checker) timeout(seconds int64) {
	if seconds < 1 || seconds > 86400 {
		c.fail("EVT-070", "/timeout_seconds", "must be from 1 to 86400")
	}
}

func (c *checker) tool(req, s string) {
	ok := len(s) >= 1 && len(s) <= 256
	for i := 0; ok && i < len(s); i++ {
		b := s[i]
		ok = b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' ||
			i > 0 && (b == '.' || b == '-' || b >= '0' && b <= '9')
	}
	if !ok {
		c.fail(req, "/tool", "must be a letter or underscore, then at most 255 of A-Z a-z 0-9 _ . -")
	}
}

func (c *checker) snake(req, pointer, s string, from, to byte) {
	if s == "" {
		return
	}
	ok := len(s) >= 2 && len(s) <= 64
	for i := 0; ok && i < len(s); i++ {
		b := s[i]
		ok = b >= from && b <= to || i > 0 && (b == '_' || b >= '0' && b <= '9')
	}
	if !ok {
		c.fail(req, pointer, "must be 2 to 64 of %c-%c, 0-9 and underscore, starting with a letter", from, to)
	}
}

func (c *checker) tag(req, pointer, s string) {
	if !ValidLanguageTag(s) {
		c.fail(req, pointer, "must be a language tag such as en-US")
	}
}

func (c *checker) uri(req, pointer, s string) {
	if s == "" {
		return
	}
	if u, err := url.Parse(s); err != nil || u.Scheme == "" || u.Host == "" && u.Opaque == "" && u.Path == "" {
		c.fail(req, pointer, "must be a URI with a scheme")
	}
}

func (c *checker) object(req, pointer string, v json.RawMessage) {
	if v != nil && !isObject(v) {
		c.fail(req, pointer, "must be an object")
	}
}

func isObject(v json.RawMessage) bool {
	s := strings.TrimLeft(string(v), " \t\r\n")
	return strings.HasPrefix(s, "{") && json.Valid(v)
}

// ValidLanguageTag reports whether s has the form of a language tag: subtags of one to eight letters or
// digits joined by hyphens, the first of letters alone.
func ValidLanguageTag(s string) bool {
	for i, sub := range strings.Split(s, "-") {
		if len(sub) < 1 || len(sub) > 8 {
			return false
		}
		for j := 0; j < len(sub); j++ {
			b := sub[j] | 0x20
			if !(b >= 'a' && b <= 'z') && !(i > 0 && sub[j] >= '0' && sub[j] <= '9') {
				return false
			}
		}
	}
	return true
}

func validVersion(s string) bool {
	core, pre, tagged := strings.Cut(s, "-")
	if tagged && pre == "" {
		return false
	}
	for i := 0; i < len(pre); i++ {
		b := pre[i]
		if b != '.' && b != '-' && !(b >= '0' && b <= '9') && !(b|0x20 >= 'a' && b|0x20 <= 'z') {
			return false
		}
	}
	parts := strings.Split(core, ".")
	for _, p := range parts {
		if p == "" || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}
	return len(parts) == 3
}

func validContentType(s string) bool {
	major, minor, ok := strings.Cut(s, "/")
	for _, part := range []string{major, minor} {
		for i := 0; i < len(part); i++ {
			b := part[i]
			letter := b|0x20 >= 'a' && b|0x20 <= 'z'
			ok = ok && (letter || i > 0 && (b >= '0' && b <= '9' || strings.IndexByte(".+_-", b) >= 0))
		}
		ok = ok && part != ""
	}
	return ok
}

func repeats[T comparable](list []T) bool {
	seen := make(map[T]bool, len(list))
	for _, v := range list {
		if seen[v] {
			return true
		}
		seen[v] = true
	}
	return false
}
