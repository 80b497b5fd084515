// Package bridge is what the bridges to other systems share: what a peer sends put in words that are safe to tell, the memory of what was told
// before, and the reading of streams over HTTP. It never decides what is told of a peer.
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
)

// Line is a peer's text in one line that is safe to show.
func Line(text string) string { return words.OneLine(aaep.SafeText(strings.TrimSpace(text))) }

// Ours is a sentence of a bridge, which is in English whatever the peer speaks.
func Ours(text string) aaep.Text { return aaep.Text{}.In("en", aaep.Say(text)) }

// Decode is toolwords.Decode for JSON of any depth: what is nested too deep is refused.
func Decode(data []byte, into any) error {
	if nesting.TooDeep(data) {
		return errors.New("the JSON is nested too deep")
	}
	return toolwords.Decode(data, into)
}

// mostLeaves is how many values Describe names.
const mostLeaves = 5

// Describe says what is in a JSON value: its members with their values, five at most, and how many more there are.
func Describe(value jsontext.Value) string {
	var v any
	if Decode(value, &v) != nil {
		return "data that cannot be read"
	}
	said := leaves("", v)
	if more := len(said) - mostLeaves; more > 0 {
		said = append(said[:mostLeaves], "and "+words.Count(more, "value")+" more")
	}
	return strings.Join(said, ", ")
}

// leaves says of each value in v which it is, by its path in words.
func leaves(path string, v any) (said []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			said = append(said, leaves(strings.TrimSpace(path+" "+name), v[name])...)
		}
		return said
	case []any:
		return []string{named(path, "a list of "+strconv.Itoa(len(v)))}
	}
	return []string{named(path, scalar(v))}
}

func named(path, value string) string {
	if path = toolwords.Label(path); path == "" {
		return value
	}
	return path + " is " + value
}

// scalar says a JSON value that holds no others.
func scalar(v any) string {
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
