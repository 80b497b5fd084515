package nvda_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/nvda"
)

// Where NVDA cannot be had, another output speaks. The program's installer has put the library
// beside it.
func Example() {
	out, err := nvda.Open(nvda.Options{})
	if err != nil {
		fmt.Println("another output:", runtime.GOOS == "windows" || errors.Is(err, errors.ErrUnsupported))
		return
	}
	defer out.Close()
	err = out.Present(context.Background(), announce.Utterance{Text: "Book the first flight?", Language: "en", Critical: true})
	if errors.Is(err, announce.ErrCut) {
		fmt.Println("the person did not hear all of it")
	}
	// Output: another output: true
}
