package producer

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
)

// fields are what the author of an agent wrote of what is sent, by the members of the wire, where
// that is not the payload itself.
var fields = map[string]string{
	"/tool": "Tool.Name", "/description": "Tool.Title", "/risk_level": "Tool.Risk", "/irreversible": "Tool.Irreversible",
	"/action": "Tool.Action", "/consequence": "Tool.Consequence", "/extra_context": "Tool.ExtraContext",
	"/timeout_seconds": "Timeout", "/default_decision": "Tool.Default",
	"/question": "Question.Text", "/context": "Question.Context", "/choices": "Question.Choices",
	"/accepted_response_kinds": "Question.Kinds", "/default_response": "Question.Default",
}

// inFields adds to an *aaep.InvalidError which Go fields are meant by its pointers.
func inFields(payload aaep.Payload, err error) error {
	var invalid *aaep.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	var named []string
	for _, v := range invalid.Violations {
		if name := goField(payload, v.Pointer); name != "" && !slices.Contains(named, name) {
			named = append(named, name)
		}
	}
	if len(named) == 0 {
		return err
	}
	return fmt.Errorf("producer: %s: %w", strings.Join(named, ", "), err)
}

// goField is the Go field that a pointer into an event with a payload means, or "".
func goField(payload aaep.Payload, pointer string) string {
	if pointer == "/localization_hints/primary_language" { // Config.Language has been checked
		return "the tag of aaep.Text.In"
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	switch payload.(type) {
	case *aaep.ToolInvoked, *aaep.ToolCompleted, *aaep.AwaitingConfirmation, *aaep.AwaitingClarification:
		return fields["/"+first]
	}
	if strings.HasPrefix(first, "summary_") {
		return "the aaep.Text"
	}
	at := reflect.TypeOf(payload).Elem()
	name := at.Name()
	for _, member := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if at.Kind() != reflect.Struct {
			break
		}
		i := slices.IndexFunc(reflect.VisibleFields(at), func(f reflect.StructField) bool {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return tag == member
		})
		if i < 0 {
			return ""
		}
		f := at.Field(i)
		if name, at = name+"."+f.Name, f.Type; at.Kind() == reflect.Struct {
			name = at.Name() // which is what the author made
		}
	}
	return name
}
