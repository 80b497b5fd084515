package bridge

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A PatchOperation is one of a JSON Patch (RFC 6902).
type PatchOperation struct {
	Op    string         `json:"op"`
	Path  string         `json:"path"`
	From  string         `json:"from,omitzero"`
	Value jsontext.Value `json:"value,omitzero"`
}

// mostPatched is how many operations a patch may have.
const mostPatched = 4096

// errPatch says that a patch is not for the value it was to be applied to.
var errPatch = errors.New("the patch does not fit the record")

// ApplyPatch returns a value with a patch applied, or an error where any of it does not fit. The
// value itself stays.
func ApplyPatch(value any, patch []PatchOperation) (any, error) {
	if len(patch) > mostPatched {
		return nil, errPatch
	}
	value = cloneValue(value)
	for _, op := range patch {
		var err error
		if value, err = applyOperation(value, op); err != nil {
			return nil, fmt.Errorf("%w: %s at %q", errPatch, op.Op, op.Path)
		}
	}
	return value, nil
}

// applyOperation returns value with one operation of a JSON Patch applied; value itself may be
// changed. An operation that does not fit is errPatch, or an error of JSON.
func applyOperation(value any, op PatchOperation) (any, error) {
	var v any
	switch op.Op {
	case "add", "replace", "test":
		if err := Decode(op.Value, &v); err != nil {
			return nil, err
		}
	case "move", "copy":
		source, ok := At(value, op.From)
		if !ok || op.Op == "move" && strings.HasPrefix(op.Path, op.From+"/") {
			return nil, errPatch
		}
		v = cloneValue(source)
	}
	switch op.Op {
	case "test":
		current, ok := At(value, op.Path)
		if !ok || !reflect.DeepEqual(current, v) {
			return nil, errPatch
		}
		return value, nil
	case "replace":
		return edit{replacement, v}.applyAt(value, op.Path)
	case "add", "copy":
		return edit{insertion, v}.applyAt(value, op.Path)
	case "remove":
		return edit{kind: removal}.applyAt(value, op.Path)
	case "move":
		value, err := edit{kind: removal}.applyAt(value, op.From)
		if err != nil {
			return nil, err
		}
		return edit{insertion, v}.applyAt(value, op.Path)
	}
	return nil, errPatch
}

// An edit is one change of a value at a pointer.
type edit struct {
	kind  editKind
	value any // the new value; nil for a removal
}

type editKind int

const (
	replacement editKind = iota // of a value that must be there
	insertion                   // before an element of a list, or as a member whether there is one or not
	removal                     // of a value that must be there
)

// applyAt returns value, which it may change, with the edit applied at a pointer of JSON. errPatch
// says that the pointer is malformed or leads to nothing.
func (e edit) applyAt(value any, pointer string) (any, error) {
	names, ok := pointerNames(pointer)
	if !ok {
		return nil, errPatch
	}
	return e.applyBelow(value, names)
}

// applyBelow returns value, which it may change, with the edit applied at the place that names lead
// to from it; without names that is value itself. errPatch says that there is no such place.
func (e edit) applyBelow(value any, names []string) (any, error) {
	if len(names) == 0 {
		return e.value, nil
	}
	switch container := value.(type) {
	case map[string]any:
		return e.applyToRecord(container, names)
	case []any:
		return e.applyToList(container, names)
	}
	return nil, errPatch
}

// applyToRecord changes the member that names begin with, or what is below it.
func (e edit) applyToRecord(record map[string]any, names []string) (any, error) {
	name, isLast := names[0], len(names) == 1
	if isLast && e.kind == insertion {
		record[name] = e.value
		return record, nil
	}
	current, exists := record[name]
	if !exists {
		return nil, errPatch
	}
	if isLast && e.kind == removal {
		delete(record, name)
		return record, nil
	}
	changed, err := e.applyBelow(current, names[1:])
	record[name] = changed
	return record, err
}

// applyToList changes the element that names begin with, or what is below it, and returns the list,
// which may be longer or shorter.
func (e edit) applyToList(list []any, names []string) (any, error) {
	i, ok := elementIndex(names[0], len(list))
	if !ok {
		return nil, errPatch
	}
	isLast := len(names) == 1
	if isLast && e.kind == insertion {
		return slices.Insert(list, i, e.value), nil
	}
	if i == len(list) { // only an insertion may be behind the last element
		return nil, errPatch
	}
	if isLast && e.kind == removal {
		return slices.Delete(list, i, i+1), nil
	}
	changed, err := e.applyBelow(list[i], names[1:])
	list[i] = changed
	return list, err
}

// elementIndex returns the index that a part of a pointer names in a list of length elements: a
// number without sign or leading zeros, or "-" for the place behind the last element. ok is false
// for any other part, and for an index behind that place.
func elementIndex(name string, length int) (i int, ok bool) {
	if name == "-" {
		return length, true
	}
	i, err := strconv.Atoi(name)
	if err != nil || strconv.Itoa(i) != name {
		return 0, false
	}
	return i, 0 <= i && i <= length
}

// pointerNames returns the parts of a JSON pointer, with their escapes resolved, and whether it is
// one of at most 64 parts.
func pointerNames(pointer string) (names []string, ok bool) {
	if pointer == "" {
		return nil, true
	}
	if pointer[0] != '/' {
		return nil, false
	}
	for name := range strings.SplitSeq(pointer[1:], "/") {
		names = append(names, strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
	}
	return names, len(names) <= 64
}

// At returns the value at a JSON pointer within value, and whether there is one; "" is value
// itself.
func At(value any, pointer string) (any, bool) {
	names, ok := pointerNames(pointer)
	for _, name := range names {
		switch container := value.(type) {
		case map[string]any:
			if value, ok = container[name]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(container) || strconv.Itoa(i) != name {
				return nil, false
			}
			value = container[i]
		default:
			return nil, false
		}
	}
	return value, ok
}

// cloneValue returns a copy of a JSON value, as deep as it is.
func cloneValue(value any) any {
	switch v := value.(type) {
	case map[string]any:
		v = maps.Clone(v)
		for name := range v {
			v[name] = cloneValue(v[name])
		}
		return v
	case []any:
		v = slices.Clone(v)
		for i := range v {
			v[i] = cloneValue(v[i])
		}
		return v
	}
	return value
}

// Changes returns a sentence for each value in which two JSON values differ, that says what it is
// in after: first those that changed or are new, in the order of after, then those that are gone.
func Changes(before, after any) (sentences []string) {
	oldValues := map[string]string{}
	for _, l := range leavesOf("", before) {
		oldValues[l.path] = l.value
	}
	inAfter := map[string]bool{}
	for _, l := range leavesOf("", after) {
		inAfter[l.path] = true
		if value, known := oldValues[l.path]; !known || value != l.value {
			sentences = append(sentences, l.describeLeaf(" is now "))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(oldValues)) {
		if !inAfter[path] {
			sentences = append(sentences, leaf{path, "gone"}.describeLeaf(" is "))
		}
	}
	return sentences
}
