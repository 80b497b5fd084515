package natstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Certificates writes a CA and what it signed for servers on this machine and for a client, and
// returns the folder: ca.pem, server.pem, server.key, client.pem and client.key.
func Certificates(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, kind string, der []byte, err error) {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	newKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	ca, caKey := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: dir}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, newKey()
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	write("ca.pem", "CERTIFICATE", der, err)
	for name, use := range map[string]x509.ExtKeyUsage{"server": x509.ExtKeyUsageServerAuth, "client": x509.ExtKeyUsageClientAuth} {
		key := newKey()
		cert := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{use}}
		der, err := x509.CreateCertificate(rand.Reader, cert, ca, key.Public(), caKey)
		write(name+".pem", "CERTIFICATE", der, err)
		der, err = x509.MarshalECPrivateKey(key)
		write(name+".key", "EC PRIVATE KEY", der, err)
	}
	return dir
}
