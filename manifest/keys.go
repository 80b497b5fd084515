package manifest

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/credentials"
)

// The algorithms of signatures (RFC 7518, RFC 8037). ES256 is the one for new keys (§10.4.1).
const (
	ES256 = "ES256" // ECDSA with the curve P-256
	RS256 = "RS256" // RSA, PKCS #1 v1.5, with 2048 to 4096 bits
	EdDSA = "EdDSA" // Ed25519
)

// KeySet is public keys that are trusted to sign manifests. It does not change, and may be used by
// many goroutines.
type KeySet struct{ keys []key }

// key is one public key of a set.
type key struct {
	id     string // the kid
	print  string // the thumbprint
	alg    string // the only algorithm that its JWK allows; "" allows any that fits the key
	public crypto.PublicKey
	period
	unfit error // why no signature may be verified with it, or nil; its kid is taken all the same
}

// ParseKeys reads public keys: a JWK, a JWK Set (RFC 7517), or PEM with public keys or
// certificates, of which the key and the period count and nothing else. A key in PEM, and a JWK
// without a kid, is known by its thumbprint (RFC 7638), as those are that Signer signs with. A JWK
// may say from when until when it is good, in nbf and exp. Several texts make one set. A text
// without any key that could be used, and one with a private key in it, is an error.
func ParseKeys(texts ...[]byte) (*KeySet, error) {
	set := &KeySet{}
	for _, text := range texts {
		parse := parsePEM
		if strings.HasPrefix(strings.TrimSpace(string(text)), "{") {
			parse = parseJWKs
		}
		keys, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("manifest: %w", err)
		}
		if !slices.ContainsFunc(keys, func(k key) bool { return k.unfit == nil }) {
			if len(keys) == 1 {
				return nil, keys[0].unfit
			}
			return nil, errors.New("manifest: there is no public key in it that signatures could be verified with")
		}
		set.keys = append(set.keys, keys...)
	}
	return set, nil
}

// ReadKeys parses the keys of files, of at most 1 MiB each, as ParseKeys does. The error names the
// file.
func ReadKeys(paths ...string) (*KeySet, error) {
	texts := make([][]byte, len(paths))
	for i, path := range paths {
		var err error
		if texts[i], err = credentials.ReadFile(path); err != nil {
			return nil, fmt.Errorf("manifest: %w", err)
		}
		if _, err := ParseKeys(texts[i]); err != nil {
			return nil, fmt.Errorf("%w, in %s", err, path)
		}
	}
	return ParseKeys(texts...)
}

// parseJWKs reads one JWK or a JWK Set. Keys that are unfit stay in it, for their ids are taken. A
// private key is an error. Other members than those of a JWK, and JSON that different parsers read
// differently, are errors.
func parseJWKs(text []byte) ([]key, error) {
	var raw struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if err := unmarshalBounded(text, &raw); err != nil {
		return nil, errors.New("the keys are no JSON that can be read in one way only")
	}
	if raw.Keys == nil {
		raw.Keys = []jsontext.Value{text}
	}
	keys := make([]key, len(raw.Keys))
	for i, jwk := range raw.Keys {
		k, err := parseJWK(jwk)
		if err != nil {
			return nil, fmt.Errorf("the key number %d is %w", i+1, err)
		}
		keys[i] = k.withThumbprint()
	}
	return keys, nil
}

// parseJWK reads one JWK. One that is unfit to verify says why in unfit. The error goes on from
// "the key is", for what is no JWK or a private key.
func parseJWK(jwk jsontext.Value) (k key, err error) {
	var members struct {
		ID  string         `json:"kid"`
		Kty string         `json:"kty"`
		Alg string         `json:"alg"`
		Use string         `json:"use"`
		Ops []string       `json:"key_ops"`
		N   string         `json:"n"`
		D   jsontext.Value `json:"d"`
		period
	}
	if jsonv2.Unmarshal(jwk, &members) != nil || !members.isReadable() {
		return key{}, errors.New("no JWK")
	}
	if members.D != nil && members.Kty != "oct" {
		return key{}, errors.New("a private one; those who verify need the public one")
	}
	var parsed jose.JSONWebKey
	err = parsed.UnmarshalJSON(jwk)
	k = key{id: members.ID, alg: members.Alg, public: parsed.Key, period: members.period}
	switch {
	case members.Kty == "RSA" && base64.RawURLEncoding.DecodedLen(len(members.N)) > 4096/8:
		k.unfit = fmt.Errorf("%w: RSA with more than 4096 bits", errKeySize)
	case err != nil || !parsed.IsPublic():
		k.unfit = fmt.Errorf("%w: it is no public key of a kind that is used here", errKeyUse)
	case members.Use != "" && members.Use != "sig":
		k.unfit = fmt.Errorf("%w: its use is %q, not sig", errKeyUse, credentials.OneLine(members.Use))
	case members.Ops != nil && !slices.Contains(members.Ops, "verify"):
		k.unfit = fmt.Errorf("%w: verify is not among its key_ops", errKeyUse)
	}
	return k, nil
}

