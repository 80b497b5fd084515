package orca_test

import (
	"context"
	"fmt"

	"github.com/aaep-go/aaep/internal/orcatest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/orca"
)

// A question interrupts what Orca is saying. The double stands for Orca here; without Bus it is the
// user's own.
func Example() {
	double := orcatest.New(51, "en")
	defer double.Close()
	ctx := context.Background()
	out, err := orca.Open(ctx, orca.Options{WordsPerMinute: 400, Bus: double.Dial})
	if err != nil {
		fmt.Println(err) // Orca is not running: use another output
		return
	}
	defer out.Close()
	fmt.Println("Yoruba:", out.Speaks("yo-NG"))
	err = out.Present(ctx, announce.Utterance{Text: "Transfer 500 dollars to savings?", Language: "en",
		Kind: announce.Question, Critical: true})
	fmt.Println("presented:", err == nil)
	for _, c := range double.Calls() {
		fmt.Printf("%s %q\n", c.Method, c.Argument)
	}
	// Output:
	// Yoruba: false
	// presented: true
	// GetVoicesForLanguage "yo"
	// GetVoicesForLanguage "en"
	// InterruptSpeech ""
	// PresentMessage "Transfer 500 dollars to savings?"
}
