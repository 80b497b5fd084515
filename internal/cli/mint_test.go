package cli

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
	"time"

	"github.com/aaep-go/aaep/internal/cli/clitest"
)

// mint writes a CA and what it signed for an agent on this machine and for a listener: ca.pem,
// agent.pem, agent.key, ada.pem and ada.key; and wild.pem and wild.key, for many agents.
func mint() {
	write := func(name, kind string, der []byte) {
		file := clitest.Must(os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600))
		if err := pem.Encode(file, &pem.Block{Type: kind, Bytes: der}); err != nil {
			panic(err)
		}
		file.Close()
	}
	caKey := clitest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotAfter: time.Now().Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	write("ca.pem", "CERTIFICATE", clitest.Must(x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)))
	for n, c := range []struct {
		file string
		cert x509.Certificate
	}{
		{"agent", x509.Certificate{DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}},
		{"wild", x509.Certificate{DNSNames: []string{"*.agents.example"},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}},
		{"ada", x509.Certificate{EmailAddresses: []string{"ada@reader.example"},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}},
	} {
		key := clitest.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
		c.cert.SerialNumber, c.cert.NotAfter = big.NewInt(int64(n)+2), time.Now().Add(time.Hour)
		write(c.file+".pem", "CERTIFICATE", clitest.Must(x509.CreateCertificate(rand.Reader, &c.cert, ca, key.Public(), caKey)))
		write(c.file+".key", "EC PRIVATE KEY", clitest.Must(x509.MarshalECPrivateKey(key)))
	}
}
