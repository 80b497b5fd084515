package manifest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/aaep-go/aaep/internal/credentials"
)

// maxSigned is the largest signed manifest that is made or read, in bytes.
const maxSigned = 64 << 10

// signedType is the typ of the header of signed manifests that are made here (RFC 7515, 4.1.9).
const signedType = "aaep-manifest+jws"

// token is a compact JWS whose header was read, and whose signature is not verified.
type token struct {
	text string
	head header
}

// header is what counts of a token's protected header. The members that bring keys along only
// choose the error of a token whose kid is not known; X5c also counts where Verifier.Roots are
// given.
type header struct {
	Alg  string         `json:"alg"`
	Kid  string         `json:"kid"`
	Typ  string         `json:"typ"`
	X5c  []string       `json:"x5c"`
	JWK  jsontext.Value `json:"jwk"`
	JKU  jsontext.Value `json:"jku"`
	X5u  jsontext.Value `json:"x5u"`
	Crit jsontext.Value `json:"crit"`
	B64  jsontext.Value `json:"b64"`
	Zip  jsontext.Value `json:"zip"`
	period
}

// period says from when until when something is good, as JWT does (RFC 7519, 4.1.4 to 4.1.6).
type period struct {
	IssuedAt  *seconds `json:"iat"`
	NotBefore *seconds `json:"nbf"`
	Expires   *seconds `json:"exp"`
}

// seconds is a time in seconds since 1970, as JWT writes it.
type seconds float64

// leeway is how far two clocks may be apart.
const leeway = 30 * time.Second

// isReadable reports whether every time that is given lies between 1970 and the year 9999.
func (p *period) isReadable() bool {
	return !slices.ContainsFunc([]*seconds{p.IssuedAt, p.NotBefore, p.Expires}, func(s *seconds) bool {
		return s != nil && !(*s >= 0 && *s <= 253402300799) // the end of the year 9999
	})
}

// narrowTo cuts p down to the part of it that lies in limit too. A nil bound is open.
func (p *period) narrowTo(limit period) {
	later := func(a, b *seconds) *seconds {
		if a == nil || b != nil && *b > *a {
			return b
		}
		return a
	}
	p.IssuedAt, p.NotBefore = later(p.IssuedAt, limit.IssuedAt), later(p.NotBefore, limit.NotBefore)
	if limit.Expires != nil && (p.Expires == nil || *limit.Expires < *p.Expires) {
		p.Expires = limit.Expires
	}
}

// asTime returns a NumericDate of a JWT, in seconds since 1970, as a time; zero for nil.
func (s *seconds) asTime() time.Time {
	if s == nil {
		return time.Time{}
	}
	whole, part := math.Modf(float64(*s))
	return time.Unix(int64(whole), int64(part*1e9)).UTC()
}

// checkTime refuses what is not good at a time, with ErrExpired or ErrNotYetValid. A time that is
// not given limits nothing, and clocks may differ by leeway.
func (p *period) checkTime(now time.Time) error {
	switch {
	case p.Expires != nil && !now.Add(-leeway).Before(p.Expires.asTime()):
		return fmt.Errorf("%w: it was good until %s", ErrExpired, p.Expires.asTime().Format(time.RFC3339))
	case p.NotBefore != nil && now.Add(leeway).Before(p.NotBefore.asTime()):
		return fmt.Errorf("%w: it is good from %s", ErrNotYetValid, p.NotBefore.asTime().Format(time.RFC3339))
	case p.IssuedAt != nil && now.Add(leeway).Before(p.IssuedAt.asTime()):
		return fmt.Errorf("%w: it was signed at %s", ErrNotYetValid, p.IssuedAt.asTime().Format(time.RFC3339))
	}
	return nil
}

// readToken reads the header of a signed manifest, and verifies nothing. It takes exactly one form,
// for go-jose lets through more than one token for the same signature (INV-40). The error wraps a
// Refusal.
func readToken(text string) (*token, error) {
	if len(text) > maxSigned {
		return nil, fmt.Errorf("%w: it has %d bytes; at most %d are read", errNotCompact, len(text), maxSigned)
	}
	if strings.HasPrefix(text, "{") {
		if _, err := Parse([]byte(text)); err == nil {
			return nil, fmt.Errorf("%w: it is a plain manifest", ErrUnsigned)
		}
		return nil, fmt.Errorf("%w: it is JSON", errNotCompact)
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%w: it has %d parts; a JWS has 3, with dots between", errNotCompact, len(parts))
	}
	for i, name := range []string{"header", "payload", "signature"} {
		if !isBase64URL(parts[i]) {
			return nil,
				fmt.Errorf("%w: its %s is not base64url, which has no white space, no padding and no stray bits",
					errNotCompact, name)
		}
	}
	t := &token{text: text}
	raw, err := base64.RawURLEncoding.DecodeString(parts[0])
	if err == nil {
		err = unmarshalBounded(raw, &t.head)
	}
	if err == nil && !t.head.isReadable() {
		err = errors.New("a time in it is none")
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %s", errHeader, credentials.OneLine(err.Error()))
	case parts[2] == "" || strings.EqualFold(t.head.Alg, "none"):
		return nil, ErrUnsigned
	case t.head.Crit != nil:
		return nil, errCritical
	case t.head.B64 != nil || t.head.Zip != nil:
		return nil, errUnencoded
	}
	switch typ := strings.TrimPrefix(strings.ToLower(t.head.Typ), "application/"); typ {
	case "", "jose", "jwt", signedType: // jwt is what many libraries write unasked
	default:
		return nil, fmt.Errorf("%w: its typ is %q", errType, credentials.OneLine(t.head.Typ))
	}
	return t, nil
}

// embedsKey reports whether the header brings a key along, or says where one is.
func (h *header) embedsKey() bool {
	return h.JWK != nil || h.JKU != nil || h.X5u != nil || h.X5c != nil
}

// decodePayload returns what the token says is signed; nothing proves that it is.
func (t *token) decodePayload() []byte {
	_, rest, _ := strings.Cut(t.text, ".")
	text, _, _ := strings.Cut(rest, ".")
	b, _ := base64.RawURLEncoding.DecodeString(text) // it was looked at
	return b
}

// isBase64URL reports whether a text is the one and only base64url of some bytes, of none too. The
// standard library's strict decoder skips line ends.
func isBase64URL(s string) bool {
	last := byte(0)
	for i := range len(s) {
		if last = base64Values[s[i]]; last > 63 {
			return false
		}
	}
	switch len(s) % 4 { // the bits of the last character that no byte is made of must be zero
	case 2:
		return last&15 == 0
	case 3:
		return last&3 == 0
	}
	return len(s)%4 == 0
}

// base64Values has the value of each byte that is a character of base64url, and 255 of others.
var base64Values = func() (table [256]byte) {
	for i := range table {
		table[i] = 255
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
		table[c] = byte(i)
	}
	return table
}()
