package manifest

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/cryptosigner"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/credentials"
)

// KeysPath is where a producer may publish its public keys, beside the manifest.
const KeysPath = "/.well-known/aaep-keys.json"

// Signer signs manifests with one key. It may be used by many goroutines at once if its key may, as
// all of the standard library's do.
type Signer struct {
	alg, kid string
	public   crypto.PublicKey
	private  any           // what go-jose signs with
	checked  bool          // whether each signature is verified before it is returned
	x5c      []string      // the certificates of the key, in base64
	lifetime time.Duration // how long a manifest is good; zero is for ever
}

// SignerOptions are what is not in a key.
type SignerOptions struct {
	// KeyID is the kid, the key's thumbprint if empty (RFC 7638).
	KeyID string
	// Lifetime is how long a manifest is good from when it is signed, to the second. Zero is for
	// ever: who steals it then has it as long as its key is trusted.
	Lifetime time.Duration
	// Certificates vouch for the key, that of the key first. They go into the header, for those who
	// trust an authority and know no keys (see Verifier.Roots).
	Certificates []*x509.Certificate
}

// NewSigner makes a Signer of a key: ECDSA with P-256 signs with ES256, RSA of 2048 to 4096 bits
// with RS256, Ed25519 with EdDSA, which only those verify who allow it. The key may be one that
// never leaves a KMS or an HSM; what such a one signs is verified each time before it is returned.
// Others are tried once, here.
func NewSigner(private crypto.Signer, o SignerOptions) (*Signer, error) {
	if private == nil {
		return nil, errors.New("manifest: there is no key to sign with")
	}
	s := &Signer{public: private.Public(), kid: o.KeyID, lifetime: o.Lifetime}
	var err error
	if s.alg, err = algorithmOf(s.public); err != nil {
		return nil, err
	}
	if s.kid == "" {
		s.kid = thumbprintOf(s.public)
	}
	switch {
	case o.Lifetime < 0:
		return nil, errors.New("manifest: SignerOptions.Lifetime is less than zero")
	case !utf8.ValidString(s.kid):
		return nil, errors.New("manifest: the key's id is not valid UTF-8")
	}
	for i, c := range o.Certificates {
		if i == 0 && thumbprintOf(c.PublicKey) != thumbprintOf(s.public) {
			return nil, errors.New("manifest: the first certificate is not that of the key")
		}
		s.x5c = append(s.x5c, base64.StdEncoding.EncodeToString(c.Raw))
	}
	if len(s.x5c) > maxChain {
		return nil, fmt.Errorf("manifest: there are %d certificates, at most %d may be sent", len(s.x5c), maxChain)
	}

	s.checked = true
	switch private.(type) {
	case *ecdsa.PrivateKey, *rsa.PrivateKey, ed25519.PrivateKey:
		// Such a key is tried once, for a JWK may have two halves that do not fit.
		s.private = private
		_, err = s.signPayload([]byte("{}"), time.Time{})
		s.checked = false
	default:
		s.private = cryptosigner.Opaque(private)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ParseSigner makes a Signer of a private key in text: PEM, of PKCS #8, SEC 1 or PKCS #1, with the
// key's certificates behind it if there are any; or a JWK, whose kid is used if o has none. No
// error repeats any of it.
func ParseSigner(text []byte, o SignerOptions) (*Signer, error) {
	signers, err := parseSigners(text, o)
	switch {
	case err != nil:
		return nil, err
	case len(signers) > 1:
		return nil, errors.New("manifest: there must be one private key, and there are more")
	}
	return signers[0], nil
}

// parseSigners makes a Signer of each private key in text, PEM or one JWK, in their order, with the
// options o. A text of public keys alone is errPublicHalf.
func parseSigners(text []byte, o SignerOptions) ([]*Signer, error) {
	switch {
	case isPublicHalf(text):
		return nil, errPublicHalf
	case strings.HasPrefix(strings.TrimSpace(string(text)), "{"):
		s, err := parseJWKSigner(text, o)
		return []*Signer{s}, err
	}
	return parsePEMSigners(text, o)
}

// parseJWKSigner makes a Signer of a private JWK, whose kid is used if o has none. A JWK that is
// public, or that different parsers read differently, is an error.
func parseJWKSigner(text []byte, o SignerOptions) (*Signer, error) {
	var members struct {
		ID string `json:"kid"`
	}
	var k jose.JSONWebKey
	if jsonv2.Unmarshal(text, &members) != nil || k.UnmarshalJSON(text) != nil {
		return nil, errors.New("manifest: the key is no JWK that can be read in one way only")
	}
	private, ok := k.Key.(crypto.Signer)
	if !ok {
		return nil, errors.New("manifest: the JWK is no private key of a kind that is used here")
	}
	o.KeyID = cmp.Or(o.KeyID, members.ID)
	return NewSigner(private, o)
}

// parsePEMSigners makes a Signer of each private key in a PEM text. The certificates behind a key
// are its own, and are sent after those of o. A text without a private key, or with a block that is
// damaged, is an error.
func parsePEMSigners(text []byte, o SignerOptions) (signers []*Signer, err error) {
	shared := o.Certificates
	blocks := bytes.Count(text, []byte("-----BEGIN")) // how many blocks Decode has yet to return
	var private crypto.Signer                         // the key whose certificates may follow, or nil
	addSigner := func() error {
		s, err := NewSigner(private, o)
		signers, o.Certificates = append(signers, s), shared
		return err
	}
	for len(text) > 0 {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		blocks--
		key, certificate, err := parsePrivateBlock(block)
		if err != nil {
			return nil, fmt.Errorf("manifest: the key cannot be read: %s", credentials.OneLine(err.Error()))
		}
		if certificate != nil {
			o.Certificates = append(slices.Clip(o.Certificates), certificate)
		}
		if key == nil {
			continue
		}
		next, ok := key.(crypto.Signer)
		if !ok {
			return nil, errors.New("manifest: it is no private key that can sign")
		}
		if private != nil {
			if err := addSigner(); err != nil {
				return nil, err
			}
		}
		private = next
	}
	switch {
	case blocks > 0: // Decode passes over what it cannot read
		return nil, errors.New("manifest: a key or certificate in it is cut off or damaged")
	case private == nil:
		return nil, errors.New("manifest: it is no private key, neither PEM nor JWK")
	}
	err = addSigner()
	return signers, err
}

// parsePrivateBlock returns the private key or the certificate in a PEM block; both are nil for a
// block that may stand beside them. The error is for a person, and says nothing of the key.
func parsePrivateBlock(block *pem.Block) (key any, certificate *x509.Certificate, err error) {
	switch block.Type {
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "CERTIFICATE":
		certificate, err = x509.ParseCertificate(block.Bytes)
	case "EC PARAMETERS": // openssl writes them before the key
	case "ENCRYPTED PRIVATE KEY":
		err = errors.New("it is encrypted")
	default:
		err = errors.New("it is a " + credentials.OneLine(block.Type))
	}
	return key, certificate, err
}

// errPublicHalf is returned for public keys where a private key is expected.
var errPublicHalf = errors.New("manifest: it is the public half of a key, which proves signatures and makes none: " +
	"name the file of the private key, which aaep manifest keygen NAME writes to NAME.key")

// isPublicHalf reports whether text holds public keys, in PEM, as a JWK or as a JWK Set, and no
// private one, so that the error can say that the other file is wanted.
func isPublicHalf(text []byte) bool {
	if !strings.HasPrefix(strings.TrimSpace(string(text)), "{") {
		return bytes.Contains(text, []byte("PUBLIC KEY-----")) && !bytes.Contains(text, []byte("PRIVATE KEY-----"))
	}
	type key struct {
		Type   string         `json:"kty"`
		Secret jsontext.Value `json:"d"`
	}
	var file struct {
		key
		Keys []key `json:"keys"`
	}
	if jsonv2.Unmarshal(text, &file) != nil {
		return false
	}
	if file.Type != "" {
		file.Keys = append(file.Keys, file.key)
	}
	return len(file.Keys) > 0 && !slices.ContainsFunc(file.Keys, func(k key) bool {
		return k.Secret != nil || k.Type == "oct"
	})
}

// readSigner reads a file of private keys, which only its owner may open. A file of public keys is
// returned whatever its mode, so that parseSigners says what it is.
func readSigner(path string) ([]byte, error) {
	text, err := credentials.ReadOwn(path)
	if err != nil {
		if public, publicErr := credentials.ReadFile(path); publicErr == nil && isPublicHalf(public) {
			return public, nil
		}
	}
	return text, err
}

// ReadSigner is ParseSigner of a file, which only its owner may open, and which is no symbolic
// link.
func ReadSigner(path string, o SignerOptions) (*Signer, error) {
	text, err := readSigner(path)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return ParseSigner(text, o)
}

// SignerFiles returns the Signers of the keys in files, for producer.Config.Signers. Only their
// owner may open them, and they are no symbolic links. A file in PEM may have several keys, one
// behind the other, each with its certificates. The files are read again when they have changed:
// put a new key behind the one in use, and it is published; in front of it, and it signs. What
// cannot be read then changes nothing, and log is told, which may be nil.
func SignerFiles(o SignerOptions, log *slog.Logger, files ...string) (func() []*Signer, error) {
	source, err := credentials.NewSource(log, readSigner, func(contents [][]byte) (signers []*Signer, err error) {
		for i, text := range contents {
			fileSigners, err := parseSigners(text, o)
			if err != nil {
				return nil, fmt.Errorf("%w, in %s", err, files[i])
			}
			signers = append(signers, fileSigners...)
		}
		_, err = PublicKeys(signers...)
		return signers, err
	}, files...)
	if err != nil {
		return nil, err
	}
	return source.Get, nil
}

// Sign writes a manifest as Encode does and signs it: one compact JWS (§10.4.1). When it was
// signed, and until when it is good, is in the header (iat, exp), where those who do not know them
// may pass them over (RFC 7515, 4). It has at most 64 KiB.
func (s *Signer) Sign(m *Manifest, now time.Time) (string, error) {
	payload, err := Encode(m)
	if err != nil {
		return "", err
	}
	return s.signPayload(payload, now)
}

// signPayload returns payload signed at the time now, as a compact JWS of at most maxSigned bytes.
// Where s.checked, the signature was verified with the public key. Sign and the signing of a Source
// call it.
func (s *Signer) signPayload(payload []byte, now time.Time) (string, error) {
	o := (&jose.SignerOptions{}).WithType(signedType).WithHeader("kid", s.kid).WithHeader("iat", now.Unix())
	if s.lifetime > 0 {
		o.WithHeader("exp", now.Add(s.lifetime).Unix())
	}
	if s.x5c != nil {
		o.WithHeader("x5c", s.x5c)
	}
	alg := jose.SignatureAlgorithm(s.alg)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: s.private}, o)
	if err != nil {
		return "", fmt.Errorf("manifest: %w", err)
	}
	jws, err := signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("manifest: it cannot be signed: %w", err)
	}

	text, err := jws.CompactSerialize()
	switch {
	case err != nil:
		return "", fmt.Errorf("manifest: %w", err)
	case len(text) > maxSigned:
		return "", fmt.Errorf("manifest: signed it has %d bytes; at most %d are read", len(text), maxSigned)
	}
	if s.checked {
		if jws, err = jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{alg}); err == nil {
			_, err = jws.Verify(s.public)
		}
		if err != nil {
			return "", errors.New("manifest: what the key signed does not verify with its public key")
		}
	}
	return text, nil
}

// KeyID is the kid of what s signs.
func (s *Signer) KeyID() string { return s.kid }

// Algorithm is the one s signs with.
func (s *Signer) Algorithm() string { return s.alg }

// PublicKeys returns the JWK Set to publish at KeysPath, and to give to those who verify: the
// public keys of all signers. To change keys, publish both for longer than others remember sets
// (RemoteKeys: five minutes), then sign with the new one, and take the old one out when all it has
// signed has expired or was replaced.
func PublicKeys(signers ...*Signer) ([]byte, error) {
	var set jose.JSONWebKeySet
	seen := map[string]bool{}
	for _, s := range signers {
		if seen[s.kid] {
			return nil, fmt.Errorf("manifest: two keys have the kid %q", s.kid)
		}
		seen[s.kid] = true
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: s.public, KeyID: s.kid, Algorithm: s.alg, Use: "sig"})
	}
	data, err := jsonv2.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	return data, nil
}
