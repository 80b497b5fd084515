package websocket

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	gorilla "github.com/gorilla/websocket"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/internal/duplex"
	"github.com/aaep-go/aaep/internal/errkind"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/violation"
	"github.com/aaep-go/aaep/transports"
)

// Dialer reaches a producer.
type Dialer struct {
	// URL is the producer's address, "ws://127.0.0.1:8080" or "wss://agent.example/aaep/v1/ws".
	// Without a path, DefaultPath is used. Ws without encryption is for this machine only.
	URL string
	// Header is sent with the request.
	Header http.Header
	// Credentials are asked for at each Dial and go with the request, in the place of what Header
	// has under the same names: auth.BearerFile makes one, for example. They go to the host of URL
	// only, by wss or on this machine. An error ends Dial. Credentials is called by as many
	// goroutines at once as Dial is.
	Credentials func(context.Context) (http.Header, error)
	// TLS is for wss. If nil, the system's roots are trusted. Versions below 1.2 are not spoken.
	TLS *tls.Config
}

// Dial connects and agrees on the subprotocol, which must be the one of AAEP; ctx bounds it. The
// error is an *aaep.Rejection where the producer wants other credentials, and else says that the
// URL, the credentials or the link is at fault.
func (d Dialer) Dial(ctx context.Context) (transports.Conn, error) {
	u, err := d.address()
	if err != nil {
		return nil, err
	}
	header, err := d.requestHeader(ctx)
	if err != nil {
		return nil, err
	}
	conf := d.TLS
	if conf == nil {
		conf = &tls.Config{}
	}
	conf = conf.Clone()
	conf.MinVersion = max(conf.MinVersion, tls.VersionTLS12) // TR-018
	conf.NextProtos = []string{"http/1.1"}                   // a shared configuration may name others
	dialer := gorilla.Dialer{Subprotocols: []string{Subprotocol}, HandshakeTimeout: writeTimeout, TLSClientConfig: conf}
	if !httpguard.LoopbackName(u.Hostname()) { // no proxy for this machine
		dialer.Proxy = http.ProxyFromEnvironment
	}
	ws, resp, err := dialer.DialContext(ctx, u.String(), header)
	if err != nil {
		return nil, dialError(resp, err)
	}
	if selected := ws.Subprotocol(); selected != Subprotocol {
		ws.Close()
		violation.ReporterOf(ctx).Report("WS-002",
			fmt.Sprintf("the subprotocol %q is selected, not %s", selected, Subprotocol))
		return nil, fmt.Errorf("websocket: the peer speaks the subprotocol %q, want %s", selected, Subprotocol)
	}
	f := newFrames(ws, false, io.ReadAll)
	f.violations = violation.ReporterOf(ctx)
	return duplex.New(f, ""), nil
}

// address returns the checked URL, with DefaultPath where it has no path. It refuses credentials
// and a fragment in it, and ws to another machine. Its errors leave out the URL, which may hold a
// password.
func (d Dialer) address() (*url.URL, error) {
	u, err := url.Parse(d.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss":
		return nil, errors.New("websocket: Dialer.URL is not an address such as ws://127.0.0.1:8080")
	case u.User != nil || u.Fragment != "":
		return nil,
			errors.New("websocket: an address holds no credentials and no fragment; credentials go into Credentials")
	case u.Scheme == "ws" && !httpguard.LoopbackName(u.Hostname()):
		return nil, errkind.NotEncrypted.Mark(
			fmt.Errorf("websocket: %s is not this machine and ws is not encrypted; use wss", u.Host))
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = DefaultPath
	}
	return u, nil
}

// requestHeader returns the headers of the handshake: Header, with what Credentials returns in the
// place of the same names. The error is that of Credentials.
func (d Dialer) requestHeader(ctx context.Context) (http.Header, error) {
	header := d.Header.Clone()
	if d.Credentials == nil {
		return header, nil
	}
	credentials, err := d.Credentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("websocket: no credentials: %w", err)
	}
	if header == nil {
		header = http.Header{}
	}
	for name, values := range credentials {
		header[http.CanonicalHeaderKey(name)] = values
	}
	return header, nil
}

// dialError returns the error of a connection that was not upgraded. resp is the response that
// refused it, or nil, and err the error of gorilla. A status that stands for a reason to reject is
// an *aaep.Rejection.
func dialError(resp *http.Response, err error) error {
	if resp == nil {
		return fmt.Errorf("websocket: %w", err)
	}
	body, _ := io.ReadAll(resp.Body) // gorilla keeps 1024 bytes of it
	status := "status " + resp.Status
	if text := strings.TrimSpace(aaep.SafeText(string(body[:min(len(body), 300)]))); text != "" {
		status += ": " + text
	}
	if code := credentials.Reason(resp.StatusCode); code != "" {
		seconds, _ := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31) // 0 for a date, or none
		return &aaep.Rejection{Code: code, Message: status, Remote: true,
			RetryAfter: time.Duration(seconds) * time.Second}
	}
	return errkind.MarkStatus(resp.StatusCode, fmt.Errorf("websocket: %w: %s", err, status))
}
