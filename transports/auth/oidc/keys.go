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
// often as strangers like. Either file or remote is set.
type keySource struct {
	file   *credentials.Source[[]key]
	remote *credentials.Fetched[[]key]
}

type key struct {
	id, alg string
	public  any
}

// signature is that of one token: which key it was made with, as the token has it, and as it was
// found.
type signature struct {
	keys    *keySource
	id, alg string
	public  any
	unknown error // why there is no key; the library makes a text of it
}

// VerifySignature returns the payload of a token that one of the keys has signed.
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

// isStillGood reports whether the issuer has that key still.
func (s *signature) isStillGood(ctx context.Context) bool {
	now, err := s.keys.findKey(ctx, s.id, s.alg)
	is, known := s.public.(interface{ Equal(crypto.PublicKey) bool })
	return err == nil && known && is.Equal(now)
}

// signatureAlgorithms returns algorithms in the type of package jose.
func signatureAlgorithms() (all []jose.SignatureAlgorithm) {
	for _, alg := range algorithms {
		all = append(all, jose.SignatureAlgorithm(alg))
	}
	return all
}

// findKey returns the one key that a token names.
func (k *keySource) findKey(ctx context.Context, id, alg string) (any, error) {
	if k.file != nil {
		return pickKey(k.file.Get(), id, alg)
	}
	set, again, err := k.remote.Get(ctx, func(set []key) bool { _, err := pickKey(set, id, alg); return err == nil })
	if err != nil {
		return nil, err
	}
	public, err := pickKey(set, id, alg)
	if err != nil && again > 0 { // it may have it by now, and strangers must not make us ask as often as they like
		message := "the issuer had no such key when it was last asked"
		if failed := k.remote.Failed(); failed != nil {
			message = "the key is not among those that are known, and the issuer cannot be asked for it: " +
				credentials.OneLine(failed.Error())
		}
		err = &aaep.Rejection{Code: aaep.TransportUnavailable, RetryAfter: again, Message: message}
	}
	return public, err
}

// pickKey returns the key of that id, or the only one that fits where the token names none.
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

// fitsAlgorithm reports whether a key is one for an algorithm.
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

// parseKeys reads a JWK set (RFC 7517). Keys of kinds that are not ours, and those not made to
// sign, are left out.
func parseKeys(b []byte) (set []key, err error) {
	var raw struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, errors.New("not a JWK set, which is a JSON object with keys")
	}
	for _, one := range raw.Keys {
		var about struct {
			Use string   `json:"use"`
			Ops []string `json:"key_ops"`
		}
		var k jose.JSONWebKey
		if json.Unmarshal(one, &about) != nil || k.UnmarshalJSON(one) != nil || !k.IsPublic() || !k.Valid() {
			continue
		}
		if p, ok := k.Key.(*rsa.PublicKey); ok && p.N.BitLen() < 2048 {
			continue
		}
		if about.Use != "" && about.Use != "sig" || about.Ops != nil && !slices.Contains(about.Ops, "verify") {
			continue
		}
		set = append(set, key{k.KeyID, k.Algorithm, k.Key})
	}
	if len(set) == 0 {
		return nil, errors.New("it has no public key to verify signatures with")
	}
	return set, nil
}
