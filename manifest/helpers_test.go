package manifest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"sync"
	"testing"
	"time"
)

var now = time.Date(2026, 7, 1, 9, 30, 0, 0, time.UTC)

const planner = `{"@context":"https://aaep-protocol.org/context/v1","type":"aaep:producer.manifest","agent_id":"planner","agent_name":"Planner",
"aaep_versions_supported":["1.0.0"],"conformance_levels_supported":[1,2,3],"transports_supported":["sse"],"languages_supported":["en-US","yo"],
"event_types_emitted":["aaep:agent.*"],"extensions_supported":[],"default_verbosity":"normal","max_concurrent_subscriptions":16}`

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func plannerManifest(t testing.TB) *Manifest {
	m, err := Parse([]byte(planner))
	check(t, err)
	return m
}

// The keys of all tests, made once.
var keysOf = sync.OnceValue(func() (k struct {
	es, other, p384     *ecdsa.PrivateKey
	rs, weak            *rsa.PrivateKey
	ed                  ed25519.PrivateKey
	all                 []crypto.Signer
	esKid, rsKid, edKid string
}) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	var err error
	k.es, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	k.other, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	k.p384, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	must(err)
	k.rs, err = rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	k.weak, err = rsa.GenerateKey(rand.Reader, 1024)
	must(err)
	_, k.ed, err = ed25519.GenerateKey(rand.Reader)
	must(err)
	k.all = []crypto.Signer{k.es, k.rs, k.ed}
	k.esKid, k.rsKid, k.edKid = thumbprintOf(k.es.Public()), thumbprintOf(k.rs.Public()), thumbprintOf(k.ed.Public())
	return k
})

// set is a KeySet of JWKs.
func set(t testing.TB, jwks ...map[string]any) *KeySet {
	t.Helper()
	text, err := json.Marshal(map[string]any{"keys": jwks})
	check(t, err)
	s, err := ParseKeys(text)
	check(t, err)
	return s
}

// jwk is a public key as a JWK, with more members or others.
func jwk(t testing.TB, key crypto.Signer, more map[string]any) map[string]any {
	t.Helper()
	var k map[string]any
	switch p := key.Public().(type) {
	case *ecdsa.PublicKey:
		b, err := p.Bytes()
		check(t, err)
		half := len(b) / 2
		k = map[string]any{"kty": "EC", "crv": p.Curve.Params().Name, "x": b64(b[1 : 1+half]), "y": b64(b[1+half:])}
	case *rsa.PublicKey:
		k = map[string]any{"kty": "RSA", "n": b64(p.N.Bytes()), "e": "AQAB"}
	case ed25519.PublicKey:
		k = map[string]any{"kty": "OKP", "crv": "Ed25519", "x": b64(p)}
	}
	for name, value := range more {
		k[name] = value
	}
	return k
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// mint signs whatever it is given, as no library would.
func mint(t testing.TB, head, payload string, key crypto.Signer) string {
	t.Helper()
	text := b64([]byte(head)) + "." + b64([]byte(payload))
	return text + "." + b64(signature(t, text, key))
}

func signature(t testing.TB, text string, key crypto.Signer) []byte {
	t.Helper()
	sum := sha256.Sum256([]byte(text))
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, k, sum[:])
		check(t, err)
		size := (k.Curve.Params().BitSize + 7) / 8
		return append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
	case *rsa.PrivateKey:
		b, err := rsa.SignPKCS1v15(nil, k, crypto.SHA256, sum[:])
		check(t, err)
		return b
	case ed25519.PrivateKey:
		return ed25519.Sign(k, []byte(text))
	}
	t.Fatalf("no such key: %T", key)
	return nil
}

// signed is a good token.
func signed(t testing.TB, key crypto.Signer, o SignerOptions) string {
	t.Helper()
	s, err := NewSigner(key, o)
	check(t, err)
	text, err := s.Sign(plannerManifest(t), now)
	check(t, err)
	return text
}
