package listen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/internal/cli/terms"
)

// A person's settings are like flags, and what is on the command line goes over them.
func TestSettings(t *testing.T) {
	for _, tt := range []struct{ settings, args, want string }{
		{"", "", "screen-reader 40  [] false"},
		{"# Mine.\n\n  output speech,braille  \npace 300\n", "", "screen-reader 40 300 [speech braille] true"},
		{"pace 300", "--pace 200", "screen-reader 40 200 [] true"},
		{"cells 20\nas braille", "", "braille 20  [] false"},
		{"cells 20", "", "screen-reader 40  [] false"},
		{"cells 20\nas braille", "--as screen-reader", "screen-reader 40  [] false"},
		{"Output plain", "--output speech", "screen-reader 40  [speech] false"},
	} {
		cmd := &cobra.Command{Use: "listen"}
		outs := cmd.Flags().StringSlice("output", nil, "")
		terms.AddFlags(cmd)
		if err := cmd.ParseFlags(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "listen.conf")
		if err := os.WriteFile(name, []byte(tt.settings), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := applySettings(cmd, name); err != nil {
			t.Fatal(err)
		}
		is := func(name string) string { return cmd.Flags().Lookup(name).Value.String() }
		if got := fmt.Sprintln(is("as"), is("cells"), is("pace"), *outs, cmd.Flags().Changed("pace")); got != tt.want+"\n" {
			t.Errorf("%q %s: %swant %s", tt.settings, tt.args, got, tt.want)
		}
	}
}

// A bad line gets one error that says which, what is wrong, and what would be right. EVT-033
func TestSettingsRefused(t *testing.T) {
	for settings, want := range map[string]string{
		"pace 300\npase 200":                 `line 2: "pase" is no setting; there are output, quiet-until-done, content, sounds, volume, as, cells, profile, rate, verbosity, boundary, language, load, pace, include, exclude`,
		"\n\npace fast":                      `line 3: pace must be a whole number from 50 to 1000; it is "fast"`,
		"pace":                               `line 1: pace must be followed by a whole number from 50 to 1000`,
		"pace 100\npace 200":                 `line 2: pace is set twice`,
		"output speech,telepathy":            `line 1: output must be of plain, speech, orca, nvda, braille, contracted-braille, touch, sound, joined by commas; it is "speech,telepathy"`,
		"token-file secret":                  `line 1: "token-file" is no setting; there are output, quiet-until-done, content, sounds, volume, as, cells, profile, rate, verbosity, boundary, language, load, pace, include, exclude`,
		"pace 100\nlanguage \x1b[2Jen":       `line 2 is not plain text`,
		"language \xff":                      `line 1 is not plain text`,
		"exclude a:b\nexclude a:b":           `line 2: exclude is set twice`,
		"exclude acme:*,aaep:agent.sesion.*": `line 1: exclude: "aaep:agent.sesion.*" matches no event; there is aaep:agent.session.*`,
		"output":                             `line 1: output must be followed by plain, speech, orca, nvda, braille, contracted-braille, touch, sound, joined by commas`,
		"exclude acme:*,aaep:agent.state.*":  `line 1: exclude would leave out all that the agent turns to, for good; say so when you listen, with --exclude`,
		"include aaep:agent.session.*":       `line 1: include would leave out all that the agent turns to, for good; say so when you listen, with --include`,
		"as mouse":                           `line 1: as must be ` + terms.DeviceNames() + `; it is "mouse"`,
		"volume 0":                           `line 1: volume must be a whole number from 1 to 100; it is "0"`,
		"sounds bell":                        `line 1: sounds must be of question, tool, done, failed, lost, joined by commas; it is "bell"`,
		"quiet-until-done":                   `line 1: quiet-until-done must be followed by true or false`,
		"quiet-until-done yes":               `line 1: quiet-until-done must be true or false; it is "yes"`,
		"pace = 100":                         `line 1: pace must be a whole number from 50 to 1000; it is "= 100"`,
		strings.Repeat("x", maxSettings): `line 1: ` + fmt.Sprintf("%q", strings.Repeat("x", 40)) +
			` is no setting; there are output, quiet-until-done, content, sounds, volume, as, cells, profile, rate, verbosity, boundary, language, load, pace, include, exclude`,
	} {
		if _, err := parseSettings([]byte(settings)); err == nil || err.Error() != want {
			t.Errorf("%.40q: %.200v\nwant %.200s", settings, err, want)
		}
	}
	if err := applySettings(&cobra.Command{}, filepath.Join(t.TempDir(), "none")); err == nil ||
		!strings.Contains(err.Error(), "cannot read the settings") {
		t.Errorf("a file that is not there: %v", err)
	}
}
