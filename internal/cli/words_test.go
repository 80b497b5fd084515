package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/internal/cli/exits"
)

// The help of each command is plain text in lines that a terminal does not break.
func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"help"}, {"demo", "--help"}, {"run", "-h"}, {"help", "listen"},
		{"help", "serve"}, {"help", "bench"},
		{"help", "conformance", "producer"}, {"help", "conformance", "subscriber"}, {"help", "manifest", "init"},
		{"help", "manifest", "keygen"}, {"help", "manifest", "accept"}} {
		var out, errs bytes.Buffer
		if code := Main(args, strings.NewReader(""), &out, &errs); code != exits.OK || errs.Len() > 0 {
			t.Errorf("%q: code %d, %s", args, code, &errs)
		}
		for line := range strings.Lines(out.String()) {
			if len(line) > 121 || strings.ContainsFunc(line,
				func(r rune) bool { return r > 0x7e || r < 0x20 && r != '\n' }) {
				t.Errorf("%q: %q", args, line)
			}
		}
	}
}
