package reach

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
	"slices"
	"strings"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/internal/cli/uilang"
	"github.com/aaep-go/aaep/internal/errkind"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/negotiation"
	"github.com/aaep-go/aaep/internal/phrase"
	"github.com/aaep-go/aaep/internal/words"
	"github.com/aaep-go/aaep/manifest"
	"github.com/aaep-go/aaep/producer/serve"
)

// startThere returns the advice for an address where nothing answers: to check it, and to start an
// agent there where that is a socket, or a port of this machine that is not encrypted; else to try
// again later.
func startThere(address string) string {
	const check = "Check the address"
	if IsLocal(address) {
		return check + ", or start an agent: aaep run --listen " + address + " -- PROGRAM"
	}
	u, err := url.Parse(address)
	if err != nil || u.Port() == "" || !httpguard.LoopbackName(u.Hostname()) || u.Scheme == "https" ||
		u.Scheme == "wss" {
		return check + ", or try again later."
	}
	return check + ", or start an agent: aaep run --listen " + u.Host + " -- PROGRAM"
}

// OtherTerms returns the advice for terms that an agent refused: to ask for one of its languages
// too, where the refusal names some; languages are those that were requested.
func OtherTerms(refused error, languages []string) string {
	if command := alsoTheirs(refused, languages); len(languages) > 0 && command != "" {
		return "Ask for a language that it has after your own: " + command
	}
	return "Ask for other terms.\nSee: aaep listen --help"
}

// alsoTheirs returns the flag that requests languages and then up to five of those that the agent
// says it has, or TAG where it names none; "" where the refusal is not about languages.
func alsoTheirs(err error, languages []string) string {
	refused := new(aaep.Rejection)
	if !errors.As(err, &refused) {
		return ""
	}
	offered, isLanguage := negotiation.RefusedLanguages(refused)
	switch {
	case !isLanguage:
		return ""
	case len(offered) == 0:
		offered = []string{"TAG"}
	}
	return "--language " + strings.Join(slices.Concat(languages, offered[:min(len(offered), 5)]), ",")
}

const proxyAlone = "at %s a proxy answers, and the agent behind it does not.\nStart the agent, or try again later."

// DialError returns why an agent at address could not be followed and what to do, in one of
// languages where there are words in it, else in English. It has the exit code, and the time to try
// again if the agent gave one.
func DialError(ctx context.Context, address string, err error, languages ...string) error {
	text, retry := explainMissed(address, err, languages), RetryAfter{}
	in := explainUnfollowed(ctx, address, err, languages)
	if text == "" || ctx.Err() != nil {
		return in
	}
	if errors.As(in, &retry) {
		return exits.With(exits.CodeOf(in), RetryAfter{errors.New(text), retry.After})
	}
	return exits.With(exits.CodeOf(in), errors.New(text))
}

// explainUnfollowed returns the command's error, with its exit code, for an agent at an address
// that could not be followed: what is wrong, and what to do, in English. Where neither a refusal
// nor the link explains it, it asks the address once more what answers there; that it is no agent
// is said in the best of languages.
func explainUnfollowed(ctx context.Context, address string, err error, languages []string) error {
	if ctx.Err() != nil {
		return exits.With(exits.Interrupted, errors.New("interrupted"))
	}
	if refusal := explainRefusal(address, err, languages); refusal != nil {
		return refusal
	}
	if failure := explainLink(address, err); failure != nil {
		return failure
	}
	if SpeaksTLS(ctx, address) {
		return unreachable("what answers at %s encrypts.\nUse https or wss in the address.", address)
	}
	if paths := agentsBelow(ctx, address); paths != nil {
		return unreachable("there are several agents below %s.\nFollow one of them, or more: aaep listen %s", address,
			strings.Join(paths, " "))
	}
	if t := uilang.Language(phrase.Best(languages)); !t.IsEnglish() {
		return unreachable("%s\n%s", t.PhraseText(phrase.NoAgentThere, address), t.PhraseText(phrase.CheckAddress, ""))
	}
	return unreachable("what answers at %s is not an agent.\nCheck the address. "+
		"If there are several agents below it, add the path of one to it.", address)
}

