package metrics

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/internal/cli/clitest"
)

// What operators are told to look for in the log, and to count, is what the program writes.
func TestOperatingAlarms(t *testing.T) {
	page := string(clitest.Must(os.ReadFile("../../docs/operating.md")))
	var source strings.Builder
	for _, folder := range []string{"../../producer", "../../transports", "../../internal"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			source.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, alarms, found := strings.Cut(page, "### What to do when\n")
	alarms, _, ends := strings.Cut(alarms, "\nIn your own agent")
	said := 0
	for line := range strings.Lines(alarms) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			continue
		}
		for _, quoted := range regexp.MustCompile("`[^`]+`").FindAllString(cells[2], -1) {
			if said++; !strings.Contains(source.String(), strings.Trim(quoted, "`")) {
				t.Errorf("nothing writes %s", quoted)
			}
		}
	}
	for _, count := range counts {
		if !strings.Contains(page, "| `"+count.name+"` |") {
			t.Errorf("%s is not in the table", count.name)
		}
	}
	for _, name := range regexp.MustCompile("aaep_[a-z_]+").FindAllString(page, -1) {
		if !strings.Contains(source.String(), `"`+name+`"`) {
			t.Errorf("nothing counts %s", name)
		}
	}
	if !found || !ends || said < 15 {
		t.Errorf("%d lines of the log are in the table", said)
	}
}
