package hook_test

import (
	"context"
	"fmt"
	"io"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance/hook"
	"github.com/aaep-go/aaep/subscriber/announce"
)

// suite stands for standard output, where a program that is judged tells what it presents.
type suite struct{}

func (suite) Tell(line []byte)                     { fmt.Println(string(line)) }
func (suite) Next(context.Context) ([]byte, error) { return nil, io.EOF }

// What a person gets over an output is told to the suite, as it is presented.
func Example() {
	judged := &hook.Hook{Lines: suite{}}
	voice := judged.Output(nil) // or one of yours
	ev := &aaep.Event{EventID: "evt_1", SessionID: "sess_1"}
	said := announce.Utterance{ID: 1, Text: "It failed.", Language: "en", Kind: announce.News, Critical: true, Event: ev}
	if err := voice.Present(context.Background(), said); err != nil {
		fmt.Println(err)
	}
	// Output: {"event_id":"evt_1","kind":"critical news","language":"en","text":"It failed."}
}
