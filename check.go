package aaep

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aaep-go/aaep/internal/safetext"
)

// The limits of our own messages, in bytes (D-12).
const (
	maxText  = 16384
	maxShort = 4096
	maxEvent = 65536
)

const (
	dayMS  = 24 * 60 * 60 * 1000
	maxInt = 1<<53 - 1 // what every JSON parser reads exactly
)

// A checker collects violations, and adds up the length of what it was shown.
type checker struct {
	found    []Violation
	size     int
	language string // of the text that is checked, if that is known
	part     bool   // it is a piece of a longer one
}

// maxViolations is how many are told of one message: as many as anybody mends at once, and no more than a log should get.
const maxViolations = 64

func (c *checker) fail(req, pointer, format string, args ...any) {
	if len(c.found) >= maxViolations {
		return
	}
	c.found = append(c.found, Violation{req, pointer, fmt.Sprintf(format, args...)})
}

func (c *checker) err(message string) error {
	if len(c.found) == 0 {
		return nil
	}
	return &InvalidError{message, c.found}
}

// within puts place before the pointers of what check finds.
func (c *checker) within(place string, check func()) {
	from := len(c.found)
	check()
	for i := range c.found[from:] {
		v := &c.found[from+i]
		v.Pointer = place + v.Pointer
	}
}

// each is within for every item of a list.
func (c *checker) each(place string, n int, check func(i int)) {
	for i := range n {
		from := len(c.found)
		check(i)
		for j := range c.found[from:] {
			v := &c.found[from+j]
			v.Pointer = fmt.Sprintf("%s/%d%s", place, i, v.Pointer)
		}
	}
}

func (c *checker) id(req, pointer, s, prefix string) {
	if !validID(s, prefix) {
		c.fail(req, pointer, "must be %q and 1 to 64 letters or digits", prefix)
	}
}

func (c *checker) optionalID(req, pointer, s, prefix string) {
	if s != "" {
		c.id(req, pointer, s, prefix)
	}
}

// text checks what people read: its length in bytes, which is never more than the published schemas
// allow in characters, its encoding, and that nothing in it deceives. What is too long in bytes alone is
// so by our own limit (D-12).
func (c *checker) text(req, pointer, s string, least, most int) {
	c.size += len(s)
	if len(s) < least {
		c.fail(req, pointer, "must not be empty")
	}
	if len(s) > most {
		if utf8.RuneCountInString(s) <= most {
			req = "D-12"
		}
		c.fail(req, pointer, "is %d bytes long; at most %d are allowed", len(s), most)
	}
	switch _, why := safetext.First(s, c.language, c.part); {
	case why == "":
	case !utf8.ValidString(s):
		c.fail("ENV-064", pointer, "is not UTF-8")
	default:
		c.fail("INV-57", pointer, "%s", why)
	}
}

// ownText is text where only this SDK has a limit (D-12).
func (c *checker) ownText(req, pointer, s string, least int) {
	c.text(req, pointer, s, least, math.MaxInt)
	if len(s) > maxText {
		c.fail("D-12", pointer, "is %d bytes long; at most %d are allowed", len(s), maxText)
	}
}

// length checks a string that only programs read: in characters, as JSON Schema counts.
func (c *checker) length(req, pointer, s string, least, most int) {
	if n := utf8.RuneCountInString(s); n < least || n > most {
		c.fail(req, pointer, "must be %d to %d characters long, is %d", least, most, n)
	}
	if !utf8.ValidString(s) {
		c.fail("ENV-064", pointer, "is not UTF-8")
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

// timestamp checks that it is set and can be written as an RFC 3339 date-time.
func (c *checker) timestamp(req string, t time.Time) {
	if t.IsZero() {
		c.fail(req, "/timestamp", "is missing")
	} else if !validYear(t) {
		c.fail(req, "/timestamp", "must lie in the years 0 to 9999, in UTC")
	}
}

func (c *checker) millis(pointer string, v *int64) {
	if v != nil && (*v < 0 || *v > dayMS) {
		c.fail("EVT-008", pointer, "must be from 0 to %d, which is a day", int64(dayMS))
	}
}

func (c *checker) count(req, pointer string, n int64) {
	if n < 0 || n > maxInt {
		c.fail(req, pointer, "must be from 0 to %d", int64(maxInt))
	}
}

func (c *checker) timeout(seconds int64) {
	if seconds < 1 || seconds > 86400 {
		c.fail("EVT-070", "/timeout_seconds", "must be from 1 to 86400")
	}
}

func (c *checker) tool(s string) {
	if !validTool(s) {
		c.fail("EVT-040", "/tool", "must be a letter or underscore, then at most 255 of A-Z a-z 0-9 _ . -")
	}
}

func (c *checker) snake(req, pointer, s string, from, to byte) {
	if s != "" && !validSnake(s, from, to) {
		c.fail(req, pointer, "must be 2 to 64 of %c-%c, 0-9 and underscore, starting with a letter", from, to)
	}
}

func (c *checker) tag(req, pointer, s string) {
	c.size += len(s)
	if !ValidLanguageTag(s) {
		c.fail(req, pointer, "must be a language tag such as en-US")
	}
}

func (c *checker) version(req, s string) {
	c.size += len(s)
	if !validVersion(s) {
		c.fail(req, "/aaep_version", "must be three numbers such as 1.0.0")
	}
}

func (c *checker) uri(req, pointer, s string) {
	c.size += len(s)
	if !validURI(s) {
		c.fail(req, pointer, "must be a URI with a scheme, in ASCII and without blanks")
	}
}

func (c *checker) optionalURI(req, pointer, s string) {
	if s != "" {
		c.uri(req, pointer, s)
	}
}

func (c *checker) fraction(req, pointer string, v *float64, most float64) {
	if v != nil && !(*v >= 0 && *v <= most) {
		c.fail(req, pointer, "must be from 0 to %v", most)
	}
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
