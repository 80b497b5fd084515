package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/transports"
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
		got, err := splitWords(command)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q, %v; want %q", command, got, err, want)
		}
	}
}

// A program that is still being built says nothing for a while, which is no wrong answer.
func TestSilentChild(t *testing.T) {
	for err, want := range map[error]string{
		context.DeadlineExceeded: "go has said nothing so far.\nIf it was still being built or loaded, try again; ",
		io.EOF:                   "go does not speak AAEP on its standard output.\n",
	} {
		ours, theirs := transports.Pipe()
		defer theirs.Close()
		child := &childAgent{conn: ours}
		if said := child.notFollowed(t.Context(), "go", fmt.Errorf("dial: %w", err), nil); !strings.HasPrefix(said.Error(), want) {
			t.Errorf("%v: %s", err, said)
		}
	}
}
