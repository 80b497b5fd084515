package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aaep-go/aaep"
)

// manCommand makes "aaep man", which prints the help of all commands as one manual page in roff.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "Print the manual page: the help of all commands in one",
		Long:  `man prints a manual page for the program man: what each command's --help says, in one page, with headings to go by.`,
		Example: `  aaep man | man -l -
  aaep man > /usr/local/share/man/man1/aaep.1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var page strings.Builder
			root := cmd.Root()
			fmt.Fprintf(&page, ".TH AAEP 1 \"\" \"%s\" \"AAEP %s\"\n.SH NAME\naaep \\- %s\n.SH SYNOPSIS\n.B aaep\nCOMMAND [FLAGS]\n.SH DESCRIPTION\n",
				escapeRoff(root.Version), aaep.Version, escapeRoff(root.Short))
			manText(&page, root.Long)
			page.WriteString(".SH COMMANDS\n")
			manCommands(&page, root)
			_, err := fmt.Fprint(cmd.OutOrStdout(), page.String())
			return err
		},
	}
}

// manCommands writes a section for each command below parent, and for those below them: its use,
// help, examples and flags. Hidden commands and flags are left out.
func manCommands(page *strings.Builder, parent *cobra.Command) {
	for _, cmd := range parent.Commands() {
		if !cmd.IsAvailableCommand() {
			continue
		}
		fmt.Fprintf(page, ".SS %s\n", escapeRoff(cmd.UseLine()))
		text := cmd.Long
		if text == "" {
			text = cmd.Short + "."
		}
		manText(page, text)
		if cmd.HasExample() {
			page.WriteString(".PP\nExamples:\n")
			manText(page, "\n"+cmd.Example)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" {
				return
			}
			value, usage := pflag.UnquoteUsage(f)
			if value != "" {
				value = " " + value
			}
			fmt.Fprintf(page, ".TP\n.B %s\n", escapeRoff("--"+f.Name+value))
			if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
				usage += " (default " + strings.Trim(f.DefValue, "[]") + ")"
			}
			manText(page, usage)
		})
		manCommands(page, cmd)
	}
}

// manText writes paragraphs of plain text as roff. Lines that begin with two spaces stay as they
// are; an empty line begins a paragraph.
func manText(page *strings.Builder, text string) {
	literal := false
	for line := range strings.SplitSeq(text, "\n") {
		if begins := strings.HasPrefix(line, "  "); begins != literal {
			literal = begins
			page.WriteString(map[bool]string{true: ".PP\n.nf\n", false: ".fi\n"}[literal])
		}
		if line == "" {
			line = ".PP"
		} else {
			line = escapeRoff(line)
		}
		page.WriteString(line + "\n")
	}
	if literal {
		page.WriteString(".fi\n")
	}
}

// escapeRoff writes text so that roff prints it as it is: a backslash is one, hyphens can be
// searched for, and no line is a request.
func escapeRoff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "…", "...").Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}
