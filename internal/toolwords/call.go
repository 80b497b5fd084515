package toolwords

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

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
		sentence, known := phrase.In(tag, phrase.UseTool, name)
		if values != "" {
			suffix, _ := phrase.In(tag, phrase.WithValues, values)
			sentence = strings.TrimSuffix(sentence, ".") + suffix + "."
		}
		return sentence, known
	})
}

// describeValue reads the next value of d and returns it in words, with quotation marks only for an
// empty text. separator stands between the parts of an object or a list: "; " in the outermost
// value, which gets no brackets, and ", " in those within it. Malformed JSON gives "".
func describeValue(d *json.Decoder, separator string) string {
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
	joined := strings.Join(parts, separator)
	switch {
	case separator == "; ":
		return joined
	case joined == "":
		return map[json.Delim]string{'{': "{}", '[': "[]"}[kind]
	case kind == '{':
		return "(" + joined + ")"
	}
	return joined
}

// CheckReading returns an error for JSON in which an object has one name twice, also in another
// case: programs differ in which of the two they take, so that a tool could be given something else
// than its user was told.
func CheckReading(args []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(args), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	var objects []map[string]bool // the names of each value that is open; nil of a list
	for {
		token, err := d.ReadToken()
		if err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		innermost := len(objects) - 1
		_, n := d.StackIndex(d.StackDepth())
		switch {
		case token.Kind() == '{':
			objects = append(objects, map[string]bool{})
		case token.Kind() == '[':
			objects = append(objects, nil)
		case token.Kind() == '}' || token.Kind() == ']':
			objects = objects[:innermost]
		case innermost >= 0 && objects[innermost] != nil && n%2 == 1: // a name
			name := strings.ToLower(strings.ToUpper(token.String()))
			if objects[innermost][name] {
				return fmt.Errorf("the name %.40q comes twice in one object: give it once", token.String())
			}
			objects[innermost][name] = true
		}
	}
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
