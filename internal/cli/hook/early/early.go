// Package early runs "aaep hook AGENT" and ends the program, before what else the program is made
// of is initialised: an agent waits for that command at every tool call, and tables, patterns and
// schemas that it does not use would take longer than what it does.
//
// Packages are initialised in the order of their import paths, each after those that it imports. So
// this works as long as this package imports little, which a test checks, and costs other commands
// a look at their arguments.
package early

import (
	"os"

	"github.com/aaep-go/aaep/internal/cli/hook/call"
)

// init runs the hook, and ends the process, where the command line asks for that. It comes before
// the other packages of the command are initialised, since an agent waits for each hook.
func init() {
	if args := os.Args[1:]; call.Is(args) {
		os.Exit(call.Run(args[1], os.Stdin, os.Stdout, os.Stderr))
	}
}
