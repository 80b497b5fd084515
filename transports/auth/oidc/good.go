package oidc

import (
	"crypto/sha256"
	"sync"

	upstream "github.com/coreos/go-oidc/v3/oidc"
)

// maxVerified bounds the tokens that are remembered: about 10 MB.
const maxVerified = 10_000

// verifiedTokens are tokens that were verified. Each listener that follows is asked for its token again every
// few seconds, and of all that is looked at the signature costs most. No token is kept, only what
// tells one from others.
type verifiedTokens struct {
	mu    sync.Mutex
	bySum map[[sha256.Size]byte]*verifiedToken
}

// verifiedToken is one of them. Nobody changes it.
type verifiedToken struct {
	token     *upstream.IDToken
	claims    claims
	signature signature
}

func (g *verifiedTokens) lookup(token string) (*verifiedToken, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t, known := g.bySum[sha256.Sum256([]byte(token))]
	return t, known
}

// remember remembers a token, in the place of any other where there are too many.
func (g *verifiedTokens) remember(token string, t *verifiedToken) {
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

func (g *verifiedTokens) forget(token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.bySum, sha256.Sum256([]byte(token)))
}
