package auth_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/transports/auth"
)

var host = names{dns: []string{"localhost"}}

// serveTLS answers with who the peer is.
func serveTLS(t *testing.T, conf *tls.Config, who auth.Authenticator) string {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		principal, err := who(r)
		if errors.Is(err, auth.ErrNone) {
			principal = "nobody"
		} else if err != nil {
			principal = err.Error()
		}
		_, _ = io.WriteString(w, principal)
	}))
	srv.TLS = conf
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.URL
}

// newClient returns a client with this TLS, which ends with the test.
func newClient(t *testing.T, conf *tls.Config) *http.Client {
	tr := &http.Transport{TLSClientConfig: conf, ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// getBody returns the body at url, and what the connection was.
func getBody(t *testing.T, c *http.Client, url string) (string, *tls.ConnectionState, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	requireNoError(t, err)
	resp, err := c.Do(r)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	requireNoError(t, err)
	return string(b), resp.TLS, nil
}

// Who may come in at which version, and as whom. TR-015, TR-018, TR-019, SEC-016
func TestMutualTLS(t *testing.T) {
	servers, clients, strangers := newCA(t, "servers"), newCA(t, "clients"), newCA(t, "strangers")
	cert, key := servers.pairOf(t, host, x509.ExtKeyUsageServerAuth)
	conf, err := auth.ServerTLS(cert, key, clients.file, nil)
	requireNoError(t, err)
	url := serveTLS(t, conf, auth.ClientCertificate)
	ada := names{uris: []string{"spiffe://bank.example/ada"}}
	for _, tt := range []struct {
		name   string
		ca     *ca
		use    x509.ExtKeyUsage
		change func(*tls.Config)
		who    string // or:
		err    string
	}{
		{"no certificate", nil, 0, nil, "nobody", ""},
		{"a client", clients, x509.ExtKeyUsageClientAuth, nil, "spiffe://bank.example/ada", ""},
		{"a client, TLS 1.2", clients, x509.ExtKeyUsageClientAuth, func(c *tls.Config) {
			c.MaxVersion = tls.VersionTLS12
		}, "spiffe://bank.example/ada", ""},
		{"another authority's", strangers, x509.ExtKeyUsageClientAuth, nil, "", "Get"},
		{"the servers' own authority's", servers, x509.ExtKeyUsageClientAuth, nil, "", "Get"},
		{"a certificate for servers", clients, x509.ExtKeyUsageServerAuth, nil, "", "Get"},
		{"TLS 1.1", nil, 0, func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS10, tls.VersionTLS11 }, "",
			"protocol version"},
		{"another name", nil, 0, func(c *tls.Config) { c.ServerName = "bank.example" }, "", "not bank.example"},
	} {
		certFile, keyFile := "", ""
		if tt.ca != nil {
			certFile, keyFile = tt.ca.pairOf(t, ada, tt.use)
		}
		conf, err := auth.ClientTLS(servers.file, certFile, keyFile, nil)
		requireNoError(t, err)
		if tt.ca == strangers || tt.ca == servers { // a client that does not look what it is asked for
			pair, err := tls.LoadX509KeyPair(certFile, keyFile)
			requireNoError(t, err)
			conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				return &pair, nil
			}
		}
		if tt.change != nil {
			tt.change(conf)
		}
		who, state, err := getBody(t, newClient(t, conf), url)
		if who != tt.who || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v; want %q, %q", tt.name, who, err, tt.who, tt.err)
		}
		if want := uint16(tls.VersionTLS13); state != nil && tt.change == nil && state.Version != want {
			t.Errorf("%s: TLS %x, want 1.3 between two of ours", tt.name, state.Version)
		}
	}
	stranger, err := auth.ClientTLS(strangers.file, "", "", nil)
	requireNoError(t, err)
	if _, _, err := getBody(t, newClient(t, stranger), url); err == nil ||
		!strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a listener whose authority is not trusted: %v", err)
	}
	// A listener that trusts no client CAs does not ask.
	conf, err = auth.ServerTLS(cert, key, "", nil)
	requireNoError(t, err)
	certFile, keyFile := clients.pairOf(t, ada, x509.ExtKeyUsageClientAuth)
	mine, err := auth.ClientTLS(servers.file, certFile, keyFile, nil)
	requireNoError(t, err)
	if who, _, err := getBody(t, newClient(t, mine), serveTLS(t, conf, auth.ClientCertificate)); who != "nobody" {
		t.Errorf("without client CAs: %q, %v", who, err)
	}
}

