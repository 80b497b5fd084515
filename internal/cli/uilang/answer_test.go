package uilang

import (
	"testing"

	"github.com/aaep-go/aaep"
)

func TestPrompt(t *testing.T) {
	two := []aaep.Choice{{Value: "a", Label: "A"}, {Value: "b", Label: "B"}}
	for _, tt := range []struct {
		p    aaep.AwaitingClarification
		want string
	}{
		{aaep.AwaitingClarification{}, "Type your answer, then press Enter."},
		{aaep.AwaitingClarification{Choices: two}, "Type your answer, then press Enter."},
		{aaep.AwaitingClarification{AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseMultipleChoice,
			aaep.ResponseFreetext}, Choices: two},
			"Type a number from 1 to 2, or your answer, then press Enter."},
		{aaep.AwaitingClarification{AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseYesNo}},
			"Type y for yes or n for no, then press Enter."},
		{aaep.AwaitingClarification{AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseNumeric}},
			"Type a number such as 12.5, then press Enter."},
	} {
		if got := AnswerPrompt(English, &aaep.Event{Payload: &tt.p}); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
