package websocket

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aaep-go/aaep/transports"
)

// Each Dial has the credentials of its moment, in the place of fixed ones, and they leave this
// machine encrypted or not at all. TR-015, TR-018, INV-49
func TestDialCredentials(t *testing.T) {
	addr, conns := acceptAll(t, ServerOptions{Authenticate: bearerName})
	names := []string{"ada", "grace"}
	asked := 0
	d := Dialer{URL: "ws://" + addr, Header: http.Header{"Authorization": {"Bearer fixed"}},
		Credentials: func(context.Context) (http.Header, error) {
			asked++
			if asked > len(names) {
				return nil, errors.New("the file is gone")
			}
			return http.Header{"authorization": {"Bearer " + names[asked-1]}}, nil
		}}
	for _, name := range names {
		c, err := d.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		server := <-conns
		if got := server.(transports.Identified).Principal(); got != name {
			t.Errorf("the peer is %q, want %q", got, name)
		}
		c.Close()
		server.Close()
	}
	if _, err := d.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "the file is gone") {
		t.Errorf("Dial = %v, want why there are no credentials", err)
	}
	d.URL, d.Header = "ws://agent.example", nil
	if _, err := d.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "wss") || asked != 3 {
		t.Errorf("credentials in clear: %v, asked %d times", err, asked)
	}
	if _, err := (Dialer{URL: "http://ada:secret@agent.example"}).Dial(t.Context()); err == nil ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("the password is in %v", err)
	}
}

// A configuration may be shared with others; what it says below TLS 1.2 does not count. TR-018
func TestDialTLS(t *testing.T) {
	s := NewServer(ServerOptions{Authenticate: bearerName})
	srv := httptest.NewUnstartedServer(s)
	srv.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	srv.Config.ErrorLog = quiet
	srv.StartTLS()
	defer srv.Close()
	conf := srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	conf.MinVersion, conf.NextProtos = tls.VersionTLS10, []string{"h2", "http/1.1"}
	d := Dialer{URL: "wss" + strings.TrimPrefix(srv.URL, "https"), TLS: conf,
		Header: http.Header{"Authorization": {"Bearer ada"}}}
	if c, err := d.Dial(t.Context()); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("TLS 1.1: %v, %v", c, err)
	}
	modern := httptest.NewUnstartedServer(s)
	modern.EnableHTTP2 = true
	modern.StartTLS()
	defer modern.Close()
	conf.RootCAs = modern.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	d.URL = "wss" + strings.TrimPrefix(modern.URL, "https")
	c, err := d.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	s.Close()
}
