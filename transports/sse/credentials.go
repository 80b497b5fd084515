package sse

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

var errCredentials = errors.New("no credentials")

// doWithCredentials sends a request with the credentials of the moment. If they are refused and
// others can be had meanwhile, it is sent once more: a request that is answered with 401 has had no
// effect.
func (c *conn) doWithCredentials(req *http.Request) (*http.Response, error) {
	if c.credentials == nil {
		return c.client.Do(req)
	}
	given, err := c.credentials(req.Context())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCredentials, err)
	}
	bare := req.Header.Clone()
	setHeaders(req.Header, given)
	resp, err := c.client.Do(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	fresh, err := c.credentials(req.Context())
	if err != nil || maps.EqualFunc(given, fresh, slices.Equal) {
		return resp, nil
	}
	again := req.Clone(req.Context())
	again.Header = bare
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return resp, nil
		}
	}
	setHeaders(again.Header, fresh)
	resp.Body.Close()
	return c.client.Do(again)
}

// setHeaders puts the given headers in the place of those with the same names.
func setHeaders(h, given http.Header) {
	for name, values := range given {
		h[http.CanonicalHeaderKey(name)] = values
	}
}
