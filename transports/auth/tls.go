package auth

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/aaep-go/aaep/internal/credentials"
)

// ServerTLS makes the TLS of a listener from a certificate and its key in PEM: version 1.2 or
// better (§8.2.8), HTTP/2 or HTTP/1.1. With a file of client CAs, clients that show a certificate
// of theirs are known to ClientCertificate, and any other certificate ends the handshake; a client
// that shows none is let through to the Authenticator. With an empty clientCAFile no client is
// asked for one.
//
// The files are looked at with each handshake and read again when they have changed; connections
// that are open stay open. If the files do not fit each other, what was read before stays in force
// and log is told, first as a warning, for one may be replaced before the other, and as an error
// where that lasts for 30 seconds; log may be nil. A certificate that has expired is an error at
// first, and takes the place of none later. Of one that expires in use, or is not valid yet, log is
// told when it is read and when a peer connects, at most once an hour, and then once that a valid
// one is served.
func ServerTLS(certFile, keyFile, clientCAFile string, log *slog.Logger) (*tls.Config, error) {
	if certFile == "" || keyFile == "" {
		return nil, errors.New("auth: TLS needs the file of a certificate and that of its key; name both")
	}
	source, err := credentials.NewSource(log, credentials.ReadFile, func(contents [][]byte) (*tls.Config, error) {
		cert, err := keyPair(certFile, contents[0], contents[1])
		if err != nil {
			return nil, err
		}
		if time.Now().After(cert.Leaf.NotAfter) {
			return nil, fmt.Errorf("auth: the certificate in %s expired on %s: put a new one in its place", certFile,
				cert.Leaf.NotAfter.UTC().Format(time.DateTime+" UTC"))
		}
		conf := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
			Certificates: []tls.Certificate{*cert}}
		if clientCAFile != "" {
			conf.ClientAuth = tls.VerifyClientCertIfGiven
			conf.ClientCAs, err = parsePool(clientCAFile, contents[2])
		}
		return conf, err
	}, certFile, keyFile, clientCAFile)
	if err != nil {
		return nil, err
	}
	e := expiryWarning{log: log, file: certFile}
	e.warnIfExpired(source.Get())
	conf := source.Get().Clone()
	conf.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		conf := source.Get()
		e.warnIfExpired(conf)
		return conf, nil
	}
	return conf, nil
}

// An expiryWarning logs, at most once an hour, that the served certificate has expired or is not
// valid yet, and then once that a valid one is served.
type expiryWarning struct {
	log  *slog.Logger // or nil
	file string

	mu         sync.Mutex
	lastWarned time.Time // zero while the certificate is valid
}

// warnIfExpired logs that the certificate of conf is not valid now, unless that was logged within
// the hour, or that it is valid again. It does nothing without a logger. Any goroutine may call it;
// each handshake does.
func (e *expiryWarning) warnIfExpired(conf *tls.Config) {
	if e.log == nil {
		return
	}
	now, leaf := time.Now(), conf.Certificates[0].Leaf
	e.mu.Lock()
	defer e.mu.Unlock()
	if !now.After(leaf.NotAfter) && !now.Before(leaf.NotBefore) {
		if !e.lastWarned.IsZero() {
			e.log.Warn("auth: the certificate that is served now is valid", "file", e.file, "until", leaf.NotAfter)
		}
		e.lastWarned = time.Time{}
		return
	}
	if !e.lastWarned.IsZero() && now.Sub(e.lastWarned) < time.Hour {
		return
	}
	e.lastWarned = now
	e.log.Warn("auth: nobody believes this certificate now", "file", e.file, "from", leaf.NotBefore, "until",
		leaf.NotAfter)
}

// ClientTLS makes the TLS of a dialer, version 1.2 or better. It trusts the CAs in a file, or those
// of the system if caFile is empty. With a certificate and its key it answers a listener that asks
// who is there; those two files are read again when they have changed, as in ServerTLS, and the CAs
// once.
func ClientTLS(caFile, certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if caFile != "" {
		pem, err := credentials.ReadFile(caFile)
		if err != nil {
			return nil, err
		}
		if conf.RootCAs, err = parsePool(caFile, pem); err != nil {
			return nil, err
		}
	}
	switch {
	case certFile == "" && keyFile == "":
		return conf, nil
	case certFile == "" || keyFile == "":
		return nil, errors.New("auth: a certificate needs its key, and a key its certificate")
	}
	source, err := credentials.NewSource(log, credentials.ReadFile, func(contents [][]byte) (*tls.Certificate, error) {
		return keyPair(certFile, contents[0], contents[1])
	}, certFile, keyFile)
	if err != nil {
		return nil, err
	}
	conf.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return source.Get(), nil }
	return conf, nil
}

// keyPair parses a certificate and its key, both in PEM. certFile is the certificate's file, which
// the error names.
func keyPair(certFile string, certPEM, keyPEM []byte) (*tls.Certificate, error) {
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, credentials.Unpaired(fmt.Errorf("auth: %s and its key: %w", certFile, err))
	}
	return &cert, nil
}

// parsePool returns the pool of the CA certificates in pem, which was read from file. Text without
// a certificate is an error that names the file.
func parsePool(file string, pem []byte) (*x509.CertPool, error) {
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("auth: %s holds no certificate in PEM", file)
	}
	return p, nil
}
