package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/manifest"
)

// A person who follows an agent by the key of the first time lets it have a new one: the one whose
// thumbprint they give, and no other.
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
		Args:    cobra.ExactArgs(3),
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
				return exitWith(exitUnreachable, errors.New(plainError(err)))
			case err != nil:
				return exitWith(exitFailed, fmt.Errorf("nothing was accepted: %s", plainError(err)))
			}
			status := announcer{out: cmd.ErrOrStderr()}
			status.printLabelled("aaep", "From now on "+embedText(agent)+" is known by the key "+key+
				", and by no other.")
			return nil
		},
	}
	cmd.Flags().SetInterspersed(false) // a thumbprint may begin with a hyphen
	return cmd
}

// plainWord is a word that every shell takes as it is. What an agent calls itself is not given to a
// shell otherwise.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:+@][A-Za-z0-9_./:+@-]*$`)

// howToAccept says what to do about a new key, and what to type then.
func howToAccept(err error) string {
	var changed *manifest.KeyChangedError
	if !errors.As(err, &changed) {
		return ""
	}
	word := func(text, instead string) string {
		if plainWord.MatchString(text) {
			return text
		}
		return instead
	}
	return fmt.Sprintf("\nAsk them what its new key is, and not by way of this agent. Letter by letter it is: %s.\nOnly if they say the same, type: aaep manifest accept %s %s %s",
		spellThumbprint(changed.Presented), word(filepath.ToSlash(changed.File), "FILE"),
		word(changed.AgentID, "AGENT_ID"), changed.Presented)
}

// spellThumbprint returns a thumbprint in groups of four, to be heard. That capitals sound like
// small letters costs some 35 of its 256 bits.
func spellThumbprint(thumbprint string) string {
	var b strings.Builder
	for i, r := range thumbprint {
		switch {
		case i == 0:
		case i%4 == 0:
			b.WriteString(", ")
		default:
			b.WriteByte(' ')
		}
		switch r {
		case '-':
			b.WriteString("hyphen")
		case '_':
			b.WriteString("underscore")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
