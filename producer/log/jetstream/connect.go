package jetstream

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/internal/errkind"
)

// connectTo connects c to one of the servers, whose addresses are separated by commas, as its
// options say. While none of them answers it tries again, until ctx is done. The error names the
// servers and says what would be right.
func (c *Cluster) connectTo(ctx context.Context, servers string) (err error) {
	options := []nats.Option{nats.Name("aaep " + c.opts.Node), nats.Timeout(connectTime), nats.MaxReconnects(-1),
		nats.ReconnectWait(pause),
		// so a dead server is noticed before another can lead
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2),
		// what is sent without a connection fails, and is tried again by its sender
		nats.ReconnectBufSize(-1),
		nats.IgnoreAuthErrorAbort(),         // a user who is refused may have new credentials in a moment
		nats.ErrorHandler(c.noteAsyncError)} // without it the client writes to the standard error
	if c.opts.CA != "" {
		options = append(options, nats.RootCAs(c.opts.CA))
	}
	if c.opts.Certificate != "" || c.opts.Key != "" {
		options = append(options, nats.ClientCert(c.opts.Certificate, c.opts.Key))
	}
	unprotected, err := isUnprotected(servers)
	if err == nil && c.opts.Credentials != "" {
		var user nats.Option
		user, err = userOption(c.opts.Credentials, unprotected)
		options = append(options, user)
	}
	if err != nil {
		return err
	}
	for {
		c.nc, err = nats.Connect(servers, options...)
		if err == nil {
			return c.checkVersion()
		}
		if ctx.Err() == nil && isNotUpYet(err) {
			select {
			case <-time.After(pause):
				continue
			case <-ctx.Done():
			}
		}
		return errkind.Unreachable.Mark(fmt.Errorf("cannot reach NATS at %s: %w", servers, c.opts.connectError(err)))
	}
}

// checkVersion closes the connection and returns an error if the server is too old to add several
// messages to a stream as one. Such a server drops what it does not know of a stream's settings,
// and an agent would wait for it without a word.
func (c *Cluster) checkVersion() error {
	version := c.nc.ConnectedServerVersion()
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil || major > 2 || major == 2 && minor >= 12 {
		return nil // a version that cannot be read is left to fail by itself
	}
	c.nc.Close()
	return errkind.Unreachable.Mark(fmt.Errorf("the NATS server is version %s; 2.12 or later is needed", version))
}

// isNotUpYet reports whether an error of connecting is that of servers, or of a network, that may
// be up in a moment.
func isNotUpYet(err error) bool {
	var opErr *net.OpError
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) ||
		errors.As(err, &opErr) && opErr.Op == "dial"
}

// isUnprotected reports whether one of the servers is on another machine and its address allows a
// connection without TLS. An address that is malformed or holds credentials is an error. userOption
// refuses a password for an unprotected one.
func isUnprotected(servers string) (unprotected bool, err error) {
	for address := range strings.SplitSeq(servers, ",") {
		address = strings.TrimSpace(address)
		if !strings.Contains(address, "://") {
			address = "nats://" + address
		}
		u, err := url.Parse(address)
		switch {
		case err != nil || u.Hostname() == "":
			// The error does not repeat the address, which may hold a password.
			return false,
				errors.New(
					"what is not an address is among the NATS servers; an address is such as tls://nats.example:4222")
		case !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme):
			return false,
				fmt.Errorf("NATS servers are not reached over %s://; an address is such as tls://nats.example:4222",
					u.Scheme)
		case u.User != nil:
			return false,
				fmt.Errorf(
					"the address of %s holds who this is, which others can see: put it into a file, and name that "+
						"as credentials", u.Host)
		}
		ip := net.ParseIP(u.Hostname())
		isLocal := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
		unprotected = unprotected || u.Scheme != "tls" && u.Scheme != "wss" && !isLocal
	}
	return unprotected, nil
}

