package proof

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aaep-go/aaep/conformance"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/lineio"
)

// A reportFile is a report in a file, in the form that its name or a flag asks for.
type reportFile struct{ path, form string }

var reportForms = map[string]func(*conformance.Report, io.Writer) error{
	".html": (*conformance.Report).WriteHTML,
	".json": (*conformance.Report).WriteJSON,
	".xml":  (*conformance.Report).WriteJUnit,
}

// writtenReports returns the report files that the flags name, with the form of each, by its
// ending. A form that there is not, or a folder that is not there, is an error, before the run.
func (p *proof) writtenReports() (list []reportFile, err error) {
	for _, path := range p.reports {
		list = append(list, reportFile{path, strings.ToLower(filepath.Ext(path))})
	}
	for form, path := range map[string]string{".json": p.old.json, ".html": p.old.html} {
		if path != "" {
			list = append(list, reportFile{path, form})
		}
	}
	for _, w := range list {
		if reportForms[w.form] == nil {
			return nil, exits.UsageError("--report %q is none of .html, .json and .xml", w.path)
		}
		if dir, err := os.Stat(filepath.Dir(w.path)); err != nil || !dir.IsDir() {
			return nil, exits.UsageError("--report %q: there is no folder %s", w.path, filepath.Dir(w.path))
		}
	}
	return list, nil
}

// writeReport prints the result of a run and writes its reports; the error has the command's exit
// code.
func writeReport(out io.Writer, report *conformance.Report, asJSON bool, files []reportFile, strict bool) error {
	last, err := printReport(out, report, asJSON, files)
	if err == nil && (!report.OK() || strict && report.Counts[conformance.Deviation] > 0) {
		err = exits.With(exits.Failed, errors.New(last))
	}
	return err
}

// printReport prints a report on out, as text or JSON, and writes it to files. It returns what is
// still to be said on standard error: the summary, where only JSON was printed, else "".
func printReport(out io.Writer, report *conformance.Report, asJSON bool, files []reportFile) (last string, err error) {
	var b bytes.Buffer
	write := report.WriteText // which ends with the summary
	if asJSON {
		write, last = report.WriteJSON, report.Summary()
	}
	if err := write(&b); err != nil {
		return "", err
	}
	for line := range strings.Lines(b.String()) {
		if asJSON {
			line = lineio.SafeJSON(strings.TrimSuffix(line, "\n")) + "\n"
		}
		if _, err := io.WriteString(out, line); err != nil {
			return "", err
		}
	}
	return last, writeReports(report, files)
}

// writeInterrupted prints the report of what was judged before a run was interrupted, and writes
// the report files; report is nil where nothing was judged.
func writeInterrupted(out io.Writer, report *conformance.Report, asJSON bool, files []reportFile) error {
	if report == nil {
		return exits.With(exits.Interrupted, errors.New("interrupted"))
	}
	if _, err := printReport(out, report, asJSON, files); err != nil {
		return err
	}
	return exits.With(exits.Interrupted, errors.New("interrupted; the report is of what was judged by then.\nTo go on, give --resume the one that --report wrote as .json"))
}

// readFlagFile reads the file of a flag, at path; zero where path is empty. The error names the
// flag and the file.
func readFlagFile[T any](flag, path string, read func(io.Reader) (T, error)) (value T, err error) {
	if path == "" {
		return value, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return value, exits.CannotTake(flag, err)
	}
	defer f.Close()
	if value, err = read(f); err != nil {
		return value, exits.CannotTake(flag+" "+path, err)
	}
	return value, nil
}

// onlyFlags adds --only, and --case, which means the same; both set cases.
func onlyFlags(f *pflag.FlagSet, cases *[]string) {
	f.StringSliceVar(cases, "only", nil, "judge only these cases, by `NAME` or requirement; --case means the same")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "case" {
			name = "only"
		}
		return pflag.NormalizedName(name)
	})
}

// writeReports writes the report files, each in its form. It tries all; the error has those that
// could not be written.
func writeReports(report *conformance.Report, list []reportFile) error {
	var all []error
	for _, to := range list {
		var b bytes.Buffer
		err := reportForms[to.form](report, &b)
		if err == nil {
			err = os.WriteFile(to.path, b.Bytes(), 0o644)
		}
		if err != nil {
			all = append(all, fmt.Errorf("cannot write the report: %s", exits.PlainError(err)))
		}
	}
	if len(all) > 0 {
		return exits.With(exits.Failed, errors.Join(all...))
	}
	return nil
}

// publishedFlags are options of the suite that is published with the specification, and of §9.7, so
// that scripts written for it go on working (D-76).
type publishedFlags struct {
	endpoint, json, html, filter string
	strict, verbose              bool
	extensions                   []string
	timeout                      int
}

// addFlags adds the flags that the published suite has, most of them hidden, for what this one
// calls otherwise.
func (o *publishedFlags) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.endpoint, "endpoint", "", "the `ADDRESS`")
	f.StringVar(&o.json, "report-json", "", "as --report, JSON whatever the name of the `FILE`")
	f.StringVar(&o.html, "report-html", "", "as --report, HTML whatever the name of the `FILE`")
	f.StringVar(&o.filter, "filter", "", "judge only cases with this `TEXT` in their name or requirements")
	f.BoolVar(&o.strict, "fail-on-warning", false, "end with 1 if there are deviations")
	f.StringSliceVar(&o.extensions, "extensions", nil,
		"the agent supports the extensions with these `URIS`, and must honor them")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say what is played, which is always done")
	for _, name := range []string{"endpoint", "report-json", "report-html", "filter", "verbose"} {
		_ = f.MarkHidden(name)
	}
}

// applyTo sets in p and args what the flags of the published suite mean here. A filter that no case
// has becomes the name of a case, so that it is refused.
func (o *publishedFlags) applyTo(p *proof, args *[]string) {
	if o.endpoint != "" && len(*args) == 0 {
		*args = []string{o.endpoint}
	}
	if o.filter == "" {
		return
	}
	for _, c := range conformance.Cases() {
		if strings.Contains(c.Name+" "+strings.Join(c.Requirements, " "), o.filter) {
			p.cases = append(p.cases, c.Name)
		}
	}
	if len(p.cases) == 0 {
		p.cases = []string{o.filter} // which is then said to be no case
	}
}
