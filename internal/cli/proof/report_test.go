package proof

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/conformance"
)

// INV-36: a report that is printed says what a peer wrote without letting it work on the terminal.
func TestPrintedReportIsHarmless(t *testing.T) {
	const evil = "a\u009b2J\u202e"
	var out bytes.Buffer
	if err := writeReport(&out, &conformance.Report{Name: evil}, true, nil, false); err == nil {
		t.Error("an empty report is a success")
	}
	if text := out.String(); !json.Valid(out.Bytes()) || !strings.Contains(text, `a\u009b2J\u202e`) || aaep.SafeText(text) != text {
		t.Errorf("%+q", text)
	}
}
