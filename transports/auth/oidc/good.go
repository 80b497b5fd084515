package oidc

import (
	"crypto/sha256"
	"sync"

	upstream "github.com/coreos/go-oidc/v3/oidc"
)

// maxGood bounds the tokens that are remembered: about 10 MB.
const maxGood = 10_000

// good are tokens that were verified. Each listener that follows is asked for its token again every
// few seconds, and of all that is looked at the signature costs most. No token is kept, only what
// tells one from others.
type good struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]*goodToken
}

// goodToken is one of them. Nobody changes it.
type goodToken struct {
	token  *upstream.IDToken
	claims claims
	signed signature
}

func (g *good) get(token string) (*goodToken, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t, known := g.all[sha256.Sum256([]byte(token))]
	return t, known
}

// put remembers a token, in the place of any other where there are too many.
func (g *good) put(token string, t *goodToken) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = map[[sha256.Size]byte]*goodToken{}
	}
	for other := range g.all {
		if len(g.all) < maxGood {
			break
		}
		delete(g.all, other)
	}
	g.all[sha256.Sum256([]byte(token))] = t
}

func (g *good) drop(token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.all, sha256.Sum256([]byte(token)))
}
