package toolwords

import (
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
)

// What a tool does is told in one line, in which nothing is hidden or left out unsaid.
func TestWords(t *testing.T) {
	old := "a\nb\nc\n"
	for _, c := range [][2]string{
		{Line("rm a\nrm b"), "rm a <new line> rm b"}, {Line("a\u202eb"), "a<U+202E>b"},
		{Line("a\u200bb\u00a0c"), "ab c"}, {Code("a\u200bb\u00a0c"), "a<U+200B>b<U+00A0>c"}, {Code("rm a\u200e"), "rm a<U+200E>"},
		{Code("rm \u05d0\u200e 1 2"), Line("rm \u05d0\u200e 1 2")}, {Code("\u202ea\ufe0f"), "<U+202E>a<U+FE0F>"},
		{Code("cat 'می\u200cخواهم' 👩\u200d💻"), "cat 'می\u200cخواهم' 👩\u200d💻"},
		{Code("rm 'é  b'\n  c"), "rm 'é <2 spaces> b' <new line> c"},
		{Action(Execute, "rm a\u200d", ""), `Run the command "rm a<U+200D>".`}, {Place("/srv", "a\u00ad"), "a<U+00AD>"},
		{Line(strings.Repeat("x", Most+1)), strings.Repeat("x", Most) +
			"… (these are the first 4000 of 4001 characters; the details have all)"},
		{Exact("a  b"), `"a \x20b"`}, {Label(strings.Repeat("x", 201)), strings.Repeat("x", 200) + "…"},
		{FirstSentence("`one`\ntwo"), "one."}, {FirstSentence(" "), ""},
		{Action(Execute, "ls .", ""), `Run the command "ls .".`}, {Action(Edit, "main.go", ""), "Edit main.go."},
		{Action(Other, "", ""), "something that the agent does not name."},
		{Place("/srv/a", "b/c"), "b/c"}, {Place("/srv/a", "/srv/a/b"), "b"},
		{Place("/srv/a", "../b"), "/srv/b, which is not in the folder,"},
		{Command([]byte(`{"command":"ls"}`)), "ls"}, {Command([]byte(`{"command":["rm","a b"]}`)), "rm a b"},
		{Command([]byte(`{"command":1}`)), ""}, {Command([]byte(`{"command":"a","command":"b"}`)), ""},
		{Change{nil, "a\nb"}.Summary("x"), "In x: a new file, 2 lines."},
		{Change{&old, "a\nB\nc\nd\n"}.Summary("x"), "In x: 2 lines added, 1 removed."},
		{strings.Join(Change{&old, "a\nB\nc\nd\n"}.Lines(), "|"), "Line 2 removed: b|Line 2 added: B|Line 4 added: d"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
	for kind, want := range map[string]aaep.Risk{Read: aaep.RiskLow, Other: aaep.RiskMedium, Execute: aaep.RiskHigh,
		"": aaep.RiskHigh, "new": aaep.RiskHigh} {
		if got := Risk(kind); got != want {
			t.Errorf("the risk of %q is %s, want %s", kind, got, want)
		}
	}
	lines, err := Members([]byte(`{"command":"a\nb","n":1,"filter":""}`))
	if got := strings.Join(lines, "|"); got != `command: a|b|n: 1|filter: "", which is empty` || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

// Arguments of which programs could read different things are found, at any depth.
func TestCheckReading(t *testing.T) {
	for args, ok := range map[string]bool{
		`{"a":1,"b":{"a":["a","a",{"a":"a"}]},"c":"a"}`: true, `[]`: true, `"a"`: true, `{}`: true,
		`{"a":1,"a":1}`: false, `{"path":1,"Path":2}`: false, `{"b":[{"ſ":1,"s":2}]}`: false, `{"a":`: false,
		`{"b":{"\u0061":1,"x":{},"a":2}}`: false,
	} {
		if err := CheckReading([]byte(args)); (err == nil) != ok {
			t.Errorf("%s: %v", args, err)
		}
	}
}
