package auth

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
)

// Tokens knows peers by bearer tokens that were agreed on beforehand; byPrincipal has one for each
// name. They suit development and a handful of peers (§10.3.1 discourages such keys); package
// auth/oidc suits more. A token has at least 22 characters, or 32 if all of them are hexadecimal
// digits: 128 bits, if they are random. Make one with rand.Text. There are at most 1,000 tokens.
func Tokens(byPrincipal map[string]string) (Authenticator, error) {
	var set tokenSet
	for principal, token := range byPrincipal {
		if err := set.addToken(principal, token); err != nil {
			if credentials.CheckPrincipal(principal) != nil {
				principal = "a name"
			}
			return nil, fmt.Errorf("%w (%s)", err, principal)
		}
	}
	if len(set) == 0 {
		return nil, errors.New("auth: there are no tokens, so nobody could come in")
	}
	return set.authenticate, nil
}

// TokenFile is as Tokens, for the tokens in a file: on each line a principal, a space and a token.
// Empty lines and those that begin with # are skipped. A principal may have several tokens, for the
// time in which one takes the place of another. Only its owner may open the file: its mode is 0600
// or less.
//
// The file is read again when it has changed. Replace it as a whole, by renaming another over it.
// If what it becomes is not right, or it is gone, the tokens from before stay in force and log is
// told; log may be nil. If it holds no token any more, no peer is let in: at once, or if it was
// just written, once it has stood so for two seconds. Who is connected with a token that was taken
// out is put out within ten seconds. A file that is empty in the beginning is an error.
func TokenFile(path string, log *slog.Logger) (Authenticator, error) {
	source, err := credentials.NewSource(log, credentials.ReadPrivate, func(contents [][]byte) (tokenSet, error) {
		set, err := parseTokens(contents[0])
		if err != nil {
			return nil, fmt.Errorf("auth: %s: %w", path, err)
		}
		return set, nil
	}, path)
	switch {
	case path == "":
		return nil, errors.New("auth: TokenFile was given no file; " + tokenFileForm)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("auth: the file of tokens: %w; %s", err, tokenFileForm)
	case err != nil:
		return nil, err
	}
	return func(r *http.Request) (string, error) { return source.Get().authenticate(r) }, nil
}

// tokenFileForm says what is to be in a file of tokens, for an error.
const tokenFileForm = "it has a principal, a space and a token on each line, and mode 0600"

// TokenNames returns the principals in a file as that of TokenFile, each once, in alphabetical
// order. The file may be readable only for its owner; the error names the file.
func TokenNames(path string) ([]string, error) {
	text, err := credentials.ReadPrivate(path)
	if err != nil {
		return nil, err
	}
	set, err := parseTokens(text)
	if err != nil {
		return nil, fmt.Errorf("auth: %s: %w", path, err)
	}
	var names []string
	for _, t := range set {
		names = append(names, t.principal)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// A tokenSet holds the hash of each token and the principal it belongs to, but no token. It is not
// changed after it was built, so any goroutine may read it.
type tokenSet []struct {
	sum       [sha256.Size]byte
	principal string
}

// authenticate names the peer of a request by its bearer token. It is the Authenticator that Tokens
// and TokenFile return. The error is ErrNone for a request without a token, or with a signed one,
// so that Any asks the next; a token that is not known is AuthenticationRequired.
func (s tokenSet) authenticate(r *http.Request) (string, error) {
	token, err := credentials.Bearer(r)
	if err != nil {
		return "", err
	}
	if credentials.Signed(token) {
		return "", ErrNone
	}
	if principal := s.principalOf(token); principal != "" {
		return principal, nil
	}
	return "", fmt.Errorf("auth: the token is not known: %w", aaep.AuthenticationRequired)
}

// principalOf returns the principal that a token belongs to, or "" if the set does not have it. It
// takes the same time whichever token of the set it is, and however much of one was guessed
// (INV-48).
func (s tokenSet) principalOf(token string) (principal string) {
	sum := sha256.Sum256([]byte(token))
	match := -1
	for i := range s {
		match = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], s[i].sum[:]), i, match)
	}
	if match < 0 {
		return ""
	}
	return s[match].principal
}

// addToken adds a token of principal. The error says why the token cannot serve: its form or that
// of the principal is wrong, it could be guessed, it is in the set already, or the set is full.
func (s *tokenSet) addToken(principal, token string) error {
	if err := credentials.CheckPrincipal(principal); err != nil {
		return err
	}
	if err := credentials.CheckToken(token); err != nil {
		return err
	}
	switch {
	case isGuessable(token):
		return errors.New("auth: a token could be guessed; make one with: openssl rand -hex 32")
	case credentials.Signed(token):
		return errors.New(
			"auth: a token has three parts with dots between them and would be taken for a signed one; make one " +
				"with: openssl rand -hex 32")
	case s.principalOf(token) != "":
		return errors.New("auth: a token is there twice")
	case len(*s) == maxTokens:
		return fmt.Errorf("auth: there are more than %d tokens", maxTokens)
	}
	*s = append(*s, struct {
		sum       [sha256.Size]byte
		principal string
	}{sha256.Sum256([]byte(token)), principal})
	return nil
}

// maxTokens bounds what one request costs, since each token is compared with all of them.
const maxTokens = 1000

// isGuessable reports whether a token is too short for 128 bits, or was made by leaning on a key.
func isGuessable(token string) bool {
	minLength := 22 // characters, of which one has about six bits
	if strings.Trim(token, "0123456789abcdefABCDEF") == "" {
		minLength = 32 // a hexadecimal digit has four bits
	}
	different := map[byte]bool{}
	for _, c := range []byte(token) {
		different[c] = true
	}
	return len(token) < minLength || len(different) < 8
}

// parseTokens parses the text of a file of tokens, in the form that TokenFile describes. Its errors
// name the line and no token; the one for a text without tokens is credentials.ErrEmpty.
func parseTokens(text []byte) (tokenSet, error) {
	var set tokenSet
	n := 0
	for line := range bytes.Lines(text) {
		n++
		fields := strings.Fields(string(line))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("line %d: want a principal, a space and a token", n)
		}
		if err := set.addToken(fields[0], fields[1]); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("%w, and nobody could come in", credentials.ErrEmpty)
	}
	return set, nil
}
