package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/listen"
	"github.com/aaep-go/aaep/internal/cli/terms"
)

// completionCommand makes "aaep completion", in the place of cobra's own, whose help is written for
// the eye.
func completionCommand() *cobra.Command {
	shells := map[string]func(root *cobra.Command, out io.Writer) error{
		"bash":       func(root *cobra.Command, out io.Writer) error { return root.GenBashCompletionV2(out, true) },
		"zsh":        (*cobra.Command).GenZshCompletion,
		"fish":       func(root *cobra.Command, out io.Writer) error { return root.GenFishCompletion(out, true) },
		"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
	}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print what makes a shell complete the words of this command",
		Long: `completion prints a script for SHELL, which is bash, zsh, fish or powershell. From then on the Tab key completes
commands, flags, and what a flag may be.`,
		Example: `  echo 'source <(aaep completion bash)' >> ~/.bashrc
  aaep completion zsh > "${fpath[1]}/_aaep"
  aaep completion fish > ~/.config/fish/completions/aaep.fish
  aaep completion powershell | Out-String | Invoke-Expression`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			name := strings.Join(args, " ")
			write := shells[name]
			if write == nil {
				return exits.UsageError("SHELL must be bash, zsh, fish or powershell; it is %q.\nSee: aaep completion --help", name)
			}
			return write(cmd.Root(), cmd.OutOrStdout())
		},
	}
}

// completeFlags lets shells complete the flags that are one of several words, of a command and of
// those below it. A flag of any other kind is left to the shell.
func completeFlags(cmd *cobra.Command) {
	values := map[string]string{"as": terms.DeviceNames(), "output": strings.Join(listen.OutputNames(), ", "),
		"answer":    "accept, reject or timeout",
		"transport": "sse, websocket, unix or pipe", "level": "1, 2 or 3", "alg": "ES256, RS256 or EdDSA"}
	for _, w := range terms.Wishes {
		values[w.Name] = w.Must
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		words := strings.Split(strings.ReplaceAll(values[f.Name], " or ", ", "), ", ")
		if len(words) > 1 && !strings.Contains(words[0], " ") { // else it says in a sentence what must follow
			cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
	})
	for _, sub := range cmd.Commands() {
		completeFlags(sub)
	}
}

// unquoteFlags takes the marks off the name of a flag's value, which are for the help of a command
// and not for a shell.
func unquoteFlags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
	for _, sub := range cmd.Commands() {
		unquoteFlags(sub)
	}
}
