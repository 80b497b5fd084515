package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aaep-go/aaep/internal/cli/exits"
)

// A flag of any command that is given and empty, as of a variable that is not set, is refused:
// listen --trust "" would follow an agent unverified, and audit verify --head "" vouch for a trail
// that was cut.
func TestEmptyFlags(t *testing.T) {
	var look func(*cobra.Command)
	look = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); kind != "string" && !strings.HasSuffix(kind, "Slice") && kind != "stringArray" {
				return
			}
			root := newRoot()
			asked, _, err := root.Find(strings.Fields(cmd.CommandPath())[1:])
			if err != nil {
				t.Fatal(err)
			}
			asked.Args, asked.RunE = cobra.ArbitraryArgs, func(*cobra.Command, []string) error { return nil }
			args := append(strings.Fields(cmd.CommandPath())[1:], "--"+f.Name+"=")
			root.SetArgs(args)
			var errs bytes.Buffer
			code := reportError(root, args, root.Execute(), &errs)
			if code != exits.Usage || !strings.Contains(errs.String(), "--"+f.Name+" is given and is empty") {
				t.Errorf("%q: code %d, %s", args, code, &errs)
			}
		})
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(newRoot())
}
