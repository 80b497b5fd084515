package oidc

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"slices"
	"strings"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
)

// A keySource has the issuer's public keys, for the library to verify signatures with. The
// library's own set would never ask for withdrawn keys again, and would ask for unknown ones as
// often as unauthenticated peers like. Either file or remote is set.
type keySource struct {
	file   *credentials.Source[[]key]
	remote *credentials.Fetched[[]key]
}

// A key is one public key of the issuer.
type key struct {
	id, alg string // "" where the issuer gives none
	public  any    // *rsa.PublicKey, *ecdsa.PublicKey or ed25519.PublicKey
}

// A signature is the signature of one token. It is the KeySet that the library verifies the token
// with, and keeps what was found then.
type signature struct {
	keys    *keySource
	id, alg string // of the key, as the token's header names it
	public  any    // that key; nil if there is none
	unknown error  // why there is none; the library would make a text of it
}

// VerifySignature is called by the library, once. It finds the key that the token names, keeps it
// in s, and returns the payload if that key has signed the token.
func (s *signature) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	jws, err := jose.ParseSignedCompact(token, signatureAlgorithms())
	if err != nil {
		return nil, errors.New("not a signed token")
	}
	s.id, s.alg = jws.Signatures[0].Protected.KeyID, jws.Signatures[0].Protected.Algorithm
	if s.public, s.unknown = s.keys.findKey(ctx, s.id, s.alg); s.unknown != nil {
		return nil, s.unknown
	}
	return jws.Verify(s.public)
}

// isStillGood reports whether the issuer still publishes the key that the token was verified with;
// false also where its keys cannot be fetched.
func (s *signature) isStillGood(ctx context.Context) bool {
	current, err := s.keys.findKey(ctx, s.id, s.alg)
	verifiedWith, comparable := s.public.(interface{ Equal(crypto.PublicKey) bool })
	return err == nil && comparable && verifiedWith.Equal(current)
}

// signatureAlgorithms returns algorithms in the type of package jose.
func signatureAlgorithms() (list []jose.SignatureAlgorithm) {
	for _, alg := range algorithms {
		list = append(list, jose.SignatureAlgorithm(alg))
	}
	return list
}

// findKey returns the public key that a token names by id and algorithm. It asks the issuer again
// where it may and the key is not known. The error is aaep.TransportUnavailable, with when to come
// again, where the issuer may not be asked yet: it could have the key by now, but a peer that makes
// ids up must not decide how often it is asked.
func (k *keySource) findKey(ctx context.Context, id, alg string) (any, error) {
	if k.file != nil {
		return pickKey(k.file.Get(), id, alg)
	}
	hasKey := func(set []key) bool { _, err := pickKey(set, id, alg); return err == nil }
	set, retryAfter, err := k.remote.Get(ctx, hasKey)
	if err != nil {
		return nil, err
	}
	public, err := pickKey(set, id, alg)
	if err != nil && retryAfter > 0 {
		message := "the issuer had no such key when it was last asked"
		if fetchErr := k.remote.Failed(); fetchErr != nil {
			message = "the key is not among those that are known, and the issuer cannot be asked for it: " +
				credentials.OneLine(fetchErr.Error())
		}
		err = &aaep.Rejection{Code: aaep.TransportUnavailable, RetryAfter: retryAfter, Message: message}
	}
	return public, err
}

// pickKey returns the key of set with that id and algorithm or, where id is "", the only one that
// fits. Several that fit are an error, as is none.
func pickKey(set []key, id, alg string) (public any, err error) {
	for _, k := range set {
		if id != "" && k.id != id || k.alg != "" && k.alg != alg || !fitsAlgorithm(k.public, alg) {
			continue
		}
		if public != nil {
			return nil, errors.New("the issuer has several keys that it could be signed with")
		}
		public = k.public
	}
	if public == nil {
		return nil, errors.New("the issuer has no such key")
	}
	return public, nil
}

// fitsAlgorithm reports whether a public key is of the kind that alg, a JWS algorithm, signs with.
func fitsAlgorithm(public any, alg string) bool {
	switch p := public.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(alg, "RS") || strings.HasPrefix(alg, "PS")
	case *ecdsa.PublicKey:
		return alg == map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[p.Curve.Params().BitSize]
	case ed25519.PublicKey:
		return alg == "EdDSA"
	}
	return false
}

// parseKeys reads a JWK set (RFC 7517) and returns the public keys that verify signatures. Left out
// are keys that cannot be read, are private or of another kind, whose use or key_ops name another
// purpose, and RSA keys of less than 2048 bits. A set of which no key is left is an error.
func parseKeys(b []byte) (set []key, err error) {
	var raw struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, errors.New("not a JWK set, which is a JSON object with keys")
	}
	for _, jwk := range raw.Keys {
		var purpose struct {
			Use string   `json:"use"`
			Ops []string `json:"key_ops"`
		}
		var k jose.JSONWebKey
		if json.Unmarshal(jwk, &purpose) != nil || k.UnmarshalJSON(jwk) != nil || !k.IsPublic() || !k.Valid() {
			continue
		}
		if p, ok := k.Key.(*rsa.PublicKey); ok && p.N.BitLen() < 2048 { // too short to be safe
			continue
		}
		if purpose.Use != "" && purpose.Use != "sig" ||
			purpose.Ops != nil && !slices.Contains(purpose.Ops, "verify") {
			continue
		}
		set = append(set, key{k.KeyID, k.Algorithm, k.Key})
	}
	if len(set) == 0 {
		return nil, errors.New("it has no public key to verify signatures with")
	}
	return set, nil
}
