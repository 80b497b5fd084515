package manifest

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aaep-go/aaep/internal/credentials"
)

// maxChain is how many certificates a token may bring along.
const maxChain = 8

// agentURN is the URI by which a certificate names an agent whose agent_id is neither a URI nor a
// DNS name.
func agentURN(agentID string) string { return "urn:aaep:agent:" + url.PathEscape(agentID) }

// verifyChain returns the key of the first certificate of a token and that certificate, if the
// others lead from it to one of roots at the time now. texts are the certificates in base64, as x5c
// has them (RFC 7515, 4.1.6). The error wraps errCertificate and says the reason, or errKeyUse
// where the key is for other purposes.
func verifyChain(texts []string, roots *x509.CertPool, now time.Time) (*key, *x509.Certificate, error) {
	fail := func(reason string) (*key, *x509.Certificate, error) {
		return nil, nil, fmt.Errorf("%w: %s", errCertificate, credentials.OneLine(reason))
	}
	if len(texts) == 0 || len(texts) > maxChain {
		return fail(fmt.Sprintf("there are %d of them, want 1 to %d", len(texts), maxChain))
	}
	others := x509.NewCertPool()
	var leaf *x509.Certificate
	for _, text := range texts {
		der, err := base64.StdEncoding.Strict().DecodeString(text) // not base64url (RFC 7515, 4.1.6)
		if err != nil || strings.ContainsAny(text, "\r\n") {
			return fail("one is not base64")
		}
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return fail(err.Error())
		}
		if leaf == nil {
			leaf = c
		} else {
			others.AddCert(c)
		}
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: others, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		return fail(err.Error())
	}
	if err := checkCertificateUse(leaf); err != nil {
		return nil, nil, err
	}
	k := key{public: leaf.PublicKey}.withThumbprint()
	return &k, leaf, nil
}

// checkNames refuses a certificate that names another agent than the one with this id: its id or
// its URN must be among the URIs, or the id among the DNS names, without a wildcard. The error
// wraps errCertificate.
func checkNames(c *x509.Certificate, agentID string) error {
	for _, u := range c.URIs {
		if text := u.String(); text == agentID || text == agentURN(agentID) {
			return nil
		}
	}
	for _, name := range c.DNSNames {
		if strings.EqualFold(name, agentID) && !strings.Contains(name, "*") {
			return nil
		}
	}
	return fmt.Errorf("%w: it does not name the agent %q", errCertificate, credentials.OneLine(agentID))
}