// Certificates change under open connections, which go on; a pair that does not fit changes
// nothing. INV-43
func TestCertificateRotation(t *testing.T) {
	servers, clients, others := newCA(t, "servers"), newCA(t, "clients"), newCA(t, "others")
	journal := &journal{}
	certFile, keyFile := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	first := servers.renew(t, host, x509.ExtKeyUsageServerAuth, certFile, keyFile)
	caFile := newFile(t, "")
	writeCA := func(c *ca) { replaceFile(t, caFile, pemOf("CERTIFICATE", c.cert.Raw)) }
	writeCA(clients)
	conf, err := auth.ServerTLS(certFile, keyFile, caFile, journal.logger())
	requireNoError(t, err)
	url := serveTLS(t, conf, auth.ClientCertificate)

	ada := names{uris: []string{"spiffe://bank.example/ada"}}
	mineCert, mineKey := clients.pairOf(t, ada, x509.ExtKeyUsageClientAuth)
	mine, err := auth.ClientTLS(servers.file, mineCert, mineKey, nil)
	requireNoError(t, err)
	mine.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	open := newClient(t, mine)
	expect := func(what string, c *http.Client, want *x509.Certificate) {
		t.Helper()
		who, state, err := getBody(t, c, url)
		if err != nil || who != "spiffe://bank.example/ada" || !state.PeerCertificates[0].Equal(want) {
			t.Errorf("%s: %q, %v, or another certificate than expected", what, who, err)
		}
	}
	anew := func() *http.Client { c := mine.Clone(); c.ClientSessionCache = nil; return newClient(t, c) }
	expect("at first", open, first)
	certPEM, keyPEM, second := servers.sign(t, host, x509.ExtKeyUsageServerAuth)
	replaceFile(t, certFile, certPEM)
	expect("the new certificate with the old key", anew(), first)
	if strings.Count(journal.String(), "\n") != 1 || strings.Contains(journal.String(), "PRIVATE") {
		t.Errorf("the log has %q, want one line", journal)
	}
	replaceFile(t, keyFile, keyPEM)
	expect("both", anew(), second)
	expect("the open connection", open, first)
	// The client's certificate changes too, and stays the same principal's.
	clients.renew(t, ada, x509.ExtKeyUsageClientAuth, mineCert, mineKey)
	expect("a new client certificate", anew(), second)
	// An authority that is trusted no more: not with a session from before either.
	writeCA(others)
	for what, c := range map[string]*http.Client{"a new handshake": anew(), "a session from before": newClient(t, mine)} {
		if who, _, err := getBody(t, c, url); err == nil && who != "nobody" {
			t.Errorf("%s, by an authority that is gone: %q", what, who)
		}
	}
	expect("the open connection", open, first)
}

// A certificate that has expired is refused at the start, and takes no other's place later. One
// that expires in use is told, though not to each who comes, and so is that it was renewed.
func TestExpiredCertificate(t *testing.T) { synctest.Test(t, testExpiredCertificate) }

// testExpiredCertificate is TestExpiredCertificate in its bubble.
func testExpiredCertificate(t *testing.T) {
	authority := newCA(t, "CA")
	cert, key := authority.pairOf(t, names{dns: host.dns, lasts: -time.Minute}, x509.ExtKeyUsageServerAuth)
	if _, err := auth.ServerTLS(cert, key, "", nil); err == nil || !strings.Contains(err.Error(), cert+" expired on ") {
		t.Errorf("an expired certificate: %v", err)
	}
	authority.renew(t, names{dns: host.dns, lasts: time.Hour}, x509.ExtKeyUsageServerAuth, cert, key)
	var log journal
	conf, err := auth.ServerTLS(cert, key, "", log.logger())
	requireNoError(t, err)
	authority.renew(t, names{dns: host.dns, lasts: -time.Minute}, x509.ExtKeyUsageServerAuth, cert, key)
	expect := func(what string, lines ...string) {
		t.Helper()
		before := log.String()
		for range 3 { // who come
			_, err = conf.GetConfigForClient(nil)
			requireNoError(t, err)
		}
		told := strings.TrimPrefix(log.String(), before)
		if strings.Count(told, "\n") != len(lines) {
			t.Errorf("%s: the log got %q", what, told)
		}
		for _, line := range lines {
			if strings.Count(told, line) != 1 {
				t.Errorf("%s: the log got %q; want %q", what, told, line)
			}
		}
	}
	expect("one that has expired is put in its place", "a changed file is not used; ")
	time.Sleep(2 * time.Hour)
	expect("the one in use has expired", "nobody believes this certificate now")
	authority.renew(t, names{dns: host.dns, lasts: time.Hour}, x509.ExtKeyUsageServerAuth, cert, key)
	expect("it was renewed", "the changed files are used now", "the certificate that is served now is valid")
	time.Sleep(2 * time.Hour)
	expect("that one has expired", "nobody believes this certificate now")
	authority.renew(t, names{dns: host.dns, lasts: time.Hour}, x509.ExtKeyUsageServerAuth, cert, key)
	expect("it was renewed, too", "the certificate that is served now is valid")
}

