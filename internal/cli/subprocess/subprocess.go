// Package subprocess is about the programs that the command starts: how they are named, told that
// an agent runs in them, kept from outliving the command, and how they ended, in words. Each
// command starts its own; nothing here does.
//
// All of it but ending with the parent (orphan_linux.go, orphan_other.go) is in subprocess.go.
package subprocess

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/aaep-go/aaep/internal/cli/exits"
)

// AgentVariables are set for what agents run. An agent that decides about its own question, even
// meaning well, decides for the person. It is no protection from one that means to.
var AgentVariables = []string{agentVariable, "CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "GEMINI_CLI", "OPENCODE",
	"CURSOR_AGENT"}

// agentVariable is set for agents that this program starts.
const agentVariable = "AAEP_AGENT"

// Environment is that of an agent which this program starts.
func Environment() []string { return append(os.Environ(), agentVariable+"=1") }

// HowEnded returns, in words, how a program ended whose Wait returned err: by a signal, or with
// which exit code; "" for any other error.
func HowEnded(err error) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return ""
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return "was ended by a signal: " + status.Signal().String()
	}
	return fmt.Sprintf("ended with exit code %d", exit.ExitCode())
}

// SplitWords splits a command into its words, without a shell: spaces part them, and what is
// between two single or two double quotes is kept as it is. Nothing else means anything, so that a
// path of Windows does too.
func SplitWords(command string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	inWord := false
	for _, r := range command {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, inWord = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("has a quote %c that does not end", quote)
	case len(words) == 0 || words[0] == "":
		return nil, errors.New("names no program")
	}
	return words, nil
}

// WasKilled reports whether a program was ended by force.
func WasKilled(exit *exec.ExitError) bool {
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// Ending returns how a program failed, in words, and the exit code that says the same to a shell:
// 128 and the signal's number for one that a signal ended, else its own.
func Ending(exit *exec.ExitError) (code int, how string) {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), "was ended by a signal: " + status.Signal().String()
	}
	return exit.ExitCode(), fmt.Sprintf("failed with exit code %d", exit.ExitCode())
}

// ExplainStart returns why a program could not be started, in words for a person; err is that of
// exec.
func ExplainStart(err error) string {
	var named *exec.Error
	var path *fs.PathError
	program := ""
	if errors.As(err, &named) {
		program = named.Name
	} else if errors.As(err, &path) {
		program = path.Path
	}
	info, errStat := os.Stat(program)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "there is no such program"
	case errStat == nil && info.IsDir():
		return "it is a folder"
	case errStat == nil && errors.Is(err, fs.ErrPermission):
		return "it may not be executed"
	case errors.Is(err, syscall.ENOEXEC):
		return "it is no program, and no script with a first line such as #!/bin/sh"
	}
	return exits.InnermostError(err)
}

// CannotStart returns that a program could not be started, why, and in a second line what to do;
// err is that of exec.
func CannotStart(program string, err error) string {
	why, advice := ExplainStart(err), "Check its name, or give its whole path"
	if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 == 0 {
		advice = "If it is a program, allow that: chmod +x " + program
	}
	return fmt.Sprintf("cannot run %q: %s.\n%s", program, why, advice)
}

// CopyInterruptible copies until src ends, which is no error, or ctx is done. A read that waits
// cannot be stopped; its goroutine ends with the program.
func CopyInterruptible(ctx context.Context, dst io.Writer, src io.Reader) error {
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(dst, src)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// KillDelay is for a program that was told to end, before it is killed.
const KillDelay = 5 * time.Second