// unreachable returns an error with that exit code.
func unreachable(format string, args ...any) error {
	return exits.With(exits.Unreachable, fmt.Errorf(format, args...))
}

// explainRefusal returns the command's error where an agent answered and may not be followed: it
// refuses, cannot be asked for that, or its key does not count; else nil.
func explainRefusal(address string, err error, languages []string) error {
	var refused *aaep.Rejection
	var invalid *aaep.InvalidError
	switch {
	case errors.As(err, &invalid):
		return exits.With(exits.Usage, fmt.Errorf("cannot ask for that: %s.\nSee: aaep listen --help",
			exits.DescribeViolations(invalid)))
	case errors.Is(err, manifest.ErrKeyChanged), errors.Is(err, manifest.ErrUnknownKey):
		return exits.With(exits.Failed, fmt.Errorf("the agent at %s cannot be followed: %s%s", address,
			words.Sentence(exits.PlainError(err)), HowToAccept(err)))
	case errors.Is(err, manifest.ErrProvedBefore):
		return exits.With(exits.Failed, fmt.Errorf("the agent at %s cannot be followed: %s.\nAsk them, and not by way of this agent, to start it with --sign again", address, words.Sentence(exits.PlainError(err))))
	case errors.As(err, &refused) && refused.Code == aaep.ManifestSignatureRequired && refused.Remote:
		return exits.With(exits.Failed, fmt.Errorf("the agent at %s cannot be followed: it does not prove who it is, as one does that is started with --sign.\nWithout --trust and --trust-first-use it is followed all the same, unverified", address))
	case errors.Is(err, aaep.AuthenticationRequired):
		return exits.With(exits.Failed, fmt.Errorf("the agent at %s cannot be followed: %s\nShow those that it knows: a token with --token-file, or a certificate with --cert and --key", address, words.Sentence(exits.PlainError(err))))
	case errors.Is(err, aaep.CapabilitiesIncompatible):
		return exits.With(exits.Failed, fmt.Errorf("the agent at %s cannot be followed: %s\n%s", address,
			words.Sentence(exits.PlainError(err)), OtherTerms(err, languages)))
	case errors.As(err, &refused) && refused.Code == aaep.TransportUnavailable &&
		refused.Message == "": // an agent says why
		return unreachable(proxyAlone, address)
	case errors.As(err, &refused) && refused.RetryAfter > 0:
		return exits.With(exits.Unreachable, RetryAfter{fmt.Errorf("the agent at %s cannot be followed now: %s\nTry again in %s", address, words.Sentence(exits.PlainError(err)), words.Spoken(refused.RetryAfter)), refused.RetryAfter})
	case errors.As(err, &refused):
		return exits.With(exits.Failed, fmt.Errorf("the agent at %s cannot be followed: %s", address,
			words.Sentence(exits.PlainError(err))))
	}
	return nil
}

