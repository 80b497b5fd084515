package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/errkind"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer/serve"
)

// plainError returns an error in the words of a person, without a full stop.
func plainError(err error) string {
	var refused *aaep.Rejection
	var invalid *aaep.InvalidError
	var noName *net.DNSError
	var unproven *tls.CertificateVerificationError
	var file *fs.PathError
	switch {
	case errors.As(err, &refused) && refused.Message != "":
		return strings.TrimRight(words.OneLine(refused.Message), ".")
	case errors.As(err, &invalid):
		return describeViolations(invalid)
	case errors.As(err, &unproven):
		return "nothing proves that what answers there is what it claims to be"
	case errors.As(err, &noName):
		return "there is no machine named " + noName.Name
	case errors.As(err, &file) && file.Op != "fork/exec":
		return faultOf(file)
	}
	if id, arg := phraseForError(err); id != "" {
		says, _ := phrase.In("en", id, arg)
		return says
	}
	return trimPackageNames(words.OneLine(err.Error()))
}

// faultOf says why a file or folder cannot be used.
func faultOf(file *fs.PathError) string {
	switch {
	case errors.Is(file, fs.ErrNotExist):
		return "there is no file " + file.Path
	case errors.Is(file, fs.ErrPermission):
		return "you may not use " + file.Path
	}
	return file.Path + ": " + file.Err.Error()
}

