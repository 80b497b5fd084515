package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/aaep-go/aaep"
)

type junitSuite struct {
	XMLName   xml.Name    `xml:"testsuite"`
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Host      string      `xml:"hostname,attr,omitempty"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *junitText `xml:"failure"`
	Error   *junitText `xml:"error"`
	Skipped *junitText `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report as the XML that continuous integration reads. A case that could not
// be judged is an error, a known failure is skipped, and one that passed though it was known to
// fail is a failure.
func (r *Report) WriteJUnit(w io.Writer) error {
	s := junitSuite{Name: fmt.Sprintf("AAEP %s %s Level %d", r.SpecVersion, r.Kind, r.Level), Tests: len(r.Results),
		Time: fmt.Sprintf("%.3f", r.Date.Sub(r.Began).Seconds()), Timestamp: r.Began.Format("2006-01-02T15:04:05"),
		Host: oneLine(r.Target)}
	for _, res := range r.Results {
		c := junitCase{Class: fmt.Sprintf("aaep.%s.level%d", r.Kind, res.Case.Level),
			Name: res.Case.ID() + " " + res.Case.Name}
		text := &junitText{Message: oneLine(res.Seen), Text: evidenceText(res)}
		switch {
		case res.Known && res.Verdict == Pass:
			text.Message = "it passed, and is among the known failures"
			c.Failure = text
		case res.Known, res.Verdict == Skipped:
			c.Skipped = text
		case res.Verdict == Fail:
			c.Failure = text
		case res.Verdict == Inconclusive:
			c.Error = text
		case res.Verdict == Deviation:
			c.Out = "Deviation: " + text.Message + ". Right would be: " + res.Case.Rule + "."
		}
		s.Failures += countLength(c.Failure)
		s.Errors += countLength(c.Error)
		s.Skipped += countLength(c.Skipped)
		s.Cases = append(s.Cases, c)
	}
	data, err := xml.MarshalIndent(struct {
		XMLName xml.Name `xml:"testsuites"`
		Suite   junitSuite
	}{Suite: s}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, data)
	return err
}

// countLength returns the count of an optional element: 1 where there is a text, else 0.
func countLength(t *junitText) int {
	if t == nil {
		return 0
	}
	return 1
}

// evidenceText returns what would be right and the evidence, for JUnit; "" for a case that passed
// or was skipped.
func evidenceText(res Result) string {
	if res.Verdict == Pass || res.Verdict == Skipped {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Right would be: %s.\n", res.Case.Rule)
	for _, e := range res.Evidence {
		fmt.Fprintf(&b, "%s\n", aaep.SafeText(e.In(res.Play)))
	}
	return b.String()
}
