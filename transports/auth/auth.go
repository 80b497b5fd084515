// Package auth says who is there: authenticators for the listeners of the network transports, and
// credentials for their dialers (§8.2.7, §10.3.1).
//
// An Authenticator names the peer of a request. TokenFile and Tokens know it by a token,
// ClientCertificate by the certificate of mutual TLS, package auth/oidc by a token that an OpenID
// Connect issuer signed; Any puts several together. Each fits the Authenticate option of
// sse.ServerOptions, websocket.ServerOptions and the other network transports. ServerTLS and
// ClientTLS make what has to be below them (§8.2.8).
//
// The peer is asked for credentials with each request: on SSE with each reply and each event
// stream, on a WebSocket when it connects. While an event stream or a connection is open, the
// listener asks the Authenticator again every five seconds, with the request that opened it: if it
// answers with another name or with aaep.AuthenticationRequired, as that of TokenFile does of a
// token that was taken out of its file, or aaep.AuthorizationDenied, that is its end. Any other
// error changes nothing then: what is open stays open when a certificate or a signed token expires.
// A subscription belongs to the principal who made it, whatever token that principal brings later.
//
// No token is in any error or log of this package, and principals are fit for both: at most 512
// bytes, no spaces, nothing that cannot be seen.
//
// Certificates of clients are read in auth.go, tokens and their files in tokens.go, what a dialer
// sends in client.go, and the settings of TLS in tls.go.
package auth

import (
	"crypto/x509"
	"errors"
	"net/http"
	"time"

	"github.com/aaep-go/aaep/internal/credentials"
)

// Authenticator names the peer of a request. One peer always has the same name. The error is
// ErrNone if the request has no credentials of the kind that the Authenticator knows,
// aaep.AuthorizationDenied if they are good and do not suffice, an *aaep.Rejection with
// aaep.TransportUnavailable if that cannot be told now, and another one if they are bad. An
// Authenticator is called from many goroutines at once.
type Authenticator func(r *http.Request) (principal string, err error)

// ErrNone says that a request has no credentials of the kind that was looked for.
var ErrNone = credentials.ErrNone

// Any returns an Authenticator that asks the given ones in turn, until one finds credentials of its
// kind. If those are bad, the others are not asked.
func Any(authenticators ...Authenticator) Authenticator {
	return func(r *http.Request) (string, error) {
		for _, authenticate := range authenticators {
			principal, err := authenticate(r)
			if err == nil && principal == "" {
				return "", errors.New("auth: an authenticator returned neither a principal nor an error")
			}
			if !errors.Is(err, ErrNone) {
				return principal, err
			}
		}
		return "", ErrNone
	}
}

// ClientCertificate is an Authenticator. It names the peer by the certificate that the TLS
// handshake verified; the listener has to ask for it, as that of ServerTLS does. The principal is
//
//   - the SPIFFE ID, "spiffe://…", if the certificate holds one, which is then its only URI;
//   - or else its only other name: "dns:" with a DNS name, or "email:" with an address.
//
// A certificate with several names or none is refused, for two requests of one peer must get one
// name. The subject's common name never counts. A certificate that has expired while its connection
// stayed open is no longer good.
func ClientCertificate(r *http.Request) (principal string, err error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return "", ErrNone
	}
	if len(r.TLS.VerifiedChains) == 0 {
		return "",
			errors.New(
				"auth: nobody has verified the client's certificate; the listener's TLS needs ClientCAs, as " +
					"ServerTLS sets them")
	}
	now := time.Now()
	for _, chain := range r.TLS.VerifiedChains {
		if isInForce(chain, now) {
			return nameOf(chain[0])
		}
	}
	return "", errors.New("auth: the client's certificate, or one that vouches for it, has expired")
}

// isInForce reports whether all certificates of a chain are valid at now; an empty chain is not.
// ClientCertificate asks it while a link is open.
func isInForce(chain []*x509.Certificate, now time.Time) bool {
	for _, c := range chain {
		if now.Before(c.NotBefore) || now.After(c.NotAfter) {
			return false
		}
	}
	return len(chain) > 0
}

// nameOf returns the principal of a verified certificate by the rules of ClientCertificate, or an
// error if the certificate has no name or several.
func nameOf(c *x509.Certificate) (string, error) {
	var name string
	switch names := len(c.DNSNames) + len(c.EmailAddresses); {
	case len(c.URIs) == 1 && c.URIs[0].Scheme == "spiffe" && c.URIs[0].Host != "":
		name = c.URIs[0].String()
	case len(c.URIs) == 0 && names == 1 && len(c.DNSNames) == 1:
		name = "dns:" + c.DNSNames[0]
	case len(c.URIs) == 0 && names == 1:
		name = "email:" + c.EmailAddresses[0]
	default:
		return "",
			errors.New(
				"auth: the client's certificate must name its owner once in its alternative names: by one SPIFFE ID," +
					" or by one DNS name or e-mail address")
	}
	if err := credentials.CheckPrincipal(name); err != nil {
		return "", err
	}
	return name, nil
}
