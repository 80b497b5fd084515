package manifest

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
)

// Verifier says which signatures prove who an agent is. It decides by what it is given, opens
// nothing, and may be used by many goroutines at once. Trust adds where keys come from.
type Verifier struct {
	// Keys are those that are trusted. A token has to name one of them by its kid.
	Keys *KeySet
	// Roots are authorities that vouch for the names of agents. A token whose header has a chain of
	// certificates (x5c) is then good with the key of the first one, if that leads to one of the
	// roots and names the agent: by a URI that is the agent_id, or is "urn:aaep:agent:" and the
	// agent_id escaped as in a URL's path; or by a DNS name that is the agent_id. The common name
	// never counts, nor what the certificate is otherwise for: give no roots that also vouch for
	// strangers, such as the system's.
	Roots *x509.CertPool
	// Algorithms are those that are allowed, ES256 and RS256 if nil. EdDSA is the only other one
	// there is.
	Algorithms []string
}

// Expect is what a manifest must agree with (§10.4.2, steps 4 and 5).
type Expect struct {
	// AgentID is whose manifest it must be. If empty it is that of Accepted; without either no
	// manifest is the right one.
	AgentID string
	// AnyAgent takes the manifest of any agent, for those who look at one and do not talk to its
	// agent.
	AnyAgent bool
	// Accepted is the answer to the subscription, which the manifest must not contradict. It may be
	// nil.
	Accepted *aaep.SubscriptionAccepted
	// Transport is the name of the one in use, as in a manifest. It may be empty.
	Transport string
}

// Identity is who signed a manifest.
type Identity struct {
	// KeyID is the kid of the token, and empty where a certificate was used without one.
	KeyID string
	// Thumbprint names the key itself: the SHA-256 of RFC 7638 in base64url. It is empty where
	// nothing was verified.
	Thumbprint string
	Algorithm  string
	// Certificate is the one that vouched for the key, or nil.
	Certificate *x509.Certificate
	// SignedAt and ExpiresAt are zero where the token does not say. They are in the header, as iat
	// and exp, for a manifest has no members for them.
	SignedAt, ExpiresAt time.Time
	// LooksLike is the agent_id of another agent that was met before, whose name or id looks the
	// same; or empty. Only FirstUse fills it in.
	LooksLike string
	// FirstMeeting says that no authority vouches for the key, and that FirstUse has met the agent
	// for the first time since it was opened: the agent has signed, and nothing but its own word
	// says who it is. It is not to be called verified.
	FirstMeeting bool
}

// Verify returns a manifest that its agent has signed, and by which key. A token is one compact
// JWS, and nothing else around it. Of its header only the algorithm, the kid, the typ and the times
// have a say, and the certificates if there are Roots. Clocks may be 30 seconds apart.
//
// The errors wrap the Refusal that was met first, and are fit for a log. Nothing in a token that is
// refused is to be shown as the agent's word.
func (v *Verifier) Verify(signed string, expect Expect, now time.Time) (*Manifest, *Identity, error) {
	t, err := readToken(signed)
	if err != nil {
		return nil, nil, err
	}
	return v.verifyToken(t, v.Keys, expect, now)
}

// verifyToken verifies a token: its algorithm, key, times and signature, and that the manifest is
// of the agent that is expected. trusted are the keys that count, and now is the time. The error
// wraps a Refusal.
func (v *Verifier) verifyToken(t *token, trusted *KeySet, expect Expect, now time.Time) (*Manifest, *Identity, error) {
	if err := v.checkAlgorithm(t.head.Alg); err != nil {
		return nil, nil, err
	}
	k, cert, err := v.findTokenKey(t, trusted, now)
	if err != nil {
		return nil, nil, err
	}
	payload, err := t.verifySignature(k, now)
	if err != nil {
		return nil, nil, err
	}
	m, err := readPayload(payload, &t.head)
	if err != nil {
		return nil, nil, err
	}
	if err := t.head.checkTime(now); err != nil {
		return nil, nil, err
	}
	if cert != nil {
		if err := checkNames(cert, m.AgentID); err != nil {
			return nil, nil, err
		}
	}
	if err := expect.Check(m); err != nil {
		return nil, nil, err
	}
	id := t.identityOf()
	id.Thumbprint, id.Certificate = k.print, cert
	return m, id, nil
}

// verifySignature returns what a key has signed. The token's algorithm is the only one that counts,
// and the key has to be one for it and good at now. The error wraps a Refusal.
func (t *token) verifySignature(k *key, now time.Time) ([]byte, error) {
	if err := k.checkUsable(t.head.Alg, now); err != nil {
		return nil, err
	}
	jws, err := jose.ParseSignedCompact(t.text, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(t.head.Alg)})
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errHeader, credentials.OneLine(err.Error()))
	}
	payload, err := jws.Verify(k.public)
	if err != nil {
		return nil, fmt.Errorf("%w: the key %s has not signed this", ErrSignature, k.print)
	}
	return payload, nil
}

// checkAlgorithm returns an error unless the Verifier allows alg; without Verifier.Algorithms that
// is ES256 and RS256. An algorithm in that list that does not exist here is an error too, whatever
// alg is.
func (v *Verifier) checkAlgorithm(alg string) error {
	list := v.Algorithms
	if list == nil {
		list = []string{ES256, RS256}
	}
	for _, a := range list {
		if a != ES256 && a != RS256 && a != EdDSA {
			return fmt.Errorf("manifest: Verifier.Algorithms has %q; there are ES256, RS256 and EdDSA", a)
		}
	}
	switch {
	case slices.Contains(list, alg):
		return nil
	case strings.HasPrefix(strings.ToUpper(alg), "HS"):
		return fmt.Errorf("%w: %q", errSymmetric, credentials.OneLine(alg))
	}
	return fmt.Errorf("%w: %q, want %s", errAlgorithm, credentials.OneLine(alg), strings.Join(list, " or "))
}

