// Package credentials holds what authenticators, verifiers and listeners share: the bearer token of
// a request, the names that are fit for a principal, values made of files or fetched that are made
// anew when those change, and the Authenticator of a listener. It knows no transport. Begin reading
// at Authenticator, Source and Fetched.
//
// Bearer tokens and names are checked in credentials.go, files are read in source.go, fetching anew
// is in fetched.go, asking an authenticator, once and again while a stream is open, is in
// authenticator.go, and status.go has the HTTP status of each reason code.
package credentials

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/aaep-go/aaep"
)

// ErrNone says that a request has no credentials of the kind that was looked for.
var ErrNone = errors.New("auth: no credentials of this kind")

// maxToken is the longest bearer token that is looked at, in bytes: below what HTTP servers take as
// a header.
const maxToken = 16 << 10

// Bearer returns the token of a request's Authorization header, or ErrNone. No error repeats any of
// it (INV-37). More than one header, and a token of another form, is an error.
func Bearer(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	switch {
	case len(values) == 0:
		return "", ErrNone
	case len(values) > 1:
		return "", errors.New("auth: more than one Authorization header; send one")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", ErrNone
	}
	token = strings.Trim(token, " ")
	if err := CheckToken(token); err != nil {
		return "", err
	}
	return token, nil
}

// CheckToken returns an error if token cannot be a bearer token (RFC 6750, 2.1). It does not repeat
// the token.
func CheckToken(token string) error {
	rest := strings.TrimRight(token, "=")
	switch {
	case rest == "":
		return errors.New("auth: the bearer token is empty")
	case len(token) > maxToken:
		return errors.New("auth: the bearer token is too long")
	}
	for i := range len(rest) {
		c := rest[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
			strings.IndexByte("-._~+/", c) >= 0) {
			return errors.New("auth: the bearer token has a character that no token has")
		}
	}
	return nil
}

// Signed reports whether a token has the three parts of a signed one (JWT). By its form each token
// belongs to one kind of authenticator, and a bad one is not tried with the next.
func Signed(token string) bool { return strings.Count(token, ".") == 2 }

// maxPrincipal is the longest name of a principal, in bytes.
const maxPrincipal = 512

// CheckPrincipal returns an error if a principal's name is not fit to be logged, shown and
// compared. The error does not repeat the name.
func CheckPrincipal(name string) error {
	switch {
	case name == "":
		return errors.New("auth: the principal's name is empty")
	case len(name) > maxPrincipal:
		return fmt.Errorf("auth: the principal's name has more than %d bytes", maxPrincipal)
	case aaep.SafeText(name) != name, strings.ContainsFunc(name, isUnseen):
		return errors.New("auth: the principal's name has a space or a character that cannot be seen")
	}
	return nil
}

// isUnseen reports whether a character cannot be seen.
func isUnseen(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }

// OneLine returns s, which comes from outside, as it is fit for an error or a log: on one line,
// with nothing that a terminal could act on, and not longer than about 300 bytes (INV-36).
func OneLine(s string) string {
	s = strings.Join(strings.Fields(aaep.SafeText(s)), " ")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}
