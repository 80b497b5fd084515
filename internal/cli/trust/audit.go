package trust

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/input"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/producer/audit"
)

// AuditCommand makes "aaep audit", with "verify" and "show".
func AuditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Read the trail of who allowed what, and find out whether it was changed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return exits.UsageError("say what to do with a trail: aaep audit verify FILE, or aaep audit show FILE")
		},
	}
	v := &auditVerifier{}
	verify := &cobra.Command{
		Use:   "verify FILE",
		Short: "Tell whether every record of a trail is as it was written",
		Long: `verify reads a trail and tells how many records are in it, from when to when, and the hash of the last one, its
head. Where something was changed it says so: the first line that is wrong, and how.

The file alone cannot tell whether records are missing at its end, nor whether somebody wrote all of it anew. For that,
keep a head where those who can write the file cannot change it, and give it with --head. With --print-head nothing but
the head goes to standard output, and that only where all is in order.

Exit codes: 0 all in order, 1 something is wrong, 2 wrong use, 3 the file could not be read.`,
		Example: `  aaep audit verify trail.jsonl
  aaep audit verify trail.jsonl --print-head | ssh keeper@elsewhere 'cat >> heads'
  aaep audit verify trail.jsonl --head "$(ssh keeper@elsewhere tail -n 1 heads)"`,
		Args: exits.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			v.out, v.status = cmd.OutOrStdout(), lineio.Printer{Out: cmd.ErrOrStderr()}
			return readTrail(cmd, args[0], &v.status, v.verifyInput)
		},
	}
	verify.Flags().StringVar(&v.head, "head", "", "a head of this trail that was kept elsewhere, 64 hex digits")
	verify.Flags().BoolVar(&v.json, "json", false, "print the result as one JSON object")
	verify.Flags().BoolVar(&v.bare, "print-head", false, "print the head and nothing else, to keep it elsewhere")
	show := &cobra.Command{
		Use:   "show FILE",
		Short: "Print a trail in sentences",
		Long: `show prints what happened, one fact on each line, with its time. A question is named by the number of its record. What
people were shown, and what a reply says of itself, stands at the end of its line, after a colon.

Exit codes: 0 all in order, 1 something is wrong with the trail, 2 wrong use, 3 the file could not be read.`,
		Example: `  aaep audit show trail.jsonl`,
		Args:    exits.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := &auditShower{out: cmd.OutOrStdout(), questions: map[string]uint64{}, elsewhere: map[string]bool{},
				running: map[string]string{}, agents: map[string]string{}}
			return readTrail(cmd, args[0], &lineio.Printer{Out: cmd.ErrOrStderr()}, s.showInput)
		},
	}
	cmd.AddCommand(verify, show)
	return cmd
}

// readTrail opens a file, or standard input as "-", has run read it, and says how far reading it
// has come. The error is run's, or has the exit code for a file that is not there, or an
// interruption.
func readTrail(cmd *cobra.Command, name string, status *lineio.Printer, run func(string, io.Reader) error) error {
	ctx, stop := exits.WithInterrupt(cmd.Context())
	defer stop()
	in, size, err := input.Open(ctx, name, nil, cmd.InOrStdin())
	if err != nil {
		return exits.With(exits.Unreachable, errors.New(exits.PlainError(err)))
	}
	defer in.Close()
	read := &input.Progress{Reader: in, Size: size, Name: name, Say: status.PrintLabelled,
		Next: time.Now().Add(input.ProgressAfter)}
	err = run(name, readerUntil(func(b []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		return read.Read(b)
	}))
	if ctx.Err() != nil {
		return exits.With(exits.Interrupted, errors.New("interrupted"))
	}
	return err
}

type readerUntil func([]byte) (int, error)

func (f readerUntil) Read(b []byte) (int, error) { return f(b) }

type auditVerifier struct {
	head string
	json bool
	bare bool // print nothing but the head

	out    io.Writer
	status lineio.Printer
}

