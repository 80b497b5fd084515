package schemas

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// explainError turns the validator's tree of errors into an *aaep.InvalidError of a message of the
// type typ, with a flat list of violations, in the order of their places. The requirement of a
// violation is the $comment nearest to the schema that failed. A nil error is nil.
func (s *set) explainError(typ string, err error) error {
	if err == nil {
		return nil
	}
	var top *jsonschema.ValidationError
	if !errors.As(err, &top) {
		return fmt.Errorf("schemas: %w", err)
	}
	x := explainer{set: s}
	x.collectLeaves(top, "", nil)
	slices.SortFunc(x.found, func(a, b aaep.Violation) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Requirement, b.Requirement),
			cmp.Compare(a.Problem, b.Problem))
	})
	return &aaep.InvalidError{Message: typ, Violations: slices.Compact(x.found)}
}

// maxViolations is how many are explained: to explain one takes longer than to find it, and a peer
// may send as many as fit into a message.
const maxViolations = 64

// An explainer collects the violations of one message.
type explainer struct {
	*set
	found []aaep.Violation
}

// collectLeaves adds a violation for each leaf of the validator's error tree under e. requirement
// is the one nearest to e on the way from the root, or ""; name is the member whose name, and not
// whose value, was checked above e, or nil.
func (x *explainer) collectLeaves(e *jsonschema.ValidationError, requirement string, name []string) {
	if len(x.found) >= maxViolations {
		return
	}
	node := x.findNode(e.SchemaURL)
	requirement = cmp.Or(node.requirement, requirement)
	if p, ok := e.ErrorKind.(*kind.PropertyNames); ok {
		name = []string{p.Property}
	}
	if len(e.Causes) > 0 {
		for _, c := range e.Causes {
			x.collectLeaves(c, requirement, name)
		}
		return
	}

	location := slices.Concat(e.InstanceLocation, name)
	add := func(requirement, problem string, names ...string) {
		if len(x.found) < maxViolations {
			x.found = append(x.found, aaep.Violation{Requirement: requirement, Pointer: joinPointer(location, names),
				Problem: problem})
		}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		for _, m := range k.Missing {
			add(cmp.Or(node.requirementOf(m), requirement), fmt.Sprintf("member %q is missing", m))
		}
	case *kind.AdditionalProperties:
		for _, m := range k.Properties {
			add(requirement, "is not a member of this object", m)
		}
	case *kind.FalseSchema:
		// The envelope's own members count as unknown once anything in the envelope is wrong.
		if !x.inEnvelope(location) {
			add(requirement, "is not a member of this event")
		}
	default:
		add(requirement, describeProblem(k, node.description))
	}
}

// describeProblem says what would be right in the place of a value that failed with k; description
// is that of the schema that failed, or "". It never repeats what the message holds.
func describeProblem(k jsonschema.ErrorKind, description string) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be of type " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		return "must be one of " + joinJSON(k.Want)
	case *kind.MinLength:
		return "must not be empty"
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	case *kind.MinItems:
		if k.Want == 1 {
			return "must not be empty"
		}
		return fmt.Sprintf("must have at least %d entries", k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d entries", k.Want)
	case *kind.MinProperties:
		return "must not be empty"
	case *kind.UniqueItems:
		return "must not have the same entry twice"
	}
	if description != "" {
		return "must be " + description
	}
	if k, ok := k.(*kind.Const); ok {
		return "must be " + joinJSON([]any{k.Want})
	}
	return "does not match the schema at " + strings.Join(k.KeywordPath(), "/")
}

// joinJSON writes values as JSON with commas between them.
func joinJSON(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		b, _ := json.Marshal(v)
		words[i] = string(b)
	}
	return strings.Join(words, ", ")
}

// A node is what a place in a schema file says about itself.
type node struct {
	schema                   map[string]any
	requirement, description string
}

// requirementOf returns the requirement that the schema gives for one of its properties.
func (n node) requirementOf(name string) string {
	properties, _ := n.schema["properties"].(map[string]any)
	property, _ := properties[name].(map[string]any)
	requirement, _ := property["$comment"].(string)
	return requirement
}

// findNode returns the schema at a location such as urn:aaep-go:schemas:v1:common#/$defs/tool. Its
// requirement is the nearest one on the way there, within the document.
func (s *set) findNode(location string) node {
	var n node
	id, fragment, _ := strings.Cut(location, "#")
	v := s.docs[id]
	for token := range strings.SplitSeq(fragment, "/") {
		if token != "" {
			v = childOf(v, token)
		}
		n.schema, _ = v.(map[string]any)
		if c, ok := n.schema["$comment"].(string); ok {
			n.requirement = c
		}
	}
	n.description, _ = n.schema["description"].(string)
	return n
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~") // of JSON pointers

// childOf returns the member or item of a JSON value that a token of a JSON pointer names, with its
// escapes, or nil.
func childOf(v any, token string) any {
	if unescaped, err := url.PathUnescape(token); err == nil {
		token = unescaped
	}
	token = unescape.Replace(token)
	switch v := v.(type) {
	case map[string]any:
		return v[token]
	case []any:
		for i, item := range v {
			if fmt.Sprint(i) == token {
				return item
			}
		}
	}
	return nil
}

// inEnvelope reports whether location, the tokens of a JSON pointer into a message, is a member
// that the envelope schema defines, by its name or by a pattern.
func (s *set) inEnvelope(location []string) bool {
	if len(location) != 1 {
		return false
	}
	envelope := s.findNode(base + "envelope#").schema
	properties, _ := envelope["properties"].(map[string]any)
	if _, ok := properties[location[0]]; ok {
		return true
	}
	patterns, _ := envelope["patternProperties"].(map[string]any)
	for p := range patterns {
		if ok, err := regexp.MatchString(p, location[0]); ok && err == nil {
			return true
		}
	}
	return false
}

// joinPointer writes the tokens of a location, and names below it, as a JSON pointer.
func joinPointer(location, names []string) string {
	var b strings.Builder
	for _, token := range slices.Concat(location, names) {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(token))
	}
	return b.String()
}
