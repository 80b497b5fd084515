package aaep

import (
	"strconv"
	"strings"
)

// Text is what a person hears, in up to three lengths. Normal is the one every listener gets;
// Terse and Detailed are for those who asked for fewer or more words.
type Text struct {
	Terse    string `json:"summary_terse,omitzero"`
	Normal   string `json:"summary_normal,omitzero"`
	Detailed string `json:"summary_detailed,omitzero"`
}

// Say returns a Text of normal length.
func Say(normal string) Text { return Text{Normal: normal} }

// At returns the wording for verbosity v, or the nearest one there is, or "".
func (t Text) At(v Verbosity) string {
	switch v {
	case VerbosityTerse:
		return firstOf(t.Terse, t.Normal, t.Detailed)
	case VerbosityDetailed:
		return firstOf(t.Detailed, t.Normal, t.Terse)
	}
	return firstOf(t.Normal, t.Detailed, t.Terse)
}

// IsZero reports whether there is no wording at all.
func (t Text) IsZero() bool { return t == Text{} }

func firstOf(ss ...string) string {
	for _, s := range ss {
		if s != "" {
			return s
		}
	}
	return ""
}

func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
