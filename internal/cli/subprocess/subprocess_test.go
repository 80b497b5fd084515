package subprocess

import (
	"slices"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for command, want := range map[string][]string{
		"agent":                        {"agent"},
		" agent\t--stdio  x ":          {"agent", "--stdio", "x"},
		`agent "two words" 'and "'`:    {"agent", "two words", `and "`},
		`a"b c"d ''`:                   {"ab cd", ""},
		`C:\Program\agent.exe $HOME *`: {`C:\Program\agent.exe`, "$HOME", "*"},
		`a "b`:                         nil, "": nil, " ": nil, `""`: nil,
	} {
		got, err := SplitWords(command)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q, %v; want %q", command, got, err, want)
		}
	}
}
