// Package lineio prints: plain lines behind a label that are only ever appended, and logs that
// systemd's journal understands. Begin with Printer. Nothing of what a peer wrote reaches a
// terminal unescaped, and a reader who has gone or is slow stops no agent. What is worth a line is
// the business of the commands.
//
// Lines are printed in printer.go, a reader that is slow is in async_writer.go, and logs for the
// journal in journal.go.
package lineio

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
)

// An Printer prints what a person should know of each event, one line for each. It may be used by
// several goroutines at once.
type Printer struct {
	mu   sync.Mutex
	Out  io.Writer
	err  error             // of the first write that failed
	Gone func()            // called once then, if set
	Also func(text string) // is told what say is, if set
	Said func(line string) // gets what is printed, if set
}

// PrintLabelled prints text behind a label, line by line. Nothing of what a peer wrote reaches the
// terminal unescaped.
func (a *Printer) PrintLabelled(label, text string) {
	if a.Also != nil {
		a.Also(text)
	}
	a.PrintToTerminal(label, text)
}

// PrintToTerminal prints like PrintLabelled, but on the terminal alone: other outputs do not say
// it. Said is told each line.
func (a *Printer) PrintToTerminal(label, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for line := range strings.Lines(aaep.SafeText(text)) {
		line = strings.TrimRight(line, " \n")
		if line == "" {
			continue
		}
		if a.Said != nil {
			a.Said(line)
		}
		if label != "" {
			line = label + ": " + line
		}
		a.writeLine(line)
	}
}

// PrintLine prints a line as it is.
func (a *Printer) PrintLine(s string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writeLine(s)
}

// writeLine writes a line; once writing has failed it does nothing. The caller holds a.mu.
func (a *Printer) writeLine(line string) {
	if a.err != nil {
		return
	}
	if _, a.err = io.WriteString(a.Out, line+"\n"); a.err != nil && a.Gone != nil {
		a.Gone()
	}
}

// Fail stores the error of writing, because the reader of the output has gone: nothing more is
// printed.
func (a *Printer) Fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = cmp.Or(a.err, err)
}

// IsUnread reports whether the reader of the output has gone.
func (a *Printer) IsUnread() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err != nil
}

// WriteError returns why not all was printed, as an error of the command; nil where the reader has
// gone.
func (a *Printer) WriteError() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return UnwrittenError(a.err)
}

// UnwrittenError returns an error of writing as one of the command; nil where the reader has gone,
// which is no failure.
func UnwrittenError(err error) error {
	if err == nil || IsReaderGone(err) {
		return nil
	}
	return exits.With(exits.Failed, fmt.Errorf("cannot print what is said: %s", exits.InnermostError(err)))
}

// IsReaderGone reports whether an error of writing says that what reads the output has gone, or
// reads no more, as package terminal says at the end of the program.
func IsReaderGone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// SafeJSON returns a JSON text that a terminal can show on one line, and that says the same: in
// place of control and other deceiving characters it has \u escapes, and of line ends and tabs,
// which are between members alone, spaces.
func SafeJSON(msg string) string {
	if aaep.SafeText(msg) == msg && !strings.ContainsAny(msg, "\n\t") {
		return msg
	}
	var b strings.Builder
	for _, r := range msg {
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ') // between members: within a string they are spelled already
		case aaep.SafeText(string(r)) == string(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
