package exits

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// SimilarNames returns the names that were likely meant by the one that was typed, joined by "or";
// or "". Cobra does this for commands alone.
func SimilarNames(typed string, names []string) string {
	var judge cobra.Command
	for _, name := range names {
		judge.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	judge.SuggestionsMinimumDistance = 2
	return strings.Join(judge.SuggestionsFor(typed), " or ")
}

// PlainError returns an error in the words of a person, in English and without a full stop: what a
// peer says, where it says something, or what is wrong with a name, a file or a link; else its text
// without names of packages.
func PlainError(err error) string {
	var refused *aaep.Rejection
	var invalid *aaep.InvalidError
	var noName *net.DNSError
	var unproven *tls.CertificateVerificationError
	var file *fs.PathError
	switch {
	case errors.As(err, &refused) && refused.Message != "":
		return strings.TrimRight(words.OneLine(refused.Message), ".")
	case errors.As(err, &invalid):
		return DescribeViolations(invalid)
	case errors.As(err, &unproven):
		return "nothing proves that what answers there is what it claims to be"
	case errors.As(err, &noName):
		return "there is no machine named " + noName.Name
	case errors.As(err, &file) && file.Op != "fork/exec":
		return faultOf(file)
	}
	if id, arg := PhraseForError(err); id != "" {
		sentence, _ := phrase.In("en", id, arg)
		return sentence
	}
	return TrimPackageNames(words.OneLine(err.Error()))
}

// faultOf returns the words that say why a file or folder cannot be used.
func faultOf(file *fs.PathError) string {
	folder := filepath.Dir(file.Path)
	_, folderErr := os.Stat(folder)
	switch {
	case errors.Is(file, fs.ErrNotExist) && errors.Is(folderErr, fs.ErrNotExist):
		return "there is no folder " + folder
	case errors.Is(file, fs.ErrNotExist):
		return "there is no file " + file.Path
	case errors.Is(file, fs.ErrPermission):
		return "you may not use " + file.Path
	case errors.Is(file, syscall.ENOTDIR):
		return "there is no folder " + file.Path + ": a file of that name, or of a part of it, is in its place"
	}
	return file.Path + ": " + file.Err.Error()
}

// prefixes are how errors of the packages begin, which means something to their programmers only.
var prefixes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|: |; |\n)(?:(?:a2a|aaep|acp|agui|akashik|announce|audit|auth|braille|conformance|discover|endpoint|haptic|hook|ipc|ledger|llm|log|manifest|mcp|nvda|present|` +
		`oidc|orca|producer|rap|relay|schemas|serve|sound|speech|sse|stdio|subscriber|transports|wake|websocket|writer): )+`)
})

// TrimPackageNames leaves out the names of packages where an error, or one that is told within it,
// begins with them.
func TrimPackageNames(text string) string { return prefixes().ReplaceAllString(text, "$1") }

// InnermostError returns the text of the cause at the end of a chain of errors, without the names
// of packages; of joined errors, the first is followed.
func InnermostError(err error) string {
	for {
		next := errors.Unwrap(err)
		if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) > 0 {
			next = joined.Unwrap()[0]
		}
		if next == nil {
			return TrimPackageNames(err.Error())
		}
		err = next
	}
}

// IsUnproven reports whether the server that answered showed a certificate that nothing here
// vouches for.
func IsUnproven(err error) bool {
	var failed *tls.CertificateVerificationError
	return errors.As(err, &failed)
}

// IsOutdated reports whether an error is that a certificate has expired, or is not valid yet.
func IsOutdated(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired
}

// DescribeViolations says what is wrong with a message, without the numbers of the rules.
func DescribeViolations(err *aaep.InvalidError) string {
	var list []string
	for _, v := range err.Violations {
		_, member, _ := strings.Cut(v.Pointer, "/capabilities/")
		list = append(list, strings.TrimSpace(strings.NewReplacer("_", " ", "/", " ").Replace(member)+" "+v.Problem))
	}
	return words.OneLine(strings.Join(list, "; "))
}

// PhraseForError returns the phrase that says what an error is, and its argument; "" where there is
// none, so that a peer's own message, or the error's text, has to do. uilang says it in the
// person's language.
func PhraseForError(err error) (id phrase.ID, arg string) {
	var refused *aaep.Rejection
	var network *net.OpError
	var noName *net.DNSError
	switch {
	case errors.As(err, &refused) && refused.Message != "":
	case errors.As(err, &noName):
		return phrase.NoMachine, noName.Name
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return phrase.NotInTime, ""
	case network != nil && network.Op == "dial":
		return phrase.NothingAnswers, ""
	case errors.Is(err, transports.ErrInterrupted), errors.Is(err, transports.ErrClosed), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF):
		return phrase.LinkBroke, ""
	case errors.Is(err, subscriber.ErrUnknownEvent):
		return phrase.NotOpen, ""
	}
	return "", ""
}
