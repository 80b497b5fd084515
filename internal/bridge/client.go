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
