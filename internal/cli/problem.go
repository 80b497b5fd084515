package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/subscriber/discover"
	"github.com/aaep-go/aaep/transports"
)

// plain is an error in the words of a person, without a full stop.
func plain(err error) string {
	var refused *aaep.Rejection
	var invalid *aaep.InvalidError
	var noName *net.DNSError
	var unproven *tls.CertificateVerificationError
	var network *net.OpError
	switch {
	case errors.As(err, &refused) && refused.Message != "":
		return strings.TrimRight(oneLine(refused.Message), ".")
	case errors.As(err, &invalid):
		return problems(invalid)
	case errors.As(err, &unproven):
		return "nothing proves that what answers there is what it claims to be"
	case errors.As(err, &noName):
		return "there is no machine named " + noName.Name
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "it did not answer in time"
	case network != nil && network.Op == "dial":
		return "nothing answers there"
	case errors.Is(err, transports.ErrInterrupted), errors.Is(err, transports.ErrClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the link broke"
	case errors.Is(err, subscriber.ErrUnknownEvent):
		return "the question is no longer open"
	}
	text := err.Error()
	for _, prefix := range []string{"transports: ", "sse: ", "serve: ", "subscriber: ", "producer: ", "manifest: ", "aaep: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return oneLine(text)
}

// problems says what is wrong with a message, without the numbers of the rules.
func problems(err *aaep.InvalidError) string {
	var list []string
	for _, v := range err.Violations {
		_, member, _ := strings.Cut(v.Pointer, "/capabilities/")
		list = append(list, strings.TrimSpace(strings.NewReplacer("_", " ", "/", " ").Replace(member)+" "+v.Problem))
	}
	return oneLine(strings.Join(list, "; "))
}

// address completes and checks the address of an agent.
func address(text string) (string, error) {
	for _, scheme := range []string{discover.UnixScheme, discover.PipeScheme} {
		if name, ok := strings.CutPrefix(text, scheme); ok {
			path, err := discover.SocketPath(name)
			if err != nil {
				return "", fmt.Errorf("%q names no socket.\nGive a name or a path, such as unix:planner or unix:/run/user/1000/aaep/planner.sock", text)
			}
			return scheme + path, nil
		}
	}
	full := text
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Hostname() == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) {
		return "", fmt.Errorf("%q is not the address of an agent.\nGive one such as http://127.0.0.1:8080", text)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the address holds more than an agent's place.\nGive one such as http://127.0.0.1:8080")
	}
	return full, nil
}

// dialError says why an agent could not be followed, and what to do.
func dialError(ctx context.Context, url string, err error) error {
	var refused *aaep.Rejection
	var invalid *aaep.InvalidError
	var network *net.OpError
	var noName *net.DNSError
	var unproven *tls.CertificateVerificationError
	unreachable := func(format string, args ...any) error {
		return &exitError{exitUnreachable, fmt.Errorf(format, args...)}
	}
	switch {
	case ctx.Err() != nil:
		return &exitError{exitInterrupted, errors.New("interrupted")}
	case errors.As(err, &invalid):
		return &exitError{exitUsage, fmt.Errorf("cannot ask for that: %s.\nSee: aaep listen --help", problems(invalid))}
	case errors.As(err, &refused):
		return &exitError{exitFailed, fmt.Errorf("the agent at %s cannot be followed: %s", url, sentence(plain(err)))}
	case errors.As(err, &unproven):
		return unreachable("nothing proves that what answers at %s is what it claims to be: %s.\nCheck the address. If a CA of your own vouches for it, name that with --ca.", url, innermost(unproven))
	case errors.As(err, &noName):
		return unreachable("%s: %s.\nCheck the address.", url, plain(err))
	case errors.Is(err, context.DeadlineExceeded):
		return unreachable("%s does not answer.\nCheck the address, or try again later.", url)
	case errors.Is(err, fs.ErrNotExist) && !isTCP(url):
		return unreachable("there is no agent at %s.\nStart one: aaep run --listen %s -- PROGRAM", url, url)
	case errors.As(err, &network) && network.Op == "dial":
		return unreachable("nothing answers at %s.\nCheck the address, or start an agent: aaep run --listen 127.0.0.1:8080 -- PROGRAM", url)
	case strings.Contains(err.Error(), "not encrypted"):
		return &exitError{exitUsage, fmt.Errorf("%s is another machine, and http does not protect what is said; use https", url)}
	}
	return unreachable("what answers at %s is not an agent.\nCheck the address.", url)
}
