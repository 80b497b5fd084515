package brailletest_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aaep-go/aaep/internal/brailletest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/braille"
)

func Example() {
	ctx := context.Background()
	s := brailletest.New(14)
	d, err := braille.Open(ctx, braille.Options{Dial: s.Dial, Manual: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	read := make(chan error)
	go func() { read <- d.Present(ctx, announce.Utterance{ID: 1, Text: "Two files were changed."}) }()
	for reading := true; reading; {
		select {
		case <-read:
			reading = false
		case <-time.After(10 * time.Millisecond):
			s.Press(brailletest.Forward)
		}
	}
	for _, state := range s.States() {
		if strings.TrimSpace(state.Line) != "" {
			fmt.Printf("%q\n", state.Line)
		}
	}
	// Output:
	// "Two files    ⠒"
	// "were         ⠒"
	// "changed.      "
}