// findTokenKey finds the key that the token is to be verified with: one that is trusted by its kid,
// or else one that a trusted authority vouches for. Whatever else the token brings along has no
// say.
func (v *Verifier) findTokenKey(t *token, trusted *KeySet, now time.Time) (*key, *x509.Certificate, error) {
	k, err := trusted.findKey(t.head.Kid)
	switch {
	case t.head.Kid != "" && !errors.Is(err, ErrUnknownKey):
		if err != nil {
			err = fmt.Errorf("%w: %q", err, credentials.OneLine(t.head.Kid))
		}
		return k, nil, err
	case v.Roots != nil && t.head.X5c != nil:
		return verifyChain(t.head.X5c, v.Roots, now)
	case t.head.embedsKey():
		return nil, nil, errEmbeddedKey
	case t.head.Kid == "":
		return nil, nil, fmt.Errorf("%w: the token names none by a kid; %s", ErrUnknownKey, trusted.listNames())
	}
	return nil, nil, fmt.Errorf("%w: %q; %s", ErrUnknownKey, credentials.OneLine(t.head.Kid), trusted.listNames())
}

// readPayload reads what a token signs as a manifest. Times that a JWT library put there count
// beside those in the header: it narrows the period of h to them. The error wraps errPayload.
func readPayload(payload []byte, h *header) (*Manifest, error) {
	var claims struct {
		manifestForm
		period
	}
	var m *Manifest
	err := errors.New("it is no JSON object")
	if jsontext.Value(payload).Kind() == '{' {
		err = unmarshalBounded(payload, &claims)
	}
	if err == nil {
		m, err = claims.readManifest()
	}
	switch {
	case err != nil:
	case !claims.isReadable():
		err = errors.New("a time in it is none")
	case claims.Type == "" && strings.HasSuffix(strings.ToLower(h.Typ), "jwt"): // which may be a token for anything
		err = errors.New("it does not say that it is one")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errPayload, credentials.OneLine(strings.TrimPrefix(err.Error(), "manifest: ")))
	}
	h.narrowTo(claims.period)
	return m, nil
}

// identityOf returns what the token's header says of its signer. That is true once verifyToken has
// verified the token, and a claim before.
func (t *token) identityOf() *Identity {
	return &Identity{KeyID: t.head.Kid, Algorithm: t.head.Alg, SignedAt: t.head.IssuedAt.asTime(),
		ExpiresAt: t.head.Expires.asTime()}
}

// ParseUnverified reads what a manifest claims, signed or not, for those who look at it, or want to
// know where an agent's transports are. Nothing proves who wrote it. The Identity is nil for a
// plain one, and has no Thumbprint.
func ParseUnverified(data []byte) (*Manifest, *Identity, error) {
	if len(data) > 0 && strings.ContainsRune("{ \t\r\n", rune(data[0])) {
		m, err := Parse(data)
		return m, nil, err
	}
	t, err := readToken(string(data))
	if err != nil {
		return nil, nil, err
	}
	m, err := readPayload(t.decodePayload(), &t.head)
	if err != nil {
		return nil, nil, err
	}
	return m, t.identityOf(), nil
}

// Check compares a manifest with what is said elsewhere. Whether it is signed is not asked. The
// error is ErrAgent or ErrOffer and says where they differ. A member that the manifest leaves out
// agrees with everything.
func (e *Expect) Check(m *Manifest) error {
	id, a := e.AgentID, e.Accepted
	if id == "" && a != nil {
		id = a.Producer.AgentID
	}
	isOther := m.AgentID != id && !e.AnyAgent
	isNotWhoAnswered := a != nil && a.Producer.AgentID != m.AgentID
	if isOther || isNotWhoAnswered {
		return fmt.Errorf("%w: its agent_id is %q, want %q", ErrAgent, credentials.OneLine(m.AgentID),
			credentials.OneLine(id))
	}
	differs := func(kind, value string) error {
		return fmt.Errorf("%w: it does not name %s %q", ErrOffer, kind, credentials.OneLine(value))
	}
	if e.Transport != "" && m.TransportsSupported != nil && !slices.Contains(m.TransportsSupported, e.Transport) {
		return differs("the transport", e.Transport)
	}
	if a == nil {
		return nil
	}
	switch {
	case a.Producer.AgentName != "" && m.AgentName != "" && a.Producer.AgentName != m.AgentName:
		return differs("the agent", a.Producer.AgentName)
	case m.AAEPVersionsSupported != nil && !slices.Contains(m.AAEPVersionsSupported, a.AAEPVersion):
		return differs("the version", a.AAEPVersion)
	}
	for _, level := range a.HonoredCapabilities.SupportedConformanceLevels {
		if m.ConformanceLevelsSupported != nil && !slices.Contains(m.ConformanceLevelsSupported, level) {
			return differs("the conformance level", fmt.Sprint(level))
		}
	}
	for _, tag := range a.HonoredCapabilities.Languages {
		if m.LanguagesSupported != nil &&
			!slices.ContainsFunc(m.LanguagesSupported, func(t string) bool {
				return primaryTag(t) == primaryTag(tag)
			}) {
			return differs("the language", tag)
		}
	}
	return nil
}

// primaryTag returns the first subtag of a language tag, the language, in small letters.
func primaryTag(tag string) string {
	tag, _, _ = strings.Cut(tag, "-")
	return strings.ToLower(tag)
}
