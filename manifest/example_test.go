package manifest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aaep-go/aaep/manifest"
)

// An agent signs its manifest; assistive technology that was given its public keys knows it again.
func ExampleVerifier() {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // or ReadSigner, or the crypto.Signer of a KMS
	if err != nil {
		fmt.Println(err)
		return
	}
	signer, err := manifest.NewSigner(private, manifest.SignerOptions{Lifetime: 90 * 24 * time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, _ := manifest.Parse([]byte(seed))
	token, err := signer.Sign(m, time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	published, _ := manifest.PublicKeys(signer)

	keys, err := manifest.ParseKeys(published) // or ReadKeys, or a Trust with RemoteKeys
	if err != nil {
		fmt.Println(err)
		return
	}
	verifier := manifest.Verifier{Keys: keys}
	m, id, err := verifier.Verify(token, manifest.Expect{AgentID: "retirement-planner"}, time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.AgentName, "signed this with", id.Algorithm)
	_, _, err = verifier.Verify(token, manifest.Expect{AgentID: "bank"}, time.Now())
	fmt.Println(errors.Is(err, manifest.ErrAgent), err)
	// Output:
	// Retirement Planning Assistant signed this with ES256
	// true manifest: it is the manifest of another agent: its agent_id is "retirement-planner", want "bank"
}
