package braille_test

import (
	"context"
	"fmt"

	"github.com/aaep-go/aaep/internal/brailletest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/braille"
)

func Example() {
	ctx := context.Background()
	brltty := brailletest.New(20) // for want of a real one: then leave Dial out
	d, err := braille.Open(ctx, braille.Options{Dial: brltty.Dial})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	d.Waiting(1) // something else comes after this
	if err := d.Present(ctx, announce.Utterance{ID: 1, Text: "Report saved.", Language: "en"}); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%q on %d cells\n", brltty.Now().Line, d.Cells())
	// Output: "Report saved.     ⠶ " on 20 cells
}
