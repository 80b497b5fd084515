package manifest

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aaep-go/aaep/internal/errkind"
	"github.com/aaep-go/aaep/internal/httpguard"
)

// fetchTime bounds a fetch from the first look-up to the last byte.
const fetchTime = 10 * time.Second

// manifestTypes are the media types of manifests, plain and signed.
var manifestTypes = []string{"application/json", "application/jose", "application/jwt"}

// ErrNone is returned by Discover where the producer publishes no manifest.
var ErrNone = errors.New("manifest: there is none")

// Discover fetches the manifest of the agent at an address that the user named, such as
// "https://bank.example" or "http://127.0.0.1:8080/planner", and returns it as it was published,
// but for white space around it: JSON, or a compact JWS. It is looked for where Beside says. The
// error is ErrNone where the agent answers that it has none. Conf may be nil; http is for loopback
// only. A fetch takes at most ten seconds and MaxSize bytes, and follows no redirect.
func Discover(ctx context.Context, address string, conf *tls.Config) ([]byte, error) {
	location, err := Beside(address, Path)
	if err != nil {
		return nil, err
	}
	u, err := checkURL(location)
	if err != nil {
		return nil, err
	}
	return fetchURL(ctx, u, conf, nil, manifestTypes...)
}

// Beside returns the URL of what the agent at an HTTP address publishes at a well-known path, Path
// or KeysPath. An agent that has a host to itself publishes that at the origin (§5.10.2), whatever
// transport the address names. One that is below a path, as one of several on a host, publishes it
// below that path: what is elsewhere on the host is another's, and never stands for it. The error
// is checkURL's.
func Beside(address, wellKnown string) (string, error) {
	u, err := checkURL(address)
	if err != nil {
		return "", err
	}
	base := strings.TrimSuffix(path.Clean("/"+u.Path), "/")
	for _, suffix := range []string{Path, KeysPath, "/ws", "/aaep/v1"} { // what every agent has below its own path
		parent, ok := strings.CutSuffix(base, suffix)
		isNamedWS := suffix == "/ws" && parent == "" // the agent itself is called ws, at the root of its host
		if ok && !isNamedWS {
			base = parent
		}
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: base + wellKnown}).String(), nil
}

// Fetch fetches a manifest from a URL that a peer gave, such as the manifest_uri of an event. It
// must be https, and every address it leads to must be a public one: a stranger cannot make this
// machine ask others on its own network. For the rest it is as Discover. Nothing in this SDK that
// only reads a message calls it.
func Fetch(ctx context.Context, rawURL string, conf *tls.Config) ([]byte, error) {
	u, err := checkURL(rawURL)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "https" {
		return nil, fmt.Errorf("manifest: %s is not https", u.Redacted())
	}
	return fetchURL(ctx, u, conf, func(_, address string, _ syscall.RawConn) error {
		addrPort, err := netip.ParseAddrPort(address)
		if err != nil || !isPublic(addrPort.Addr()) {
			return fmt.Errorf("manifest: the name leads to %s, which is no public address", address)
		}
		return nil
	}, manifestTypes...)
}

// checkURL parses a URL and refuses one that is never fetched: of another scheme than https, or
// http to another machine, without a host, or with credentials. It removes the fragment.
func checkURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("manifest: the address is not an http or https URL with a host")
	case u.User != nil:
		return nil, errors.New("manifest: an address holds no credentials")
	case u.Scheme == "http" && !httpguard.LoopbackName(u.Hostname()):
		return nil, errkind.NotEncrypted.Mark(
			fmt.Errorf("manifest: %s is not this machine and http is not encrypted; use https", u.Host))
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// fetchURL returns what is at a URL, without white space around it, if its media type is one of
// types; ErrNone if the server answers that there is nothing. It sends no credentials and follows
// no redirect. control, if not nil, sees every address before it is connected to and may refuse it;
// with it no proxy is used, which would connect in the place of this program.
func fetchURL(ctx context.Context, u *url.URL, conf *tls.Config,
	control func(network, address string, c syscall.RawConn) error,
	types ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", strings.Join(types, ", "))
	usesProxy := control == nil && !httpguard.LoopbackName(u.Hostname())
	resp, err := newFetchClient(conf, control, usesProxy).Do(req)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	defer resp.Body.Close()

	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusGone:
		return nil, ErrNone
	default:
		return nil, errkind.MarkStatus(resp.StatusCode, fmt.Errorf("manifest: %s answers %d %s, want 200",
			u.Redacted(), resp.StatusCode, http.StatusText(resp.StatusCode)))
	}
	if typ, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || !slices.Contains(types, typ) {
		return nil, fmt.Errorf("manifest: %s is no JSON by its Content-Type", u.Redacted())
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if len(data) > MaxSize {
		return nil, fmt.Errorf("manifest: %s has more than %d bytes", u.Redacted(), MaxSize)
	}
	return bytes.TrimSpace(data), nil // a file in which a JWS is kept ends its line
}

// newFetchClient returns the client of fetchURL, which keeps no connection. conf may be nil, and
// control is as for fetchURL.
func newFetchClient(conf *tls.Config, control func(network, address string, c syscall.RawConn) error,
	usesProxy bool) *http.Client {
	if conf == nil {
		conf = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	transport := &http.Transport{TLSClientConfig: conf, DialContext: (&net.Dialer{Control: control}).DialContext,
		DisableCompression: true, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true}
	if usesProxy {
		transport.Proxy = http.ProxyFromEnvironment
	}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// specialRanges are the ranges of addresses that are not the public internet, or lead through a
// translator into others.
var specialRanges = parsePrefixes("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "2002::/16",
	"3fff::/20")

// globalV6 is all of IPv6 that is given out as public addresses.
var globalV6 = netip.MustParsePrefix("2000::/3")

// parsePrefixes parses ranges of addresses.
func parsePrefixes(texts ...string) (prefixes []netip.Prefix) {
	for _, s := range texts {
		prefixes = append(prefixes, netip.MustParsePrefix(s))
	}
	return prefixes
}

// isPublic reports whether an address is known to be one of the public internet; false for this
// machine, private networks, and ranges for special use. Fetching keys of strangers asks it.
func isPublic(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Is6() && !globalV6.Contains(a) || a.Zone() != "" {
		return false
	}
	for _, p := range specialRanges {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
