package oidc

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports/auth"
)

// What lets in only the issuer's own, for us, now. TR-015, SEC-016, INV-33, T-JWS
func TestVerify(t *testing.T) {
	i := newIssuer(t)
	es, rs, ed, stranger := newKey(t, "e1", "ES256"), newKey(t, "r1", "RS256"), newKey(t, "d1", "EdDSA"),
		newKey(t, "e1", "ES256")
	i.set(nil, es, rs, ed)
	v, _ := i.verifier(i.config())
	at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	good, err := json.Marshal(i.said(nil))
	check(t, err)
	public, err := x509.MarshalPKIXPublicKey(rs.Public().Key)
	check(t, err)
	shared := jose.JSONWebKey{Key: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), KeyID: "r1",
		Algorithm: "HS256"}
	sharedDER := jose.JSONWebKey{Key: rs.Public().Key.(*rsa.PublicKey).N.Bytes(), KeyID: "r1", Algorithm: "HS256"}
	ps := rs
	ps.Algorithm = "PS256"
	unnamed := ed
	unnamed.KeyID = ""
	plain := base64.RawURLEncoding.EncodeToString
	ours := i.token(es, nil)
	parts := strings.Split(ours, ".")
	spare := parts[2][:len(parts[2])-1] + string(parts[2][len(parts[2])-1]+1) // the same bytes, other spare bits
	says := func(members string) string {
		return sign(t, es, fmt.Appendf(nil, `{"iss":%q,"sub":"ada","aud":%q,"exp":%d%s}`, i.url, audience1,
			at(time.Hour), members), nil)
	}
	header := func(name string, value any) string {
		return sign(t, es, good, map[jose.HeaderKey]any{jose.HeaderKey(name): value})
	}
	for _, tt := range []struct{ name, token, who string }{
		{"ES256", ours, "ada"},
		{"RS256", i.token(rs, nil), "ada"},
		{"EdDSA", i.token(ed, nil), "ada"},
		{"no key named, one that fits", i.token(unnamed, nil), "ada"},
		{"several audiences", i.token(es, map[string]any{"aud": []string{"x", audience1}}), "ada"},
		{"at+jwt", header("typ", "at+jwt"), "ada"},
		{"expired just now", i.token(es, map[string]any{"exp": at(-leeway / 2)}), "ada"},
		{"valid in a moment", i.token(es, map[string]any{"nbf": at(leeway / 2), "iat": at(leeway / 2)}), "ada"},
		{"more claims", says(`,"x":{"y":[1,"2"]}`), "ada"},

		{"expired", i.token(es, map[string]any{"exp": at(-2 * leeway)}), ""},
		{"no expiry", i.token(es, map[string]any{"exp": nil}), ""},
		{"an expiry that is no number", i.token(es, map[string]any{"exp": "tomorrow"}), ""},
		{"not valid yet", i.token(es, map[string]any{"nbf": at(2 * leeway)}), ""},
		{"made in the future", i.token(es, map[string]any{"iat": at(2 * leeway)}), ""},
		{"another audience", i.token(es, map[string]any{"aud": "https://other.example"}), ""},
		{"other audiences", i.token(es, map[string]any{"aud": []string{"x", "y"}}), ""},
		{"no audience", i.token(es, map[string]any{"aud": nil}), ""},
		{"another issuer", i.token(es, map[string]any{"iss": "https://evil.example"}), ""},
		{"the issuer with a slash", i.token(es, map[string]any{"iss": i.url + "/"}), ""},
		{"no issuer", i.token(es, map[string]any{"iss": nil}), ""},
		{"no subject", i.token(es, map[string]any{"sub": nil}), ""},
		{"an empty subject", i.token(es, map[string]any{"sub": ""}), ""},
		{"a subject that is no text", i.token(es, map[string]any{"sub": 1}), ""},
		{"a subject not to be shown", i.token(es, map[string]any{"sub": "ada\x1b[2J"}), ""},
		{"a subject that is too long", i.token(es, map[string]any{"sub": strings.Repeat("a", 600)}), ""},

		{"a stranger's key of that name", i.token(stranger, nil), ""},
		{"a key not known", i.token(newKey(t, "e9", "ES256"), nil), ""},
		{"another algorithm of that key", i.token(ps, nil), ""},
		{"none", plain([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".", ""},
		{"none, with a signature", plain([]byte(`{"alg":"none","kid":"e1"}`)) + "." + parts[1] + "." + parts[2], ""},
		{"HS256 with the public key", sign(t, shared, good, nil), ""},
		{"HS256 with its number", sign(t, sharedDER, good, nil), ""},
		{"its own key in the header", header("jwk", stranger.Public()), ""},
		{"a stranger's key in the header",
			sign(t, stranger, good, map[jose.HeaderKey]any{"jwk": stranger.Public()}), ""},
		{"an address of keys in the header", header("jku", "https://evil.example/keys"), ""},
		{"an address of certificates", header("x5u", "https://evil.example/keys"), ""},
		{"certificates", header("x5c", []string{"AAAA"}), ""},
		{"something critical", header("crit", []string{"b64"}), ""},
		{"not base64", header("b64", true), ""},
		{"a notice of a logout", header("typ", "logout+jwt"), ""},
		{"a type that is no text", header("typ", 1), ""},
		{"a header with two algorithms", plain([]byte(`{"alg":"none","alg":"ES256","kid":"e1"}`)) + "." + parts[1] +
			"." + parts[2], ""},
		{"another payload", parts[0] + "." + plain([]byte(strings.Replace(string(good), "ada", "eve", 1))) + "." +
			parts[2], ""},
		{"no signature", parts[0] + "." + parts[1] + ".", ""},
		{"spare bits", parts[0] + "." + parts[1] + "." + spare, ""},
		{"padding", ours + "=", ""},

		{"a name twice", says(`,"sub":"eve"`), ""},
		{"a name in other letters",
			sign(t, es, fmt.Appendf(nil, `{"iss":%q,"SUB":"eve","aud":%q,"exp":%d}`, i.url, audience1, at(time.Hour)),
				nil), ""},
		{"an audience in other letters",
			sign(t, es, fmt.Appendf(nil, `{"iss":%q,"sub":"eve","aud":"x","AUD":%q,"exp":%d}`, i.url, audience1,
				at(time.Hour)), nil), ""},
		{"an issuer in other letters",
			sign(t, es, fmt.Appendf(nil, `{"iss":"https://evil.example","ISS":%q,"sub":"eve","aud":%q,"exp":%d}`, i.url,
				audience1, at(time.Hour)), nil), ""},
		{"an expiry in other letters",
			sign(t, es, fmt.Appendf(nil, `{"iss":%q,"sub":"eve","aud":%q,"exp":%d,"EXP":%d}`, i.url, audience1,
				at(-time.Hour), at(time.Hour)), nil), ""},
		{"a subject in other letters too", says(`,"Sub":"eve"`), ""},
		{"not text", says(",\"x\":\"\xff\""), ""},
		{"a list", sign(t, es, []byte(`[]`), nil), ""},
		{"nothing", sign(t, es, nil, nil), ""},
	} {
		got, err := v.authenticateRequest(with(tt.token))
		want := ""
		if tt.who != "" {
			want = i.url + "#" + tt.who
		}
		if got != want || (err == nil) != (want != "") || errors.Is(err, auth.ErrNone) {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), parts[1][:20]) || strings.ContainsAny(err.Error(), "\x1b\n")) {
			// INV-36, INV-37
			t.Errorf("%s: the error tells too much: %v", tt.name, err)
		}
	}
	for _, alg := range algorithms {
		if alg != "EdDSA" && !strings.Contains("RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512", alg) {
			t.Errorf("%s may sign tokens", alg)
		}
	}
	for _, token := range []string{"", "a07Kx2-Lq9_Zr4TtWm1VbYc8", `{"payload":"x"}`} {
		if _, err := v.authenticateRequest(with(token)); err == nil {
			t.Errorf("%q came in", token)
		}
	}
	if _, err := v.authenticateRequest(with("a07Kx2-Lq9_Zr4TtWm1VbYc8")); !errors.Is(err, auth.ErrNone) {
		t.Errorf("a token of another kind: %v, want ErrNone", err)
	}
}

