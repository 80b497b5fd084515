package proof

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance/check"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/input"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/reach"
	"github.com/aaep-go/aaep/internal/words"
)

// ValidateCommand makes "aaep validate"; validateInputs does its work.
func ValidateCommand() *cobra.Command {
	v, ca := &validator{}, ""
	cmd := &cobra.Command{
		Use:   "validate [FILE | - | URL]…",
		Short: "Tell whether messages are valid, and what is wrong with those that are not",
		Long: `validate reads events, handshake and reply messages, manifests, and recordings of whole sessions: one JSON
object on each line, or written over several. Of a session it also judges the order. It prints one line for each
thing that is wrong: where, of which message, in which member, what is wrong, and the requirement that says so. Notes
tell what is only unusual; those like one before are counted.

Exit codes: 0 all valid, 1 something is not, 2 wrong use, 3 something could not be read.`,
		Example: `  aaep validate session.jsonl
  aaep capture http://127.0.0.1:8080 | aaep validate --json -
  aaep validate https://bank.example/.well-known/aaep-manifest.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"-"}
			}
			ctx, stop := exits.WithInterrupt(cmd.Context())
			defer stop()
			var err error
			if v.tls, err = (&reach.Flags{Ca: ca}).TLSConfig(); err != nil {
				return err
			}
			v.out, v.status = cmd.OutOrStdout(), lineio.Printer{Out: cmd.ErrOrStderr()}
			return v.validateInputs(ctx, args, cmd.InOrStdin())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&v.json, "json", false, "print each finding as a JSON object on a line of its own")
	f.BoolVar(&v.schemaOnly, "schema-only", false, "ask the JSON Schemas alone: nothing about order")
	f.BoolVar(&v.strict, "strict", false, "what is only unusual counts as wrong too")
	f.StringVar(&ca, "ca", "", reach.CAHelp)
	return cmd
}

type validator struct {
	json, schemaOnly, strict bool
	tls                      *tls.Config // to read from web addresses; nil is as usual

	out    io.Writer
	status lineio.Printer
	wrong  int
	noted  map[string]bool // what was noted
	again  int             // notes that were like one before
}

// manyNotes is how many are remembered.
const manyNotes = 1000

// validateInputs does the work of "aaep validate" for files, addresses and standard input. It
// returns an error, with its exit code, where something is wrong, could not be read, or there was
// no message.
func (v *validator) validateInputs(ctx context.Context, inputs []string, stdin io.Reader) error {
	messages := 0
	for _, name := range inputs {
		if name == "" {
			return exits.UsageError("the name of a file is empty, as of a variable that is not set.\nName a file, an address, or - for standard input. See: aaep validate --help")
		}
		n, err := v.validateFile(ctx, name, stdin)
		messages += n
		switch {
		case ctx.Err() != nil:
			return exits.With(exits.Interrupted, errors.New("interrupted"))
		case errors.As(err, new(*tls.CertificateVerificationError)):
			return reach.DialError(ctx, name, err)
		case err != nil:
			if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
				err = pathErr.Err // it names the file too
			}
			return exits.With(exits.Unreachable, fmt.Errorf("%s: %w", name, err))
		}
	}
	if v.again > 0 {
		v.status.PrintLabelled("aaep", words.Count(v.again, "more note")+" like those.")
	}
	if messages == 0 {
		return exits.With(exits.Failed, errors.New("there was no message to judge"))
	}
	if v.wrong > 0 {
		return exits.With(exits.Failed, fmt.Errorf("%s in %s", words.Count(v.wrong, "violation"),
			words.Count(messages, "message")))
	}
	v.status.PrintLabelled("aaep", words.Count(messages, "message")+", all valid.")
	return nil
}

// toldBefore reports whether a note like this was printed: the person hears of each kind once, and
// then how many more there were. Violations, and what is printed as JSON, are never left out.
// Beyond manyNotes kinds, all are printed.
func (v *validator) toldBefore(f check.Finding) bool {
	kind := f.Type + " " + f.Pointer + " " + f.Problem
	printsAll := v.strict || v.json
	isBeyond := !v.noted[kind] && len(v.noted) >= manyNotes
	if !f.Note || printsAll || isBeyond {
		return false
	}
	if v.noted[kind] {
		v.again++
		return true
	}
	if v.noted == nil {
		v.noted = map[string]bool{}
	}
	v.noted[kind] = true
	return false
}

// validateFile judges one input, prints the findings, and returns how many messages it held. It
// reads a stream of any length. The error is that of reading, of printing, or ctx's.
func (v *validator) validateFile(ctx context.Context, name string, stdin io.Reader) (int, error) {
	in, size, err := input.Open(ctx, name, v.tls, stdin)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	read := &input.Progress{Reader: in, Size: size, Name: name, Say: v.status.PrintLabelled,
		Next: time.Now().Add(input.ProgressAfter)}
	c := check.Checker{SchemaOnly: v.schemaOnly}
	var broken error
	for line, data := range check.Messages(read, &broken) {
		if ctx.Err() != nil {
			return c.Messages, ctx.Err()
		}
		if err := v.printFindings(name, c.Message(line, data)); err != nil {
			return c.Messages, err
		}
	}
	if err := v.printFindings(name, c.End()); err != nil {
		return c.Messages, err
	}
	return c.Messages, broken
}

// printFindings prints the findings of an input, as lines or JSON, and counts those that are no
// notes. The error is that of printing.
func (v *validator) printFindings(name string, found []check.Finding) error {
	for _, f := range found {
		if v.toldBefore(f) {
			continue
		}
		if !f.Note || v.strict {
			v.wrong++
		}
		text := v.findingLine(name, f)
		if v.json {
			data, err := json.Marshal(map[string]any{"file": name, "line": f.Line, "type": f.Type,
				"session_id": f.SessionID,
				"pointer":    f.Pointer, "requirement": f.Requirement, "problem": f.Problem, "note": f.Note &&
					!v.strict})
			if err != nil {
				return err
			}
			text = lineio.SafeJSON(string(data))
		}
		if _, err := fmt.Fprintln(v.out, text); err != nil {
			return err
		}
	}
	return nil
}

// findingLine returns the line for one finding: file, line, type, member, problem and requirement,
// and [note] behind one that is no violation. It is safe to print.
func (v *validator) findingLine(name string, f check.Finding) string {
	parts := []string{fmt.Sprintf("%s:%d", name, f.Line)}
	for _, p := range []string{f.Type, f.Pointer} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	text := strings.Join(append(parts, f.Problem), ": ")
	if f.Requirement != "" {
		text += " (" + f.Requirement + ")"
	}
	if f.Note && !v.strict {
		text += " [note]"
	}
	return strings.ReplaceAll(aaep.SafeText(text), "\n", " ")
}
