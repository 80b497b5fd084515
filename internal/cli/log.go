package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// logCommand makes "aaep log".
func logCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Copy the log of an agent to a file, also while the agent runs, and put it back",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usageError("say what to do with a log: aaep log backup FOLDER FILE, or aaep log restore FILE FOLDER")
		},
	}
	copied := func(format string, from, to string, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return &exitError{exitUnreachable, fmt.Errorf("%s cannot be copied: %s", from, plainError(err))}
		case err != nil:
			return &exitError{exitFailed, fmt.Errorf("%s cannot be copied: %s", from, plainError(err))}
		}
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), format, from, to)
		return err
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "backup FOLDER FILE",
		Short: "Copy a log to a new file",
		Long: `backup copies the log in the FOLDER of aaep run --log to a new FILE, whole and as it is at this moment. The agent goes on
meanwhile. Only the file's owner may read it: it holds what the agent said.`,
		Example: `  aaep log backup /var/lib/planner planner.backup`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return copied("aaep: the log in %s is copied to %s.\n", args[0], args[1],
				sqlite.Backup(cmd.Context(), args[0], args[1]))
		},
	}, &cobra.Command{
		Use:   "restore FILE FOLDER",
		Short: "Make a folder for aaep run --log from such a file",
		Long: `restore checks that a FILE is the copy of a log, and makes a new FOLDER for aaep run --log of it. Who listened to the agent after
the copy was made is told that something may be missing.`,
		Example: `  aaep log restore planner.backup /var/lib/planner`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return copied("aaep: the log of %s is in %s.\n", args[0], args[1],
				sqlite.Restore(cmd.Context(), args[0], args[1]))
		},
	})
	return cmd
}