// userOption returns the option by which the servers know this process, from the file of
// Options.Credentials. A password is refused if unprotected says that it could go over a network in
// clear.
func userOption(path string, unprotected bool) (nats.Option, error) {
	data, err := credentials.ReadPrivate(path)
	if err != nil {
		return nil, err
	}
	text := string(bytes.TrimSpace(data))
	name, password, hasColon := strings.Cut(text, ":")
	switch {
	case strings.Contains(text, "BEGIN NATS USER JWT"):
		return nats.UserCredentials(path), nil
	case strings.HasPrefix(text, "SU") && !hasColon, strings.Contains(text, "BEGIN USER NKEY SEED"):
		return nats.NkeyOptionFromSeed(path)
	case !hasColon || name == "" || password == "" || strings.ContainsAny(text, "\r\n"):
		return nil,
			fmt.Errorf(
				"%s is not the credentials of a NATS user: neither a .creds file, nor the seed of a user's nkey, "+
					"nor one line USER:PASSWORD", path)
	case unprotected:
		return nil,
			fmt.Errorf(
				"the password in %s could be read on its way: begin the addresses of the NATS servers with tls://",
				path)
	}
	return nats.UserInfoHandler(func() (string, string) { // it is read again for every connection
		if data, err := credentials.ReadPrivate(path); err == nil {
			name, password, _ = strings.Cut(string(bytes.TrimSpace(data)), ":")
		}
		return name, password
	}), nil
}

// connectError returns an error that says in words why there is no connection, and which option to
// mend, for the error of the client. An error that is not known is returned as it is.
func (o *Options) connectError(err error) error {
	var unknown x509.UnknownAuthorityError
	var misnamed x509.HostnameError
	var invalid x509.CertificateInvalidError
	var opErr *net.OpError
	var noTLS tls.RecordHeaderError
	// The server ends the handshake with an alert, or closes the connection before the alert is
	// read.
	refusedByServer := errors.As(err, &opErr) && opErr.Op == "remote error" ||
		errors.Is(err, nats.ErrTLS) &&
			(errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET))
	trustedCAs := "the system trusts"
	if o.CA != "" {
		trustedCAs = "is in " + o.CA
	}
	switch {
	case errors.As(err, &unknown):
		return errors.New("no CA that " + trustedCAs +
			" vouches for the server's certificate: name a file with the CA that does")
	case errors.As(err, &misnamed):
		return fmt.Errorf("the server's certificate is for another name: %v", misnamed)
	case errors.As(err, &invalid):
		return fmt.Errorf("the server's certificate is not valid: %v", invalid)
	case errors.As(err, &noTLS), errors.Is(err, nats.ErrSecureConnWanted):
		return errors.New("the server there has no TLS")
	case refusedByServer && o.Certificate == "":
		return fmt.Errorf("the server wants a client certificate: name one, and its key (%w)", err)
	case refusedByServer:
		return fmt.Errorf("the server does not take the client certificate in %s (%w)", o.Certificate, err)
	case errors.Is(err, nats.ErrAuthorization) && o.Credentials == "":
		return errors.New(
			"the server takes nobody without credentials, or none that it knows this client certificate by")
	case errors.Is(err, nats.ErrAuthorization):
		return fmt.Errorf("the server does not know the user in %s, or not with this password or key", o.Credentials)
	case errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked),
		errors.Is(err, nats.ErrAccountAuthExpired):
		return fmt.Errorf("the credentials in %s are not valid any more: %w", o.Credentials, err)
	case errors.Is(err, nats.ErrNoServers), errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("nothing answers there")
	}
	return err
}

// A permissionRefusal is what the servers did not let this process do. They report it by an error
// that belongs to no request, and the request gets no answer.
type permissionRefusal struct {
	operation, subject string // "publish" or "subscribe", and to what
	time               time.Time
}

var refusedPattern = regexp.MustCompile(`(Publish|Subscription) to "([^"]+)"`)

// refusalOf returns what an error of the client says was refused, or nil where it is about no
// permission. The client has that only in its text.
func refusalOf(err error) *permissionRefusal {
	m := refusedPattern.FindStringSubmatch(fmt.Sprint(err))
	if m == nil || !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	operation := "publish"
	if m[1] == "Subscription" {
		operation = "subscribe"
	}
	return &permissionRefusal{operation, m[2], time.Now()}
}

// noteAsyncError is the client's handler of errors that belong to no request. It keeps the newest
// refusal of a permission, for deniedError.
func (c *Cluster) noteAsyncError(_ *nats.Conn, _ *nats.Subscription, err error) {
	if r := refusalOf(err); r != nil {
		c.refused.Store(r)
	}
}

// deniedError returns the lastingError of a refused permission that kept an operation from
// succeeding, or nil if there is none. The operation began at began, and uses the given streams or
// subjects.
func (c *Cluster) deniedError(began time.Time, subjects ...string) error {
	r := c.refused.Load()
	if r == nil || r.time.Before(began) {
		return nil
	}
	for _, part := range append(subjects, "_INBOX.") {
		if strings.Contains(r.subject, part) {
			return lastingError{
				fmt.Errorf("this NATS user may not %s to %s: allow it that in its permissions at the servers",
					r.operation, r.subject)}
		}
	}
	return nil
}
