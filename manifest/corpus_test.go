package manifest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
)

// The corpus of hostile input is not part of this repository. These tests run where it lies beside
// it.
func readCorpus(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "shared", "corpus", filepath.FromSlash(name)))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the corpus is not beside the repository: ", err)
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// INV-40, SEC-018, T-JWS, T6, D-60: every signed manifest of the corpus has the outcome it must
// have, and so have the signed manifests in answers.
func TestCorpus(t *testing.T) {
	var index struct {
		Fixtures struct {
			Clock time.Time
			Trust struct {
				Algorithms []string
				AgentID    string `json:"expected_agent_id"`
				Windows    map[string]struct {
					From  time.Time `json:"not_before"`
					Until time.Time `json:"not_after"`
				}
				JWKS struct{ Keys []map[string]any }
			}
		}
		Cases []struct {
			ID, Target, Group, Expect, Reason, Base64 string
			Display                                   struct {
				Field string
				Flags []string `json:"must_flag"`
			}
		}
	}
	readCorpus(t, "index.json", &index)
	trust := index.Fixtures.Trust
	for _, k := range trust.JWKS.Keys {
		if w, ok := trust.Windows[k["kid"].(string)]; ok {
			k["nbf"], k["exp"] = w.From.Unix(), w.Until.Unix()
		}
	}
	text, err := json.Marshal(map[string]any{"keys": trust.JWKS.Keys})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	v := Verifier{Keys: keys, Algorithms: trust.Algorithms}
	run, signed := 0, 0
	for _, c := range index.Cases {
		data, err := base64.StdEncoding.DecodeString(c.Base64)
		if err != nil {
			t.Fatal(err)
		}
		expect, token := Expect{AgentID: trust.AgentID}, string(data)
		switch {
		case c.Target == "manifest":
			run++
		case c.Target == "accepted" && strings.Contains(string(data), `"signed_manifest"`):
			var a aaep.SubscriptionAccepted
			if json.Unmarshal(data, &a) != nil || a.SignedManifest == "" {
				continue
			}
			signed++
			expect, token = Expect{Accepted: &a}, a.SignedManifest
		default:
			continue
		}
		m, id, err := v.Verify(token, expect, index.Fixtures.Clock)
		var why Refusal
		switch {
		case c.Target == "accepted": // others of its members may be what is wrong
			t.Logf("%s %s (%s): %v", c.ID, c.Expect, c.Reason, err)
			if c.Expect == "accept" && err != nil {
				t.Errorf("%s (%s): %v", c.ID, c.Reason, err)
			}
		case c.Expect == "accept" && (err != nil || m.AgentID != trust.AgentID || id.Thumbprint == ""):
			t.Errorf("%s (%s): %v", c.ID, c.Reason, err)
		case c.Expect == "reject" && (m != nil || id != nil || !errors.As(err, &why)):
			t.Errorf("%s (%s): %v, want a refusal", c.ID, c.Reason, err)
		default:
			t.Logf("%s (%s): %v", c.ID, c.Reason, err)
		}
	}
	if run < 50 {
		t.Errorf("only %d manifests were there", run)
	}
}

// vector is one of Wycheproof's. Valid ones hold no manifest: it is enough that their signature is
// found good.
type vector struct {
	ID                   int `json:"tcId"`
	Comment, JWS, Result string
	Flags                []string
}

// publicOnly takes the private half out of a JWK, or out of those of a set.
func publicOnly(k map[string]any) {
	for _, name := range []string{"d", "p", "q", "dp", "dq", "qi"} {
		delete(k, name)
	}
	all, _ := k["keys"].([]any)
	for _, one := range all {
		publicOnly(one.(map[string]any))
	}
}

// T-JWS: of Wycheproof's vectors no forgery gets through, and what is signed with ES256 or RS256 by
// a key fit for it does.
func TestWycheproof(t *testing.T) {
	good := 0
	for _, name := range []string{"json_web_signature_test.json", "json_web_key_test.json"} {
		var file struct {
			TestGroups []struct {
				Comment         string
				Private, Public map[string]any
				Tests           []vector
			}
		}
		readCorpus(t, "third_party/wycheproof/"+name, &file)
		for _, g := range file.TestGroups {
			k := g.Public
			if k == nil {
				k = g.Private
			}
			publicOnly(k)
			text, err := json.Marshal(k)
			if err != nil {
				t.Fatal(err)
			}
			keys, keyErr := ParseKeys(text)
			for _, c := range g.Tests {
				opened, err := openVector(c.JWS, keys, keyErr)
				switch {
				case opened && c.Result == "invalid" && g.Comment != "jws_rsa_roca_key":
					// weak in a way that is not looked for
					t.Errorf("%s %d (%s, %s): a forgery was taken", name, c.ID, g.Comment, c.Comment)
				case opened:
					good++
				case c.Result == "valid":
					t.Logf("%s %d (%s, %s): %v", name, c.ID, g.Comment, c.Comment, err)
				}
			}
		}
	}
	if good < 11 {
		t.Errorf("only %d good signatures were found good", good)
	}
}

func openVector(jws string, keys *KeySet, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	tok, err := readToken(jws)
	if err != nil {
		return false, err
	}
	if err := (&Verifier{Algorithms: []string{ES256, RS256, EdDSA}}).checkAlgorithm(tok.head.Alg); err != nil {
		return false, err
	}
	if tok.head.Kid == "" && len(keys.keys) == 1 {
		tok.head.Kid = keys.keys[0].id
	}
	k, err := keys.findKey(tok.head.Kid)
	if err != nil {
		return false, err
	}
	_, err = tok.verifySignature(k, time.Now())
	return err == nil, err
}

// T-JWS: of the signatures in RFC 7520 and RFC 7797 the one with RS256 is found good; the others
// have algorithms or forms that are not taken.
func TestCookbook(t *testing.T) {
	for name, good := range map[string]bool{"4_1.rsa_v15_signature": true, "4_2.rsa-pss_signature": false,
		"4_3.ecdsa_signature": false, "4_4.hmac-sha2_integrity_protection": false,
		"4_5.signature_with_detached_content": false, "4_6.protecting_specific_header_fields": false,
		"4_7.protecting_content_only": false, "4_8.multiple_signatures": false,
		"hmac-sha2_b64_false": false} {
		var file struct {
			Input  struct{ Key any }
			Output struct {
				Compact string
				JSON    json.RawMessage
				Flat    json.RawMessage `json:"json_flat"`
			}
		}
		readCorpus(t, "third_party/jose-cookbook/"+name+".json", &file)
		set, one := file.Input.Key.(map[string]any)
		if !one {
			set = map[string]any{"keys": file.Input.Key}
		}
		publicOnly(set)
		text, err := json.Marshal(set)
		check(t, err)
		keys, keyErr := ParseKeys(text)
		forms := 0
		for _, form := range []string{file.Output.Compact, string(file.Output.JSON), string(file.Output.Flat)} {
			if form == "" {
				continue
			}
			forms++
			opened, err := openVector(form, keys, keyErr)
			if want := good && form == file.Output.Compact; opened != want {
				t.Errorf("%s: %.60s…: %v, want it taken: %t", name, form, err, want)
			}
		}
		if forms == 0 {
			t.Errorf("%s has no output", name)
		}
	}
}
