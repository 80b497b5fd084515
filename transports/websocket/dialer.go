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

// Dial connects and agrees on the subprotocol. The error is an *aaep.Rejection where the producer
// wants other credentials.
func (d Dialer) Dial(ctx context.Context) (transports.Conn, error) {
	u, err := url.Parse(d.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss":
		// which may hold a password
		return nil, errors.New("websocket: Dialer.URL is not an address such as ws://127.0.0.1:8080")
	case u.User != nil || u.Fragment != "":
		return nil,
			errors.New("websocket: an address holds no credentials and no fragment; credentials go into Credentials")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = DefaultPath
	}
	if u.Scheme == "ws" && !httpguard.LoopbackName(u.Hostname()) {
		return nil, errkind.NotEncrypted.Mark(fmt.Errorf("websocket: %s is not this machine and ws is not encrypted; use wss", u.Host))
	}
	header := d.Header.Clone()
	if d.Credentials != nil {
		given, err := d.Credentials(ctx)
		if err != nil {
			return nil, fmt.Errorf("websocket: no credentials: %w", err)
		}
		if header == nil {
			header = http.Header{}
		}
		for name, values := range given {
			header[http.CanonicalHeaderKey(name)] = values
		}
	}
	conf := d.TLS
	if conf == nil {
		conf = &tls.Config{}
	}
	conf = conf.Clone()
	conf.MinVersion = max(conf.MinVersion, tls.VersionTLS12) // TR-018
	conf.NextProtos = []string{"http/1.1"}                   // whatever else the configuration is shared with
	dialer := gorilla.Dialer{Subprotocols: []string{Subprotocol}, HandshakeTimeout: writeTimeout, TLSClientConfig: conf}
	if !httpguard.LoopbackName(u.Hostname()) { // never a proxy for what does not leave this machine
		dialer.Proxy = http.ProxyFromEnvironment
	}
	ws, resp, err := dialer.DialContext(ctx, u.String(), header)
	if err != nil {
		if resp == nil {
			return nil, fmt.Errorf("websocket: %w", err)
		}
		said, _ := io.ReadAll(resp.Body) // gorilla/websocket keeps 1024 bytes of it
		status := "status " + resp.Status
		if text := strings.TrimSpace(aaep.SafeText(string(said[:min(len(said), 300)]))); text != "" {
			status += ": " + text
		}
		if code := credentials.Reason(resp.StatusCode); code != "" {
			seconds, _ := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31) // or a date, or nothing
			return nil,
				&aaep.Rejection{Code: code, Message: status, Remote: true,
					RetryAfter: time.Duration(seconds) * time.Second}
		}
		return nil, errkind.MarkStatus(resp.StatusCode, fmt.Errorf("websocket: %w: %s", err, status))
	}
	if got := ws.Subprotocol(); got != Subprotocol {
		ws.Close()
		violation.ReporterOf(ctx).Report("WS-002",
			fmt.Sprintf("the subprotocol %q is selected, not %s", got, Subprotocol))
		return nil, fmt.Errorf("websocket: the peer speaks the subprotocol %q, want %s", got, Subprotocol)
	}
	f := newFrames(ws, false, io.ReadAll)
	f.violations = violation.ReporterOf(ctx)
	return duplex.New(f, ""), nil
}
