package manifest

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The forms that public keys come in, and what is none.
func TestParseKeys(t *testing.T) {
	k := keysOf()
	in := func(kind string, der []byte, err error) string {
		check(t, err)
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	spki := func(key any) string { der, err := x509.MarshalPKIXPublicKey(key); return in("PUBLIC KEY", der, err) }
	cert := certify(t, &x509.Certificate{DNSNames: []string{"whoever"}}, k.es, nil, nil)
	enc := certify(t, &x509.Certificate{KeyUsage: x509.KeyUsageKeyAgreement}, k.es, nil, nil)
	private, err := x509.MarshalPKCS8PrivateKey(k.es)
	check(t, err)
	d, err := k.es.Bytes()
	check(t, err)
	text := func(v any) string { b, err := json.Marshal(v); check(t, err); return string(b) }
	one := jwk(t, k.es, nil)
	for name, c := range map[string]struct {
		text string
		ids  string
		says string
	}{
		"JWK":          {text(one), k.esKid, ""},
		"JWK with kid": {text(jwk(t, k.es, map[string]any{"kid": "a"})), "a", ""},
		"set": {" " + text(map[string]any{"keys": []any{one, jwk(t, k.rs, nil)}}),
			k.esKid + " " + k.rsKid, ""},
		"set with others": {text(map[string]any{"keys": []any{map[string]any{"kty": "new", "kid": "n"}, one}}),
			k.esKid, ""},
		"PEM": {"a comment\n" + spki(k.es.Public()) + spki(k.rs.Public()) + spki(k.ed.Public()),
			k.esKid + " " + k.rsKid + " " + k.edKid, ""},
		"PKCS #1":          {in("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&k.rs.PublicKey), nil), k.rsKid, ""},
		"certificate":      {in("CERTIFICATE", cert.Raw, nil), k.esKid, ""},
		"empty":            {"", "", "neither JWK nor PEM"},
		"no PEM":           {"planner", "", "neither JWK nor PEM"},
		"no JSON":          {"{", "", "no JSON"},
		"kid twice":        {strings.Replace(text(one), `"kty"`, `"kid":"a","kid":"b","kty"`, 1), "", "one way"},
		"empty set":        {`{"keys":[]}`, "", "no public key"},
		"symmetric":        {`{"kty":"oct","k":"c2VjcmV0"}`, "", "no public key"},
		"private JWK":      {text(jwk(t, k.es, map[string]any{"d": b64(d)})), "", "private"},
		"private PEM":      {in("PRIVATE KEY", private, nil), "", "PRIVATE KEY"},
		"P-384":            {spki(k.p384.Public()), "", "P-256"},
		"RSA 1024":         {spki(k.weak.Public()), "", "1024 bits"},
		"for encryption":   {in("CERTIFICATE", enc.Raw, nil), "", "digital signatures"},
		"off the curve":    {text(jwk(t, k.es, map[string]any{"x": one["y"], "y": one["x"]})), "", "no public key"},
		"damaged in front": {strings.Replace(spki(k.es.Public()), "M", "-", 1) + spki(k.rs.Public()), "", "damaged"},
		"damaged PEM":      {in("PUBLIC KEY", []byte{1, 2, 3}, nil), "", "PEM"},
		"another use":      {text(jwk(t, k.es, map[string]any{"use": "enc\u202e"})), "", "its use is"},
		"times of no time": {text(jwk(t, k.es, map[string]any{"exp": -1})), "", "no JWK"},
	} {
		set, err := ParseKeys([]byte(c.text))
		if c.says != "" {
			if set != nil || err == nil || !strings.Contains(err.Error(), c.says) ||
				strings.Contains(err.Error(), b64(d)[:20]) || strings.Contains(err.Error(), "\u202e") {
				t.Errorf("%s: %v, %v; want that it says %q", name, set, err, c.says)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var ids []string
		for _, k := range set.keys {
			if k.unfit == nil {
				ids = append(ids, k.id)
			}
		}
		if got := strings.Join(ids, " "); got != c.ids {
			t.Errorf("%s: the keys are %s, want %s", name, got, c.ids)
		}
	}
	set, err := ParseKeys([]byte(in("CERTIFICATE", cert.Raw, nil)))
	check(t, err)
	token := signed(t, k.es, SignerOptions{})
	for at, want := range map[time.Duration]error{0: nil, -2 * time.Hour: errKeyPeriod, 2 * time.Hour: errKeyPeriod} {
		if _, _, err := (&Verifier{Keys: set}).Verify(token, Expect{AgentID: "planner"},
			now.Add(at)); !errors.Is(err, want) {
			t.Errorf("%v from now, with a certificate's key: %v, want %v", at, err, want)
		}
	}
}

// Keys of several files are one set; the same key in two of them is one.
func TestReadKeys(t *testing.T) {
	k := keysOf()
	dir := t.TempDir()
	file := func(name string, keys ...map[string]any) string {
		text, err := json.Marshal(map[string]any{"keys": keys})
		check(t, err)
		check(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		return filepath.Join(dir, name)
	}
	a := file("a", jwk(t, k.es, nil), jwk(t, k.other, map[string]any{"kid": "x"}))
	b := file("b", jwk(t, k.es, nil), jwk(t, k.es, map[string]any{"kid": "x"}))
	set, err := ReadKeys(a, b)
	check(t, err)
	if _, err := set.findKey(k.esKid); err != nil {
		t.Error(err)
	}
	if _, err := set.findKey("x"); !errors.Is(err, errAmbiguousKey) {
		t.Errorf("two keys of one id: %v", err)
	}
	bad := filepath.Join(dir, "bad")
	check(t, os.WriteFile(bad, []byte("x"), 0o600))
	for _, path := range []string{bad, filepath.Join(dir, "none")} {
		if _, err := ReadKeys(a, path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%v, want that it names %s", err, path)
		}
	}
}
