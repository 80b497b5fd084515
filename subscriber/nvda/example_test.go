package nvda_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/nvda"
)

// Where NVDA cannot be had, another output speaks. The path is where the program's installer put the library.
func Example() {
	out, err := nvda.Open(`C:\Program Files\Planner\nvdaControllerClient.dll`)
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