// Allow has the last word, and only that. SEC-016
func TestAllow(t *testing.T) {
	i := newIssuer(t)
	k := newKey(t, "e1", "ES256")
	i.set(nil, k)
	c := i.config()
	c.Allow = func(claims map[string]any) error {
		if scope, _ := claims["scope"].(string); !strings.Contains(" "+scope+" ", " aaep ") {
			return errors.New("the scope aaep is missing")
		}
		return nil
	}
	v, _ := i.verifier(c)
	if who, err := v.authenticateRequest(with(i.token(k, map[string]any{"scope": "openid aaep"}))); who != i.url+
		"#ada" {
		t.Errorf("%q, %v", who, err)
	}
	if _, err := v.authenticateRequest(with(i.token(k, nil))); !errors.Is(err, aaep.AuthorizationDenied) ||
		!strings.Contains(err.Error(), "scope") {
		t.Errorf("without the scope: %v, want AuthorizationDenied and why", err)
	}
	if _, err := v.authenticateRequest(
		with(i.token(newKey(t, "e1", "ES256"), map[string]any{"scope": "aaep"}))); err == nil ||
		errors.Is(err, aaep.AuthorizationDenied) {
		t.Errorf("with a stranger's key: %v, want not authenticated", err)
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, alg := range []string{"ES256", "RS256", "EdDSA"} {
		b.Run(alg, func(b *testing.B) {
			i := newIssuer(b)
			k := newKey(b, "k", alg)
			i.set(nil, k)
			v, _ := i.verifier(i.config())
			r := with(i.token(k, nil))
			for b.Loop() {
				if _, err := v.authenticateRequest(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
