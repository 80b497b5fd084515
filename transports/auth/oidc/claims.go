package oidc

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep/internal/nesting"
)

// claims are what a token says, read strictly: no repeated names, none that differs in case, only
// valid UTF-8.
type claims struct {
	Issuer    string   `json:"iss"`
	Subject   string   `json:"sub"`
	Audience  audience `json:"aud"`
	Expiry    *seconds `json:"exp"`
	NotBefore *seconds `json:"nbf"`
	IssuedAt  *seconds `json:"iat"`

	all map[string]any // all of them, for Config.Allow
}

// UnmarshalJSON reads the payload of a token, whose own bytes the library passes. A payload that
// could be read in two ways is an error.
func (c *claims) UnmarshalJSON(b []byte) error {
	if nesting.TooDeep(b) {
		return errors.New("it nests too deep")
	}
	type fields claims // without this method
	if err := json.Unmarshal(b, (*fields)(c)); err != nil {
		return err
	}
	return json.Unmarshal(b, &c.all)
}

// An audience is the "aud" of a token: the names of those that it is meant for.
type audience []string

// UnmarshalJSON reads the audience of a token, which is one name or a list of names.
func (a *audience) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*a = make(audience, 1)
		return json.Unmarshal(b, &(*a)[0])
	}
	return json.Unmarshal(b, (*[]string)(a))
}

// includes reports whether the token is meant for name.
func (a audience) includes(name string) bool { return slices.Contains(a, name) }

// leeway is how far the clocks of issuer and producer may be apart.
const leeway = 30 * time.Second

// checkTimes returns why a token is not good at this time, or nil. Clocks may differ by leeway. A
// token without an expiry is refused.
func (v *verifier) checkTimes(c *claims) error {
	now := v.now()
	switch {
	case !c.Expiry.isAfter(now.Add(-leeway)):
		return errors.New("it does not say who issued it, to whom, for whom and until when")
	case c.NotBefore.isAfter(now.Add(leeway)):
		return fmt.Errorf("it is not valid before %s, and here it is %s", c.NotBefore, formatTime(now))
	case c.IssuedAt.isAfter(now.Add(leeway)):
		return fmt.Errorf("it was made at %s, and here it is %s", c.IssuedAt, formatTime(now))
	}
	return nil
}

// seconds are a time in seconds since 1970, as a token has it.
type seconds float64

// isAfter reports whether the time is known and later than t.
func (s *seconds) isAfter(t time.Time) bool {
	return s != nil && float64(*s) > float64(t.UnixNano())/1e9
}

// String returns the time for an error or a log, whatever number a peer has sent.
func (s *seconds) String() string {
	if t := float64(*s); t >= 0 && t < 1<<37 {
		return formatTime(time.Unix(int64(t), 0))
	}
	return "a time that cannot be"
}

// formatTime returns t in UTC for an error or a log.
func formatTime(t time.Time) string { return t.UTC().Format(time.DateTime + " UTC") }

// headerTypes are the types of tokens that name a subject or grant access. Others, such as the
// notice of a logout, have the same signature and mean something else.
var headerTypes = []string{"", "jwt", "at+jwt"}

// checkHeader returns why a token is refused for its header: because it could be read in two ways,
// decides itself how the token is verified, or belongs to another kind of signed message.
func checkHeader(token string) error {
	parts := strings.Split(token, ".")
	for _, part := range parts {
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return errors.New("a part of it is not base64url")
		}
	}
	b, _ := base64.RawURLEncoding.DecodeString(parts[0])
	var h map[string]any
	if nesting.TooDeep(b) || json.Unmarshal(b, &h) != nil {
		return errors.New("its header is not JSON that can be read in one way only")
	}
	for _, name := range []string{"crit", "b64", "jwk", "jku", "x5c", "x5u", "zip"} {
		if _, present := h[name]; present {
			return errors.New(`its header has "` + name + `", which is not for a token to say`)
		}
	}
	typ, isText := h["typ"].(string)
	if _, present := h["typ"]; present && !isText {
		return errors.New("its header is not one of a token")
	}
	if !slices.Contains(headerTypes, strings.TrimPrefix(strings.ToLower(typ), "application/")) {
		return errors.New("it is a signed message of another kind")
	}
	return nil
}
