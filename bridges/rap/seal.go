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

// pass is what a URL of the Tee stands for: where what is posted there goes on to, and which call
// it belongs to. It is sealed in the URL itself, so that it counts as long as the key of the Tee
// does, and no peer can read or make one.
type pass struct {
	To    string `json:"to"` // the callback_url or the response_url of the other side
	Group string `json:"group"`
	Call  string `json:"call"`
	Echo  string `json:"echo,omitzero"` // the call_id that the runtime gave
	Tool  string `json:"tool"`
	Sum   string `json:"sum,omitzero"` // the hash of the arguments
}

// isSameCall reports whether a pass with the same name is that of the same call, posted again.
func (p pass) isSameCall(other pass) bool { return p.Tool == other.Tool && p.Sum == other.Sum }

// Name returns what the call of a pass is known by.
func (p pass) Name() toolcall.Name { return toolcall.Name{Group: p.Group, ID: p.Call} }

// sealer seals passes with one key.
type sealer struct{ aead cipher.AEAD }

// keySize is the size of a key in bytes.
const keySize = 32

// newKey returns a random key.
func newKey() []byte {
	key := make([]byte, keySize)
	rand.Read(key)
	return key
}

// newSealer returns a sealer with a key of keySize bytes.
func newSealer(key []byte) (sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

// sealPass returns a pass as part of a URL of a kind, such as "callback": one of another kind does
// not open it.
func (s sealer) sealPass(kind string, p pass) (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(kind))), nil
}

// openPass returns the pass in a part of a URL of a kind.
func (s sealer) openPass(kind, text string) (p pass, err error) {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		sealed, err = s.aead.Open(nil, nil, sealed, []byte(kind))
	}
	if err == nil {
		err = json.Unmarshal(sealed, &p)
	}
	if err != nil {
		return pass{}, errors.New("this URL was not given out here")
	}
	return p, nil
}
