// Package exits is how the commands end: with which exit code, in which words, and upon which
// signal. Begin with Error, whose code Main of package cli ends with, and with PlainError, which
// says an error of the packages as a person would. It prints nothing and knows no command.
//
// Exit codes are in exits.go, signals in signals.go, and the words of errors in words.go.
package exits

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/producer/log/sqlite"
)

// The exit codes, of all commands.
const (
	OK          = iota
	Failed      // what was asked for was tried, and failed; or what was looked at is not right
	Usage       // it cannot be asked for like that: a flag, an argument, or a file that a flag names
	Unreachable // what it is about is not there: an agent, a server, the file to look at
	Interrupted = 130
)

// Error ends the command with a code. An empty text says nothing more.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// With returns the error that ends the command with a code.
func With(code int, err error) *Error { return &Error{Code: code, Err: err} }

// UsageError is the error of a command that was called in a wrong way.
func UsageError(format string, args ...any) error {
	return With(Usage, fmt.Errorf(format, args...))
}

// Arguments returns the check of a command's arguments: from least to most of them. For any other
// number it is a usage error that says how the command is called.
func Arguments(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return UsageError("it is called as: %s.\nSee: %s --help", strings.TrimSuffix(cmd.UseLine(), " [flags]"),
			cmd.CommandPath())
	}
}

// CannotTake returns the error of a flag that names what cannot be used. It is no mistake of the
// caller where another program uses that, or the disk is full.
func CannotTake(flag string, err error) error {
	code, text := Usage, "cannot take "+flag+": "+PlainError(err)
	if right := isRight[flag]; right != "" {
		text += ".\n" + right
	}
	if errors.Is(err, sqlite.ErrInUse) || IsDiskFull(err) {
		code = Failed
	}
	return With(code, errors.New(text))
}

// IsDiskFull reports whether what was asked for is right, and there is no room for it.
func IsDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC)
}

// isRight is what those who follow an agent may name with a flag, which they get from the person
// who runs it.
var isRight = map[string]string{
	"--trust":               "Name a JWK or PEM file with the agent's public keys, such as planner.keys.json of: aaep manifest keygen planner",
	"--token-file":          "Name a file that holds the token which the agent knows you by, and nothing else",
	"--ca, --cert or --key": "Name PEM files: the certificates of CAs, your certificate, its key",
	"--trust-first-use":     "Name a file for the keys of agents that are met; one that is not there yet is made",
}

// CodeOf returns the exit code that an error asks for, or Failed where it asks for none. It is not
// for nil.
func CodeOf(err error) int {
	var exit *Error
	if errors.As(err, &exit) {
		return exit.Code
	}
	return Failed
}

// CheckLanguage returns the usage error of a command where what its flag --language gives names no
// language.
func CheckLanguage(tag, command string) error {
	if aaep.ValidLanguageTag(tag) && phrase.NamesLanguage(tag) {
		return nil
	}
	return UsageError("--language must be a language tag such as en-US; it is %q.\nSee: aaep %s --help", tag, command)
}
