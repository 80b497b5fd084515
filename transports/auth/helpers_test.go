package auth_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	tokenA = "5f1c0b6e9a7d43f2b8e1c05d6a94f37e"
	tokenB = "a07Kx2-Lq9_Zr4TtWm1VbYc8"
	tokenC = "e3d1f7a2b5c80946917f2c6b4d8e0a15"
)

// requireNoError ends the test if err is not nil.
func requireNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// requestWith makes a request with these Authorization headers.
func requestWith(values ...string) *http.Request {
	return &http.Request{Header: http.Header{"Authorization": values}}
}

// replaceFile puts a file in the place of another, as those who rotate credentials do.
func replaceFile(t *testing.T, path string, text []byte) {
	t.Helper()
	requireNoError(t, os.WriteFile(path+".new", text, 0o600))
	requireNoError(t, os.Rename(path+".new", path))
}

// newFile returns the path of a new file with this text.
func newFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	replaceFile(t, path, []byte(text))
	return path
}

// journal is a log that tests can read.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends p.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

// String returns what was logged so far.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// logger returns a logger of every level that writes to j.
func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// ca signs certificates.
type ca struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

// newCA returns a new authority, whose certificate is in file.
func newCA(t *testing.T, name string) *ca {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	requireNoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	requireNoError(t, err)
	cert, err := x509.ParseCertificate(der)
	requireNoError(t, err)
	return &ca{cert, key, newFile(t, string(pemOf("CERTIFICATE", der)))}
}

// names are the alternative names of a certificate.
type names struct {
	uris, dns, emails []string
	common            string
	lasts             time.Duration // an hour if zero
}

// sign returns a new certificate for these names and its key, also as PEM.
func (c *ca) sign(t *testing.T, n names, use x509.ExtKeyUsage) (certPEM, keyPEM []byte, cert *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	requireNoError(t, err)
	if n.lasts == 0 {
		n.lasts = time.Hour
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:   pkix.Name{CommonName: n.common},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(n.lasts), ExtKeyUsage: []x509.ExtKeyUsage{use},
		DNSNames: n.dns, EmailAddresses: n.emails, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	for _, s := range n.uris {
		u, err := url.Parse(s)
		requireNoError(t, err)
		template.URIs = append(template.URIs, u)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, c.cert, key.Public(), c.key)
	requireNoError(t, err)
	cert, err = x509.ParseCertificate(der)
	requireNoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	requireNoError(t, err)
	return pemOf("CERTIFICATE", der), pemOf("PRIVATE KEY", keyDER), cert
}

// pemOf returns der as PEM of this kind.
func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// pairOf writes a new certificate and its key to files.
func (c *ca) pairOf(t *testing.T, n names, use x509.ExtKeyUsage) (certFile, keyFile string) {
	t.Helper()
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	c.renew(t, n, use, certFile, keyFile)
	return certFile, keyFile
}

// renew puts a new certificate and its key in the place of those in the files.
func (c *ca) renew(t *testing.T, n names, use x509.ExtKeyUsage, certFile, keyFile string) *x509.Certificate {
	t.Helper()
	certPEM, keyPEM, cert := c.sign(t, n, use)
	replaceFile(t, certFile, certPEM)
	replaceFile(t, keyFile, keyPEM)
	return cert
}
