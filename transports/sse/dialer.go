package sse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aaep-go/aaep/internal/errkind"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
)

// Dialer reaches one producer. Its Conns implement transports.Reopener. Dial may be called from
// many goroutines at once.
//
// A POST has 20 seconds for its answer. A stream that brings nothing for 45 seconds, not even a
// heartbeat, counts as broken; without a handshake that is a day.
type Dialer struct {
	// URL is where the producer lives, such as "http://127.0.0.1:8080" or
	// "https://bank.example/aaep/v1"; http is for this machine only (§8.2.8). If it has no path,
	// "/aaep/v1" is added. Credentials do not belong in it; put them in Credentials.
	URL string
	// Client sends the requests. Its redirect policy and its overall timeout are not used. If nil,
	// each Conn has a client of its own, which leaves loopback addresses out of any proxy.
	Client *http.Client
	// Header goes with every request. It is sent to the origin of URL only.
	Header http.Header
	// Credentials are asked for before each request and go with it, in the place of what Header has
	// under the same names: auth.BearerFile makes one, for example. They go to the origin of URL
	// only. After a 401 they are asked for once more and, if they differ, the request is sent
	// again. An error leaves the request unsent; a broken stream may then be reopened later.
	// Credentials is called from many goroutines at once, with a context that ends with the
	// request.
	Credentials func(context.Context) (http.Header, error)
	// TLS is for https where Client is nil. If nil, the system's roots are trusted. Versions below
	// 1.2 are not spoken.
	TLS *tls.Config
	// RootLayout makes a Conn listen without a handshake where the producer knows none: if the
	// request is answered with 404 or 405, it opens "/events" below URL, and replies go to
	// "/messages". The subscription.accepted is then the Conn's own, and nothing is agreed: its
	// negotiation_notes say so.
	RootLayout bool
	// Logger receives diagnostics, never message contents. If nil, they are discarded.
	Logger *slog.Logger
}

var (
	_ transports.Dialer   = Dialer{}
	_ transports.Reopener = (*conn)(nil)
)

// Dial makes a Conn. Nothing is sent yet: the first Send must be a subscription.request. The error
// is for a URL or TLS that cannot be used.
func (d Dialer) Dial(ctx context.Context) (transports.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	root, err := d.address()
	switch {
	case err != nil:
		return nil, err
	case d.Client != nil && d.TLS != nil:
		return nil, errors.New("sse: Dialer.TLS is for Dials without a Client; give it to the Client's transport")
	}
	base := root
	if base.Path == "" {
		base = root.JoinPath(DefaultPrefix)
	}
	c := &conn{
		base: base, root: root, mayListen: d.RootLayout, log: shield.Logger(d.Logger),
		header: d.Header.Clone(), credentials: d.Credentials, silence: silence, violations: violation.ReporterOf(ctx),
		answers: make(chan []byte, 4), reopening: make(chan struct{}, 1), changed: make(chan struct{}),
	}
	if c.header == nil {
		c.header = http.Header{}
	}
	client := http.Client{}
	if d.Client != nil {
		client = *d.Client
		client.Timeout = 0
	} else {
		c.ownTransport = ownTransport(d.TLS)
		client.Transport = c.ownTransport
	}
	client.CheckRedirect = c.checkRedirect
	c.client = &client
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c, nil
}

// address returns the checked URL of the Dialer, with a clean path that does not end in a slash.
// The error says what is wrong and does not repeat URL, which may hold a password: it is no http or
// https URL, holds credentials, a query or a fragment, or is not encrypted and not of this machine.
func (d Dialer) address() (*url.URL, error) {
	const want = `give "http://127.0.0.1:8080" or "https://bank.example/aaep/v1", for example`
	u, err := url.Parse(d.URL)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("sse: Dialer.URL is not an http or https URL with a host; " + want)
	case u.User != nil:
		return nil, errors.New("sse: Dialer.URL holds credentials; put them in Dialer.Credentials")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("sse: Dialer.URL has a query or a fragment; " + want)
	case u.Scheme == "http" && !httpguard.LoopbackName(u.Hostname()):
		return nil, errkind.NotEncrypted.Mark(
			fmt.Errorf("sse: %s is not this machine and http is not encrypted; use https", u.Host))
	}
	u = u.JoinPath() // a copy, with a clean path
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, nil
}

// ownTransport returns the transport of a conn without a Client: it speaks TLS as conf says, which
// may be nil, goes to loopback addresses without a proxy, and has bounds on everything but the
// length of a stream.
func ownTransport(conf *tls.Config) *http.Transport {
	if conf == nil {
		conf = &tls.Config{}
	}
	conf = conf.Clone()
	conf.MinVersion = max(conf.MinVersion, tls.VersionTLS12) // TR-018
	return &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			if httpguard.LoopbackName(r.URL.Hostname()) {
				return nil, nil // INV-49
			}
			return http.ProxyFromEnvironment(r)
		},
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSClientConfig:        conf,
		TLSHandshakeTimeout:    5 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		IdleConnTimeout:        90 * time.Second,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
	}
}

var errRedirect = errors.New("redirected to another origin, which is not followed")

// checkRedirect is the client's CheckRedirect. It lets a GET follow up to five redirects within its
// origin, and nothing else (INV-19, INV-49): a redirected POST returns the redirect as its
// response.
func (c *conn) checkRedirect(req *http.Request, via []*http.Request) error {
	if via[0].Method != http.MethodGet {
		return http.ErrUseLastResponse
	}
	if !sameOrigin(req.URL, c.base) || len(via) >= 5 {
		return errRedirect
	}
	return nil
}

// sameOrigin reports whether two URLs have one scheme, host and port, and a has no credentials.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b) &&
		a.User == nil
}

// portOf returns the port of u; without one, 443 for https and else 80.
func portOf(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
