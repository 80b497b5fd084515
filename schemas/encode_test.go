package schemas_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/schemas"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// encodedInstances returns what aaep.Encode makes of every minimal and maximal instance, by a name
// for it.
func encodedInstances(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for size, messages := range map[string][]aaep.Message{"minimal": minimalMessages(), "maximal": maximalMessages()} {
		if len(messages) != 19 {
			t.Fatalf("%d %s instances, want 12 events and 7 messages", len(messages), size)
		}
		for _, m := range messages {
			data, err := aaep.Encode(m)
			if err != nil {
				t.Fatalf("Encode(%s %s) = %v", size, m.MessageType(), err)
			}
			all[size+" "+m.MessageType()] = data
		}
	}
	return all
}

func TestEncodeIsValidHere(t *testing.T) {
	for name, data := range encodedInstances(t) {
		if err := schemas.Validate(data); err != nil {
			t.Errorf("%s: %v\n%s", name, err, data)
		}
	}
}

// The published schemas are another project's text (CC BY 4.0) and not part of this repository.
func TestEncodeIsValidUnderThePublishedSchemas(t *testing.T) {
	root := filepath.Join("..", "..", "shared", "published-schemas")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("the published AAEP schemas are not at %s: nothing to compare with", root)
	}
	published := compilePublished(t, root)
	for name, data := range encodedInstances(t) {
		_, typ, _ := strings.Cut(name, " ")
		typ = strings.TrimPrefix(typ, "aaep:")
		schema := published[typ]
		if schema == nil {
			if typ != "subscription.renegotiate" &&
				typ != "subscription.close" { // these have no published schema (D-54)
				t.Errorf("no published schema for %s", typ)
			}
			continue
		}
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); err != nil {
			t.Errorf("%s: %v\n%s", name, err, data)
		}
	}
}

func compilePublished(t *testing.T, root string) map[string]*jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	ids := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".schema.json") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			return err
		}
		id := doc.(map[string]any)["$id"].(string)
		ids[strings.TrimSuffix(d.Name(), ".schema.json")] = id
		return c.AddResource(id, doc)
	})
	if err != nil {
		t.Fatal(err)
	}
	compiled := map[string]*jsonschema.Schema{}
	for name, id := range ids {
		if compiled[name], err = c.Compile(id); err != nil {
			t.Fatal(err)
		}
	}
	return compiled
}

func BenchmarkValidate(b *testing.B) {
	m := maximalMessages()[6]
	data, err := aaep.Encode(m)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("schemas", func(b *testing.B) {
		for b.Loop() {
			if err := schemas.Validate(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("aaep", func(b *testing.B) {
		for b.Loop() {
			if err := aaep.Validate(m); err != nil {
				b.Fatal(err)
			}
		}
	})
}
