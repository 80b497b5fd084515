package manifest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Trust is a Verifier with places where keys come from. It may be used by many goroutines at once.
type Trust struct {
	Verifier
	// Source has more keys. It is asked for a kid that is not among Verifier.Keys, and may be nil.
	Source KeySource
	// FirstUse, if not nil, remembers which key an agent was first met with, and refuses another
	// one if only Source knows that: it is for keys that agents publish themselves. A key that
	// Verifier trusts takes the place of the first without a word.
	FirstUse *FirstUse
	// Address is the URL at which the person found the agent, below which it publishes its keys.
	// FirstUse remembers it beside the agent_id, so that no other agent takes over an address under
	// a new name. If it is empty, FirstUse knows agents by their ids alone.
	Address string
}

// CheckUnsigned returns the error about an agent at t.Address that has no signed manifest:
// ErrProvedBefore, with the agent's id, where FirstUse has met one with a signed manifest there,
// else ErrUnsigned. The error may also be that of the file of FirstUse.
func (t *Trust) CheckUnsigned() error {
	if t.FirstUse == nil {
		return ErrUnsigned
	}
	return t.FirstUse.checkUnsigned(canonicalAddress(t.Address))
}

// Verify verifies a signed manifest as Verifier.Verify does, with the keys of Source too where
// those that are trusted lack its key, at this moment. Ctx bounds fetching them. With FirstUse, a
// key that is not the one of before is a *KeyChangedError.
func (t *Trust) Verify(ctx context.Context, signed string, expect Expect) (*Manifest, *Identity, error) {
	read, err := readToken(signed)
	if err == nil {
		err = t.checkAlgorithm(read.head.Alg)
	}
	if err != nil {
		return nil, nil, err
	}
	keys, kid := t.Keys, read.head.Kid
	if _, err := keys.findKey(kid); t.Source != nil && kid != "" && errors.Is(err, ErrUnknownKey) {
		sourced, err := t.Source(ctx, kid)
		switch {
		case err == nil:
			keys = sourced
		case t.Roots == nil || read.head.X5c == nil:
			return nil, nil, fmt.Errorf("%w: %w", ErrUnknownKey, err)
		}
	}
	now := time.Now()
	m, id, err := t.verifyToken(read, keys, expect, now)
	if err == nil && t.FirstUse != nil {
		settled := keys == t.Keys || id.Certificate != nil
		id.LooksLike, id.FirstMeeting, err = t.FirstUse.meetAgent(m, id.Thumbprint, canonicalAddress(t.Address),
			settled, now)
	}
	if err != nil {
		return nil, nil, err
	}
	return m, id, nil
}
