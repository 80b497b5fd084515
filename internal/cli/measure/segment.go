package measure

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep/coalesce"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/segmentio"
)

// SegmentCommand makes the command "aaep segment", which prints where a text is cut into the
// sentences that a listener hears, or checks the file of a language (--check). cli.go adds it to
// the root.
func SegmentCommand() *cobra.Command {
	var lang, file string
	var maxRunes int
	var requests bool
	cmd := &cobra.Command{
		Use:   "segment",
		Short: "Show the sentences in which a listener would hear a text",
		Long: `segment reads text and prints one line for each sentence, as soon as it is complete: the same cuts a listener
gets who asks for sentences. Use it to see why a text is cut where it is, and to try a change of a language's rules:
--check reads a file of the folder coalesce/languages, says what is wrong or missing in it, and cuts its test sentences by it.`,
		Example: `  echo "Dr. Ade comes at 3.30 p.m. Bring the key." | aaep segment --lang en
  aaep segment --max-runes 300 < answer.md
  aaep segment --check sw.txt`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if maxRunes < 0 {
				return exits.UsageError("--max-runes must be 0, for no limit, or more; it is %d.\nSee: aaep segment --help", maxRunes)
			}
			var err error
			if file != "" {
				return checkLanguage(cmd.OutOrStdout(), file)
			}
			if requests {
				err = segmentio.Requests(cmd.InOrStdin(), cmd.OutOrStdout())
			} else {
				err = segmentio.Lines(cmd.InOrStdin(), cmd.OutOrStdout(), lang, maxRunes)
			}
			if err != nil {
				return exits.With(exits.Failed, err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&lang, "lang", "", "the text's language, such as en or pt-BR; without it, rules that fit every language")
	f.StringVar(&file, "check", "", "a language's file to check instead; docs/languages.md explains it")
	f.IntVar(&maxRunes, "max-runes", 0, "the longest piece in characters; 0 for as long as the protocol allows")
	f.BoolVar(&requests, "requests", false, "answer requests instead, one JSON object on each line; for test harnesses")
	return cmd
}

// checkLanguage reads a language's file and prints that it is whole; the error has the exit code,
// and names each line that is wrong or missing.
func checkLanguage(w io.Writer, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return exits.With(exits.Failed, err)
	}
	if err := coalesce.CheckLanguage(file, string(text)); err != nil {
		return exits.With(exits.Failed, err)
	}
	_, err = fmt.Fprintf(w, "%s is whole, and its test sentences are cut as they are marked.\n", file)
	return err
}