// parsePEM reads the public keys and certificates in a PEM text. Any other block is an error, and
// so is a text without one, and one that is cut off.
func parsePEM(text []byte) (keys []key, err error) {
	blocks := bytes.Count(text, []byte("-----BEGIN"))
	for len(text) > 0 {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		var k key
		switch block.Type {
		case "PUBLIC KEY":
			k.public, err = x509.ParsePKIXPublicKey(block.Bytes)
		case "RSA PUBLIC KEY":
			k.public, err = x509.ParsePKCS1PublicKey(block.Bytes)
		case "CERTIFICATE":
			var c *x509.Certificate
			if c, err = x509.ParseCertificate(block.Bytes); err == nil {
				notBefore, notAfter := seconds(max(c.NotBefore.Unix(), 0)), seconds(c.NotAfter.Unix())
				k.public, k.period = c.PublicKey, period{NotBefore: &notBefore, Expires: &notAfter}
				k.unfit = checkCertificateUse(c)
			}
		default:
			err = fmt.Errorf("it holds a %s; those who verify need a PUBLIC KEY or a CERTIFICATE",
				credentials.OneLine(block.Type))
		}
		if err != nil {
			return nil, fmt.Errorf("in the PEM: %s", credentials.OneLine(err.Error()))
		}
		keys = append(keys, k.withThumbprint())
	}
	switch {
	case blocks > len(keys): // Decode passes over what it cannot read
		return nil, errors.New("in the PEM: a key or certificate is cut off or damaged")
	case keys == nil:
		return nil, errors.New("the keys are neither JWK nor PEM")
	}
	return keys, nil
}

// checkCertificateUse returns an error for a certificate that says what its key is for, and leaves
// out digital signatures.
func checkCertificateUse(c *x509.Certificate) error {
	if c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		return fmt.Errorf("%w: the certificate's key is not for digital signatures", errKeyUse)
	}
	return nil
}

// withThumbprint completes a key that was parsed: its thumbprint, which is its id where it has
// none, and whether it is fit to verify.
func (k key) withThumbprint() key {
	if k.unfit == nil {
		_, k.unfit = algorithmOf(k.public)
	}
	k.print = thumbprintOf(k.public)
	if k.id == "" {
		k.id = k.print
	}
	return k
}

// algorithmOf returns the only algorithm that a key is used with here, or an error if the key is of
// another kind, too weak or too large.
func algorithmOf(public crypto.PublicKey) (string, error) {
	switch p := public.(type) {
	case *ecdsa.PublicKey:
		if p.Curve == elliptic.P256() {
			return ES256, nil
		}
		return "", fmt.Errorf("%w: its curve is %s, want P-256", errKeyUse, p.Curve.Params().Name)
	case *rsa.PublicKey:
		if bits := p.N.BitLen(); bits < 2048 || bits > 4096 {
			return "", fmt.Errorf("%w: RSA with %d bits, want 2048 to 4096", errKeySize, bits)
		}
		return RS256, nil
	case ed25519.PublicKey:
		return EdDSA, nil
	}
	return "", fmt.Errorf("%w: it is no public key of a kind that is used here", errKeyUse)
}

// thumbprintOf returns the thumbprint of a public key (RFC 7638) in base64url, or "" if the key is
// of a kind that has none.
func thumbprintOf(public crypto.PublicKey) string {
	k := jose.JSONWebKey{Key: public}
	sum, err := k.Thumbprint(crypto.SHA256)
	if err != nil || len(sum) != sha256.Size {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(sum)
}

// findKey returns the one key of an id: ErrUnknownKey if the set, which may be nil, has none, and
// errAmbiguousKey if several different ones have it.
func (s *KeySet) findKey(id string) (found *key, err error) {
	if s == nil {
		return nil, ErrUnknownKey
	}
	for i := range s.keys {
		k := &s.keys[i]
		switch {
		case k.id != id:
		case found == nil:
			found = k
		case !k.isSame(found):
			return nil, errAmbiguousKey
		}
	}
	if found == nil {
		return nil, ErrUnknownKey
	}
	return found, nil
}

// listNames returns, in words for an error about a key that is not among them, what the keys are
// known by; at most five are named.
func (s *KeySet) listNames() string {
	const maxNamed = 5
	if s == nil || len(s.keys) == 0 {
		return "no key is trusted"
	}
	var ids []string
	for _, k := range s.keys[:min(len(s.keys), maxNamed)] {
		ids = append(ids, strconv.Quote(credentials.OneLine(k.id)))
	}
	if len(s.keys) > maxNamed {
		ids = append(ids, "…")
	}
	return "trusted are " + strings.Join(ids, ", ") +
		": a key has the name of its kid as a JWK, and its thumbprint in PEM"
}

// isSame reports whether two keys of a set with one kid are the same key, with the same algorithm
// and period, as where two files hold it.
func (k *key) isSame(other *key) bool {
	return k.print != "" && k.print == other.print && k.alg == other.alg && k.unfit == nil && other.unfit == nil &&
		formatSeconds(k.NotBefore) == formatSeconds(other.NotBefore) &&
		formatSeconds(k.Expires) == formatSeconds(other.Expires)
}

// checkUsable refuses a key that may not verify a signature with the algorithm alg at the time now.
// The error wraps a Refusal.
func (k *key) checkUsable(alg string, now time.Time) error {
	if k.unfit != nil {
		return k.unfit
	}
	only, err := algorithmOf(k.public)
	switch {
	case err != nil:
		return err
	case only != alg || k.alg != "" && k.alg != alg:
		return fmt.Errorf("%w: the token says %s, and the key is one for %s", errKeyUse, alg,
			credentials.OneLine(cmp.Or(k.alg, only)))
	case k.checkTime(now) != nil:
		return fmt.Errorf("%w: it is good from %s to %s", errKeyPeriod, formatSeconds(k.NotBefore),
			formatSeconds(k.Expires))
	}
	return nil
}

// formatSeconds returns a time for an error; nil is any time.
func formatSeconds(s *seconds) string {
	if s == nil {
		return "any time"
	}
	return s.asTime().Format(time.RFC3339)
}