// verifyInput verifies the audit log that r reads; name is what it is called in messages. The error
// has the exit code: 1 where a record is not as it was written, or there is none. v.head is a head
// that was kept elsewhere, or "".
func (v *auditVerifier) verifyInput(name string, r io.Reader) error {
	if b, err := hex.DecodeString(v.head); v.head != "" && (err != nil || len(b) != 32) {
		return exits.UsageError("--head must be 64 hex digits; it is %q.\nSee: aaep audit verify --help", v.head)
	}
	if v.json && v.bare {
		return exits.UsageError("--json prints the head among the rest, and --print-head it alone; give one of them.\nSee: aaep audit verify --help")
	}
	rep, err := audit.Verify(r, v.head)
	var fault *audit.Fault
	if err != nil && !errors.As(err, &fault) {
		return exits.With(exits.Unreachable, fmt.Errorf("%s: %w", name, err))
	}
	switch {
	case v.json:
		err = v.printJSON(name, rep, fault)
	case !v.bare:
		err = v.printReport(v.out, name, rep, fault)
	case fault == nil && rep.Records > 0:
		_, err = fmt.Fprintln(v.out, rep.Head)
	default:
		err = v.printReport(v.status.Out, name, rep, fault)
	}
	switch {
	case err != nil:
		return err
	case fault != nil:
		return exits.With(exits.Failed, errors.New("the trail is not as it was written"))
	case rep.Records == 0:
		return exits.With(exits.Failed, errors.New("there is no record in it"))
	}
	v.status.PrintLabelled("aaep", v.describeProof(rep))
	return nil
}

// describeProof says what is proved of a trail without a fault: how far the head that was given
// vouches for it, or without one, how to get one.
func (v *auditVerifier) describeProof(rep audit.Report) string {
	switch {
	case v.head == "" && v.bare:
		return "Every record is as it was written."
	case v.head == "":
		return "Every record is as it was written. Whether records are missing at the end, or all were written anew, " +
			"the file alone cannot tell: keep its head elsewhere, which --print-head prints, and give it with --head."
	}
	text := fmt.Sprintf("Up to record %d the trail is as it was when this head was taken.", rep.Anchored)
	if unanchored := rep.Records - rep.Anchored; unanchored > 0 {
		text += fmt.Sprintf(" After it come %s, which only a later head can vouch for.",
			words.Count(int64(unanchored), "record"))
	}
	return text
}

// printReport prints the result of verifying an audit trail, in sentences; fault is nil where all
// is in order.
func (v *auditVerifier) printReport(out io.Writer, name string, rep audit.Report, fault *audit.Fault) error {
	var b strings.Builder
	file := words.OneLine(aaep.SafeText(name))
	if fault != nil {
		line := ""
		if fault.Line > 0 {
			line = fmt.Sprint(fault.Line, ":")
		}
		fmt.Fprintf(&b, "%s:%s %s: %s.\n", file, line, fault.How, fault.Detail)
	}
	if fault != nil && rep.Anchored > 0 {
		fmt.Fprintf(&b, "%s: up to record %d it is as it was when the head was taken.\n", file, rep.Anchored)
	}
	if rep.Records > 0 {
		in := "in order"
		if fault != nil && fault.How != audit.HeadMissing {
			in = "in order before that"
		}
		fmt.Fprintf(&b, "%s: %s %s, from %s to %s.\n", file, words.Count(int64(rep.Records), "record"), in,
			formatMoment(rep.First), formatMoment(rep.Last))
		if rep.Torn > 0 {
			fmt.Fprintf(&b, "%s: %s found torn at its end, and that is on record.\n", file, countTimes(rep.Torn))
		}
		fmt.Fprintf(&b, "%s: head %s\n", file, rep.Head)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// countTimes returns in words how many times: "once", or "3 times".
func countTimes(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// printJSON prints the result of verifying an audit trail as one JSON object; fault is nil where
// all is in order.
func (v *auditVerifier) printJSON(name string, rep audit.Report, fault *audit.Fault) error {
	type faultJSON struct {
		Line   int64     `json:"line"`
		How    audit.How `json:"how"`
		Detail string    `json:"detail"`
	}
	result := struct {
		File     string     `json:"file"`
		OK       bool       `json:"ok"`
		Records  uint64     `json:"records"`
		Runs     int        `json:"runs"`
		Torn     int        `json:"torn"`
		First    time.Time  `json:"first,omitzero"`
		Last     time.Time  `json:"last,omitzero"`
		Head     string     `json:"head,omitzero"`
		Anchored uint64     `json:"anchored,omitzero"`
		Fault    *faultJSON `json:"fault,omitzero"`
	}{File: name, OK: fault == nil && rep.Records > 0, Records: rep.Records, Runs: rep.Runs, Torn: rep.Torn,
		First: rep.First, Last: rep.Last,
		Head: rep.Head, Anchored: rep.Anchored}
	if fault != nil {
		result.Fault = &faultJSON{fault.Line, fault.How, fault.Detail}
	}
	data, err := json.Marshal(result)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(v.out, lineio.SafeJSON(string(data)))
	return err
}

// formatMoment returns a time as the command prints it, in UTC.
func formatMoment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }
