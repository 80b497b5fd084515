package bridge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/bridge"
)

// A kill at any moment of ReplaceContent leaves what was there before or what was to be there.
func TestKeptFileSurvivesKill(t *testing.T) {
	const before, after = "before\n", "after\n"
	for name, c := range map[string]struct {
		main, beside, part string // as the kill left them; empty is no file
		want               string
	}{
		"not begun":             {before, "", "", before},
		"half beside":           {before, "", "af", before},
		"beside":                {before, after, "", after},
		"truncated":             {"", after, "", after},
		"half":                  {"af", after, "", after},
		"whole, and beside too": {after, after, "", after},
	} {
		file := filepath.Join(t.TempDir(), "kept")
		for suffix, text := range map[string]string{"": c.main, ".new": c.beside, ".new.part": c.part} {
			if text != "" || suffix == "" {
				if err := os.WriteFile(file+suffix, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		kept, got, err := bridge.OpenKept(file)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
			continue
		}
		kept.WriteString("more\n")
		kept.Close()
		if got, err := os.ReadFile(file); err != nil || string(got) != c.want+"more\n" {
			t.Errorf("%s: then %q, %v", name, got, err)
		}
		if _, err := os.Stat(file + ".new"); err == nil {
			t.Errorf("%s: there still is a file beside it", name)
		}
	}
}

// What was told is known after a restart, until a day has passed.
func TestSeenRestart(t *testing.T) {
	file, now := filepath.Join(t.TempDir(), "seen"), time.Now()
	for day, want := range []bool{false, true, true} {
		at := now.Add(time.Duration(day) * 23 * time.Hour)
		s, err := bridge.OpenSeen(file, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Told(at, now, "a", "b"); got != want {
			t.Errorf("after %d days: %v, want %v", day, got, want)
		}
		if s.Told(at, at, "ab") {
			t.Error("other words are taken for those")
		}
		if err := s.Record(now, "a", "b"); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A file of something else is refused and left as it is.
func TestSeenOfSomethingElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.txt")
	keys := strings.Repeat("WAKE_SUB:1 0123456789abcdef\n", 9)
	if err := os.WriteFile(file, []byte(keys), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bridge.OpenSeen(file, time.Now()); err == nil || !strings.Contains(err.Error(),
		"no file of what was told") {
		t.Errorf("it is taken: %v", err)
	}
	if got, _ := os.ReadFile(file); string(got) != keys {
		t.Error("it was written over")
	}
}

// What was dated years ahead does not have all that comes after it count as told.
func TestSeenOfTheFuture(t *testing.T) {
	s, err := bridge.OpenSeen("", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	s.Record(now.AddDate(10, 0, 0), "ahead")
	for i := range 1<<20 + 1 { // so many are remembered at most
		s.Record(now, fmt.Sprint(i))
	}
	if later := now.Add(time.Minute); s.Told(later, later, "new") {
		t.Error("what is new counts as told")
	}
}
