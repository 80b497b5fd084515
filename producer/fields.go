package producer

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
)

// fields names, for a member of a tool's or a question's event, the Go field in which the author of
// an agent gave it. Every other payload is given as it is.
var fields = map[string]string{
	"/tool": "Tool.Name", "/description": "Tool.Title",
	"/risk_level": "Tool.Risk", "/irreversible": "Tool.Irreversible",
	"/action": "Tool.Action", "/consequence": "Tool.Consequence", "/extra_context": "Tool.ExtraContext",
	"/timeout_seconds": "Timeout", "/default_decision": "Tool.Default",
	"/question": "Question.Text", "/context": "Question.Context", "/choices": "Question.Choices",
	"/default_response": "Question.Default",
}

// nameFields puts, before the text of an *aaep.InvalidError about an event with this payload, the
// Go fields from which the wrong members come. Any other error it returns as it is.
func nameFields(payload aaep.Payload, err error) error {
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

// warnIfInvalid logs a warning where err says that the agent's program gave a tool or a question
// fields that are not valid: agents hand the errors of their tools to a model, so that their
// authors may never see them, and the user is told nothing. kind and name say what was refused.
func (s *Session) warnIfInvalid(kind, name string, err error) {
	var invalid *aaep.InvalidError
	if !errors.As(err, &invalid) {
		return
	}
	if write, left := s.p.misuses.countWarning(time.Now()); write {
		s.p.cfg.Logger.Warn("refused, for its fields are not valid", "session_id", s.id, kind, name, "error", err,
			"left_out", left)
	}
}

// warnOfLeftOut logs a warning that a tool or a question is not put in these languages, if any:
// some of its texts are in them and others are not. kind and name say what is put.
func (s *Session) warnOfLeftOut(kind, name string, languages []string) {
	if len(languages) == 0 {
		return
	}
	if write, left := s.p.misuses.countWarning(time.Now()); write {
		s.p.cfg.Logger.Warn("not put in languages that only some of its texts are in", "session_id", s.id, kind, name,
			"languages", languages, "left_out", left)
	}
}

// goField returns the Go field from which the member at a JSON pointer comes, in an event with this
// payload, as an author of an agent knows it: "Tool.Action", "Progress.Percent". It returns ""
// where that is not known.
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
	typ := reflect.TypeOf(payload).Elem()
	name := typ.Name()
	for _, member := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if typ.Kind() != reflect.Struct {
			break
		}
		i := slices.IndexFunc(reflect.VisibleFields(typ), func(f reflect.StructField) bool {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return tag == member
		})
		if i < 0 {
			return ""
		}
		f := typ.Field(i)
		name, typ = name+"."+f.Name, f.Type
		if typ.Kind() == reflect.Struct {
			name = typ.Name() // the struct is what the author made
		}
	}
	return name
}
