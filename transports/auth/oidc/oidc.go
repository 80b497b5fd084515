// Package oidc knows peers by tokens that an OpenID Connect issuer signed (§10.3.1). It is a
// package of its own, so that only those who import it have its dependencies.
//
// A token is judged in oidc.go, its claims and times are in claims.go, keys are fetched in keys.go
// through the client of client.go, and tokens found good are remembered in good.go.
package oidc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	upstream "github.com/coreos/go-oidc/v3/oidc"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/credentials"
	"github.com/aaep-go/aaep/internal/httpguard"
	"github.com/aaep-go/aaep/internal/shield"
	"github.com/aaep-go/aaep/transports/auth"
)

// Config says whose tokens are good.
type Config struct {
	// Issuer is the address of the issuer, letter for letter as it is in tokens: https, or http on
	// loopback.
	Issuer string
	// Audience is the name that the issuer knows this producer by. Tokens for others are refused,
	// also those that a peer got to sign in somewhere else.
	Audience string
	// Keys is where the issuer's public keys are, a JWK set: an https URL, or a file, which is read
	// again when it has changed. If empty, the issuer is asked where they are, as OpenID Connect
	// Discovery has it; one that cannot say needs Keys.
	Keys string
	// Allow has the last word about a token that is valid. Its error is answered as
	// aaep.AuthorizationDenied and goes to the log; claims are what the token says. It is called
	// from many goroutines at once. If nil, every valid token will do.
	Allow func(claims map[string]any) error
	// TLS is for the way to the issuer, where the system's roots are not the right ones.
	TLS *tls.Config
	// Logger is told when the keys cannot be read anew, since the issuer cannot be reached for one,
	// and when they can again. Nil discards that.
	Logger *slog.Logger
}

// algorithms are those with a public key. There is no "none", and no shared secret that a public
// key could be taken for.
var algorithms = []string{upstream.RS256, upstream.RS384, upstream.RS512, upstream.PS256, upstream.PS384,
	upstream.PS512,
	upstream.ES256, upstream.ES384, upstream.ES512, upstream.EdDSA}

// New makes an Authenticator for bearer tokens that are signed (JWT). The principal is the issuer,
// "#" and the token's subject. A bearer token of another shape is auth.ErrNone.
//
// New asks the issuer for its keys and returns an error if it gets none; ctx bounds that, and so
// does a limit of five seconds for each of at most two requests; it is aaep.TransportUnavailable if
// the issuer gives no answer of use. No redirect to another origin is followed. Keys are asked for
// again when a token names one that is not known, at most every ten seconds, and when they are five
// minutes old. A token that names one that is not known, where they may not be asked for yet, is
// answered with aaep.TransportUnavailable and when to come again. While the issuer cannot be
// reached those from before stay in force.
//
// A token is verified where a request comes in. It is refused unless it has an expiry that is not
// past, the issuer and the audience, a subject, and the signature of exactly one of the issuer's
// keys; the clocks may be 30 seconds apart. Of a token that was good the signature is not computed
// again while the issuer has that key; the rest is looked at each time.
func New(ctx context.Context, c Config) (auth.Authenticator, error) {
	v, err := newVerifier(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("oidc: %w", err)
	}
	return v.authenticateRequest, nil
}

// A verifier verifies the tokens of one issuer. Any goroutine may use it.
type verifier struct {
	Config
	keys     *keySource
	verified verifiedTokens
	now      func() time.Time // time.Now, but for tests
}

// newVerifier checks the Config and returns a verifier that has read the issuer's keys once. The
// error says that the Audience is empty, the Issuer no address, or the keys cannot be read. New
// calls it.
func newVerifier(ctx context.Context, c Config) (*verifier, error) {
	if c.Audience == "" {
		return nil, errors.New("the audience is empty: tokens that were made for others would be good")
	}
	if err := checkAddress(c.Issuer); err != nil {
		return nil, fmt.Errorf("the issuer's address %w", err)
	}
	v := &verifier{Config: c, now: time.Now}
	v.keys = &keySource{}
	if err := v.locateKeys(ctx); err != nil {
		return nil, err
	}
	return v, nil
}

