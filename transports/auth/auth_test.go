package auth_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports/auth"
)

// The first that finds credentials of its kind decides, for good and for bad.
func TestAny(t *testing.T) {
	var asked []string
	says := func(name, principal string, err error) auth.Authenticator {
		return func(*http.Request) (string, error) { asked = append(asked, name); return principal, err }
	}
	bad, none := errors.New("bad"), fmt.Errorf("wrapped: %w", auth.ErrNone)
	for _, tt := range []struct {
		name      string
		each      []auth.Authenticator
		principal string
		err       error
		asked     string
	}{
		{"nobody to ask", nil, "", auth.ErrNone, ""},
		{"the first knows", []auth.Authenticator{says("a", "ada", nil), says("b", "bob", nil)}, "ada", nil, "a"},
		{"the second knows", []auth.Authenticator{says("a", "", none), says("b", "bob", nil)}, "bob", nil, "ab"},
		{"bad ones do not fall through", []auth.Authenticator{says("a", "", bad), says("b", "bob", nil)}, "", bad, "a"},
		{"nor do those that do not suffice",
			[]auth.Authenticator{says("a", "", aaep.AuthorizationDenied), says("b", "bob", nil)}, "",
			aaep.AuthorizationDenied, "a"},
		{"no kind", []auth.Authenticator{says("a", "", none), says("b", "", none)}, "", auth.ErrNone, "ab"},
	} {
		asked = nil
		got, err := auth.Any(tt.each...)(nil)
		if got != tt.principal || !errors.Is(err, tt.err) || strings.Join(asked, "") != tt.asked {
			t.Errorf("%s: %q, %v, asked %v", tt.name, got, err, asked)
		}
	}
	if _, err := auth.Any(says("a", "", nil))(nil); err == nil {
		t.Error("nobody was let in as nobody")
	}
}

// The name is in a certificate that was verified, once, and still good. TR-015, SEC-016, INV-43
func TestClientCertificate(t *testing.T) {
	authority := newCA(t, "CA")
	many := strings.Repeat("a", 60) + "."
	for _, tt := range []struct {
		name string
		cert names
		want string
	}{
		{"SPIFFE", names{uris: []string{"spiffe://bank.example/reader/1"}}, "spiffe://bank.example/reader/1"},
		{"SPIFFE and its host",
			names{uris: []string{"spiffe://bank.example/reader/1"}, dns: []string{"a.example", "b.example"}},
			"spiffe://bank.example/reader/1"},
		{"DNS", names{dns: []string{"reader.example"}}, "dns:reader.example"},
		{"e-mail", names{emails: []string{"ada@bank.example"}}, "email:ada@bank.example"},
		{"only a common name", names{common: "ada"}, ""},
		{"two URIs", names{uris: []string{"spiffe://bank.example/a", "spiffe://bank.example/b"}}, ""},
		{"another URI", names{uris: []string{"https://login.example#ada"}}, ""},
		{"another URI and a host", names{uris: []string{"urn:x"}, dns: []string{"reader.example"}}, ""},
		{"no trust domain", names{uris: []string{"spiffe:///reader"}}, ""},
		{"two hosts", names{dns: []string{"a.example", "b.example"}}, ""},
		{"two addresses", names{emails: []string{"a@bank.example", "b@bank.example"}}, ""},
		{"a host and an address", names{dns: []string{"a.example"}, emails: []string{"a@bank.example"}}, ""},
		{"a long name", names{dns: []string{strings.Repeat(many, 10) + "example"}}, ""},
		{"a space", names{emails: []string{"ada bob@bank.example"}}, ""},
		{"expired meanwhile", names{dns: []string{"reader.example"}, lasts: -time.Minute}, ""},
	} {
		_, _, cert := authority.sign(t, tt.cert, x509.ExtKeyUsageClientAuth)
		seen := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert},
			VerifiedChains: [][]*x509.Certificate{{cert, authority.cert}}}
		got, err := auth.ClientCertificate(&http.Request{TLS: seen})
		if got != tt.want || (err == nil) != (tt.want != "") || errors.Is(err, auth.ErrNone) {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
		seen.VerifiedChains = nil
		if got, err := auth.ClientCertificate(&http.Request{TLS: seen}); err == nil ||
			!strings.Contains(err.Error(), "nobody has verified") {
			t.Errorf("%s, not verified: %q, %v", tt.name, got, err)
		}
	}
	for _, none := range []*tls.ConnectionState{nil, {}} {
		if got, err := auth.ClientCertificate(&http.Request{TLS: none}); !errors.Is(err, auth.ErrNone) {
			t.Errorf("without a certificate: %q, %v", got, err)
		}
	}
	// One chain of two has run out: the other is enough.
	_, _, cert := authority.sign(t, names{dns: []string{"reader.example"}}, x509.ExtKeyUsageClientAuth)
	old := *authority.cert
	old.NotAfter = time.Now().Add(-time.Minute)
	seen := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert},
		VerifiedChains: [][]*x509.Certificate{{cert, &old}, {cert, authority.cert}}}
	if got, err := auth.ClientCertificate(&http.Request{TLS: seen}); got != "dns:reader.example" {
		t.Errorf("%q, %v; want the chain that is still good to count", got, err)
	}
	seen.VerifiedChains = seen.VerifiedChains[:1]
	if got, err := auth.ClientCertificate(&http.Request{TLS: seen}); err == nil {
		t.Errorf("%q, by an authority that has run out", got)
	}
}
