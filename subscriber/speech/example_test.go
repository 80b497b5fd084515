package speech_test

import (
	"context"
	"fmt"

	"github.com/aaep-go/aaep/internal/speechtest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/speech"
)

// Present returns when the last word was heard. Without Connect it would be the user's own speech
// server, and without Force there would be no second voice beside a screen reader.
func Example() {
	server := &speechtest.Server{WordsPerMinute: 3000}
	defer server.Close()
	ctx := context.Background()
	out, err := speech.Open(ctx, speech.Options{WordsPerMinute: 300, Dial: server.Dial, Force: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer out.Close()
	fmt.Println(out.Present(ctx, announce.Utterance{Text: "Three flights found."}))
	fmt.Println(server.Heard())
	fmt.Println("Spanish:", out.Speaks("es-MX"), "Yoruba:", out.Speaks("yo-NG"))
	// Output:
	// <nil>
	// [Three flights found.]
	// Spanish: true Yoruba: false
}
