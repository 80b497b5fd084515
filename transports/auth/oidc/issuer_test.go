package oidc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const audience1 = "https://agent.example"

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// issuer signs tokens and tells its keys over TLS, as OpenID Connect discovery has it.
type issuer struct {
	t   testing.TB
	srv *httptest.Server
	url string

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	fetches int
	answer  http.HandlerFunc // in the place of the keys
}

func newIssuer(t testing.TB) *issuer {
	i := &issuer{t: t}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		check(t, json.NewEncoder(w).Encode(map[string]string{"issuer": i.url, "jwks_uri": i.url + "/keys"}))
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		i.fetches++
		answer := i.answer
		i.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		_, _ = w.Write(i.jwks())
	})
	i.srv = httptest.NewTLSServer(mux)
	t.Cleanup(i.srv.Close)
	i.url = i.srv.URL
	return i
}

func (i *issuer) tls() *tls.Config {
	return i.srv.Client().Transport.(*http.Transport).TLSClientConfig
}

func (i *issuer) config() Config { return Config{Issuer: i.url, Audience: audience1, TLS: i.tls()} }

// verifier is one whose clock the test moves.
func (i *issuer) verifier(c Config) (*verifier, func(time.Duration)) {
	i.t.Helper()
	v, err := newVerifier(i.t.Context(), c)
	check(i.t, err)
	var mu sync.Mutex
	var ahead time.Duration
	v.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return time.Now().Add(ahead) }
	return v, func(d time.Duration) { mu.Lock(); defer mu.Unlock(); ahead += d }
}

func (i *issuer) set(answer http.HandlerFunc, keys ...jose.JSONWebKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer, i.keys = answer, keys
}

func (i *issuer) fetched() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

func (i *issuer) jwks() []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	var set jose.JSONWebKeySet
	for _, k := range i.keys {
		set.Keys = append(set.Keys, k.Public())
	}
	b, err := json.Marshal(set)
	check(i.t, err)
	return b
}

// key makes a key for alg, with its private half.
func newKey(t testing.TB, id, alg string) jose.JSONWebKey {
	t.Helper()
	var private crypto.PrivateKey
	var err error
	switch alg {
	case "ES256":
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ES384":
		private, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "EdDSA":
		_, private, err = ed25519.GenerateKey(rand.Reader)
	default:
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	check(t, err)
	return jose.JSONWebKey{Key: private, KeyID: id, Algorithm: alg, Use: "sig"}
}

// said are the claims of a good token.
func (i *issuer) said(change map[string]any) map[string]any {
	now := time.Now()
	c := map[string]any{"iss": i.url, "sub": "ada", "aud": audience1, "exp": now.Add(time.Hour).Unix(),
		"iat": now.Unix()}
	maps.Copy(c, change)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

func (i *issuer) token(k jose.JSONWebKey, change map[string]any) string {
	b, err := json.Marshal(i.said(change))
	check(i.t, err)
	return sign(i.t, k, b, nil)
}

// sign signs anything; header may have more members.
func sign(t testing.TB, k jose.JSONWebKey, payload []byte, header map[jose.HeaderKey]any) string {
	t.Helper()
	o := (&jose.SignerOptions{}).WithType("JWT")
	for name, value := range header {
		o.WithHeader(name, value)
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(k.Algorithm), Key: k}, o)
	check(t, err)
	jws, err := s.Sign(payload)
	check(t, err)
	compact, err := jws.CompactSerialize()
	check(t, err)
	return compact
}

func with(token string) *http.Request {
	return (&http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}})
}

func file(t testing.TB, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.json")
	replace(t, path, text)
	return path
}

func replace(t testing.TB, path string, text []byte) {
	t.Helper()
	check(t, os.WriteFile(path+".new", text, 0o600))
	check(t, os.Rename(path+".new", path))
}
