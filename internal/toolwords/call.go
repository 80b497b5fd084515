package toolwords

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
)

// Use says in the given languages that a tool will be used, by the name that people know it by,
// with all of the call's arguments in the order in which they were sent: its author has put first
// what matters.
func Use(languages []string, name string, args []byte) aaep.Text {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	values := aaep.SafeText(strings.ReplaceAll(describeValue(d, "; "), "\r\n", "\n"))
	return phrase.Texts(languages, func(tag string) (string, bool) {
		says, known := phrase.In(tag, phrase.UseTool, name)
		if values != "" {
			with, _ := phrase.In(tag, phrase.WithValues, values)
			says = strings.TrimSuffix(says, ".") + with + "."
		}
		return says, known
	})
}

// describeValue reads the next value of d and returns it in words, with brackets and quotation
// marks only where there is nothing else. between stands between its parts.
func describeValue(d *json.Decoder, between string) string {
	token, err := d.Token()
	kind, ok := token.(json.Delim)
	switch {
	case err != nil:
		return ""
	case token == nil:
		return "null"
	case token == "":
		return `""`
	case !ok:
		return fmt.Sprint(token)
	}
	var parts []string
	for d.More() {
		name := ""
		if kind == '{' {
			key, _ := d.Token()
			name = strings.ReplaceAll(fmt.Sprint(key), "_", " ") + ": "
		}
		part := describeValue(d, ", ")
		parts = append(parts, name+part)
	}
	d.Token()
	said := strings.Join(parts, between)
	switch {
	case between == "; ":
		return said
	case said == "":
		return map[json.Delim]string{'{': "{}", '[': "[]"}[kind]
	case kind == '{':
		return "(" + said + ")"
	}
	return said
}

// CannotAsk says to a model why a call was not put to the user as it is, and was not done, or
// returns "" for an error that says something else. The model can say it otherwise.
func CannotAsk(err error) string {
	var invalid *aaep.InvalidError
	if !errors.As(err, &invalid) {
		return ""
	}
	return "Not done. The user cannot be asked about this call as it is: " + err.Error()
}
