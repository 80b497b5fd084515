package manifest

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"net/url"
	"testing"
	"time"
)

type leaf struct {
	agent    string // agent_id of the manifest; planner if empty
	uri, dns []string
	common   string
	usage    x509.KeyUsage
	from     time.Duration
	key      crypto.Signer
}

// certify makes a certificate; without an authority one that signs itself.
func certify(t *testing.T, c *x509.Certificate, key crypto.Signer, by *x509.Certificate,
	byKey crypto.Signer) *x509.Certificate {
	t.Helper()
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	if c.NotBefore.IsZero() {
		c.NotBefore, c.NotAfter = now.Add(-time.Hour), now.Add(time.Hour)
	}
	if by == nil {
		by, byKey = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by, key.Public(), byKey)
	check(t, err)
	made, err := x509.ParseCertificate(der)
	check(t, err)
	return made
}

func authority(name string) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
}

// INV-40, §10.4.3: a chain counts if it leads to a root of the caller's, at this time, and names
// the agent.
func TestCertificate(t *testing.T) {
	k := keysOf()
	root := certify(t, authority("root"), k.rs, nil, nil)
	middle := certify(t, authority("middle"), k.other, root, k.rs)
	stranger := certify(t, authority("root"), k.rs, nil, nil)
	strangersMiddle := certify(t, authority("middle"), k.other, certify(t, authority("root"), k.es, nil, nil), k.es)
	roots := x509.NewCertPool()
	roots.AddCert(root)
	for name, c := range map[string]struct {
		leaf  leaf
		chain []*x509.Certificate
		want  Refusal
	}{
		"URN": {leaf{uri: []string{"urn:aaep:agent:planner"}}, []*x509.Certificate{middle}, ""},
		"URN, escaped": {leaf{agent: "my planner/2", uri: []string{"urn:aaep:agent:my%20planner%2F2"}},
			[]*x509.Certificate{middle}, ""},
		"SPIFFE": {leaf{agent: "spiffe://bank.example/planner",
			uri: []string{"spiffe://bank.example/planner"}}, []*x509.Certificate{middle}, ""},
		"DNS": {leaf{agent: "planner.bank.example", dns: []string{"Planner.Bank.example"}},
			[]*x509.Certificate{middle}, ""},
		"one of several": {leaf{dns: []string{"a.example", "planner"}, uri: []string{"urn:x:y"}},
			[]*x509.Certificate{middle}, ""},
		"for signatures": {leaf{dns: []string{"planner"}, usage: x509.KeyUsageDigitalSignature},
			[]*x509.Certificate{middle}, ""},
		"common name only": {leaf{common: "planner"}, []*x509.Certificate{middle}, errCertificate},
		"another name":     {leaf{dns: []string{"planner2"}}, []*x509.Certificate{middle}, errCertificate},
		"wildcard": {leaf{agent: "a.bank.example", dns: []string{"*.bank.example"}},
			[]*x509.Certificate{middle}, errCertificate},
		"wildcard for one": {leaf{agent: "*.bank.example", dns: []string{"*.bank.example"}},
			[]*x509.Certificate{middle}, errCertificate},
		"URN, not escaped": {leaf{agent: "a/b", uri: []string{"urn:aaep:agent:a/b"}}, []*x509.Certificate{middle},
			errCertificate},
		"authority missing": {leaf{dns: []string{"planner"}}, nil, errCertificate},
		"another's root": {leaf{dns: []string{"planner"}}, []*x509.Certificate{strangersMiddle, stranger},
			errCertificate},
		"expired": {leaf{dns: []string{"planner"}, from: -3 * time.Hour}, []*x509.Certificate{middle},
			errCertificate},
		"not yet": {leaf{dns: []string{"planner"}, from: time.Hour}, []*x509.Certificate{middle},
			errCertificate},
		"for encryption": {leaf{dns: []string{"planner"}, usage: x509.KeyUsageKeyEncipherment},
			[]*x509.Certificate{middle}, errKeyUse},
		"weak key": {leaf{dns: []string{"planner"}, key: k.weak}, []*x509.Certificate{middle}, errKeySize},
		"curve":    {leaf{dns: []string{"planner"}, key: k.p384}, []*x509.Certificate{middle}, errKeyUse},
		"too many": {leaf{dns: []string{"planner"}}, many(8, middle), errCertificate},
		// ES256 by an Ed25519 certificate
		"an authority's key": {leaf{dns: []string{"planner"}, key: k.ed}, []*x509.Certificate{middle}, errKeyUse},
	} {
		l := c.leaf
		if l.agent == "" {
			l.agent = "planner"
		}
		if l.key == nil {
			l.key = k.es
		}
		template := &x509.Certificate{Subject: pkix.Name{CommonName: l.common}, DNSNames: l.dns, KeyUsage: l.usage,
			NotBefore: now.Add(l.from - time.Minute), NotAfter: now.Add(l.from + time.Hour)}
		for _, text := range l.uri {
			u, err := url.Parse(text)
			check(t, err)
			template.URIs = append(template.URIs, u)
		}
		cert := certify(t, template, l.key, middle, k.other)
		var x5c []string
		for _, one := range append([]*x509.Certificate{cert}, c.chain...) {
			x5c = append(x5c, base64.StdEncoding.EncodeToString(one.Raw))
		}
		head := map[string]any{"alg": ES256, "x5c": x5c}
		if l.key == k.weak {
			head["alg"] = RS256
		}
		text, err := json.Marshal(head)
		check(t, err)
		payload, err := json.Marshal(map[string]any{"agent_id": l.agent})
		check(t, err)
		token := mint(t, string(text), string(payload), l.key)
		m, id, err := (&Verifier{Roots: roots}).Verify(token, Expect{AgentID: l.agent}, now)
		switch {
		case c.want != "" && (m != nil || !errors.Is(err, c.want)):
			t.Errorf("%s: %v, want %v", name, err, c.want)
		case c.want == "" &&
			(err != nil || !id.Certificate.Equal(cert) || id.Thumbprint != thumbprintOf(l.key.Public())):
			t.Errorf("%s: %+v, %v", name, id, err)
		}
		if _, _, err := (&Verifier{}).Verify(token, Expect{AgentID: l.agent}, now); !errors.Is(err, errEmbeddedKey) {
			t.Errorf("%s, without roots: %v", name, err)
		}
	}
}

