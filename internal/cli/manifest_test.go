package cli

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/manifest"
)

// called runs the command with what is on standard input.
func called(stdin string, args ...string) (code int, out, talk string) {
	var stdout, stderr bytes.Buffer
	code = Main(args, strings.NewReader(stdin), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// SEC-018, SEC-006: an agent publishes its signed manifest and its keys; and a CA vouches for its
// key.
func TestManifestFromElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, _, talk := called("", "manifest", "init", "planner"); code != exits.OK {
		t.Fatal(talk)
	}
	text, err := os.ReadFile("planner.key")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	own := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"planner"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, own, own, key.(crypto.Signer).Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, data := range map[string][]byte{"ca.pem": cert, "both.pem": append(text, cert...)} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, signed, _ := called("", "manifest", "sign", "planner.json")
	_, certified, _ := called("", "manifest", "sign", "planner.json", "--key", "both.pem")
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case manifest.Path:
			w.Header().Set("Content-Type", "application/jose")
			io.WriteString(w, signed)
		case manifest.KeysPath:
			w.Header().Set("Content-Type", "application/jwk-set+json")
			http.ServeFile(w, r, "planner.keys.json")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer agent.Close()
	const down = "http://127.0.0.1:1"
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
		says  string
	}{
		"from the agent, by its keys":   {"", []string{"verify", agent.URL, "--trust", agent.URL + manifest.KeysPath, "--agent", "planner"}, exits.OK, "Verified: the manifest of planner"},
		"from the agent, by a file":     {"", []string{"verify", agent.URL, "--trust", "planner.keys.json"}, exits.OK, "Verified"},
		"shown from the agent":          {"", []string{"show", agent.URL, "--trust", "planner.keys.json"}, exits.OK, "Verified.\nSigned with ES256"},
		"by a CA":                       {certified, []string{"verify", "-", "--key-ca", "ca.pem", "--agent", "planner"}, exits.OK, "vouches"},
		"by a CA, without certificate":  {signed, []string{"verify", "-", "--key-ca", "ca.pem"}, exits.Failed, "not one that is trusted"},
		"keys that cannot be had":       {signed, []string{"verify", "-", "--trust", down}, exits.Unreachable, "cannot take --trust " + down + ": nothing answers there"},
		"no agent":                      {"", []string{"verify", down, "--trust", "planner.keys.json"}, exits.Unreachable, "nothing answers there"},
		"no file":                       {"", []string{"show", "none.jws"}, exits.Unreachable, "none.jws: "},
		"no keys":                       {signed, []string{"verify", "-"}, exits.Usage, "say whom you believe"},
		"no keys in the file":           {signed, []string{"verify", "-", "--trust", "none"}, exits.Usage, "cannot take --trust"},
		"no CA":                         {signed, []string{"verify", "-", "--key-ca", "planner.json"}, exits.Usage, "no certificate"},
		"two URLs of keys":              {signed, []string{"verify", "-", "--trust", agent.URL + manifest.KeysPath, "--trust", agent.URL}, exits.Usage, "one URL"},
		"keys without encryption":       {signed, []string{"verify", "-", "--trust", "http://bank.example/k"}, exits.Usage, "https"},
		"days":                          {"", []string{"sign", "planner.json", "--days", "-1"}, exits.Usage, "--days"},
		"language":                      {"", []string{"init", "x", "--language", "no tag"}, exits.Usage, "--language"},
		"agent without an id":           {"", []string{"init", "", "--out", "x"}, exits.Usage, "no manifest can say that"},
		"what a stranger wrote is safe": {`{"agent_id":"a` + "\\u001b[2J\\u202e\\nVerified." + `"}`, []string{"show", "-"}, exits.OK, "Agent: a<U+001B>[2J<U+202E> Verified.\n"},
	} {
		code, out, talk := called(c.stdin, append([]string{"manifest"}, c.args...)...)
		if all := out + talk; code != c.code || !strings.Contains(all, c.says) || aaep.SafeText(all) != all || strings.Contains(all, block.Type) {
			t.Errorf("%s: exit code %d, want %d, and that it says %q:\n%s", name, code, c.code, c.says, all)
		}
	}
}
