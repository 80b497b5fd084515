package rap

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/aaep-go/aaep/internal/bridge/toolcall"
)

// callRef is what a URL of the Tee refers to: a call or a choice, and the peer's URL to which what
// is posted is sent on. It is encrypted in the URL itself, so that the URL is valid as long as the
// key of the Tee is, and no peer can read or make one.
type callRef struct {
	To    string `json:"to"` // the callback_url or the response_url of the other side
	Group string `json:"group"`
	Call  string `json:"call"`
	Echo  string `json:"echo,omitzero"` // the call_id that the runtime gave
	Tool  string `json:"tool"`
	Sum   string `json:"sum,omitzero"` // the hash of the arguments
}

// isSameCall reports whether another reference with the same name is of the same call, posted
// again, and not of a different one with its id.
func (p callRef) isSameCall(other callRef) bool { return p.Tool == other.Tool && p.Sum == other.Sum }

// Name returns the name under which the call is held.
func (p callRef) Name() toolcall.Name { return toolcall.Name{Group: p.Group, ID: p.Call} }

// sealer encrypts and authenticates call references with one key.
type sealer struct{ aead cipher.AEAD }

// keySize is the size of a key in bytes.
const keySize = 32

// newKey returns a random key.
func newKey() []byte {
	key := make([]byte, keySize)
	rand.Read(key)
	return key
}

// newSealer returns a sealer for a key of keySize bytes.
func newSealer(key []byte) (sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

// sealRef encrypts a call reference for use in a URL of a kind, such as "callback". Only openRef
// with the same kind, and the same key, opens it.
func (s sealer) sealRef(kind string, p callRef) (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(kind))), nil
}

// openRef decrypts the reference in a URL of a kind, which is bound to it; the error says that the
// URL is not one of ours.
func (s sealer) openRef(kind, text string) (p callRef, err error) {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		sealed, err = s.aead.Open(nil, nil, sealed, []byte(kind))
	}
	if err == nil {
		err = json.Unmarshal(sealed, &p)
	}
	if err != nil {
		return callRef{}, errors.New("this URL was not given out here")
	}
	return p, nil
}
