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

// applyOperation returns value with one operation applied; value itself may be changed.
func applyOperation(value any, op PatchOperation) (any, error) {
	var v any
	switch op.Op {
	case "add", "replace", "test":
		if err := Decode(op.Value, &v); err != nil {
			return nil, err
		}
	case "move", "copy":
		from, ok := At(value, op.From)
		if !ok || op.Op == "move" && strings.HasPrefix(op.Path, op.From+"/") {
			return nil, errPatch
		}
		v = cloneValue(from)
	}
	switch op.Op {
	case "test":
		have, ok := At(value, op.Path)
		if !ok || !reflect.DeepEqual(have, v) {
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

// editAt changes what is at a pointer: set returns what is there then, and whether anything is. An
// element of a list that must not be there already is put before the one that is.
func editAt(value any, pointer string, set func(any, bool) (any, bool), there bool) (any, error) {
	names, ok := pointerNames(pointer)
	if !ok {
		return nil, errPatch
	}
	if len(names) == 0 {
		v, _ := set(value, true)
		return v, nil
	}
	name, rest := names[0], pointer[len(firstOf(pointer)):]
	switch in := value.(type) {
	case map[string]any:
		have, known := in[name]
		if len(names) > 1 {
			if !known {
				return nil, errPatch
			}
			v, err := editAt(have, rest, set, there)
			in[name] = v
			return in, err
		}
		if there && !known {
			return nil, errPatch
		}
		if v, stays := set(have, known); stays {
			in[name] = v
		} else {
			delete(in, name)
		}
		return in, nil
	case []any:
		i, err := strconv.Atoi(name)
		if name == "-" {
			i, err = len(in), nil
		} else if err == nil && strconv.Itoa(i) != name {
			err = errPatch
		}
		if err != nil || i < 0 || i > len(in) || i == len(in) && (there || len(names) > 1) {
			return nil, errPatch
		}
		if len(names) > 1 {
			v, err := editAt(in[i], rest, set, there)
			in[i] = v
			return in, err
		}
		if !there {
			v, _ := set(nil, false)
			return slices.Insert(in, i, v), nil
		}
		if v, stays := set(in[i], true); stays {
			in[i] = v
			return in, nil
		}
		return slices.Delete(in, i, i+1), nil
	}
	return nil, errPatch
}

// firstOf is the first part of a pointer with its slash, as it is written.
func firstOf(pointer string) string {
	if i := strings.IndexByte(pointer[1:], '/'); i >= 0 {
		return pointer[:i+1]
	}
	return pointer
}

// pointerNames are the parts of a JSON pointer.
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

// At returns what is at a JSON pointer.
func At(value any, pointer string) (any, bool) {
	names, ok := pointerNames(pointer)
	for _, name := range names {
		switch in := value.(type) {
		case map[string]any:
			if value, ok = in[name]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) || strconv.Itoa(i) != name {
				return nil, false
			}
			value = in[i]
		default:
			return nil, false
		}
	}
	return value, ok
}

// cloneValue returns a copy of a JSON value that shares nothing with it that can change.
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

// Changes says of each value in which two JSON values differ what it is now, in order of the paths.
func Changes(before, after any) (said []string) {
	was := map[string]string{}
	for _, l := range leavesOf("", before) {
		was[l.path] = l.value
	}
	now := map[string]bool{}
	for _, l := range leavesOf("", after) {
		now[l.path] = true
		if value, known := was[l.path]; !known || value != l.value {
			said = append(said, l.describeLeaf(" is now "))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(was)) {
		if !now[path] {
			said = append(said, leaf{path, "gone"}.describeLeaf(" is "))
		}
	}
	return said
}
