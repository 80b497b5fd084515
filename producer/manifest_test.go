package producer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/manifest"
)

// counting is a key somewhere else, which counts how often it is used.
type counting struct {
	crypto.Signer
	used int
}

func (c *counting) Sign(r io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	c.used++
	return c.Signer.Sign(r, digest, opts)
}

// Strangers who ask for the signed manifest as often as they like make the key sign every ten seconds; what is changed is signed at
// once.
func TestSignedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys [2]*counting
		var signers [2]*manifest.Signer
		for i := range keys {
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			keys[i] = &counting{Signer: key}
			if signers[i], err = manifest.NewSigner(keys[i], manifest.SignerOptions{Lifetime: time.Hour}); err != nil {
				t.Fatal(err)
			}
		}
		by := 0
		p, err := New(Config{Agent: aaep.Producer{AgentID: "planner"}, Signers: func() []*manifest.Signer { return signers[by:] }})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Shutdown(t.Context())
		p.AddEndpoint(manifest.SSE, manifest.Endpoint{Address: "/aaep/v1"})
		ask := func(what string, changed bool, before string, used ...int) string {
			t.Helper()
			text := before
			for range 100 {
				if text, err = p.SignedManifest(); err != nil {
					t.Fatal(err)
				}
			}
			if (text != before) != changed || keys[0].used != used[0] || keys[1].used != used[1] {
				t.Errorf("%s: changed %v, want %v; the keys were used %d and %d times, want %d", what, text != before, changed, keys[0].used, keys[1].used, used)
			}
			return text
		}
		text := ask("at first", true, "", 1, 0)
		time.Sleep(signedFor - 1)
		text = ask("soon", false, text, 1, 0)
		time.Sleep(time.Nanosecond)
		text = ask("later", true, text, 2, 0)
		p.AddEndpoint(manifest.WebSocket, manifest.Endpoint{Address: "/aaep/v1/ws"})
		text = ask("another place", true, text, 3, 0)
		by = 1
		ask("another key", true, text, 3, 1)
	})
}
