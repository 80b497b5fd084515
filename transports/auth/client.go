package auth

import (
	"context"
	"net/http"
	"strings"

	"github.com/aaep-go/aaep/internal/credentials"
)

// Bearer gives a token to a dialer's Credentials.
func Bearer(token string) func(context.Context) (http.Header, error) {
	return func(context.Context) (http.Header, error) { return bearerHeader(token) }
}

// BearerFile gives the token in a file to a dialer's Credentials. The file holds the token and
// nothing else, only its owner may open it, and it is read each time: a new token is used from the
// next request on. Where a producer refuses the token later, a subscription waits for another one
// in the file, and tries the same from time to time, instead of ending.
func BearerFile(path string) func(context.Context) (http.Header, error) {
	return func(ctx context.Context) (http.Header, error) {
		text, err := credentials.FromFile(ctx, path)
		if err != nil {
			return nil, err
		}
		return bearerHeader(strings.TrimSpace(string(text)))
	}
}

// bearerHeader returns the Authorization header that carries token, or an error if token has
// characters that no token has.
func bearerHeader(token string) (http.Header, error) {
	if err := credentials.CheckToken(token); err != nil {
		return nil, err
	}
	return http.Header{"Authorization": {"Bearer " + token}}, nil
}
