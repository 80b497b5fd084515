package manifest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/aaep-go/aaep/internal/credentials"
)

// KeySource returns public keys that are trusted, fetched anew if need be because the key kid was
// not among them. It may be called by many goroutines at once. Files that may change need no more
// than
//
//	func(context.Context, string) (*manifest.KeySet, error) { return manifest.ReadKeys(path) }
type KeySource func(ctx context.Context, kid string) (*KeySet, error)

// RemoteKeys returns the keys at a URL that the user named, such as what Beside says of an agent's
// address: https, or http on loopback. No redirect is followed; a fetch takes at most ten seconds
// and 256 KiB. They are fetched when they are first asked for, when a token names a key that is not
// among them, at most every ten seconds, and when they are five minutes old. While that fails,
// those from before stay in force. Conf may be nil.
//
// The party that controls the URL is trusted to say which keys are good. FirstUse notices when they
// are others than before.
func RemoteKeys(rawURL string, conf *tls.Config) (KeySource, error) {
	u, err := checkURL(rawURL)
	if err != nil {
		return nil, err
	}
	remote := credentials.NewFetched(func(ctx context.Context) (*KeySet, error) {
		text, err := fetchURL(ctx, u, conf, nil, "application/jwk-set+json", "application/json")
		if err != nil {
			return nil, fmt.Errorf("the keys at %s cannot be had: %w", u.Redacted(), err)
		}
		return ParseKeys(text)
	})
	return func(ctx context.Context, kid string) (*KeySet, error) {
		set, _, err := remote.Get(ctx, func(set *KeySet) bool {
			_, err := set.findKey(kid)
			return !errors.Is(err, ErrUnknownKey)
		})
		return set, err
	}, nil
}
