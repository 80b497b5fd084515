// Package bridge is what the bridges to other systems share: what a peer sends put in words that
// are safe to tell, the memory of what was told before, and the reading of streams over HTTP. It
// never decides what is told of a peer.
//
// Words are made of a peer's text in text.go. Of news that was gathered, digest.go says how many
// are told one by one, and in which words more are summed up; how long it is gathered is in
// window.go, and what was told before is kept in seen.go and state.go. Lines of JSON-RPC are
// checked in lines.go, MCP is spoken in mcp.go, streams are read in stream.go, and JSON Patch is
// applied in patch.go.
package bridge

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/nesting"
	"github.com/aaep-go/aaep/internal/toolwords"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer"
)

// Line is a peer's text in one line that is safe to show.
func Line(text string) string { return words.OneLine(aaep.SafeText(strings.TrimSpace(text))) }

// Ours is a sentence of a bridge, which is in English whatever the peer speaks.
func Ours(text string) aaep.Text { return aaep.Text{}.In("en", aaep.Say(text)) }

// AnnounceResult emits in s a text, in whatever language, as an output of its own, which later news
// does not replace.
func AnnounceResult(s *producer.Session, text string) error {
	out := s.Output()
	out.WriteString(text)
	return out.Close()
}

// HandOver emits in s, with text as the reason, that a person is waited for who cannot answer here.
func HandOver(s *producer.Session, text string) error {
	return s.Handoff(aaep.Say(text), aaep.HandoffRequested{Reason: text, TargetKind: aaep.TargetHuman,
		UrgencyForHandoff: aaep.RiskMedium})
}

// AnnounceNotice emits in s a sentence of a bridge as an output of its own. Unlike progress, it is
// not lost to newer news or to the end of the session, and low loads get it too.
func AnnounceNotice(s *producer.Session, sentence string) error {
	out := s.Output()
	if err := out.SetLanguage("en"); err != nil {
		return err
	}
	if _, err := out.WriteString(strings.TrimSpace(sentence)); err != nil {
		return err
	}
	return out.Close()
}

// Decode decodes JSON into a pointer as toolwords.Decode does, and refuses what is nested too deep.
func Decode(data []byte, into any) error {
	if nesting.TooDeep(data) {
		return errors.New("the JSON is nested too deep")
	}
	return toolwords.Decode(data, into)
}

// mostLeaves is how many values Describe names.
const mostLeaves = 5

// Describe says what is in JSON: its values with their paths, five at most, and how many more there
// are.
func Describe(text jsontext.Value) string {
	var v any
	if Decode(text, &v) != nil {
		return "data that cannot be read"
	}
	return DescribeValue(v)
}

// DescribeValue returns the words for a decoded JSON value, as Describe does for its text.
func DescribeValue(v any) string {
	var parts []string
	for _, l := range leavesOf("", v) {
		parts = append(parts, l.describeLeaf(" is "))
	}
	return List(parts)
}

// List joins parts with commas, the first five at most, and says how many more there are.
func List(parts []string) string {
	if more := len(parts) - mostLeaves; more > 0 {
		parts = append(parts[:mostLeaves:mostLeaves], "and "+strconv.Itoa(more)+" more")
	}
	return strings.Join(parts, ", ")
}

// A leaf is a value in JSON that holds no others, by its path in words.
type leaf struct{ path, value string }

// describeLeaf returns the words for a value: its path, verb, and the value, or the value alone
// where it has no path.
func (l leaf) describeLeaf(verb string) string {
	if path := toolwords.Label(l.path); path != "" {
		return path + verb + l.value
	}
	return l.value
}

// leavesOf returns the scalar values within v with their paths, in the order of the paths. A list
// of more than mostLeaves elements, or of any objects, counts as one value.
func leavesOf(path string, v any) (all []leaf) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, leavesOf(strings.TrimSpace(path+" "+name), v[name])...)
		}
		return all
	case []any:
		if !slices.ContainsFunc(v, func(v any) bool { _, scalar := v.(map[string]any); return scalar }) &&
			len(v) <= mostLeaves {
			for i, v := range v {
				all = append(all, leavesOf(strings.TrimSpace(path+" "+strconv.Itoa(i+1)), v)...)
			}
			return all
		}
		return []leaf{{path, "a list of " + strconv.Itoa(len(v))}}
	}
	return []leaf{{path, describeScalar(v)}}
}

// describeScalar returns a JSON value that holds no others in words for a person; "empty" for null
// and "".
func describeScalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "empty"
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case string:
		return cmp.Or(toolwords.Label(v), "empty")
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return "unknown"
}
