package sse

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// errCredentials marks the error of a request that was not sent because Dialer.Credentials failed.
var errCredentials = errors.New("no credentials")

// doWithCredentials sends a request with what Dialer.Credentials returns at this moment. After a
// 401 it asks once more and, if the credentials differ, sends the request again with those: a
// request that was answered with 401 has had no effect. The caller closes the response's body.
func (c *conn) doWithCredentials(req *http.Request) (*http.Response, error) {
	if c.credentials == nil {
		return c.client.Do(req)
	}
	first, err := c.credentials(req.Context())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCredentials, err)
	}
	header := req.Header.Clone() // without credentials, for the second request
	setHeaders(req.Header, first)
	resp, err := c.client.Do(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	second, err := c.credentials(req.Context())
	if err != nil || maps.EqualFunc(first, second, slices.Equal) {
		return resp, nil
	}
	retry := req.Clone(req.Context())
	retry.Header = header
	if req.GetBody != nil {
		if retry.Body, err = req.GetBody(); err != nil {
			return resp, nil
		}
	}
	setHeaders(retry.Header, second)
	resp.Body.Close()
	return c.client.Do(retry)
}

// setHeaders sets each header of credentials in h, in the place of those with the same name.
func setHeaders(h, credentials http.Header) {
	for name, values := range credentials {
		h[http.CanonicalHeaderKey(name)] = values
	}
}
