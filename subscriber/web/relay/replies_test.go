package relay

import (
	"fmt"
	"testing"

	"github.com/aaep-go/aaep"
)

// P10: however much an agent asks in a session that never ends, no more is remembered than a page
// can answer, the newest first.
func TestQuestionsAreBounded(t *testing.T) {
	for name, size := range map[string]int{"many": 100, "large": 1 << 20,
		"larger than there is room": maxKeptBytes + 1} {
		t.Run(name, func(t *testing.T) {
			var v visit
			for i := range 10_000 {
				token := aaep.ReplyToken(fmt.Sprint("rpl_", i))
				v.rememberQuestion(&aaep.Event{SessionID: "sess_1",
					Payload: &aaep.AwaitingConfirmation{ReplyToken: token}}, size)
				if v.findQuestion(token) == nil {
					t.Fatalf("question %d cannot be answered", i)
				}
			}
			if n := len(v.questions); n > maxKeptEvents || n > 1 && n*size > maxKeptBytes {
				t.Errorf("%d questions of %d bytes are kept", n, size)
			}
			v.rememberQuestion(&aaep.Event{SessionID: "sess_2", Payload: &aaep.SessionCompleted{}}, size)
			if v.findQuestion("rpl_9999") == nil {
				t.Error("the end of another session took it away")
			}
			v.rememberQuestion(&aaep.Event{SessionID: "sess_1", Payload: &aaep.SessionCompleted{}}, size)
			if len(v.questions) != 0 {
				t.Error("its own session's end did not")
			}
		})
	}
}