// A certificate that is replaced seconds before its key is a warning in the log, once, and used
// with that; one that has no key for half a minute is an error, once. INV-37
func TestRenewedOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		authority := newCA(t, "CA")
		cert, key := authority.pairOf(t, host, x509.ExtKeyUsageServerAuth)
		var log journal
		conf, err := auth.ServerTLS(cert, key, "", log.logger())
		requireNoError(t, err)
		look := func(d time.Duration) (told string) {
			before := log.String()
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) { // who come
				_, err = conf.GetConfigForClient(nil)
				requireNoError(t, err)
			}
			return strings.TrimPrefix(log.String(), before)
		}
		nextCert, nextKey := authority.pairOf(t, host, x509.ExtKeyUsageServerAuth)
		requireNoError(t, os.Rename(nextCert, cert))
		if told := look(5 * time.Second); strings.Count(told, "\n") != 1 || !strings.Contains(told, "level=WARN") ||
			!strings.Contains(told, "a changed file is not used") {
			t.Errorf("until the key comes the log has %q", told)
		}
		requireNoError(t, os.Rename(nextKey, key))
		if told := look(5 * time.Second); strings.Count(told, "\n") != 1 || !strings.Contains(told, "the changed files are used now") {
			t.Errorf("then it has %q", told)
		}
		alone, _ := authority.pairOf(t, host, x509.ExtKeyUsageServerAuth)
		requireNoError(t, os.Rename(alone, cert))
		if told := look(29 * time.Second); strings.Contains(told, "ERROR") {
			t.Errorf("within half a minute it has %q", told)
		}
		if told := look(time.Minute); strings.Count(told, "\n") != 1 || !strings.Contains(told, "level=ERROR") {
			t.Errorf("after half a minute it has %q", told)
		}
	})
}

// Files that make no TLS are refused at once, and no key is in the error. INV-37
func TestTLSRefused(t *testing.T) {
	authority := newCA(t, "CA")
	cert, key := authority.pairOf(t, host, x509.ExtKeyUsageServerAuth)
	_, otherKey := authority.pairOf(t, host, x509.ExtKeyUsageServerAuth)
	empty, gone := newFile(t, ""), filepath.Join(t.TempDir(), "gone")
	secret, err := os.ReadFile(key)
	requireNoError(t, err)
	for what, files := range map[string][3]string{
		"no certificate": {gone, key, ""}, "no key": {cert, gone, ""}, "no CA": {cert, key, gone},
		"another's key":        {cert, otherKey, ""},
		"an empty certificate": {empty, key, ""}, "the other way round": {key, cert, ""},
		"an empty CA": {cert, key, empty}, "a key for a CA": {cert, key, key},
	} {
		_, err := auth.ServerTLS(files[0], files[1], files[2], nil)
		if err == nil || strings.Contains(err.Error(), string(secret[30:60])) {
			t.Errorf("ServerTLS with %s: %v", what, err)
		}
		if _, err := auth.ClientTLS(files[2], files[0], files[1], nil); err == nil {
			t.Errorf("ClientTLS with %s", what)
		}
	}
	for _, half := range [][2]string{{cert, ""}, {"", key}} {
		if _, err := auth.ClientTLS("", half[0], half[1], nil); err == nil {
			t.Error("ClientTLS with half a pair")
		}
	}
}

// TestServerTLSWithoutFiles checks that the error says which files are missing.
func TestServerTLSWithoutFiles(t *testing.T) {
	for _, files := range [][2]string{{"", ""}, {"agent.pem", ""}, {"", "agent.key"}} {
		if _, err := auth.ServerTLS(files[0], files[1], "", nil); err == nil ||
			!strings.Contains(err.Error(), "the file of a certificate and that of its key") {
			t.Errorf("%q: %v", files, err)
		}
	}
}
