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

// counting is a key elsewhere, which counts how often it is used.
type counting struct {
	crypto.Signer
	used int
}

// Sign counts and signs.
func (c *counting) Sign(r io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	c.used++
	return c.Signer.Sign(r, digest, opts)
}

// Peers that ask for the signed manifest as often as they like make the key sign every ten seconds
// at most. A manifest that has changed is signed at once.
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
		p, err := New(Config{Agent: aaep.Agent{AgentID: "planner"}, Signers: func() []*manifest.Signer { return signers[by:] }})
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

// hanging is a key elsewhere that does not answer, or panics, until it is mended.
type hanging struct {
	crypto.Signer
	used   int
	mended chan struct{}
	panics bool
}

// Sign panics, or waits until the key is mended.
func (h *hanging) Sign(r io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	h.used++
	if h.panics {
		panic("no key")
	}
	<-h.mended
	return h.Signer.Sign(r, digest, opts)
}

// A key that does not answer delays no caller for longer than five seconds, is asked once
// meanwhile, and is used when it answers. Another key takes its place at once. One that panics is
// an error.
func TestKeyThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys [3]*hanging
		var signers [3]*manifest.Signer
		for i := range keys {
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			keys[i] = &hanging{Signer: key, mended: make(chan struct{})}
			if signers[i], err = manifest.NewSigner(keys[i], manifest.SignerOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		keys[2].panics = true
		by := 0
		p, err := New(Config{Agent: aaep.Agent{AgentID: "planner"}, Signers: func() []*manifest.Signer { return signers[by:] }})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Shutdown(t.Context())
		ask := func(what string, good bool, after time.Duration) {
			t.Helper()
			began := time.Now()
			text, err := p.SignedManifest()
			if (err == nil) != good || (text != "") != good || time.Since(began) != after {
				t.Errorf("%s: %q, %v after %v; want one: %t, after %v", what, text, err, time.Since(began), good, after)
			}
		}
		p.AddEndpoint(manifest.SSE, manifest.Endpoint{Address: "/aaep/v1"})
		ask("at first", false, signTimeout)
		time.Sleep(time.Minute)
		p.AddEndpoint(manifest.WebSocket, manifest.Endpoint{Address: "/aaep/v1/ws"})
		ask("later, of something else", false, 0)
		synctest.Wait()
		if keys[0].used != 1 {
			t.Errorf("it was asked %d times", keys[0].used)
		}
		close(keys[0].mended)
		synctest.Wait()
		ask("mended", true, 0)
		by = 1
		ask("another that hangs", false, signTimeout)
		by = 2
		ask("one that panics", false, 0)
		ask("one that panics still", false, 0)
		by = 0
		ask("the first again", true, 0)
		close(keys[1].mended)
	})
}
