package terminal_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/terminal"
)

// What a program tells is printed in lines, and what is typed is read in lines.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	t := terminal.Open(ctx, strings.NewReader("y\n"), os.Stdout, os.Stdout)
	defer t.Close()
	t.Present(ctx, announce.Utterance{Text: "Planning your retirement.", Kind: announce.News, Source: "Planner"})
	t.Present(ctx, announce.Utterance{Text: "No question is open.", Kind: announce.Notice})
	t.Read(ctx, func(line terminal.Line) { fmt.Printf("typed %q, its keys not seen: %t\n", line.Text, line.Unseen) })
	// Output:
	// Planning your retirement.
	// aaep: No question is open.
	// typed "y", its keys not seen: true
}
