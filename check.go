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
	size     int    // the bytes of all text that was checked so far, for checkSize
	language string // the tag of the language of the text that is checked next; "" is unknown
	part     bool   // whether that text is one chunk of a longer one
}

// maxViolations is how many are reported of one message: as many as a person mends at once, and no
// more than a log should get.
const maxViolations = 64

// addViolation records that the value at a JSON pointer, within the part that is checked now,
// breaks the requirement with the id req. format and args say in which way, as the end of a
// sentence about that value. Beyond maxViolations nothing more is recorded.
func (c *checker) addViolation(req, pointer, format string, args ...any) {
	if len(c.found) >= maxViolations {
		return
	}
	c.found = append(c.found, Violation{req, pointer, fmt.Sprintf(format, args...)})
}

// asError returns what was found as an *InvalidError of a message, or nil if nothing was.
func (c *checker) asError(message string) error {
	if len(c.found) == 0 {
		return nil
	}
	return &InvalidError{message, c.found}
}

// checkWithin calls check, which checks a part of a message with pointers that start at that part,
// and puts place, the pointer of the part, before those of the violations that check adds.
func (c *checker) checkWithin(place string, check func()) {
	start := len(c.found)
	check()
	for i := range c.found[start:] {
		v := &c.found[start+i]
		v.Pointer = place + v.Pointer
	}
}

// checkEach calls check for every item of a list, and puts place and the item's index before its
// pointers.
func (c *checker) checkEach(place string, n int, check func(i int)) {
	for i := range n {
		start := len(c.found)
		check(i)
		for j := range c.found[start:] {
			v := &c.found[start+j]
			v.Pointer = fmt.Sprintf("%s/%d%s", place, i, v.Pointer)
		}
	}
}

// checkID checks an identifier such as evt_1a2b3c.
func (c *checker) checkID(req, pointer, s, prefix string) {
	if !validID(s, prefix) {
		c.addViolation(req, pointer, "must be %q and 1 to 64 letters or digits", prefix)
	}
}

// checkOptionalID is checkID for a member that may be left out.
func (c *checker) checkOptionalID(req, pointer, s, prefix string) {
	if s != "" {
		c.checkID(req, pointer, s, prefix)
	}
}

// checkText checks text for people: its length, from least to most bytes, its encoding, and that
// nothing in it deceives. The published schemas allow most characters; text that has no more of
// those and is too long in bytes alone breaks our own limit (D-12), and not req.
func (c *checker) checkText(req, pointer, s string, least, most int) {
	c.size += len(s)
	if len(s) < least {
		c.addViolation(req, pointer, "must not be empty")
	}
	if len(s) > most {
		if utf8.RuneCountInString(s) <= most {
			req = "D-12"
		}
		c.addViolation(req, pointer, "is %d bytes long; at most %d are allowed", len(s), most)
	}
	switch _, problem := safetext.First(s, c.language, c.part); {
	case problem == "":
	case !utf8.ValidString(s):
		c.addViolation("ENV-064", pointer, "is not UTF-8")
	default:
		c.addViolation("INV-57", pointer, "%s", problem)
	}
}

// checkOwnText is checkText for a member whose length only this SDK limits, to maxText (D-12).
func (c *checker) checkOwnText(req, pointer, s string, least int) {
	c.checkText(req, pointer, s, least, math.MaxInt)
	if len(s) > maxText {
		c.addViolation("D-12", pointer, "is %d bytes long; at most %d are allowed", len(s), maxText)
	}
}

// checkLength checks a string for programs: its length in characters, as JSON Schema counts, and
// its encoding.
func (c *checker) checkLength(req, pointer, s string, least, most int) {
	if n := utf8.RuneCountInString(s); n < least || n > most {
		c.addViolation(req, pointer, "must be %d to %d characters long, is %d", least, most, n)
	}
	if !utf8.ValidString(s) {
		c.addViolation("ENV-064", pointer, "is not UTF-8")
	}
}

