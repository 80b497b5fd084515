package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"

	"github.com/aaep-go/aaep"
)

// An announcer prints what a person should know of each event, one line for each. It may be used by
// several goroutines at once.
type announcer struct {
	mu   sync.Mutex
	out  io.Writer
	err  error             // of the first write that failed
	gone func()            // called once then, if set
	also func(text string) // is told what say is, if set
	said func(line string) // gets what is printed, if set
}

// ownLanguage is what this program's own words are in.
const ownLanguage = "en"

// printLabelled prints text behind a label, line by line. Nothing of what a peer wrote reaches the
// terminal unescaped.
func (a *announcer) printLabelled(label, text string) {
	if a.also != nil {
		a.also(text)
	}
	a.printToTerminal(label, text)
}

// printToTerminal is printLabelled for the terminal alone.
func (a *announcer) printToTerminal(label, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for line := range strings.Lines(aaep.SafeText(text)) {
		line = strings.TrimRight(line, " \n")
		if line == "" {
			continue
		}
		if a.said != nil {
			a.said(line)
		}
		if label != "" {
			line = label + ": " + line
		}
		a.writeLine(line)
	}
}

// printLine prints a line as it is.
func (a *announcer) printLine(s string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writeLine(s)
}

// writeLine writes a line; once the reader has gone it does nothing. It is called with a.mu held.
func (a *announcer) writeLine(line string) {
	if a.err != nil {
		return
	}
	if _, a.err = io.WriteString(a.out, line+"\n"); a.err != nil && a.gone != nil {
		a.gone()
	}
}

// fail notes that the reader of the output has gone.
func (a *announcer) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = cmp.Or(a.err, err)
}

// isUnread reports whether the reader of the output has gone.
func (a *announcer) isUnread() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err != nil
}

// writeError returns why not all was printed, as an error of the command; nil where the reader has
// gone.
func (a *announcer) writeError() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return unwrittenError(a.err)
}

// unwrittenError returns an error of writing as one of the command; nil where the reader has gone,
// which is no failure.
func unwrittenError(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return exitWith(exitFailed, fmt.Errorf("cannot print what is said: %s", innermostError(err)))
}
