package subscriber

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/replies"
)

// Answers are strings, booleans and numbers of a kind that is accepted. CONF-040 to CONF-042,
// LVL-026
func TestAnswer(t *testing.T) {
	const kinds = `,"accepted_response_kinds":`
	for name, tt := range map[string]struct {
		more     string
		response any
		want     string // what is sent, or
		err      string
	}{
		"text":     {kinds + `["freetext"]`, "blue", `"blue"`, ""},
		"no kinds": {"", "blue", `"blue"`, ""},
		"yes":      {kinds + `["yes_no"]`, true, `true`, ""},
		"no":       {kinds + `["numeric","yes_no"]`, false, `false`, ""},
		"int":      {kinds + `["numeric"]`, 42.0, `42`, ""},
		"float":    {kinds + `["numeric"]`, -0.5, `-0.5`, ""},
		"choice":   {kinds + `["multiple_choice"],"choices":[{"value":"a","label":"A"}]`, "a", `"a"`, ""},
		"free or choice": {kinds + `["multiple_choice","freetext"],"choices":[{"value":"a","label":"A"}]`, "z", `"z"`,
			""},
		"unknown kind": {kinds + `["acme_smell"]`, "rose", `"rose"`, ""},
		"no choice": {kinds + `["multiple_choice"],"choices":[{"value":"a","label":"A"}]`, "z", "",
			`does not take a string like that; it takes a string out of ["a"]`},
		"text for yes":   {kinds + `["yes_no"]`, "true", "", "does not take a string like that; it takes a bool"},
		"text or number": {kinds + `["numeric","freetext"]`, true, "", "it takes a number or a string"},
		"yes for text":   {kinds + `["freetext"]`, true, "", "does not take"},
		"number as text": {kinds + `["freetext"]`, 7.0, "", "does not take"},
		"nothing":        {"", "", "", "/response"},
		"NaN":            {"", math.NaN(), "", "not a number"},
		"infinity":       {"", math.Inf(1), "", "not a number"},
	} {
		t.Run(name, func(t *testing.T) {
			runVirtual(t, func(t *testing.T) {
				sub, p := openSubscription(t, newStage(), Config{})
				p.sendRaw(t, clarificationMessage("evt_1", "rpl_1", tt.more))
				ev := takeEvent(t, sub, "evt_1")
				err := replies.Send(t.Context(), sub.Question(ev), "", tt.response)
				if tt.err != "" {
					wantError(t, "Answer", err, tt.err)
					wantError(t, "Answer again", replies.Send(t.Context(), sub.Question(ev), "", tt.response), tt.err)
					p.checkSilent(t, time.Second)
					// A refused answer does not use the question up.
					answer := any("fine")
					switch {
					case strings.Contains(tt.more, "yes_no"):
						answer = true
					case strings.Contains(tt.more, `"a"`):
						answer = "a"
					}
					err, tt.want = replies.Send(t.Context(), sub.Question(ev), "", answer), ""
				}
				if err != nil {
					t.Fatalf("Answer = %v", err)
				}
				msg, m := p.readMessage(t)
				if _, ok := m.(*aaep.ClarificationReply); !ok || !strings.Contains(string(msg), `"response":`+tt.want) {
					t.Errorf("answer = %s, want response %s", msg, tt.want)
				}
				closeBoth(t, sub, p)
			})
		})
	}
}
