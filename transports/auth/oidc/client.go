package oidc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/internal/httpguard"
)

// maxDocument is the most that an issuer may answer, in bytes (INV-42).
const maxDocument = 256 << 10

// newClient returns the client that asks the issuer, over TLS as conf says, which may be nil. It
// has bounds on everything and stays on one origin. Its addresses come from the configuration and
// not from a peer, so those of the local network are allowed.
func newClient(conf *tls.Config) *http.Client {
	if conf == nil {
		conf = &tls.Config{}
	}
	conf = conf.Clone()
	conf.MinVersion = max(conf.MinVersion, tls.VersionTLS12)
	return &http.Client{
		Timeout: 5 * time.Second,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if r.URL.Scheme != via[0].URL.Scheme || !strings.EqualFold(r.URL.Host, via[0].URL.Host) || len(via) >= 3 {
				return errors.New("redirected to another origin, which is not followed")
			}
			return nil
		},
		Transport: &boundedTransport{http.Transport{
			Proxy: func(r *http.Request) (*url.URL, error) {
				if httpguard.LoopbackName(r.URL.Hostname()) {
					return nil, nil
				}
				return http.ProxyFromEnvironment(r)
			},
			DialContext:            (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSClientConfig:        conf,
			TLSHandshakeTimeout:    5 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      true, // requests are minutes apart
		}},
	}
}

// A boundedTransport cuts off responses that are larger than maxDocument.
type boundedTransport struct{ http.Transport }

// RoundTrip implements http.RoundTripper. Reading past the bound is an error.
func (b *boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.Transport.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxDocument)
	}
	return resp, err
}

// fetchDocument returns the document at a URL of the issuer, past all caches; the client bounds its
// size and time. A status other than 200 is an error. The text of its errors is one line and fit
// for a log.
func fetchDocument(ctx context.Context, c *http.Client, address string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Cache-Control", "no-cache")
	resp, err := c.Do(r)
	if err != nil {
		return nil, errors.New(credentials.OneLine(err.Error()))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return io.ReadAll(resp.Body)
}
