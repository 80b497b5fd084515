package oidc_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/aaep-go/aaep/transports/auth"
	"github.com/aaep-go/aaep/transports/auth/oidc"
)

// Peers sign in at an issuer and bring its token. Here its keys are in a file, and this program
// makes the token itself.
func Example() {
	public, private, _ := ed25519.GenerateKey(nil)
	keys, _ := json.Marshal(
		jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "2026", Algorithm: "EdDSA"}}})
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(dir+"/keys.json", keys, 0o600); err != nil {
		fmt.Println(err)
	}
	signed, err := oidc.New(context.Background(), oidc.Config{
		Issuer:   "https://login.example",
		Audience: "https://agent.example", // the name of this producer at the issuer
		Keys:     dir + "/keys.json",      // without it the issuer is asked
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	who := auth.Any(auth.ClientCertificate, signed) // for sse.ServerOptions.Authenticate and its neighbours

	for _, audience := range []string{"https://agent.example", "https://other.example"} {
		claims, _ := json.Marshal(map[string]any{"iss": "https://login.example", "sub": "ada", "aud": audience,
			"exp": time.Now().Add(time.Hour).Unix()})
		signer, _ := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA,
			Key: jose.JSONWebKey{Key: private, KeyID: "2026"}}, nil)
		token, _ := signer.Sign(claims)
		compact, _ := token.CompactSerialize()
		fmt.Println(who(&http.Request{Header: http.Header{"Authorization": {"Bearer " + compact}}}))
	}
	// Output:
	// https://login.example#ada <nil>
	//  oidc: the token is refused: expected audience "https://agent.example" got ["https://other.example"]
}
