package manifest

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SEC-018: each kind of key signs what is verified with what is published of it, and the header
// says what it must.
func TestSign(t *testing.T) {
	for _, key := range keysOf().all {
		s, err := NewSigner(key, SignerOptions{Lifetime: time.Hour})
		check(t, err)
		token, err := s.Sign(plannerManifest(t), now)
		check(t, err)
		published, err := PublicKeys(s)
		check(t, err)
		keys, err := ParseKeys(published)
		check(t, err)
		v := Verifier{Keys: keys, Algorithms: []string{s.Algorithm()}}
		m, id, err := v.Verify(token, Expect{AgentID: "planner"}, now)
		if err != nil || m.AgentName != "Planner" || id.KeyID != thumbprintOf(key.Public()) || id.KeyID != s.KeyID() ||
			!id.SignedAt.Equal(now) || !id.ExpiresAt.Equal(now.Add(time.Hour)) {
			t.Errorf("%s: %+v, %v", s.Algorithm(), id, err)
		}
		if _, _, err := v.Verify(token, Expect{AgentID: "planner"}, now.Add(time.Hour+leeway)); !errors.Is(err,
			ErrExpired) {
			t.Errorf("%s, an hour later: %v", s.Algorithm(), err)
		}
		tok, err := readToken(token)
		check(t, err)
		var head map[string]any
		check(t, json.Unmarshal(unb64(t, strings.Split(token, ".")[0]), &head))
		if len(head) != 5 || head["typ"] != signedType || head["alg"] != s.Algorithm() || head["kid"] != s.KeyID() {
			t.Errorf("its header is %v", head)
		}
		if plain, err := Encode(m); err != nil || !bytes.Equal(plain, tok.decodePayload()) {
			t.Errorf("what is signed is %s, want the manifest", tok.decodePayload())
		}
		if s.Algorithm() == EdDSA {
			v.Algorithms = nil
			if _, _, err := v.Verify(token, Expect{AgentID: "planner"}, now); !errors.Is(err, errAlgorithm) {
				t.Errorf("EdDSA, not allowed: %v", err)
			}
		}
	}
}

// SEC-018: two keys live at once while one takes the other's place.
func TestRotation(t *testing.T) {
	k := keysOf()
	before, err := NewSigner(k.es, SignerOptions{KeyID: "2025"})
	check(t, err)
	after, err := NewSigner(k.other, SignerOptions{KeyID: "2026"})
	check(t, err)
	verify := func(token string, signers ...*Signer) error {
		published, err := PublicKeys(signers...)
		check(t, err)
		keys, err := ParseKeys(published)
		check(t, err)
		_, _, err = (&Verifier{Keys: keys}).Verify(token, Expect{AgentID: "planner"}, now)
		return err
	}
	byOld, err := before.Sign(plannerManifest(t), now)
	check(t, err)
	byNew, err := after.Sign(plannerManifest(t), now)
	check(t, err)
	if err := errors.Join(verify(byOld, before, after), verify(byNew, before, after), verify(byOld, before),
		verify(byNew, after)); err != nil {
		t.Error(err)
	}
	if err := verify(byOld, after); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("by a key that was taken out: %v", err)
	}
	same, err := NewSigner(k.other, SignerOptions{KeyID: "2025"})
	check(t, err)
	if text, err := PublicKeys(before, same); err == nil {
		t.Errorf("one kid for two keys: %s", text)
	}
}

// vault is a key that never leaves where it is.
type vault struct {
	key   crypto.Signer
	signs crypto.Signer
}

func (v vault) Public() crypto.PublicKey { return v.key.Public() }
func (v vault) Sign(r io.Reader, digest []byte, o crypto.SignerOpts) ([]byte, error) {
	if v.signs == nil {
		return nil, errors.New("the vault is locked")
	}
	return v.signs.Sign(r, digest, o)
}

