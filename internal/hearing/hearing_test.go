package hearing_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/hearing"
)

// The page has no time of its own for what this table has one for, under whatever name: its files
// take each number of the table from there and have none that is of the same rule.
func TestScript(t *testing.T) {
	script := hearing.Script()
	for name, want := range map[string]time.Duration{
		"still": hearing.StillBefore, "stillFor": hearing.PageStillFor, "sentFirst": hearing.SentFirst, "confirmWithin": hearing.ConfirmWithin,
		"repeatAfter": hearing.RepeatAfter, "soonAgain": hearing.SoonAgain, "clocksDiffer": hearing.ClocksDiffer,
		"behind": hearing.PageBehind, "cuesApart": hearing.CuesApart, "cueAgain": hearing.CueAgain, "progressEvery": hearing.ProgressEvery,
	} {
		if line := fmt.Sprintf("export const %s = %d;\n", name, want.Milliseconds()); !strings.Contains(script, line) {
			t.Errorf("the table lacks %q", line)
		}
		used := false
		for _, file := range []string{"questions.js", "log.js", "feel.js", "voice.js", "link.js", "page.js"} {
			code, err := os.ReadFile("../../subscriber/web/static/" + file)
			if err != nil {
				t.Fatal(err)
			}
			imports := regexp.MustCompile(`import \{([^}]*)\} from "\./times\.js"`).FindStringSubmatch(string(code))
			used = used || imports != nil && regexp.MustCompile(`\b`+name+`\b`).MatchString(imports[1]) &&
				len(regexp.MustCompile(`\b`+name+`\b`).FindAllString(string(code), -1)) > 1
			if regexp.MustCompile(`\b(const|let)\b[^;]*\b` + name + ` = \d`).Match(code) {
				t.Errorf("%s has a number of its own for %s", file, name)
			}
		}
		if !used {
			t.Errorf("the page does not use %s", name)
		}
	}
}
