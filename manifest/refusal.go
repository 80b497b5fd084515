package manifest

// A Refusal is why a signed manifest, or a key, is not trusted. The errors of Verifier.Verify wrap one, for errors.Is,
// and say more: which algorithm, which key.
type Refusal string

// Error returns the reason.
func (r Refusal) Error() string { return "manifest: " + string(r) }

// The reasons, in the order in which they are looked for (§10.4.2).
const (
	// ErrNotCompact is what has another form than three parts of base64url: JSON, white space, padding, stray bits.
	ErrNotCompact Refusal = "it is not one compact JWS"
	// ErrUnsigned is a plain manifest, one with the algorithm none, or one whose signature was taken away.
	ErrUnsigned Refusal = "it is not signed"
	ErrHeader   Refusal = "its header cannot be read in one way only"
	// ErrCritical is any crit, for there is no extension of JWS that is understood here (RFC 7515, 4.1.11).
	ErrCritical  Refusal = "its header demands an extension of JWS (crit)"
	ErrUnencoded Refusal = "its payload is said to be in another encoding (b64, zip)"
	ErrType      Refusal = "it is a signed message of another kind"
	// ErrSymmetric is an HMAC, for which a public key could be taken as the secret.
	ErrSymmetric Refusal = "its algorithm has a shared secret, not a key pair"
	ErrAlgorithm Refusal = "its algorithm is not one that is allowed"
	// ErrEmbeddedKey is a token with a key of its own (jwk, jku, x5u, x5c) and none that is trusted.
	ErrEmbeddedKey  Refusal = "the key it brings along proves nothing"
	ErrUnknownKey   Refusal = "its key is not one that is trusted"
	ErrAmbiguousKey Refusal = "its kid is that of several keys"
	// ErrCertificate is a chain of certificates that leads to no authority that is trusted, or names somebody else.
	ErrCertificate Refusal = "its certificate does not vouch for it"
	ErrKeyUse      Refusal = "its key is not one for this signature"
	ErrKeySize     Refusal = "its key is too weak, or too large"
	ErrKeyPeriod   Refusal = "its key is not valid at this time"
	ErrSignature   Refusal = "its signature is wrong"
	ErrPayload     Refusal = "what is signed is not a manifest"
	ErrExpired     Refusal = "it has expired"
	ErrNotYetValid Refusal = "it is not valid yet"
	ErrAgent       Refusal = "it is the manifest of another agent"
	// ErrOffer is a manifest that contradicts the answer to the subscription (§10.4.2, step 5).
	ErrOffer Refusal = "it contradicts what the agent offers"
	// ErrKeyChanged is an agent that signs with another key than when it was first met. See KeyChangedError.
	ErrKeyChanged Refusal = "THE AGENT'S KEY HAS CHANGED"
)
