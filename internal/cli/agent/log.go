package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/producer/log"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// restoreLog makes a folder of a copy of a log, in which an agent can read every record. Where one
// cannot be read, the folder is removed again, and the error says which.
func restoreLog(ctx context.Context, file, dir string) (err error) {
	_, statErr := os.Stat(dir)
	if err := sqlite.Restore(ctx, file, dir); err != nil {
		return err
	}
	store, err := sqlite.Open(dir, sqlite.Options{})
	if err == nil {
		err = errors.Join(checkRecords(store), store.Close())
	}
	if err == nil {
		return nil
	}
	entries, _ := os.ReadDir(dir) // all of them made by this call
	for _, entry := range entries {
		os.Remove(filepath.Join(dir, entry.Name()))
	}
	if errors.Is(statErr, fs.ErrNotExist) {
		os.Remove(dir)
	}
	return fmt.Errorf("%s; use an older copy", err) // PlainError would cut it to its cause
}

// checkRecords reports the first record that an agent could not read: each line of one is an event,
// in one of its languages.
func checkRecords(store log.Store) error {
	cursor, end := store.Bounds()
	for cursor < end {
		records, err := store.Read(cursor, 256)
		if err != nil {
			return err
		}
		for _, record := range records {
			cursor++
			for line := range bytes.SplitSeq(record, []byte{'\n'}) {
				m, err := aaep.Decode(line)
				if err != nil {
					return fmt.Errorf("event %d is not as it was written: %w", cursor, err)
				}
				if _, ok := m.(*aaep.Event); !ok {
					return fmt.Errorf("event %d is not as it was written: it is a %s", cursor, m.MessageType())
				}
			}
		}
	}
	return nil
}

// LogCommand makes "aaep log", with "backup" and "restore".
func LogCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Copy the log of an agent to a file, also while the agent runs, and put it back",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return exits.UsageError("say what to do with a log: aaep log backup FOLDER FILE, or aaep log restore FILE FOLDER")
		},
	}
	copied := func(failure, format string, from, to string, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return exits.With(exits.Unreachable, fmt.Errorf(failure+": %s", from, exits.PlainError(err)))
		case err != nil:
			return exits.With(exits.Failed, fmt.Errorf(failure+": %s", from, exits.PlainError(err)))
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
		Args:    exits.Arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return copied("the log in %s cannot be copied", "aaep: the log in %s is copied to %s.\n", args[0], args[1],
				sqlite.Backup(cmd.Context(), args[0], args[1]))
		},
	}, &cobra.Command{
		Use:   "restore FILE FOLDER",
		Short: "Make a folder for aaep run --log from such a file",
		Long: `restore checks that a FILE is the copy of a log, of which every record can be read, and makes a new FOLDER for aaep run --log of it. Who listened to the agent after
the copy was made is told that something may be missing.`,
		Example: `  aaep log restore planner.backup /var/lib/planner`,
		Args:    exits.Arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return copied("%s cannot be restored", "aaep: the log of %s is in %s.\n", args[0], args[1],
				restoreLog(cmd.Context(), args[0], args[1]))
		},
	})
	return cmd
}
