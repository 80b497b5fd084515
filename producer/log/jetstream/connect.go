package jetstream

import (
	"bytes"
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

// connectTo connects to one of the servers.
func (c *Cluster) connectTo(servers string) (err error) {
	how := []nats.Option{nats.Name("aaep " + c.opts.Node), nats.Timeout(connectTime), nats.MaxReconnects(-1),
		nats.ReconnectWait(pause),
		// so a dead server is noticed before another can lead
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2),
		// what is sent without a connection fails, and is tried again by its sender
		nats.ReconnectBufSize(-1),
		nats.IgnoreAuthErrorAbort(),         // a user who is refused may have new credentials in a moment
		nats.ErrorHandler(c.noteAsyncError)} // or it is written to the standard error
	if c.opts.CA != "" {
		how = append(how, nats.RootCAs(c.opts.CA))
	}
	if c.opts.Certificate != "" || c.opts.Key != "" {
		how = append(how, nats.ClientCert(c.opts.Certificate, c.opts.Key))
	}
	open, err := isUnprotected(servers)
	if err == nil && c.opts.Credentials != "" {
		var who nats.Option
		who, err = userOption(c.opts.Credentials, open)
		how = append(how, who)
	}
	if err != nil {
		return err
	}
	if c.nc, err = nats.Connect(servers, how...); err != nil {
		return errkind.Unreachable.Mark(fmt.Errorf("cannot reach NATS at %s: %w", servers, c.opts.connectError(err)))
	}
	return nil
}

// isUnprotected reports whether one of the servers is on another machine and may be talked to
// without TLS.
func isUnprotected(servers string) (open bool, err error) {
	for at := range strings.SplitSeq(servers, ",") {
		at = strings.TrimSpace(at)
		if !strings.Contains(at, "://") {
			at = "nats://" + at
		}
		u, err := url.Parse(at)
		switch {
		case err != nil || u.Hostname() == "":
			// it may hold a password
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
		open = open || u.Scheme != "tls" && u.Scheme != "wss" && u.Hostname() != "localhost" &&
			!(ip != nil && ip.IsLoopback())
	}
	return open, nil
}

// userOption says who this process is, from a file of one of three kinds.
func userOption(path string, open bool) (nats.Option, error) {
	data, err := credentials.ReadPrivate(path)
	if err != nil {
		return nil, err
	}
	text := string(bytes.TrimSpace(data))
	name, password, found := strings.Cut(text, ":")
	switch {
	case strings.Contains(text, "BEGIN NATS USER JWT"):
		return nats.UserCredentials(path), nil
	case strings.HasPrefix(text, "SU") && !found, strings.Contains(text, "BEGIN USER NKEY SEED"):
		return nats.NkeyOptionFromSeed(path)
	case !found || name == "" || password == "" || strings.ContainsAny(text, "\r\n"):
		return nil,
			fmt.Errorf(
				"%s is not the credentials of a NATS user: neither a .creds file, nor the seed of a user's nkey, "+
					"nor one line USER:PASSWORD", path)
	case open:
		return nil,
			fmt.Errorf(
				"the password in %s could be read on its way: begin the addresses of the NATS servers with tls://",
				path)
	}
	return nats.UserInfoHandler(func() (string, string) { // it is read again for every connection
		if again, err := credentials.ReadPrivate(path); err == nil {
			name, password, _ = strings.Cut(string(bytes.TrimSpace(again)), ":")
		}
		return name, password
	}), nil
}

// connectError says in words why there is no connection.
func (o *Options) connectError(err error) error {
	var unknown x509.UnknownAuthorityError
	var misnamed x509.HostnameError
	var invalid x509.CertificateInvalidError
	var told *net.OpError
	var noTLS tls.RecordHeaderError
	putOut := errors.As(err, &told) && told.Op == "remote error" || // or the words of it came too late
		errors.Is(err, nats.ErrTLS) &&
			(errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET))
	by := "the system trusts"
	if o.CA != "" {
		by = "is in " + o.CA
	}
	switch {
	case errors.As(err, &unknown):
		return errors.New("no CA that " + by +
			" vouches for the server's certificate: name a file with the CA that does")
	case errors.As(err, &misnamed):
		return fmt.Errorf("the server's certificate is for another name: %v", misnamed)
	case errors.As(err, &invalid):
		return fmt.Errorf("the server's certificate is not valid: %v", invalid)
	case errors.As(err, &noTLS), errors.Is(err, nats.ErrSecureConnWanted):
		return errors.New("the server there has no TLS")
	case putOut && o.Certificate == "":
		return fmt.Errorf("the server wants a client certificate: name one, and its key (%w)", err)
	case putOut:
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

// A permissionRefusal is what the servers did not let this process do. They say so on the side, and
// give no answer.
type permissionRefusal struct {
	what, subject string
	at            time.Time
}

var refusedPattern = regexp.MustCompile(`(Publish|Subscription) to "([^"]+)"`)

// noteAsyncError notes what the servers report beside their answers.
func (c *Cluster) noteAsyncError(_ *nats.Conn, _ *nats.Subscription, err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	if m := refusedPattern.FindStringSubmatch(err.Error()); m != nil {
		what := "publish"
		if m[1] == "Subscription" {
			what = "subscribe"
		}
		c.refused.Store(&permissionRefusal{what, m[2], time.Now()})
	}
}

// deniedError returns the refusal, if there was one, because of which an operation that began at
// since and is about certain streams or subjects did not succeed.
func (c *Cluster) deniedError(since time.Time, about ...string) error {
	r := c.refused.Load()
	if r == nil || r.at.Before(since) {
		return nil
	}
	for _, part := range append(about, "_INBOX.") {
		if strings.Contains(r.subject, part) {
			return lastingError{
				fmt.Errorf("this NATS user may not %s to %s: allow it that in its permissions at the servers", r.what,
					r.subject)}
		}
	}
	return nil
}
