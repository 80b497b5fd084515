package manifest

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// T-SQUAT: the key that signs and the agents that were met are not read through a symbolic link,
// nor is a link written through.
func TestLinksAreNotFollowed(t *testing.T) {
	k, dir := keysOf(), t.TempDir()
	key, met := filepath.Join(dir, "key"), filepath.Join(dir, "met")
	der, err := x509.MarshalPKCS8PrivateKey(k.es)
	check(t, err)
	check(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	check(t, os.WriteFile(met, []byte("[]"), 0o600))
	if _, err := ReadSigner(key, SignerOptions{}); err != nil {
		t.Fatal(err)
	}
	link := func(to string) string {
		name := to + ".link"
		if err := os.Symlink(to, name); err != nil {
			t.Skip(err) // on Windows it takes a right
		}
		return name
	}
	_, signer := ReadSigner(link(key), SignerOptions{})
	_, signers := SignerFiles(SignerOptions{}, nil, key+".link")
	_, first := OpenFirstUse(link(met))
	_, gone := OpenFirstUse(link(filepath.Join(dir, "nowhere")))
	for what, err := range map[string]error{"ReadSigner": signer, "SignerFiles": signers, "OpenFirstUse": first,
		"OpenFirstUse of nothing": gone} {
		if err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("%s through a link: %v", what, err)
		}
	}
}
