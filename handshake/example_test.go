package handshake_test

import (
	"encoding/json"
	"fmt"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/handshake"
)

// An extension whose subscribers declare how many lamps they have, of which at most two are lit.
func Example() {
	lamps := aaep.Vocabulary{Prefix: "lamps", URI: "https://lamps.example/v1"}
	type declared struct {
		Lamps int `json:"lamps"`
	}
	ext := handshake.Extension{Vocabulary: lamps, Honor: func(asked json.RawMessage) handshake.Effect {
		var d declared
		if json.Unmarshal(asked, &d) != nil || d.Lamps <= 2 {
			return handshake.Effect{}
		}
		honored, _ := json.Marshal(declared{2})
		return handshake.Effect{Honored: honored, Note: "At most two lamps are lit."}
	}}
	e := ext.Honor(json.RawMessage(`{"lamps":5}`))
	fmt.Println(string(e.Honored), e.Note)
	// Output: {"lamps":2} At most two lamps are lit.
}
