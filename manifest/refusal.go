package manifest

// A Refusal is why a signed manifest, or a key, is not trusted. The errors of Verifier.Verify wrap
// one, for errors.Is and errors.As, and say more: which algorithm, which key.
type Refusal string

// Error returns the reason.
func (r Refusal) Error() string { return "manifest: " + string(r) }

// The reasons for which something else can be done than to distrust.
const (
	// ErrUnsigned is a plain manifest, one with the algorithm none, or one whose signature was
	// taken away.
	ErrUnsigned Refusal = "it is not signed"
	// ErrUnknownKey is a key that was not named, or that could not be fetched.
	ErrUnknownKey  Refusal = "its key is not one that is trusted"
	ErrSignature   Refusal = "its signature is wrong"
	ErrExpired     Refusal = "it has expired"
	ErrNotYetValid Refusal = "it is not valid yet"
	ErrAgent       Refusal = "it is the manifest of another agent"
	// ErrOffer is a manifest that contradicts the answer to the subscription (§10.4.2, step 5).
	ErrOffer Refusal = "it contradicts what the agent offers"
	// ErrKeyChanged is an agent that signs with another key than when it was first met. See
	// KeyChangedError.
	ErrKeyChanged Refusal = "THE AGENT'S KEY HAS CHANGED"
	// ErrProvedBefore is an agent without a signed manifest where one with a signed manifest was
	// met. See Trust.CheckUnsigned.
	ErrProvedBefore Refusal = "THE AGENT PROVED BEFORE WHO IT IS, AND NOW DOES NOT"
)

// All others, in the order in which they are looked for (§10.4.2).
const (
	// errNotCompact is what has another form than three parts of base64url: JSON, white space,
	// padding, stray bits.
	errNotCompact Refusal = "it is not one compact JWS"
	errHeader     Refusal = "its header cannot be read in one way only"
	// errCritical is any crit, for there is no extension of JWS that is understood here (RFC 7515,
	// 4.1.11).
	errCritical  Refusal = "its header demands an extension of JWS (crit)"
	errUnencoded Refusal = "its payload is said to be in another encoding (b64, zip)"
	errType      Refusal = "it is a signed message of another kind"
	// errSymmetric is an HMAC, for which a public key could be taken as the secret.
	errSymmetric Refusal = "its algorithm has a shared secret, not a key pair"
	errAlgorithm Refusal = "its algorithm is not one that is allowed"
	// errEmbeddedKey is a token with a key of its own (jwk, jku, x5u, x5c) and none that is
	// trusted.
	errEmbeddedKey  Refusal = "the key it brings along proves nothing"
	errAmbiguousKey Refusal = "its kid is that of several keys"
	// errCertificate is a chain of certificates that leads to no authority that is trusted, or
	// names another agent.
	errCertificate Refusal = "its certificate does not vouch for it"
	errKeyUse      Refusal = "its key is not one for this signature"
	errKeySize     Refusal = "its key is too weak, or too large"
	errKeyPeriod   Refusal = "its key is not valid at this time"
	errPayload     Refusal = "what is signed is not a manifest"
)