// prefixes are how errors of the packages begin, which means something to their programmers only.
var prefixes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|: |; |\n)(?:(?:a2a|aaep|acp|agui|akashik|announce|audit|auth|braille|conformance|discover|endpoint|haptic|hook|ipc|ledger|llm|log|manifest|mcp|nvda|present|` +
		`oidc|orca|producer|rap|relay|schemas|serve|sound|speech|sse|stdio|subscriber|transports|wake|websocket|writer): )+`)
})

// trimPackageNames leaves out the names of packages where an error, or one that is told within it,
// begins with them.
func trimPackageNames(text string) string { return prefixes().ReplaceAllString(text, "$1") }

// innermostError returns the cause at the end of a chain of errors; of several, the first.
func innermostError(err error) string {
	for {
		next := errors.Unwrap(err)
		if all, ok := err.(interface{ Unwrap() []error }); ok && len(all.Unwrap()) > 0 {
			next = all.Unwrap()[0]
		}
		if next == nil {
			return trimPackageNames(err.Error())
		}
		err = next
	}
}

// isUnproven reports whether the server that answered showed a certificate that nothing here
// vouches for.
func isUnproven(err error) bool {
	var failed *tls.CertificateVerificationError
	return errors.As(err, &failed)
}

// describeViolations says what is wrong with a message, without the numbers of the rules.
func describeViolations(err *aaep.InvalidError) string {
	var list []string
	for _, v := range err.Violations {
		_, member, _ := strings.Cut(v.Pointer, "/capabilities/")
		list = append(list, strings.TrimSpace(strings.NewReplacer("_", " ", "/", " ").Replace(member)+" "+v.Problem))
	}
	return words.OneLine(strings.Join(list, "; "))
}

// checkAddress completes and checks the address of an agent.
func checkAddress(text string) (string, error) {
	if isLocal(text) {
		path, err := localPath(text)
		if err != nil {
			return "", err
		}
		return localScheme + path, nil
	}
	if validPort(text) {
		return "", fmt.Errorf("%q is a port alone.\nGive the machine too: http://127.0.0.1:%s", text, text)
	}
	full := text
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) {
		return "", fmt.Errorf("%q is not the address of an agent.\nGive one such as http://127.0.0.1:8080", text)
	}
	if port := u.Port(); port != "" && !validPort(port) {
		return "", fmt.Errorf("%q names no port that there is.\nGive one from 1 to 65535, such as http://127.0.0.1:8080", text)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the address holds more than an agent's place.\nGive one such as http://127.0.0.1:8080")
	}
	return full, nil
}

// validPort reports whether a TCP port can be dialed.
func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// startThere is what to do where nothing answers. Only on this machine can an agent be started from
// here.
func startThere(at string) string {
	const check = "Check the address"
	if isLocal(at) {
		return check + ", or start an agent: aaep run --listen " + at + " -- PROGRAM"
	}
	u, err := url.Parse(at)
	if err != nil || u.Port() == "" || !httpguard.LoopbackName(u.Hostname()) || u.Scheme == "https" ||
		u.Scheme == "wss" {
		return check + ", or try again later."
	}
	return check + ", or start an agent: aaep run --listen " + u.Host + " -- PROGRAM"
}

// otherTerms is what to do about terms that an agent refused, among them some languages.
func otherTerms(refused error, languages []string) string {
	if len(languages) == 0 || !strings.Contains(plainError(refused), "language") {
		return "Ask for other terms.\nSee: aaep listen --help"
	}
	return "Ask for a language that it has after your own: " + alsoTheirs(refused, languages)
}

// alsoTheirs is the flag that asks for languages and then for those which an agent said that it
// has, if it did.
func alsoTheirs(refused error, languages []string) string {
	_, has, _ := strings.Cut(strings.TrimSuffix(plainError(refused), "…"), "Available: ")
	theirs := slices.DeleteFunc(strings.Split(strings.TrimSuffix(has, "."), ", "),
		func(tag string) bool { return !aaep.ValidLanguageTag(tag) })
	if len(theirs) == 0 {
		theirs = []string{"TAG"}
	}
	return "--language " + strings.Join(slices.Concat(languages, theirs[:min(len(theirs), 5)]), ",")
}

const proxyAlone = "at %s a proxy answers, and the agent behind it does not.\nStart the agent, or try again later."

// dialError says why an agent could not be followed that was asked for some languages, and what to
// do.
func dialError(ctx context.Context, at string, err error, languages ...string) error {
	says, later := explainMissed(at, err, languages), retryAfter{}
	in := explainUnfollowed(ctx, at, err, languages)
	if says == "" || ctx.Err() != nil {
		return in
	}
	if errors.As(in, &later) {
		return exitWith(exitCodeOf(in), retryAfter{errors.New(says), later.after})
	}
	return exitWith(exitCodeOf(in), errors.New(says))
}

// explainUnfollowed returns the command's error for an agent that could not be followed: in the
// languages, if there are words in one of them, and in English.
func explainUnfollowed(ctx context.Context, at string, err error, languages []string) error {
	var refused *aaep.Rejection
	var invalid *aaep.InvalidError
	var network *net.OpError
	var noName *net.DNSError
	var unproven *tls.CertificateVerificationError
	unreachable := func(format string, args ...any) error {
		return exitWith(exitUnreachable, fmt.Errorf(format, args...))
	}
	switch {
	case ctx.Err() != nil:
		return exitWith(exitInterrupted, errors.New("interrupted"))
	case errors.As(err, &invalid):
		return exitWith(exitUsage, fmt.Errorf("cannot ask for that: %s.\nSee: aaep listen --help",
			describeViolations(invalid)))
	case errors.Is(err, manifest.ErrKeyChanged):
		return exitWith(exitFailed, fmt.Errorf("the agent at %s cannot be followed: %s%s", at,
			words.Sentence(plainError(err)), howToAccept(err)))
	case errors.As(err, &refused) && refused.Code == aaep.ManifestSignatureRequired && refused.Remote:
		return exitWith(exitFailed, fmt.Errorf("the agent at %s cannot be followed: it does not prove who it is, for it was not started with --sign.\nWithout --trust it is followed all the same, unverified", at))
	case errors.Is(err, aaep.AuthenticationRequired):
		return exitWith(exitFailed, fmt.Errorf("the agent at %s cannot be followed: %s\nShow those that it knows: a token with --token-file, or a certificate with --cert and --key", at, words.Sentence(plainError(err))))
	case errors.Is(err, aaep.CapabilitiesIncompatible):
		return exitWith(exitFailed, fmt.Errorf("the agent at %s cannot be followed: %s\n%s", at,
			words.Sentence(plainError(err)), otherTerms(err, languages)))
	case errors.As(err, &refused) && refused.Code == aaep.TransportUnavailable &&
		refused.Message == "": // an agent says why
		return unreachable(proxyAlone, at)
	case errors.As(err, &refused) && refused.RetryAfter > 0:
		return exitWith(exitUnreachable, retryAfter{fmt.Errorf("the agent at %s cannot be followed now: %s\nTry again in %s", at, words.Sentence(plainError(err)), words.Spoken(refused.RetryAfter)), refused.RetryAfter})
	case errors.As(err, &refused):
		return exitWith(exitFailed, fmt.Errorf("the agent at %s cannot be followed: %s", at,
			words.Sentence(plainError(err))))
	case errors.As(err, &unproven):
		return unreachable("nothing proves that what answers at %s is what it claims to be: %s.\nCheck the address. If a CA of your own vouches for it, name that with --ca.", at, innermostError(unproven))
	case errors.As(err, &noName):
		return unreachable("%s: %s.\nCheck the address.", at, plainError(err))
	case errors.Is(err, context.DeadlineExceeded):
		return unreachable("%s does not answer.\nCheck the address, or try again later.", at)
	case errors.Is(err, fs.ErrNotExist) && isLocal(at):
		return unreachable("there is no agent at %s.\nStart one: aaep run --listen %s -- PROGRAM", at, at)
	case errors.Is(err, fs.ErrPermission) && isLocal(at):
		return unreachable("%s belongs to somebody else.\nAsk them, or start your own agent elsewhere.", at)
	case errors.As(err, &network) && network.Op == "dial":
		return unreachable("nothing answers at %s.\n%s", at, startThere(at))
	case errors.Is(err, errkind.NotOffered), errors.Is(err, errkind.Folder) && isLocal(at):
		return unreachable("%s.", innermostError(err))
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, new(tls.RecordHeaderError)):
		return unreachable("what answers at %s does not encrypt.\nUse http or ws in the address, if it is on this machine.", at)
	case errors.Is(err, errkind.Gateway):
		return unreachable(proxyAlone, at)
	case errors.As(err, &network) && network.Op == "remote error": // of TLS
		return unreachable("the agent at %s does not accept the certificate it was shown.\nCheck --cert and --key.", at)
	case errors.Is(err, errkind.NotEncrypted):
		return exitWith(exitUsage, fmt.Errorf("%s is another machine, and http does not protect what is said; use https", at))
	}
	if speaksTLS(ctx, at) {
		return unreachable("what answers at %s encrypts.\nUse https or wss in the address.", at)
	}
	if below := agentsBelow(ctx, at); below != nil {
		return unreachable("there are several agents below %s.\nFollow one of them, or more: aaep listen %s", at,
			strings.Join(below, " "))
	}
	if t := uiLanguage(phrase.Best(languages)); !t.isEnglish() {
		return unreachable("%s\n%s", t.phraseText(phrase.NoAgentThere, at), t.phraseText(phrase.CheckAddress, ""))
	}
	return unreachable("what answers at %s is not an agent.\nCheck the address. If there are several agents below it, add the path of one to it.", at)
}

// explainMissed says why an agent could not be followed to a person whose languages are known and
// others than English, and what to do; "" where there are no words for it.
func explainMissed(at string, err error, languages []string) string {
	t := uiLanguage(phrase.Best(languages))
	if t.isEnglish() {
		return ""
	}
	var refused *aaep.Rejection
	var network *net.OpError
	var noName *net.DNSError
	there, do := "", t.phraseText(phrase.CheckAddress, "")
	switch {
	case errors.Is(err, manifest.ErrKeyChanged), errors.Is(err, aaep.AuthenticationRequired),
		errors.Is(err, aaep.ManifestSignatureRequired):
		return "" // which names what is to be typed
	case errors.As(err, &refused):
		switch do = ""; {
		case refused.RetryAfter > 0:
			do = phrase.Lasting(string(t), phrase.TryAgainAfter, refused.RetryAfter)
		case errors.Is(err, aaep.CapabilitiesIncompatible) && strings.Contains(plainError(err), "language"):
			do = t.phraseText(phrase.AskOtherLanguage, alsoTheirs(err, languages))
		}
		return strings.TrimSpace(t.phraseText(phrase.CannotFollow, t.explainError(err)) + "\n" + do)
	case errors.As(err, &noName):
		there = t.phraseText(phrase.NoMachine, noName.Name)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		there = t.phraseText(phrase.NoAnswerFrom, at)
	case network != nil && network.Op == "dial", errors.Is(err, fs.ErrNotExist) && isLocal(at):
		there = t.phraseText(phrase.NothingThere, at)
		if _, command, ok := strings.Cut(startThere(at), ": "); ok {
			do = t.phraseText(phrase.OrStart, command)
		}
	default:
		return ""
	}
	return there + "\n" + do
}

// agentsBelow are the addresses of the agents that aaep serve lists at an address.
func agentsBelow(ctx context.Context, at string) (all []string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	at = strings.TrimSuffix(at, "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http"+strings.TrimPrefix(strings.TrimPrefix(at, "http"), "ws")+"/", nil)
	if err != nil {
		return nil
	}
	resp, err := http.DefaultTransport.RoundTrip(req) // which follows no redirect
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	list, err := io.ReadAll(io.LimitReader(resp.Body, 1<<12))
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil
	}
	for line := range strings.Lines(string(list)) {
		path := strings.TrimSuffix(line, "\n")
		if again, err := serve.Path(strings.TrimPrefix(path, "/")); err != nil || again != path {
			return nil // it is something else
		}
		all = append(all, at+path)
	}
	return all
}

// speaksTLS reports whether the server at an address that is not encrypted speaks TLS. Its answer
// to anything else says so, but is often lost when it closes the connection.
func speaksTLS(ctx context.Context, at string) bool {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "ws" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // nothing is said over it
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80")))
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
