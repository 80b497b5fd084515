package bridge

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/aaep-go/aaep/internal/toolwords"
)

// NewClient returns a client that follows no redirect, so that what it shows one host goes to no
// other. peer names in its errors what is at the other end.
func NewClient(transport http.RoundTripper, peer string) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		return fmt.Errorf("the %s redirects to %s, which is not followed; give that address if it is right",
			peer, toolwords.Label(r.URL.String()))
	}}
}

// WithoutAddress returns an error without the address that net/http puts before it, which may hold
// what is secret.
func WithoutAddress(err error) error {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		return urlErr.Err
	}
	return err
}

// A StatusError is an answer of HTTP that is none of the protocol.
type StatusError struct {
	Code       int
	peer, text string
}

// NewStatusError returns the error of an answer of peer, which its text names.
func NewStatusError(answer *http.Response, peer string) *StatusError {
	return &StatusError{answer.StatusCode, peer, answer.Status}
}

// Error returns the status that the peer answered with and, for one that refuses the token, what to
// do.
func (e *StatusError) Error() string {
	text := "the " + e.peer + " answers " + e.text
	if e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden {
		text += ": give it a token that it knows"
	}
	return text
}
