package toolcall_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/internal/bridge/toolcall"
)

type record struct {
	ID string `json:"id"`
}

func (r record) Name() toolcall.Name { return toolcall.Name{ID: r.ID} }

func open(t *testing.T, file string) (held *toolcall.Held[record, string], left []string) {
	t.Helper()
	held, key, calls, err := toolcall.Open[record, string](file, []byte("key"), slog.New(slog.DiscardHandler))
	if err != nil || string(key) != "key" {
		t.Fatalf("%q, %v", key, err)
	}
	t.Cleanup(func() { held.Close() })
	for _, call := range calls {
		left = append(left, call.Record.ID)
	}
	return held, left
}

// A call that was held stays in the file until what became of it was told, however often the
// process is killed before.
func TestLeftUntilSettled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "held")
	held, _ := open(t, file)
	for _, id := range []string{"1", "2", "3"} {
		call, fresh, err := held.Hold(record{id}, nil)
		if err != nil || !fresh {
			t.Fatal(fresh, err)
		}
		if id == "2" {
			held.Settle(call)
		}
	}
	for range 3 {
		held.Close()
		var left []string
		if held, left = open(t, file); !slices.Equal(left, []string{"1", "3"}) {
			t.Fatalf("left are %v", left)
		}
	}
	held.SettleLeft(toolcall.Left[record]{Record: record{"1"}})
	held.Close()
	if _, left := open(t, file); !slices.Equal(left, []string{"3"}) {
		t.Errorf("left are %v", left)
	}
}

// A file of something else is refused and left as it is.
func TestFileOfSomethingElse(t *testing.T) {
	for _, text := range []string{"notes", "notes\n", strings.Repeat("x", 99)} {
		file := filepath.Join(t.TempDir(), "notes")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := toolcall.Open[record, string](file, nil, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%q is taken", text)
		}
		if got, _ := os.ReadFile(file); string(got) != text {
			t.Errorf("%q was written over", text)
		}
	}
}