// What a Signer sends along of certificates is what a Verifier wants; a key that is trusted by
// itself goes before them.
func TestSignWithCertificates(t *testing.T) {
	k := keysOf()
	root := certify(t, authority("root"), k.rs, nil, nil)
	cert := certify(t, &x509.Certificate{DNSNames: []string{"planner"}}, k.es, root, k.rs)
	roots := x509.NewCertPool()
	roots.AddCert(root)
	token := signed(t, k.es, SignerOptions{Certificates: []*x509.Certificate{cert}})
	_, id, err := (&Verifier{Roots: roots}).Verify(token, Expect{AgentID: "planner"}, now)
	if err != nil || id.KeyID != k.esKid || !id.Certificate.Equal(cert) {
		t.Errorf("%+v, %v", id, err)
	}
	_, id, err = (&Verifier{Roots: roots, Keys: set(t, jwk(t, k.es, nil))}).Verify(token,
		Expect{AgentID: "planner"}, now)
	if err != nil || id.Certificate != nil {
		t.Errorf("by a key: %+v, %v", id, err)
	}
	if _, _, err := (&Verifier{Roots: roots, Keys: set(t, jwk(t, k.other, map[string]any{"kid": k.esKid}))}).Verify(
		token, Expect{AgentID: "planner"}, now); !errors.Is(err, ErrSignature) {
		t.Errorf("with another key of that kid: %v", err)
	}
}