// SEC-018: a KMS or HSM signs without giving its key away; one that signs with another key than it
// says is found out.
func TestVault(t *testing.T) {
	k := keysOf()
	for _, key := range k.all {
		token := signed(t, vault{key, key}, SignerOptions{})
		v := Verifier{Keys: set(t, jwk(t, key, nil)), Algorithms: []string{ES256, RS256, EdDSA}}
		if _, _, err := v.Verify(token, Expect{AgentID: "planner"}, now); err != nil {
			t.Error(err)
		}
	}
	for want, key := range map[string]vault{"does not verify": {k.es, k.other}, "locked": {k.es, nil}} {
		s, err := NewSigner(key, SignerOptions{})
		check(t, err)
		if token, err := s.Sign(plannerManifest(t), now); err == nil || !strings.Contains(err.Error(), want) ||
			token != "" {
			t.Errorf("%q, %v; want that it says %q", token, err, want)
		}
	}
}

// Every form that private keys come in, and no private key in an error (INV-37).
func TestParseSigner(t *testing.T) {
	k := keysOf()
	sec1, err := x509.MarshalECPrivateKey(k.es)
	check(t, err)
	pkcs8 := func(key any) []byte {
		b, err := x509.MarshalPKCS8PrivateKey(key)
		check(t, err)
		return b
	}
	in := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	d, err := k.es.Bytes()
	check(t, err)
	otherD, err := k.other.Bytes()
	check(t, err)
	private, err := json.Marshal(jwk(t, k.es, map[string]any{"d": b64(d), "kid": "mine"}))
	check(t, err)
	for name, c := range map[string]struct{ text, alg, kid string }{
		"PKCS #8, EC":  {in("PRIVATE KEY", pkcs8(k.es)), ES256, k.esKid},
		"PKCS #8, RSA": {in("PRIVATE KEY", pkcs8(k.rs)), RS256, k.rsKid},
		"PKCS #8, Ed":  {in("PRIVATE KEY", pkcs8(k.ed)), EdDSA, k.edKid},
		"SEC 1": {in("EC PARAMETERS", []byte{6, 8, 42, 134, 72, 206, 61, 3, 1, 7}) + in("EC PRIVATE KEY", sec1),
			ES256, k.esKid},
		"PKCS #1": {in("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(k.rs)), RS256, k.rsKid},
		"JWK":     {string(private), ES256, "mine"},
	} {
		s, err := ParseSigner([]byte(c.text), SignerOptions{})
		if err != nil || s.Algorithm() != c.alg || s.KeyID() != c.kid {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	spki, err := x509.MarshalPKIXPublicKey(k.es.Public())
	check(t, err)
	public, err := json.Marshal(jwk(t, k.es, nil))
	check(t, err)
	for name, c := range map[string]struct{ text, says string }{
		"empty":          {"", "no private key"},
		"public PEM":     {in("PUBLIC KEY", spki), "the public half of a key"},
		"public JWK":     {string(public), "the public half of a key"},
		"public JWK Set": {`{"keys":[` + string(public) + `]}`, "the public half of a key"},
		"two keys":       {in("EC PRIVATE KEY", sec1) + in("PRIVATE KEY", pkcs8(k.other)), "one private key"},
		"encrypted":      {in("ENCRYPTED PRIVATE KEY", sec1), "encrypted"},
		"P-384":          {in("PRIVATE KEY", pkcs8(k.p384)), "P-256"},
		"RSA 1024":       {in("PRIVATE KEY", pkcs8(k.weak)), "1024"},
		"damaged":        {in("PRIVATE KEY", sec1[1:]), "cannot be read"},
		"JWK, d twice":   {strings.Replace(string(private), `"d":`, `"d":"AA","d":`, 1), "one way"},
		"JWK, wrong d":   {strings.Replace(string(private), b64(d), b64(d[1:]), 1), "one way"},
		"JWK, other d":   {strings.Replace(string(private), b64(d), b64(otherD), 1), "does not verify"},
		"JWK, symmetric": {`{"kty":"oct","k":"c2VjcmV0"}`, "no private key"},
	} {
		s, err := ParseSigner([]byte(c.text), SignerOptions{})
		if s != nil || err == nil || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), b64(d)[:20]) {
			t.Errorf("%s: %v, %v; want that it says %q", name, s, err, c.says)
		}
	}
	path := filepath.Join(t.TempDir(), "key")
	check(t, os.WriteFile(path, private, 0o600))
	if _, err := ReadSigner(path, SignerOptions{}); err != nil {
		t.Error(err)
	}
	if runtime.GOOS != "windows" {
		check(t, os.Chmod(path, 0o640))
		if _, err := ReadSigner(path, SignerOptions{}); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("a key that others may read: %v", err)
		}
		check(t, os.WriteFile(path, public, 0o644))
		check(t, os.Chmod(path, 0o644))
		if _, err := ReadSigner(path, SignerOptions{}); !errors.Is(err, errPublicHalf) {
			t.Errorf("a public key, which others may read: %v", err)
		}
	}
}

// A key is changed while the agent runs: published first, then signing, and the old one gone when
// it is not needed. What cannot be used changes nothing. SEC-006
func TestSignerFiles(t *testing.T) {
	k := keysOf()
	text := func(key any) string {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		check(t, err)
		return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "planner.key")
	put := func(text string) {
		next := filepath.Join(dir, "next")
		check(t, os.WriteFile(next, []byte(text), 0o600))
		check(t, os.Rename(next, path))
	}
	put(text(k.es))
	var log strings.Builder
	signers, err := SignerFiles(SignerOptions{}, slog.New(slog.NewTextHandler(&log, nil)), path)
	check(t, err)
	for _, step := range []struct {
		name, text string
		kids       []string
	}{
		{"in the beginning", text(k.es), []string{k.esKid}},
		{"the next is published", text(k.es) + text(k.ed), []string{k.esKid, k.edKid}},
		{"it signs", text(k.ed) + text(k.es), []string{k.edKid, k.esKid}},
		{"half written", text(k.ed) + text(k.rs)[:100], []string{k.edKid, k.esKid}},
		{"damaged in front", strings.Replace(text(k.rs), "M", "-", 1) + text(k.es), []string{k.edKid, k.esKid}},
		{"twice the same", text(k.ed) + text(k.ed), []string{k.edKid, k.esKid}},
		{"emptied", "", []string{k.edKid, k.esKid}},
		{"the old one is gone", text(k.ed), []string{k.edKid}},
	} {
		put(step.text)
		var kids []string
		for _, s := range signers() {
			kids = append(kids, s.KeyID())
		}
		if !slices.Equal(kids, step.kids) {
			t.Errorf("%s: %v, want %v", step.name, kids, step.kids)
		}
	}
	if n := strings.Count(log.String(), "stays in force"); n != 4 {
		t.Errorf("the log says %d times that a file is not used:\n%s", n, log.String())
	}
	if _, err := SignerFiles(SignerOptions{}, nil, path, filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a file that is not there")
	}
}

// What cannot be a signer, or cannot be signed, is refused at once.
func TestSignerRefuses(t *testing.T) {
	k := keysOf()
	if _, err := NewSigner(nil, SignerOptions{}); err == nil {
		t.Error("a signer without a key")
	}
	for name, c := range map[string]struct {
		key crypto.Signer
		o   SignerOptions
	}{
		"P-384": {k.p384, SignerOptions{}}, "RSA 1024": {k.weak, SignerOptions{}},
		"lifetime": {k.es, SignerOptions{Lifetime: -1}},
		"kid":      {k.es, SignerOptions{KeyID: "\xff"}},
		"another's certificate": {k.es,
			SignerOptions{Certificates: []*x509.Certificate{{PublicKey: k.other.Public()}}}},
		"many certificates": {k.es,
			SignerOptions{Certificates: many(9, &x509.Certificate{PublicKey: k.es.Public()})}},
	} {
		if s, err := NewSigner(c.key, c.o); err == nil {
			t.Errorf("%s: %v", name, s)
		}
	}
	s, err := NewSigner(k.es, SignerOptions{})
	check(t, err)
	if _, err := s.Sign(&Manifest{AgentID: "planner"}, now); err == nil {
		t.Error("what is no whole manifest was signed") // HS-090
	}
	m := plannerManifest(t)
	big, err := jsonv2.Marshal(map[string]string{"x": strings.Repeat("x", maxSigned)})
	check(t, err)
	m.Extensions = map[string]jsontext.Value{"big": big}
	if _, err := s.Sign(m, now); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("too large to be read: %v", err)
	}
}

func many[T any](n int, one T) (all []T) {
	for range n {
		all = append(all, one)
	}
	return all
}
