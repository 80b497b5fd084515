package manifest

import (
	"encoding/base64"
	"errors"
	"slices"
	"testing"
)

// INV-40: of a good token no bit can be changed, none added and none left out. T-JWS
func TestFlipEveryBit(t *testing.T) {
	k := keysOf()
	v := Verifier{Keys: set(t, jwk(t, k.es, map[string]any{"kid": "es"}), jwk(t, k.rs, map[string]any{"kid": "rs"}),
		jwk(t, k.ed, map[string]any{"kid": "ed"})), Algorithms: []string{ES256, RS256, EdDSA}}
	for _, good := range []string{
		mint(t, `{"alg":"ES256","kid":"es"}`, planner, k.es),
		mint(t, `{"alg":"RS256","kid":"rs"}`, planner, k.rs),
		mint(t, `{"alg":"EdDSA","kid":"ed"}`, planner, k.ed),
		mint(t, `{"alg":"ES256","kid":"es"} `, planner+" ", k.es), // other numbers of stray bits
		mint(t, `{"alg":"ES256","kid":"es"}  `, planner+"  ", k.es),
	} {
		if _, _, err := v.Verify(good, Expect{AgentID: "planner"}, now); err != nil {
			t.Fatal(err)
		}
		refused := func(what string, at int, token string) {
			var why Refusal
			if m, _, err := v.Verify(token, Expect{AgentID: "planner"}, now); m != nil || !errors.As(err, &why) {
				t.Errorf("%s at %d of %d: %v", what, at, len(good), err)
			}
		}
		for i := range len(good) {
			for bit := range 8 {
				b := []byte(good)
				b[i] ^= 1 << bit
				refused("flipped", i, string(b))
			}
			refused("left out", i, good[:i]+good[i+1:])
			refused("doubled", i, good[:i]+good[i:i+1]+good[i:])
			refused("cut off", i, good[:i])
			for _, s := range []string{"\n", "=", " ", ".", "A"} {
				refused("put in", i, good[:i]+s+good[i:])
			}
		}
	}
}

// One text for some bytes, and that of the standard library.
func FuzzBase64URL(f *testing.F) {
	for _, s := range []string{"", "AA", "AB", "AAA", "AAE", "AA==", "A\nA", "+/", "-_", "AAAAA", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := base64.RawURLEncoding.Strict().DecodeString(s)
		if want := err == nil && base64.RawURLEncoding.EncodeToString(b) == s; isBase64URL(s) != want {
			t.Errorf("isBase64URL(%q) = %t", s, !want)
		}
	})
}

// Whatever comes in, it is refused with a reason, or is a token for the very bytes that a trusted
// key signed.
func FuzzVerify(f *testing.F) {
	k := keysOf()
	v := Verifier{Keys: set(f, jwk(f, k.es, map[string]any{"kid": "es"}), jwk(f, k.rs, map[string]any{"kid": "rs"})),
		Algorithms: []string{ES256, RS256}}
	signed := []string{mint(f, `{"alg":"ES256","kid":"es"}`, planner, k.es),
		mint(f, `{"alg":"RS256","kid":"rs","typ":"JWT"}`, planner, k.rs)}
	for _, seed := range []string{signed[0], signed[1], mint(f, `{"alg":"none"}`, planner, k.es),
		mint(f, `{"alg":"ES256","kid":"es","crit":["b64"],"b64":false,"jwk":{"kty":"EC"},"x5c":["AA"]}`, planner, k.es),
		planner, "a.b.c", "..", `{"payload":""}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		m, id, err := v.Verify(token, Expect{AgentID: "planner"}, now)
		var why Refusal
		switch {
		case err != nil && (m != nil || id != nil || !errors.As(err, &why)):
			t.Errorf("%q: %v, %v", token, m, err)
		case err == nil && !slices.Contains(signed, token): // no attacker can have found another by chance
			t.Errorf("a forgery: %q, %v", token, id)
		}
		ParseUnverified([]byte(token))
	})
}

// Keys that any user hands over are read or refused, and never half.
func FuzzParseKeys(f *testing.F) {
	k := keysOf()
	s, err := NewSigner(k.es, SignerOptions{})
	check(f, err)
	text, err := PublicKeys(s)
	check(f, err)
	for _, seed := range []string{string(text), `{"keys":[]}`, `{"kty":"oct","k":"AA"}`,
		"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
		`{"keys":[{"kty":"RSA","n":"AA","e":"AA","exp":1e400}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := ParseKeys(text)
		if (set == nil) != (err != nil) {
			t.Fatalf("%v, %v", set, err)
		}
		if err == nil {
			for _, k := range set.keys {
				if k.id == "" && k.unfit == nil || k.unfit == nil && k.print == "" {
					t.Errorf("a key without a name: %+v", k)
				}
			}
		}
		ParseSigner(text, SignerOptions{})
	})
}
