package grpc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/auth"
	"github.com/aaep-go/aaep/transports/transporttest"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority returns a new authority, and a pool with its certificate.
func newAuthority(t *testing.T) (authority, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := authority{&x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		NotAfter: time.Now().Add(time.Hour)}, key}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	return a, pool
}

// sign returns a certificate of this name for 127.0.0.1.
func (a authority) sign(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader,
		&x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour)}, a.cert,
		&key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// certificateName names the peer by its certificate, and wants TLS 1.3 of those who can.
func certificateName(r *http.Request) (string, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return "", errors.New("no certificate")
	}
	if r.TLS.Version != tls.VersionTLS13 {
		return "", aaep.AuthorizationDenied
	}
	return r.TLS.PeerCertificates[0].Subject.CommonName, nil
}

// GRPC-004, TR-015, TR-018, TR-019: over TLS, 1.3 between two of ours, the certificate says who the
// peer is.
func TestSuiteTLS(t *testing.T) {
	ca, roots := newAuthority(t)
	serving := credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{ca.sign(t, "server")}, ClientCAs: roots,
		ClientAuth: tls.VerifyClientCertIfGiven})
	transporttest.Run(t, func(t *testing.T) transporttest.Link {
		l := link(t, NewServer(ServerOptions{Authenticate: certificateName}), Dialer{TLS: &tls.Config{RootCAs: roots,
			Certificates: []tls.Certificate{ca.sign(t, "ada")}}}, rpc.Creds(serving))
		l.Principal = "ada"
		return l
	})
}

// GRPC-004, TR-018: no TLS below 1.2, no certificate of a stranger, in either direction.
func TestRefusedTLS(t *testing.T) {
	ca, roots := newAuthority(t)
	stranger, _ := newAuthority(t)
	for name, tc := range map[string]struct {
		server, client *tls.Config
		says           string
	}{
		"TLS 1.1": {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
			&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10}, "protocol version"},
		"unknown server": {&tls.Config{}, &tls.Config{}, "certificate"},
		"another name":   {&tls.Config{}, &tls.Config{RootCAs: roots, ServerName: "agent.example"}, "agent.example"},
		"unknown client": {&tls.Config{ClientAuth: tls.RequireAndVerifyClientCert},
			&tls.Config{RootCAs: roots, Certificates: []tls.Certificate{stranger.sign(t, "ada")}}, "Unavailable"},
		"nameless client": {&tls.Config{}, &tls.Config{RootCAs: roots}, string(aaep.AuthenticationRequired)},
		"client below 1.3": {&tls.Config{},
			&tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS12,
				Certificates: []tls.Certificate{ca.sign(t, "ada")}}, string(aaep.AuthorizationDenied)},
	} {
		tc.server.Certificates, tc.server.ClientCAs = []tls.Certificate{ca.sign(t, "server")}, roots
		if tc.server.ClientAuth == 0 {
			tc.server.ClientAuth = tls.VerifyClientCertIfGiven
		}
		addr, conns := acceptAll(t, ServerOptions{Authenticate: certificateName}, rpc.Creds(credentials.NewTLS(tc.server)))
		c, err := Dialer{Target: addr, TLS: tc.client}.Dial(t.Context())
		if err == nil {
			_, err = receiveSoon(t, c)
			c.Close()
		}
		var refused *aaep.Rejection
		if err == nil || !strings.Contains(err.Error(), tc.says) &&
			!(errors.As(err, &refused) && string(refused.Code) == tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
		if len(conns) > 0 {
			t.Errorf("%s: it was accepted", name)
		}
	}
}

// The certificate of auth.ServerTLS is renewed while it serves: who comes gets the new one, and who
// is there stays. One that does not fit its key changes nothing. TR-018
func TestRenewedTLS(t *testing.T) {
	ca, roots := newAuthority(t)
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "agent.pem"), filepath.Join(dir, "agent.key")
	put := func(path, kind string, der []byte) {
		t.Helper()
		if err := os.WriteFile(path+".new", pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	renew := func(c tls.Certificate) {
		t.Helper()
		der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		put(cert, "CERTIFICATE", c.Certificate[0])
		put(key, "PRIVATE KEY", der)
	}
	renew(ca.sign(t, "first"))
	conf, err := auth.ServerTLS(cert, key, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	addr, conns := acceptAll(t, ServerOptions{Authenticate: func(*http.Request) (string, error) { return "ada", nil }},
		rpc.Creds(credentials.NewTLS(conf)))
	come := func(want string) (a, b transports.Conn) {
		t.Helper()
		shown := ""
		a, err := Dialer{Target: addr,
			TLS: &tls.Config{RootCAs: roots, VerifyConnection: func(s tls.ConnectionState) error {
				shown = s.PeerCertificates[0].Subject.CommonName
				return nil
			}}}.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		b = <-conns
		t.Cleanup(func() { b.Close() })
		if shown != want {
			t.Errorf("the certificate is %s, want %s", shown, want)
		}
		return a, b
	}
	a, b := come("first")
	renew(ca.sign(t, "second"))
	come("second")
	put(cert, "CERTIFICATE", ca.sign(t, "third").Certificate[0])
	come("second")
	if err := b.Send(t.Context(), []byte(`{}`)); err != nil {
		t.Error(err)
	}
	if got, err := receiveSoon(t, a); err != nil || string(got) != `{}` {
		t.Errorf("who was there: %s, %v", got, err)
	}
}

// GRPC-004, TR-016: nothing is sent in clear to another machine, a token least of all; what is no
// address is one clear error.
func TestDialErrors(t *testing.T) {
	for target, says := range map[string]string{
		"agent.example:443":       "set TLS",
		"192.0.2.1:443":           "set TLS",
		"[2001:db8::1]:443":       "set TLS",
		"localhost.example.org:1": "set TLS",
		"agent.example":           "not an address",
		"":                        "not an address",
		":443":                    "not an address",
		"agent.example:":          "not an address",
		"dns:///agent.example:1":  "not an address",
		"127.0.0.1:1":             "refused",
		"[::1]:1":                 "[::1]:1",
		"unix:/nowhere/s":         "/nowhere/s",
	} {
		if _, err := (Dialer{Target: target, Credentials: auth.Bearer("secret")}).Dial(t.Context()); err == nil ||
			!strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", target, err, says)
		}
	}
}

// Dial ends with its context, also against a peer that accepts and says nothing; the Conn outlives
// it.
func TestDialContext(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // it knocks: the dial is under way
		c, err := ln.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		cancel()
		defer c.Close()
		<-t.Context().Done()
	}()
	// With TLS the handshake waits for the peer.
	if _, err := (Dialer{Target: ln.Addr().String(), TLS: &tls.Config{}}).Dial(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Dial = %v, want context.Canceled", err)
	}
	addr, conns := acceptAll(t, ServerOptions{})
	ctx, cancel = context.WithCancel(t.Context())
	a, err := Dialer{Target: addr}.Dial(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	cancel()
	b := <-conns
	defer b.Close()
	if err := b.Send(t.Context(), []byte(`{}`)); err != nil {
		t.Error(err)
	}
	if got, err := receiveSoon(t, a); err != nil || string(got) != `{}` {
		t.Errorf("after Dial's context has ended: %s, %v", got, err)
	}
}
