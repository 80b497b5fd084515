package oidc

import (
	"crypto/sha256"
	"sync"

	upstream "github.com/coreos/go-oidc/v3/oidc"
)

// maxVerified bounds the tokens that are remembered: about 10 MB.
const maxVerified = 10_000

// verifiedTokens remembers tokens that were verified. Each listener that follows is asked for its
// token again every few seconds, and the signature is the costly part. No token is kept, only its
// sum.
type verifiedTokens struct {
	mu    sync.Mutex
	bySum map[[sha256.Size]byte]*verifiedToken
}

// A verifiedToken is never changed.
type verifiedToken struct {
	token     *upstream.IDToken
	claims    claims
	signature signature
}

// lookup returns the result of verifying token before, and whether it is remembered.
func (g *verifiedTokens) lookup(token string) (*verifiedToken, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t, known := g.bySum[sha256.Sum256([]byte(token))]
	return t, known
}

// rememberToken keeps the result of verifying token, so that the next request with it is quick.
// Where maxVerified are kept, any others are forgotten. It takes g.mu; the token itself is not
// kept.
func (g *verifiedTokens) rememberToken(token string, t *verifiedToken) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.bySum == nil {
		g.bySum = map[[sha256.Size]byte]*verifiedToken{}
	}
	for other := range g.bySum {
		if len(g.bySum) < maxVerified {
			break
		}
		delete(g.bySum, other)
	}
	g.bySum[sha256.Sum256([]byte(token))] = t
}

// forget removes a token that is no longer good.
func (g *verifiedTokens) forget(token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.bySum, sha256.Sum256([]byte(token)))
}
