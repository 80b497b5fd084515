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
		return editAt(value, op.Path, func(any, bool) (any, bool) { return v, true }, true)
	case "add", "copy":
		return editAt(value, op.Path, func(any, bool) (any, bool) { return v, true }, false)
	case "remove":
		return editAt(value, op.Path, func(any, bool) (any, bool) { return nil, false }, true)
	case "move":
		value, err := editAt(value, op.From, func(any, bool) (any, bool) { return nil, false }, true)
		if err != nil {
			return nil, err
		}
		return editAt(value, op.Path, func(any, bool) (any, bool) { return v, true }, false)
	}
	return nil, errPatch
}

// editAt returns value with the value at a pointer changed; value itself may be changed. set is
// given the value there, and whether there is one, and returns the new one, and whether there is to
// be one. mustExist says that there must be a value; without it, the new element of a list is
// inserted before the one at the pointer.
func editAt(value any, pointer string, set func(any, bool) (any, bool), mustExist bool) (any, error) {
	names, ok := pointerNames(pointer)
	if !ok {
		return nil, errPatch
	}
	if len(names) == 0 {
		v, _ := set(value, true)
		return v, nil
	}
	name, rest := names[0], pointer[len(firstOf(pointer)):]
	switch container := value.(type) {
	case map[string]any:
		current, exists := container[name]
		if len(names) > 1 {
			if !exists {
				return nil, errPatch
			}
			v, err := editAt(current, rest, set, mustExist)
			container[name] = v
			return container, err
		}
		if mustExist && !exists {
			return nil, errPatch
		}
		if v, stays := set(current, exists); stays {
			container[name] = v
		} else {
			delete(container, name)
		}
		return container, nil
	case []any:
		i, err := strconv.Atoi(name)
		if name == "-" {
			i, err = len(container), nil
		} else if err == nil && strconv.Itoa(i) != name {
			err = errPatch
		}
		if err != nil || i < 0 || i > len(container) || i == len(container) && (mustExist || len(names) > 1) {
			return nil, errPatch
		}
		if len(names) > 1 {
			v, err := editAt(container[i], rest, set, mustExist)
			container[i] = v
			return container, err
		}
		if !mustExist {
			v, _ := set(nil, false)
			return slices.Insert(container, i, v), nil
		}
		if v, stays := set(container[i], true); stays {
			container[i] = v
			return container, nil
		}
		return slices.Delete(container, i, i+1), nil
	}
	return nil, errPatch
}

// firstOf returns the first part of a pointer with its slash, as it is written; the pointer is not
// "".
func firstOf(pointer string) string {
	if i := strings.IndexByte(pointer[1:], '/'); i >= 0 {
		return pointer[:i+1]
	}
	return pointer
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

// At returns the value at a JSON pointer within value, and whether there is one.
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