// explainLink returns the command's error where no link to an agent came to be: a certificate, a
// name, a socket or the network stands in the way; else nil, as where something else answers.
func explainLink(address string, err error) error {
	var network *net.OpError
	var noName *net.DNSError
	var unproven *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unproven) && exits.IsOutdated(err):
		return unreachable("the certificate at %s is not valid at this time: %s.\nThe agent's operator has to renew it, or the clock of this machine is wrong", address,
			strings.TrimPrefix(exits.InnermostError(unproven), "x509: certificate has expired or is not yet valid: "))
	case errors.As(err, &unproven):
		return unreachable("nothing proves that what answers at %s is what it claims to be: %s.\nCheck the address. If a CA of your own vouches for it, name that with --ca.", address, exits.InnermostError(unproven))
	case errors.As(err, &noName):
		return unreachable("%s: %s.\nCheck the address.", address, exits.PlainError(err))
	case errors.Is(err, context.DeadlineExceeded):
		return unreachable("%s does not answer.\nCheck the address, or try again later.", address)
	case errors.Is(err, fs.ErrNotExist) && IsLocal(address):
		return unreachable("there is no agent at %s.\nStart one: aaep run --listen %s -- PROGRAM", address, address)
	case errors.Is(err, fs.ErrPermission) && IsLocal(address):
		return unreachable("%s belongs to somebody else.\nAsk them, or start your own agent elsewhere.", address)
	case errors.As(err, &network) && network.Op == "dial":
		return unreachable("nothing answers at %s.\n%s", address, startThere(address))
	case errors.Is(err, errkind.NotOffered), errors.Is(err, errkind.Folder) && IsLocal(address):
		return unreachable("%s.", exits.InnermostError(err))
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, new(tls.RecordHeaderError)):
		return unreachable("what answers at %s does not encrypt.\nUse http or ws in the address, if it is on this machine.", address)
	case errors.Is(err, errkind.Gateway):
		return unreachable(proxyAlone, address)
	case errors.As(err, &network) && network.Op == "remote error": // of TLS
		return unreachable("the agent at %s does not accept the certificate it was shown.\nCheck --cert and --key.", address)
	case errors.Is(err, errkind.NotEncrypted):
		return exits.With(exits.Usage, fmt.Errorf("%s is another machine, and http does not protect what is said; use https", address))
	}
	return nil
}

// explainMissed says what explainUnfollowed does in the best of languages, in fewer words; "" for
// English, and for what it has no words for.
func explainMissed(address string, err error, languages []string) string {
	t := uilang.Language(phrase.Best(languages))
	if t.IsEnglish() {
		return ""
	}
	var refused *aaep.Rejection
	var network *net.OpError
	var noName *net.DNSError
	place, advice := "", t.PhraseText(phrase.CheckAddress, "")
	switch {
	case errors.Is(err, manifest.ErrKeyChanged), errors.Is(err, aaep.AuthenticationRequired),
		errors.Is(err, aaep.ManifestSignatureRequired):
		return "" // which names what is to be typed
	case errors.As(err, &refused):
		switch advice = ""; {
		case refused.RetryAfter > 0:
			advice = phrase.Lasting(string(t), phrase.TryAgainAfter, refused.RetryAfter)
		case alsoTheirs(err, languages) != "":
			advice = t.PhraseText(phrase.AskOtherLanguage, alsoTheirs(err, languages))
		}
		return strings.TrimSpace(t.PhraseText(phrase.CannotFollow, t.ExplainError(err)) + "\n" + advice)
	case errors.As(err, &noName):
		place = t.PhraseText(phrase.NoMachine, noName.Name)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		place = t.PhraseText(phrase.NoAnswerFrom, address)
	case network != nil && network.Op == "dial", errors.Is(err, fs.ErrNotExist) && IsLocal(address):
		place = t.PhraseText(phrase.NothingThere, address)
		if _, command, ok := strings.Cut(startThere(address), ": "); ok {
			advice = t.PhraseText(phrase.OrStart, command)
		}
	default:
		return ""
	}
	return place + "\n" + advice
}

// agentsBelow returns the addresses of the agents that aaep serve lists at an address, or nil where
// something else answers there, or nothing does within two seconds.
func agentsBelow(ctx context.Context, address string) (addresses []string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	address = strings.TrimSuffix(address, "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http"+strings.TrimPrefix(strings.TrimPrefix(address, "http"), "ws")+"/", nil)
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
		if canonical, err := serve.Path(strings.TrimPrefix(path, "/")); err != nil || canonical != path {
			return nil // it is something else
		}
		addresses = append(addresses, address+path)
	}
	return addresses
}

// SpeaksTLS reports whether the server at an http or ws address speaks TLS; for any other address
// it is false. It tries, since a server's complaint about plain text is often lost when it closes
// the connection.
func SpeaksTLS(ctx context.Context, address string) bool {
	u, err := url.Parse(address)
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

// RetryAfter is the error of an agent that wants no further attempt before some time has passed.
type RetryAfter struct {
	error
	After time.Duration
}
