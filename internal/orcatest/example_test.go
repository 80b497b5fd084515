package orcatest_test

import (
	"context"
	"fmt"

	"github.com/aaep-go/aaep/internal/orcatest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/orca"
)

// What a program does when the screen reader goes away.
func Example() {
	double := orcatest.New(51)
	defer double.Close()
	ctx := context.Background()
	out, err := orca.Open(ctx, orca.Options{Bus: double.Dial})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer out.Close()
	double.Be(orcatest.Absent)
	fmt.Println(out.Present(ctx, announce.Utterance{Text: "Hello."}))
	fmt.Println(len(double.Calls()), "calls")
	// Output:
	// orca: Orca is not running
	// 0 calls
}
