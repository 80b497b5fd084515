package schemas_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/schemas"
)

// changeMember returns data with the member at a JSON pointer set to value, or left out if value is
// "".
func changeMember(t *testing.T, data []byte, at, value string) []byte {
	t.Helper()
	var root any
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	tokens := strings.Split(at, "/")[1:]
	last := tokens[len(tokens)-1]
	parent := root
	for _, token := range tokens[:len(tokens)-1] {
		switch p := parent.(type) {
		case map[string]any:
			parent = p[token]
		case []any:
			i, _ := strconv.Atoi(token)
			parent = p[i]
		}
	}
	switch p := parent.(type) {
	case map[string]any:
		p[last] = json.RawMessage(value)
		if value == "" {
			delete(p, last)
		}
	case []any:
		i, _ := strconv.Atoi(last)
		p[i] = json.RawMessage(value)
	default:
		t.Fatalf("no member %s", at)
	}
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func violationsOf(t *testing.T, err error) []aaep.Violation {
	t.Helper()
	if err == nil {
		return nil
	}
	var invalid *aaep.InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("error %v is not an *aaep.InvalidError", err)
	}
	if len(invalid.Violations) == 0 {
		t.Fatalf("error %v has no violation", err)
	}
	return invalid.Violations
}

func hasViolation(v []aaep.Violation, requirement, at string) bool {
	return slices.ContainsFunc(v, func(v aaep.Violation) bool {
		return v.Requirement == requirement && v.Pointer == at && v.Problem != ""
	})
}

// A failure is reported once, at its place, and no member of the envelope is blamed for another's.
func TestViolationsAreExact(t *testing.T) {
	data := validByType(t)["aaep:agent.tool.invoked"]
	data = changeMember(t, data, "/event_id", `"x"`)
	data = changeMember(t, data, "/foo", `1`)
	data = changeMember(t, data, "/extensions/a~b", `1`)
	got := violationsOf(t, schemas.Validate(data))
	want := []aaep.Violation{
		{Requirement: "ENV-012", Pointer: "/event_id", Problem: "must be evt_ and 1 to 64 letters or digits"},
		{Requirement: "ENV-046", Pointer: "/extensions/a~0b", Problem: "must be of type object"},
		{Requirement: "ENV-055", Pointer: "/foo", Problem: "is not a member of this event"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("violations %+v, want %+v", got, want)
	}
}

func TestNotOneMessage(t *testing.T) {
	for data, requirement := range map[string]string{
		``:                                   "ENV-064",
		`{"type":"x:y"`:                      "ENV-064",
		`{"type":"x:y"} {}`:                  "ENV-064",
		`{"type":"x:y","type":"x:y"}`:        "ENV-064",
		"{\"type\":\"x:\xff\"}":              "ENV-064",
		`{"type":"x:\ud800"}`:                "ENV-064",
		"\ufeff{}":                           "ENV-064",
		`{"type":"x:y","n":1e999}`:           "ENV-066",
		`{"type":"x:y","percent":1e9999999}`: "ENV-066",
		`[]`:                                 "ENV-068",
		`null`:                               "ENV-068",
		`{}`:                                 "ENV-011",
		`{"type":1}`:                         "ENV-011",
	} {
		v := violationsOf(t, schemas.Validate([]byte(data)))
		if len(v) != 1 || v[0].Requirement != requirement {
			t.Errorf("Validate(%q): violations %v, want one of %s", data, v, requirement)
		}
	}
}

// No error may carry a reply token into a log.
func TestErrorsHideValues(t *testing.T) {
	for typ, data := range validByType(t) {
		if !strings.Contains(typ, "awaiting") && !strings.Contains(typ, "reply") {
			continue
		}
		for _, value := range []string{`"SECRET"`, `["SECRET"]`, `{"a":"SECRET"}`} {
			for _, at := range []string{"/reply_token", "/event_id", "/urgency", "/decision", "/response"} {
				err := schemas.Validate(changeMember(t, data, at, value))
				if err != nil && strings.Contains(err.Error(), "SECRET") {
					t.Errorf("%s, %s: %v", typ, at, err)
				}
			}
		}
	}
}

func TestConcurrent(t *testing.T) {
	data := validByType(t)["aaep:agent.awaiting.confirmation"]
	bad := changeMember(t, data, "/default_decision", `"accept"`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := schemas.Validate(data); err != nil {
				t.Error(err)
			}
			if schemas.Validate(bad) == nil {
				t.Error("accept on an irreversible action passes")
			}
		})
	}
	wg.Wait()
}

// Each file names itself, and each rule that has no words of its own carries a description to
// report.
func TestFiles(t *testing.T) {
	requirement := regexp.MustCompile(`^[A-Z]+-[0-9]+$`)
	count := 0
	err := fs.WalkDir(schemas.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		count++
		data, err := fs.ReadFile(schemas.FS(), p)
		if err != nil {
			return err
		}
		var doc map[string]any
		if err := json.Unmarshal(data, &doc); err != nil {
			return err
		}
		name := strings.TrimSuffix(path.Base(p), ".schema.json")
		if doc["$id"] != "urn:aaep-go:schemas:v1:"+name ||
			doc["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
			t.Errorf("%s: $id %v, $schema %v", p, doc["$id"], doc["$schema"])
		}
		eachSchema(doc, func(s map[string]any) {
			_, pattern := s["pattern"]
			_, not := s["not"]
			if (pattern || not) && s["description"] == nil && s["$comment"] != nil {
				t.Errorf("%s: %v has no description", p, s)
			}
			if c, ok := s["$comment"]; ok && !requirement.MatchString(c.(string)) {
				t.Errorf("%s: $comment %v is not a requirement", p, c)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count != 26 {
		t.Errorf("%d files, want 26", count)
	}
}

func eachSchema(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(v)
		for _, child := range v {
			eachSchema(child, f)
		}
	case []any:
		for _, child := range v {
			eachSchema(child, f)
		}
	}
}

// INV-32: what is wrong a thousand times is told so often that a person can mend it, and takes no
// longer than that.
func TestViolationsAreBounded(t *testing.T) {
	var items, members strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&items, ",%d", i)
		fmt.Fprintf(&members, `,"m%d":%d`, i, i)
	}
	for about, err := range map[string]error{
		"entries": schemas.ValidateExtension("haptic", "capability",
			[]byte(`{"patterns_supported":["a"`+items.String()+`]}`)),
		"members": schemas.Validate([]byte(`{"type":"subscription.close","subscription_id":"s"` + members.String() +
			`}`)),
	} {
		var invalid *aaep.InvalidError
		if !errors.As(err, &invalid) || len(invalid.Violations) != 64 {
			t.Errorf("%s: %d violations, want 64", about, len(invalid.Violations))
		}
	}
}
