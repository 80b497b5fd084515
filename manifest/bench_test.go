package manifest

import (
	"testing"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json"
)

// BenchmarkSign and BenchmarkVerify have bare go-jose beside each of ours: the same bytes signed,
// or verified and read, with what go-jose offers and nothing that it leaves out. Sign as it is
// called also writes the manifest and checks it against its schema; "encoded" is without that.
func BenchmarkSign(b *testing.B) {
	for _, key := range keysOf().all {
		s, err := NewSigner(key, SignerOptions{})
		check(b, err)
		m := plannerManifest(b)
		payload, err := Encode(m)
		check(b, err)
		b.Run(s.Algorithm()+"/aaep", func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Sign(m, now); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.Algorithm()+"/encoded", func(b *testing.B) {
			for b.Loop() {
				if _, err := s.signPayload(payload, now); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.Algorithm()+"/go-jose", func(b *testing.B) {
			for b.Loop() { // with the same header, which has the time in it
				o := (&jose.SignerOptions{}).WithType(signedType).WithHeader("kid", s.KeyID()).WithHeader("iat",
					now.Unix())
				bare, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(s.Algorithm()),
					Key: key}, o)
				check(b, err)
				jws, err := bare.Sign(payload)
				if err == nil {
					_, err = jws.CompactSerialize()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, key := range keysOf().all {
		s, err := NewSigner(key, SignerOptions{})
		check(b, err)
		token, err := s.Sign(plannerManifest(b), now)
		check(b, err)
		published, err := PublicKeys(s)
		check(b, err)
		b.Run(s.Algorithm()+"/aaep", func(b *testing.B) {
			keys, err := ParseKeys(published)
			check(b, err)
			v := Verifier{Keys: keys, Algorithms: []string{ES256, RS256, EdDSA}}
			for b.Loop() {
				if _, _, err := v.Verify(token, Expect{AgentID: "planner"}, now); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.Algorithm()+"/go-jose", func(b *testing.B) {
			var keys jose.JSONWebKeySet
			check(b, json.Unmarshal(published, &keys))
			for b.Loop() {
				jws, err := jose.ParseSignedCompact(token,
					[]jose.SignatureAlgorithm{jose.ES256, jose.RS256, jose.EdDSA})
				check(b, err)
				payload, err := jws.Verify(keys)
				check(b, err)
				var m map[string]any
				check(b, json.Unmarshal(payload, &m))
			}
		})
	}
}