// checkOneOf checks a member that must have one of the listed values.
func (c *checker) checkOneOf(req, pointer, s string, allowed ...string) {
	if !slices.Contains(allowed, s) {
		c.addViolation(req, pointer, "must be one of %s", strings.Join(allowed, ", "))
	}
}

// checkOptionalOneOf is checkOneOf for a member that may be left out.
func (c *checker) checkOptionalOneOf(req, pointer, s string, allowed ...string) {
	if s != "" {
		c.checkOneOf(req, pointer, s, allowed...)
	}
}

// checkTimestamp checks that a time is set and can be written as an RFC 3339 date-time.
func (c *checker) checkTimestamp(req string, t time.Time) {
	if t.IsZero() {
		c.addViolation(req, "/timestamp", "is missing")
	} else if !validYear(t) {
		c.addViolation(req, "/timestamp", "must lie in the years 0 to 9999, in UTC")
	}
}

// checkMillis checks a duration in milliseconds, which may be nil: a day at most.
func (c *checker) checkMillis(pointer string, v *int64) {
	if v != nil && (*v < 0 || *v > dayMS) {
		c.addViolation("EVT-008", pointer, "must be from 0 to %d, which is a day", int64(dayMS))
	}
}

// checkCount checks a number of things, which every JSON parser must read exactly.
func (c *checker) checkCount(req, pointer string, n int64) {
	if n < 0 || n > maxInt {
		c.addViolation(req, pointer, "must be from 0 to %d", int64(maxInt))
	}
}

// checkTimeout checks how many seconds a question is open: a day at most.
func (c *checker) checkTimeout(seconds int64) {
	if seconds < 1 || seconds > 86400 {
		c.addViolation("EVT-070", "/timeout_seconds", "must be from 1 to 86400")
	}
}

// checkTool checks the name of a tool, and the id of its call, which may be left out.
func (c *checker) checkTool(name, callID string) {
	if !validTool(name) {
		c.addViolation("EVT-040", "/tool", "must be a letter or underscore, then at most 255 of A-Z a-z 0-9 _ . -")
	}
	c.checkOptionalID("EVT-044", "/tool_call_id", callID, "call_")
}

// checkSnake checks a code such as NOT_FOUND or not_found, whose letters lie between the letters
// from and to; it may be left out.
func (c *checker) checkSnake(req, pointer, s string, from, to byte) {
	if s != "" && !validSnake(s, from, to) {
		c.addViolation(req, pointer, "must be 2 to 64 of %c-%c, 0-9 and underscore, starting with a letter", from, to)
	}
}

// checkTag checks the form of a language tag.
func (c *checker) checkTag(req, pointer, s string) {
	c.size += len(s)
	if !ValidLanguageTag(s) {
		c.addViolation(req, pointer, "must be a language tag such as en-US")
	}
}

// checkVersion checks the form of a version of the protocol.
func (c *checker) checkVersion(req, s string) {
	c.size += len(s)
	if !validVersion(s) {
		c.addViolation(req, "/aaep_version", "must be three numbers such as 1.0.0")
	}
}

// checkURI checks that a URI is one of RFC 3986, with a scheme.
func (c *checker) checkURI(req, pointer, s string) {
	c.size += len(s)
	if !validURI(s) {
		c.addViolation(req, pointer, "must be a URI with a scheme, in ASCII and without blanks")
	}
}

// checkOptionalURI is checkURI for a member that may be left out.
func (c *checker) checkOptionalURI(req, pointer, s string) {
	if s != "" {
		c.checkURI(req, pointer, s)
	}
}

// checkFraction checks a number from 0 to most, which may be nil.
func (c *checker) checkFraction(req, pointer string, v *float64, most float64) {
	if v != nil && !(*v >= 0 && *v <= most) {
		c.addViolation(req, pointer, "must be from 0 to %v", most)
	}
}

// isFinite reports whether JSON can write a number.
func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
