package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/manifest"
)

// manifestAccept makes "aaep manifest accept", by which a person who follows an agent by the key of
// the first time lets it have a new one: the one whose thumbprint they give, and no other.
func manifestAccept() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "accept FILE AGENT_ID THUMBPRINT",
		Short: "Let an agent that you follow with --trust-first-use have a new key",
		Long: `accept writes into FILE, which "aaep listen --trust-first-use FILE" keeps, that from now on the agent has the key
with this thumbprint. "aaep listen" says what to type when an agent comes with another key than before, or when another
agent, with another key, is at its address.

Somebody else may have taken the agent's place. Ask those who run it what its new key is, by a way that you know leads
to them, and type nothing before that. They find the thumbprint with "aaep manifest show" and the agent's address.

Exit codes: 0 accepted, 1 no such agent is in the file or it is damaged, 2 wrong use, 3 the file could not be read.`,
		Example: `  aaep manifest accept known.json planner NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs`,
		Args:    exits.Arguments(3, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, agent, key := args[0], args[1], args[2]
			_, err := os.Stat(file) // to FirstUse one that is not there is empty
			var first *manifest.FirstUse
			if err == nil {
				first, err = manifest.OpenFirstUse(file)
			}
			if err == nil {
				err = first.Accept(agent, key)
			}
			var unread *fs.PathError
			switch {
			case errors.As(err, &unread):
				return exits.With(exits.Unreachable, errors.New(exits.PlainError(err)))
			case err != nil:
				return exits.With(exits.Failed, fmt.Errorf("nothing was accepted: %s", exits.PlainError(err)))
			}
			status := lineio.Printer{Out: cmd.ErrOrStderr()}
			status.PrintLabelled("aaep", "From now on "+embedText(agent)+" is known by the key "+key+
				", and by no other.")
			return nil
		},
	}
	cmd.Flags().SetInterspersed(false) // a thumbprint may begin with a hyphen
	return cmd
}
