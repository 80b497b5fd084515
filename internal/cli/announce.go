package cli

import (
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
}

// ownLanguage is what this program's own words are in.
const ownLanguage = "en"

// say prints text behind a label, line by line. Nothing of what a peer wrote reaches the terminal unescaped.
func (a *announcer) say(label, text string) {
	if a.also != nil {
		a.also(text)
	}
	a.write(label, text)
}

// write is say for the terminal alone.
func (a *announcer) write(label, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for line := range strings.Lines(aaep.SafeText(text)) {
		line = strings.TrimRight(line, " \n")
		if line == "" {
			continue
		}
		if label != "" {
			line = label + ": " + line
		}
		a.print(line)
	}
}

// line prints a line as it is.
func (a *announcer) line(s string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.print(s)
}

// print writes a line, with a.mu held. Where nobody reads any more, it does nothing.
func (a *announcer) print(line string) {
	if a.err != nil {
		return
	}
	if _, a.err = io.WriteString(a.out, line+"\n"); a.err != nil && a.gone != nil {
		a.gone()
	}
}

// failed reports whether nobody reads any more.
func (a *announcer) failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err != nil
}

// unwritten is why not all was printed, as an error of the command. That nobody reads any more is none.
func (a *announcer) unwritten() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return unwritten(a.err)
}

func unwritten(err error) error {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return &exitError{exitFailed, fmt.Errorf("cannot print what is said: %s", innermost(err))}
}