// locateKeys sets v.keys to the file or the URL that Config.Keys names, or to the URL that the
// issuer names, and reads the keys once. An issuer that cannot be asked, or gives no answer of use,
// is aaep.TransportUnavailable.
func (v *verifier) locateKeys(ctx context.Context) error {
	client := newClient(v.TLS)
	location := v.Keys
	switch {
	case location != "" && !strings.Contains(location, "://"):
		file, err := credentials.NewSource(v.Logger, credentials.ReadFile, func(contents [][]byte) ([]key, error) {
			return parseKeys(contents[0])
		}, location)
		if err != nil {
			return fmt.Errorf("the keys in %s: %w", location, err)
		}
		v.keys.file = file
		return nil
	case location == "":
		var err error
		if location, err = v.discoverKeys(ctx, client); err != nil {
			return err
		}
	}
	if err := checkAddress(location); err != nil {
		return fmt.Errorf("the address of the keys %w", err)
	}
	v.keys.remote = credentials.NewFetched(v.logFailures(func(ctx context.Context) ([]key, error) {
		b, err := fetchDocument(ctx, client, location)
		if err != nil {
			return nil, err
		}
		return parseKeys(b)
	}))
	v.keys.remote.Now = func() time.Time { return v.now() }
	anyKeys := func([]key) bool { return true }
	if _, _, err := v.keys.remote.Get(ctx, anyKeys); err != nil { // later calls fetch anew, for a new kid
		return unavailableError(err, "the keys at %s: %s", credentials.OneLine(location),
			credentials.OneLine(err.Error()))
	}
	return nil
}

// discoverKeys asks the issuer for the URL of its keys, as OpenID Connect Discovery has it. The
// caller checks that URL. The error is for an issuer that is called otherwise, and for one that
// does not answer, as unavailableError marks it.
func (v *verifier) discoverKeys(ctx context.Context, client *http.Client) (string, error) {
	issuer, err := upstream.NewProvider(upstream.ClientContext(ctx, client), v.Issuer)
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	if err == nil {
		err = issuer.Claims(&document)
	}
	if mismatch := new(upstream.IssuerMismatchError); errors.As(err, &mismatch) {
		return "", fmt.Errorf("the issuer is called otherwise, as it says itself: %s",
			credentials.OneLine(mismatch.Discovered))
	}
	if err != nil {
		return "", unavailableError(err, "the issuer %s does not say where its keys are: %s", v.Issuer,
			credentials.OneLine(err.Error()))
	}
	return document.Keys, nil
}

// unavailableError returns the aaep.TransportUnavailable for an issuer that could not be asked,
// with the message that format makes. It wraps cause only if that is about the issuer's
// certificate: any other may have the issuer's own words.
func unavailableError(cause error, format string, args ...any) error {
	r := &aaep.Rejection{Code: aaep.TransportUnavailable, Message: fmt.Sprintf(format, args...)}
	if unproven := new(tls.CertificateVerificationError); errors.As(cause, &unproven) {
		r.Err = unproven
	}
	return r
}

// logFailures returns a function that calls fetch and logs its failures, once fetch has succeeded
// before: when it fails, every hour that it still does, and when it succeeds again. Until then
// peers with a token by a new key are refused, and tokens by a key that the issuer withdrew are
// accepted. credentials.Fetched calls it from one goroutine at a time.
func (v *verifier) logFailures(fetch func(context.Context) ([]key, error)) func(context.Context) ([]key, error) {
	log := shield.Logger(v.Logger)
	hasSucceeded := false
	var lastLogged time.Time // zero while fetch succeeds
	return func(ctx context.Context) ([]key, error) {
		set, err := fetch(ctx)
		switch {
		case err == nil && !lastLogged.IsZero():
			log.Warn("oidc: the issuer's keys can be had again", "issuer", v.Issuer)
			lastLogged = time.Time{}
		case err != nil && hasSucceeded && (lastLogged.IsZero() || v.now().Sub(lastLogged) >= time.Hour):
			log.Error(
				"oidc: the issuer's keys cannot be had; those from before stay in force, and whoever is known by a "+
					"new one is not let in",
				"issuer", v.Issuer, "cause", credentials.OneLine(err.Error()))
			lastLogged = v.now()
		}
		hasSucceeded = hasSucceeded || err == nil
		return set, err
	}
}

