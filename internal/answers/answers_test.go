package answers_test

import (
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/answers"
)

// A yes is never read into anything else.
func TestDecision(t *testing.T) {
	for line, want := range map[string]aaep.Decision{
		"y": aaep.Accept, "Y": aaep.Accept, "yes": aaep.Accept, " Yes\t": aaep.Accept,
		"n": aaep.Reject, "N": aaep.Reject, "NO": aaep.Reject, "no ": aaep.Reject,
		"accept": aaep.Accept, "Reject.": aaep.Reject, // the words of the line that asks
		"": "", " ": "", "ye": "", "yy": "", "y n": "", "yes!": "", "ok": "", "1": "", "true": "", "accepts": "", "nope": "", "\x1by": "",
	} {
		if got := answers.Decision(line); got != want {
			t.Errorf("Decision(%q) = %q, want %q", line, got, want)
		}
	}
}

func TestResponse(t *testing.T) {
	choices := []aaep.Choice{{Value: "c-1", Label: "Checking"}, {Value: "2", Label: "Savings"}, {Value: "x", Label: "yes"}}
	kinds := func(ks ...aaep.ResponseKind) []aaep.ResponseKind { return ks }
	choice, yesNo := kinds(aaep.ResponseMultipleChoice), kinds(aaep.ResponseYesNo)
	number, text := kinds(aaep.ResponseNumeric), kinds(aaep.ResponseFreetext)
	for _, tt := range []struct {
		kinds []aaep.ResponseKind
		line  string
		want  any
	}{
		{choice, "1", "c-1"}, {choice, " 3 ", "x"}, {choice, "savings", "2"}, {choice, "Checking.", "c-1"}, {choice, "CHECKING.", "c-1"}, {choice, "3.", "x"}, {choice, ".", nil}, {choice, "c-1", "c-1"}, {choice, "2", "2"},
		{choice, "0", nil}, {choice, "4", nil}, {choice, "-1", nil}, {choice, "", nil}, {choice, "other", nil}, {choice, "n", nil},
		{yesNo, "y", true}, {yesNo, "No", false}, {yesNo, "", nil}, {yesNo, "true", nil}, {yesNo, "1", nil},
		{number, "12", 12.0}, {number, "-0.5", -0.5}, {number, "+3", 3.0}, {number, "", nil}, {number, "1,000", nil}, {number, "0x10", nil},
		{number, "inf", nil}, {number, "NaN", nil}, {number, "1e9", nil}, {number, "1_0", nil}, {number, "ten", nil}, {number, ".", nil},
		{number, "12,5", 12.5}, {number, "-0,125", -0.125}, {number, "1,2345", 1.2345}, {number, "1,5,5", nil}, {number, "1.5,5", nil},
		{number, "١٢٫٥", 12.5}, {number, "۷", 7.0}, {number, "1.500", 1.5}, {number, "5.", 5.0}, {number, ".5", 0.5},
		{text, "  hello  world ", "hello  world"}, {text, "1", "1"}, {text, " ", nil},
		{nil, "hello", "hello"}, {nil, "2", "2"}, {nil, "", nil},
		{append(text, aaep.ResponseMultipleChoice), "1", "c-1"}, {append(text, aaep.ResponseMultipleChoice), "9", "9"},
		{append(text, aaep.ResponseYesNo), "y", true}, {append(text, aaep.ResponseNumeric), "7", 7.0}, {append(text, aaep.ResponseNumeric), "seven", "seven"},
	} {
		p := &aaep.AwaitingClarification{Choices: choices, AcceptedResponseKinds: tt.kinds}
		if got := answers.Response(p, tt.line).Response; got != tt.want {
			t.Errorf("Response(%v, %q) = %v, want %v", tt.kinds, tt.line, got, tt.want)
		}
	}
	p := &aaep.AwaitingClarification{AcceptedResponseKinds: number}
	if got := answers.Response(p, "1.500", "en", "de").Response; got != nil {
		t.Errorf("1.500, which a German means as fifteen hundred, is taken as %v", got)
	}
	if got := answers.Response(p, "1.5", "de").Response; got != 1.5 {
		t.Errorf("1.5 of a German is taken as %v", got)
	}
}

// The name of a choice, a yes, a no and a number mean what the person was told, and not the choice
// whose value, which they are not told, is the same.
func TestHiddenValues(t *testing.T) {
	p := &aaep.AwaitingClarification{AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseMultipleChoice,
		aaep.ResponseYesNo, aaep.ResponseNumeric}, Choices: []aaep.Choice{{Value: "Keep it", Label: "Delete it"}, {Value: "k", Label: "Keep it"},
		{Value: "yes", Label: "Delete all"}, {Value: "7", Label: "Delete some"}}}
	for line, want := range map[string]any{"Keep it": "k", "keep it.": "k", "yes": true, "7": 7.0, "k": "k", "K": nil} {
		if got := answers.Response(p, line); got.Response != want || got.Doubtful {
			t.Errorf("%q is %v, want %v", line, got.Response, want)
		}
	}
}

// A number means the choice that is labelled with it. Where that is not the one in that place, the
// person has to be asked.
func TestNumberedChoices(t *testing.T) {
	for _, tt := range []struct {
		labels, line, want string
		doubtful           bool
	}{
		{"5|1|2", "5", "5", false}, {"5|1|2", "1", "1", true}, {"5|1|2", "2", "2", true}, {"5|1|2", "3", "2", false}, {"5|1|2", "3.", "2", false}, {"5|1|2", "1.", "1", true}, {"5|1|2", "4", "", false},
		{"1|2|3", "2", "2", false}, {"Red|Green", "2", "Green", false}, {"10|20|30", "20", "20", false}, {"10|20|30", "2", "20", false},
		{"5 dollars|1 dollar", "1", "1 dollar", true}, {"5 dollars|1 dollar", "5", "5 dollars", false}, {"5 dollars|1 dollar", "2", "1 dollar", false},
		{"1 day|1 week", "1", "1 day", true}, {"1 day|1|2", "1", "1", true}, {"1.5 litres|2 litres", "1", "1.5 litres", false}, {"A.|A", "A.", "A.", false}, {"A|A.", "A.", "A.", false},
		{"1.5 litres|2 litres", "2", "2 litres", false}, {"٥|١", "1", "١", true}, {"5|1", "١", "1", true}, {"2)|1)", "2", "2)", true},
		{"5|5.", "5", "5", true}, {"5|٥", "٥", "5", true}, {"5|5.", "2", "5.", false},
		{"one\ntwo|three", "one two", "one\ntwo", false}, {"99999999999999999999|1", "1", "1", true},
		{"Keep|keep", "keep", "keep", false}, {"Keep|keep", "KEEP", "Keep", true}, {"Keep|Other|keep", "Keep", "Keep", false}, {"Same|same|Same", "Same", "Same", true},
	} {
		p := &aaep.AwaitingClarification{AcceptedResponseKinds: []aaep.ResponseKind{aaep.ResponseMultipleChoice}}
		for _, label := range strings.Split(tt.labels, "|") {
			p.Choices = append(p.Choices, aaep.Choice{Value: "value of " + label, Label: label})
		}
		var want any
		if tt.want != "" {
			want = "value of " + tt.want
		}
		if got := answers.Response(p, tt.line); got.Response != want || got.Doubtful != tt.doubtful {
			t.Errorf("of %s, %s is %v, doubtful: %v; want %v, %v", tt.labels, tt.line, got.Response, got.Doubtful, want, tt.doubtful)
		}
	}
}
