package manifest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/aaep-go/aaep/internal/npmtest"
)

// SEC-018, D-60: another implementation of JOSE, the npm package jose, verifies what is signed here
// and signs what is verified here, and names keys alike. npm fetches it; with AAEP_REAL=1 it fails
// where it cannot.
func TestJOSE(t *testing.T) {
	if testing.Short() {
		t.Skip("npm fetches another implementation: make test-all runs it")
	}
	dir := npmtest.Install(t, "testdata/jose")
	var signers []*Signer
	var ours []string
	type job struct {
		Key     jose.JSONWebKey `json:"key"`
		Header  map[string]any  `json:"header"`
		Payload string          `json:"payload"`
	}
	var theirs []job
	for _, key := range keysOf().all {
		s, err := NewSigner(key, SignerOptions{Lifetime: time.Hour})
		check(t, err)
		token, err := s.Sign(plannerManifest(t), time.Now())
		check(t, err)
		signers, ours = append(signers, s), append(ours, token)
		theirs = append(theirs,
			job{jose.JSONWebKey{Key: key},
				map[string]any{"alg": s.Algorithm(), "kid": s.KeyID(), "typ": "JOSE"}, planner})
		theirs = append(theirs,
			job{jose.JSONWebKey{Key: key}, map[string]any{"alg": s.Algorithm(), "kid": s.KeyID(), "exp": 1}, planner})
	}
	swapped := strings.Replace(planner, "Planner", "Painter", 1)
	parts := strings.Split(ours[0], ".")
	forged := parts[0] + "." + b64([]byte(swapped)) + "." + parts[2]
	published, err := PublicKeys(signers...)
	check(t, err)
	input, err := json.Marshal(map[string]any{"keys": json.RawMessage(published), "verify": append(ours, forged),
		"sign": theirs})
	check(t, err)
	node := exec.Command("node", "check.mjs")
	node.Dir, node.Stdin, node.Stderr = dir, bytes.NewReader(input), os.Stderr
	out, err := node.Output()
	check(t, err)
	var got struct {
		Verified []struct {
			Payload, Error string
			Header         map[string]any
		}
		Signed, Thumbprints []string
	}
	check(t, json.Unmarshal(out, &got))
	plain, err := Encode(plannerManifest(t))
	check(t, err)
	for i, s := range signers {
		if v := got.Verified[i]; v.Error != "" || v.Payload != string(plain) || v.Header["kid"] != s.KeyID() ||
			v.Header["typ"] != signedType {
			t.Errorf("%s, signed here: %+v", s.Algorithm(), v)
		}
		if got.Thumbprints[i] != s.KeyID() {
			t.Errorf("%s: the thumbprint is %s there, and %s here", s.Algorithm(), got.Thumbprints[i], s.KeyID())
		}
	}
	if last := got.Verified[len(ours)]; last.Error != "ERR_JWS_SIGNATURE_VERIFICATION_FAILED" {
		t.Errorf("a forgery was taken: %+v", last)
	}
	keys, err := ParseKeys(published)
	check(t, err)
	v := Verifier{Keys: keys, Algorithms: []string{ES256, RS256, EdDSA}}
	for i, token := range got.Signed {
		m, id, err := v.Verify(token, Expect{AgentID: "planner"}, time.Now())
		if good := i%2 == 0; good &&
			(err != nil || m.AgentName != "Planner" || id.Algorithm != theirs[i].Header["alg"]) || !good && err == nil {
			t.Errorf("%v, signed there: %+v, %v", theirs[i].Header, id, err)
		}
	}
	if len(got.Signed) != 6 {
		t.Errorf("%d tokens were made there, want 6", len(got.Signed))
	}
}
