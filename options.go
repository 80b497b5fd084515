package aaep

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	errNotInteger = errors.New("must be an integer")
	errZero       = errors.New("must be at least 1")
	errNotTime    = errors.New("must be an RFC 3339 date-time such as 2026-05-24T14:22:20.014Z")
	errNull       = errors.New("must not be null; leave the member out instead")
)

// zeroStep is what the reader of integers makes of a step of 0, which Progress could not tell from
// none.
const zeroStep = -1

// wholeNumbers is the option with which Vocabulary.Read reads integers of an extension, which may
// be written 300.0 as in all of AAEP (D-14).
var wholeNumbers = jsonv2.WithUnmarshalers(jsonv2.JoinUnmarshalers(
	jsonv2.UnmarshalFromFunc(readWhole[int]), jsonv2.UnmarshalFromFunc(readWhole[int64])))

// readWhole decodes an integer that may be written 300.0, and refuses one that T cannot hold. v is
// where it goes. Any other value is left to the library, by errors.ErrUnsupported.
func readWhole[T int | int64](d *jsontext.Decoder, v *T) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported // the usual error
	}
	t, err := d.ReadToken()
	if err != nil {
		return err
	}
	n, ok := parseInteger(t.String())
	if !ok || int64(T(n)) != n {
		return errNotInteger
	}
	*v = T(n)
	return nil
}

// readOptions decode integers that are written 300.0, which JSON Schema calls integers, and times
// of RFC 3339 with any fraction (D-09, D-14).
var readOptions = jsonv2.WithUnmarshalers(ownReaders)

// readOptionsNull also refuse null in the place of a known member. Looking at every value is slow,
// so they are for texts that have "null" in them.
var readOptionsNull = jsonv2.WithUnmarshalers(jsonv2.JoinUnmarshalers(jsonv2.UnmarshalFromFunc(
	func(d *jsontext.Decoder, v any) error {
		if d.PeekKind() == 'n' {
			return errNull
		}
		return errors.ErrUnsupported // go on as usual
	}), ownReaders))

// ownReaders decode integers, times, stamps and capabilities for readOptions.
var ownReaders = jsonv2.JoinUnmarshalers(
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *int64) error {
		if d.PeekKind() != '0' {
			return errNotInteger
		}
		t, err := d.ReadToken()
		if err != nil {
			return err
		}
		n, ok := parseInteger(t.String())
		if !ok {
			return errNotInteger
		}
		if n == 0 {
			switch d.StackPointer().LastToken() {
			case "max_events_per_second", "pace_wpm":
				return errZero // absent, they mean "no limit" and "unknown"
			case "step", "total_steps":
				n = zeroStep
			}
		}
		*v = n
		return nil
	}),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *time.Time) error {
		s, err := readTime(d)
		*v = s.at
		return err
	}),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *stamp) (err error) {
		*v, err = readTime(d)
		return err
	}),
	jsonv2.UnmarshalFromFunc(func(d *jsontext.Decoder, v *Capabilities) error { // with the options of the message
		return jsonv2.UnmarshalDecode(d, (*plainCapabilities)(v))
	}),
)

// readTime decodes a timestamp together with the form in which it is written. The error is
// errNotTime for what is no RFC 3339 text.
func readTime(d *jsontext.Decoder) (v stamp, err error) {
	if d.PeekKind() != '"' {
		return v, errNotTime
	}
	t, err := d.ReadToken()
	if err != nil {
		return v, err
	}
	s := t.String() // does not leave this function, and so costs nothing
	parsed, ok := ParseTimestamp(s)
	if !ok {
		return v, errNotTime
	}
	return newStamp(s, parsed), nil
}

// writeOptions order extensions by prefix, keep the spelling of what is kept as JSON (INV-34), and
// write times as the protocol wants them.
var writeOptions = jsonv2.JoinOptions(jsonv2.Deterministic(true), jsontext.PreserveRawStrings(true),
	jsonv2.WithMarshalers(
		jsonv2.JoinMarshalers(
			jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, t time.Time) error {
				return enc.WriteToken(jsontext.String(FormatTimestamp(t)))
			}),
			jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, s stamp) error {
				return enc.WriteToken(jsontext.String(FormatTimestamp(s.at)))
			}),
			jsonv2.MarshalToFunc(func(enc *jsontext.Encoder, c Capabilities) error {
				return jsonv2.MarshalEncode(enc, plainCapabilities(c))
			}))))

// parseInteger reads a JSON number that is whole, however it is written: 300, 300.0, 3e2 and
// 30000e-2 are (D-14). The digits are what counts: read as a double, 90.00000000000000001 would be
// whole too. It returns false for a number with a fraction, or beyond an int64.
func parseInteger(s string) (int64, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}

	digits, minus := strings.CutPrefix(s, "-")
	digits, exponent, _ := strings.Cut(strings.ToLower(digits), "e")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return 0, true
	}
	shift, err := strconv.Atoi(cmp.Or(exponent, "0")) // how far the point moves to the right
	if err != nil || shift > len(s)+19 || shift < -len(s) {
		return 0, false
	}
	// zeros is how many zeros stand behind the significant digits; a negative count is a fraction.
	zeros := shift - len(fraction) + len(digits) - len(significant)
	if zeros < 0 || len(significant)+zeros > 19 { // an int64 has 19 digits at most
		return 0, false
	}
	sign := ""
	if minus {
		sign = "-"
	}
	n, err := strconv.ParseInt(sign+significant+strings.Repeat("0", zeros), 10, 64)
	return n, err == nil
}
