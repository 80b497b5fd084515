// Package answers reads what a person typed, dictated or pressed as an answer to a question. It is
// the only place that decides what a line means, for the terminal and for every other output. It
// sends nothing, and knows no time: whether an answer may count yet is up to package announce.
package answers

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
)

// Decision reads a yes or a no, of English or of some languages, and nothing else; "" is neither.
func Decision(line string, languages ...string) aaep.Decision {
	switch yes, ok := phrase.Decision(line, languages...); {
	case !ok:
		return ""
	case yes:
		return aaep.Accept
	}
	return aaep.Reject
}

// Kinds are the forms of answer a clarification takes. Without any it takes text.
type Kinds struct{ Choice, YesNo, Numeric, Text bool }

// KindsOf returns the kinds of answer that a clarification accepts; without any, text. Choices
// count only where it has some.
func KindsOf(p *aaep.AwaitingClarification) Kinds {
	accepts := func(k aaep.ResponseKind) bool { return slices.Contains(p.AcceptedResponseKinds, k) }
	return Kinds{
		Choice: accepts(aaep.ResponseMultipleChoice) && len(p.Choices) > 0, YesNo: accepts(aaep.ResponseYesNo),
		Numeric: accepts(aaep.ResponseNumeric),
		Text:    accepts(aaep.ResponseFreetext) || len(p.AcceptedResponseKinds) == 0,
	}
}

// Reading is what a line says as an answer to a clarification.
type Reading struct {
	Response any  // a string, a bool or a float64; nil is no answer
	Choice   int  // the place of the choice that it is, from 1; 0 is none
	Doubtful bool // the line may mean another choice: the person has to be asked
}

// Response reads an answer to a clarification: a choice by its number, label or value, a yes or a
// no of English or of the given languages, a number, or words, as the question takes them. The zero
// Reading is for a line that is none of these.
func Response(p *aaep.AwaitingClarification, line string, languages ...string) Reading {
	line = strings.TrimSpace(line)
	k := KindsOf(p)
	if k.Choice {
		place, doubtful := choice(p.Choices, line)
		if place == 0 { // a dictation ends it with a full stop
			place, doubtful = choice(p.Choices, strings.TrimSpace(strings.TrimSuffix(line, ".")))
		}
		if place > 0 {
			return Reading{p.Choices[place-1].Value, place, doubtful}
		}
	}
	if k.YesNo {
		if yes, ok := phrase.Answer(line, languages...); ok {
			return Reading{Response: yes}
		}
	}
	if k.Numeric {
		if f, ok := Number(line, languages...); ok {
			return Reading{Response: f}
		}
	}
	for i, c := range p.Choices { // by the value, which people are not told
		if k.Choice && line == c.Value {
			return Reading{Response: c.Value, Choice: i + 1}
		}
	}
	if k.Text && line != "" {
		return Reading{Response: line}
	}
	return Reading{}
}

// choice returns the place of the choice that a line means; 0 is none. A number means the choice
// that is labelled with it, else the one in that place. It is doubtful where label and place do not
// agree, or where several labels are the number, or begin with it.
func choice(choices []aaep.Choice, line string) (place int, doubtful bool) {
	n, err := strconv.Atoi(strings.Map(westernSign, line))
	if err != nil {
		return choiceNamed(choices, line)
	}
	var labelled, exact []int // places; exact where the label is the number and nothing else
	for i, c := range choices {
		number, whole, ok := leadingNumber(c.Label)
		if !ok || number != n {
			continue
		}
		labelled = append(labelled, i+1)
		if whole {
			exact = append(exact, i+1)
		}
	}
	inPlace := n >= 1 && n <= len(choices)
	switch {
	case len(exact) > 0:
		return exact[0], len(exact) > 1 || inPlace && n != exact[0]
	case len(labelled) > 0:
		return labelled[0], len(labelled) > 1 || inPlace && n != labelled[0]
	case inPlace: // no label is the number
		return n, false
	}
	return choiceNamed(choices, line)
}

// choiceNamed returns the place, from 1, of the choice whose label is a line, to the letter or else
// with other capitals; 0 is none. doubtful says that several labels fit, and none of them alone to
// the letter.
func choiceNamed(choices []aaep.Choice, line string) (place int, doubtful bool) {
	var exact, alike []int // places
	for i, c := range choices {
		label := words.OneLine(c.Label)
		if label == line {
			exact = append(exact, i+1)
		}
		if strings.EqualFold(label, line) {
			alike = append(alike, i+1)
		}
	}
	switch {
	case len(exact) == 1:
		return exact[0], false
	case len(alike) > 0:
		return alike[0], len(alike) > 1
	}
	return 0, false
}

// leadingNumber returns the whole number that a label begins with, such as that of "5" or "5
// dollars", and whether it is all there is. ok is false for a label that begins with none, or with
// a fraction.
func leadingNumber(label string) (n int, whole, ok bool) {
	label = strings.Map(westernSign, strings.TrimSpace(label))
	digits := label[:len(label)-len(strings.TrimLeft(label, "0123456789"))]
	n, err := strconv.Atoi(digits)
	rest := label[len(digits):]
	decimal := len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') && unicode.IsNumber(rune(rest[1]))
	if err != nil || decimal {
		return 0, false, false
	}
	return n, strings.Trim(rest, " .):") == "", true
}

// westernSign returns the digit or the decimal mark of an Arabic or a Persian keyboard as numbers
// are read here; any other character as it is.
func westernSign(r rune) rune {
	for _, zero := range []rune{'٠', '۰'} {
		if r >= zero && r <= zero+9 {
			return '0' + r - zero
		}
	}
	if r == '٫' {
		return '.'
	}
	return r
}

var (
	aNumber      = regexp.MustCompile(`^[-+]?(?:\d+\.?\d*|\.\d+)$`)
	decimalComma = regexp.MustCompile(`^([-+]?(?:0|\d+)),(\d{1,2}|\d{4,})$|^([-+]?0),(\d+)$`)
	thousands    = regexp.MustCompile(`^[-+]?[1-9]\d{0,2}\.\d{3}$`)
)

// Number reads a number. What is a thousand to one person and one to another, such as 1,000, is
// none: nor is 1.000 but in English.
func Number(line string, languages ...string) (f float64, ok bool) {
	number := decimalComma.ReplaceAllString(strings.Map(westernSign, line), "$1$3.$2$4")
	otherThanEnglish := func(tag string) bool { return tag != "" && tag != "en" && !strings.HasPrefix(tag, "en-") }
	if !aNumber.MatchString(number) || thousands.MatchString(number) && slices.ContainsFunc(languages, otherThanEnglish) {
		return 0, false
	}
	f, err := strconv.ParseFloat(number, 64)
	return f, err == nil
}