// checkAddress returns the end of a sentence that says why the URL s cannot be asked in safety, or
// nil.
func checkAddress(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("is not an https URL, such as https://login.example")
	case u.Scheme == "http" && !httpguard.LoopbackName(u.Hostname()):
		return errors.New("is not https, and not on this machine: anyone on the way could make tokens")
	}
	return nil
}

// authenticateRequest is the Authenticator that New returns: it names the peer of a request by its
// signed bearer token. The error is auth.ErrNone for a request without a signed token, so that
// auth.Any asks the next Authenticator. The principal is the issuer and the subject, with #
// between.
func (v *verifier) authenticateRequest(r *http.Request) (string, error) {
	token, err := credentials.Bearer(r)
	if err != nil {
		return "", err
	}
	if !credentials.Signed(token) {
		return "", auth.ErrNone
	}
	subject, err := v.verifyToken(r.Context(), token)
	if err != nil {
		return "", fmt.Errorf("oidc: the token is refused: %w", err)
	}
	principal := v.Issuer + "#" + subject
	if err := credentials.CheckPrincipal(principal); err != nil {
		return "", err
	}
	return principal, nil
}

// verifyToken returns the subject of a good token, or why it is not good. A token that was verified
// before is not verified again while its key is still the issuer's; its times and Config.Allow are
// looked at each time.
func (v *verifier) verifyToken(ctx context.Context, token string) (subject string, err error) {
	g, known := v.verified.lookup(token)
	if !known || !g.signature.isStillGood(ctx) || v.checkTimes(&g.claims) != nil {
		if g, err = v.readToken(ctx, token); err != nil {
			v.verified.forget(token)
			return "", err
		}
		v.verified.rememberToken(token, g)
	}
	if v.Allow != nil {
		var c claims // of its own, which it may change
		if err := g.token.Claims(&c); err != nil {
			return "", err
		}
		if err := v.Allow(c.all); err != nil {
			return "", fmt.Errorf("%w: %w", aaep.AuthorizationDenied, err)
		}
	}
	return g.claims.Subject, nil
}

// readToken reads a token twice, by the library and strictly: where the two could differ, in
// repeated names or in names that differ in case, the token is refused (INV-33).
func (v *verifier) readToken(ctx context.Context, token string) (*verifiedToken, error) {
	if err := checkHeader(token); err != nil {
		return nil, err
	}
	g := &verifiedToken{signature: signature{keys: v.keys}}
	var err error
	g.token, err = upstream.NewVerifier(v.Issuer, &g.signature, &upstream.Config{
		ClientID: v.Audience, SupportedSigningAlgs: algorithms,
		Now: func() time.Time { return v.now().Add(-leeway) },
	}).Verify(ctx, token)
	if err != nil && errors.Is(g.signature.unknown, aaep.TransportUnavailable) {
		return nil, g.signature.unknown
	}
	if err != nil {
		return nil, errors.New(credentials.OneLine(strings.TrimPrefix(err.Error(), "oidc: ")))
	}
	if err := g.token.Claims(&g.claims); err != nil {
		return nil, errors.New("what it says can be read in more than one way")
	}
	g.claims.all = nil
	if c := &g.claims; c.Issuer != v.Issuer || !c.Audience.includes(v.Audience) || c.Subject == "" ||
		c.Subject != g.token.Subject {
		return nil, errors.New("it does not say who issued it, to whom, for whom and until when")
	}
	return g, v.checkTimes(&g.claims)
}
