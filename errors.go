package aaep

import (
	"strings"
	"time"
)

// ReasonCode says why a subscription was refused or closed (§5.5.3, §5.8). Every code is an error
// of its own: errors.Is(err, aaep.RateLimit). The set is open.
type ReasonCode string

// The eight codes of a rejection (§5.5.3).
const (
	VersionUnsupported        ReasonCode = "version_unsupported"
	ManifestSignatureRequired ReasonCode = "manifest_signature_required"
	CapabilitiesIncompatible  ReasonCode = "capabilities_incompatible"
	RateLimit                 ReasonCode = "rate_limit"
	AuthenticationRequired    ReasonCode = "authentication_required"
	AuthorizationDenied       ReasonCode = "authorization_denied"
	TransportUnavailable      ReasonCode = "transport_unavailable"
	ReasonUnknown             ReasonCode = "unknown"
)

// The codes a subscription is closed with.
const (
	SubscriberShutdown ReasonCode = "subscriber_shutdown"
	ProducerShutdown   ReasonCode = "producer_shutdown"
	SlowSubscriber     ReasonCode = "slow_subscriber"
	PolicyViolation    ReasonCode = "policy_violation"
)

// Error returns the code in words, behind the name of the package, safe to log.
func (c ReasonCode) Error() string { return "aaep: " + spaceOut(oneLine(string(c))) }

// Rejection is why a subscription was refused or closed. It matches its Code with errors.Is.
type Rejection struct {
	Code ReasonCode
	// Message is for people, and travels to the peer.
	Message string
	// RetryAfter is how long to wait before trying again; zero if the peer did not say.
	RetryAfter time.Duration
	// Remote is true if the peer said so, false if this side found out.
	Remote bool
	// Err is the cause on this side. It never travels.
	Err error
}

// Error returns the code, the message and the cause in one line that is safe to log.
func (r *Rejection) Error() string {
	s := r.Code.Error()
	if r.Remote {
		s += " (said by the peer)"
	}
	if r.Message != "" {
		s += ": " + oneLine(r.Message)
	}
	if r.Err != nil {
		s += ": " + r.Err.Error()
	}
	return s
}

// Unwrap returns the error that the rejection was made of; nil for a peer's.
func (r *Rejection) Unwrap() error { return r.Err }

// Is reports whether target is r's code.
func (r *Rejection) Is(target error) bool { return target == error(r.Code) }

// InvalidError lists everything that is wrong with a message.
type InvalidError struct {
	// Message is the message's type, if it could be read.
	Message    string
	Violations []Violation
}

// Violation is one broken rule.
type Violation struct {
	// Requirement is the id of the rule, or "" where the text is not JSON at all.
	Requirement string
	// Pointer is the place, as a JSON pointer; "" is the whole message.
	Pointer string
	// Problem says what was wrong and what would be right.
	Problem string
}

// String returns the violation as one line that is safe to log: pointer, problem, and requirement
// where known. Reply tokens in it are hidden.
func (v Violation) String() string {
	s := v.Problem
	if v.Pointer != "" {
		s = v.Pointer + ": " + s
	}
	if v.Requirement != "" {
		s += " (" + v.Requirement + ")"
	}
	return oneLine(hideTokens(s))
}

// Error returns all violations in one line that is safe to log: it holds no reply token.
func (e *InvalidError) Error() string {
	var b strings.Builder
	b.WriteString("aaep: invalid ")
	if e.Message == "" {
		b.WriteString("message")
	} else {
		b.WriteString(oneLine(hideTokens(shortenName(e.Message))))
	}
	for i, v := range e.Violations {
		sep := ": "
		if i > 0 {
			sep = "; "
		}
		b.WriteString(sep + v.String())
	}
	return b.String()
}

// hideTokens replaces the letters and digits behind each rpl_ of a text by …, for errors and logs.
// Nothing here puts a token in, but a peer may have used one as the name of a member or of a type
// (INV-37).
func hideTokens(s string) string {
	const prefix = "rpl_"
	var b strings.Builder
	for {
		i := strings.Index(s, prefix)
		if i < 0 {
			break
		}
		i += len(prefix)
		b.WriteString(s[:i])
		rest := strings.TrimLeftFunc(s[i:], func(r rune) bool {
			return r < 0x80 && (isLetter(byte(r)) || isDigit(byte(r)))
		})
		if len(rest) < len(s[i:]) {
			b.WriteString("…")
		}
		s = rest
	}
	if b.Len() == 0 {
		return s
	}
	return b.String() + s
}
