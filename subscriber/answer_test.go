package subscriber

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
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
		"text":        {kinds + `["freetext"]`, "blue", `"blue"`, ""},
		"no kinds":    {"", "blue", `"blue"`, ""},
		"yes":         {kinds + `["yes_no"]`, true, `true`, ""},
		"no":          {kinds + `["numeric","yes_no"]`, false, `false`, ""},
		"int":         {kinds + `["numeric"]`, 42, `42`, ""},
		"float":       {kinds + `["numeric"]`, -0.5, `-0.5`, ""},
		"json.Number": {kinds + `["numeric"]`, json.Number("1e3"), `1000`, ""},
		"choice":      {kinds + `["multiple_choice"],"choices":[{"value":"a","label":"A"}]`, "a", `"a"`, ""},
		"free or choice": {kinds + `["multiple_choice","freetext"],"choices":[{"value":"a","label":"A"}]`, "z", `"z"`,
			""},
		"unknown kind": {kinds + `["acme_smell"]`, "rose", `"rose"`, ""},
		"no choice": {kinds + `["multiple_choice"],"choices":[{"value":"a","label":"A"}]`, "z", "",
			`does not take a string like that; it takes a string out of ["a"]`},
		"text for yes":   {kinds + `["yes_no"]`, "true", "", "does not take a string like that; it takes a bool"},
		"text or number": {kinds + `["numeric","freetext"]`, true, "", "it takes a number or a string"},
		"yes for text":   {kinds + `["freetext"]`, true, "", "does not take"},
		"number as text": {kinds + `["freetext"]`, 7, "", "does not take"},
		"nothing":        {"", "", "", "/response"},
		"NaN":            {"", math.NaN(), "", "not a number"},
		"infinity":       {"", math.Inf(1), "", "not a number"},
		"json NaN":       {"", json.Number("NaN"), "", "not a number"},
		"no number":      {"", json.Number("twelve"), "", "not a number"},
		"out of range":   {"", json.Number("1e999"), "", "not a number"},
		"inexact":        {"", 1<<53 + 1, "", "too large"},
		"inexact json":   {"", json.Number("90071992547409931"), "", "too large"},
		"nil":            {"", nil, "", "string, a bool or a number"},
		"list":           {"", []string{"a"}, "", "string, a bool or a number"},
		"map":            {"", map[string]any{}, "", "string, a bool or a number"},
	} {
		t.Run(name, func(t *testing.T) {
			runVirtual(t, func(t *testing.T) {
				sub, p := openSubscription(t, newStage(), Config{})
				p.sendRaw(t, clarificationMessage("evt_1", "rpl_1", tt.more))
				ev := takeEvent(t, sub, "evt_1")
				err := sub.Answer(t.Context(), ev, tt.response)
				if tt.err != "" {
					wantError(t, "Answer", err, tt.err)
					wantError(t, "Answer again", sub.Answer(t.Context(), ev, tt.response), tt.err)
					p.checkSilent(t, time.Second)
					// A refused answer does not use the question up.
					answer := any("fine")
					switch {
					case strings.Contains(tt.more, "yes_no"):
						answer = true
					case strings.Contains(tt.more, `"a"`):
						answer = "a"
					}
					err, tt.want = sub.Answer(t.Context(), ev, answer), ""
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
