package subscriber

import (
	"context"
	"errors"
	"fmt"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/manifest"
)

// Verified is who an agent has proved to be.
type Verified struct {
	// Manifest is what it signed. Its name is to be shown, and not the one on events, which any
	// agent can write.
	Manifest *manifest.Manifest
	// Identity says with which key.
	Identity *manifest.Identity
}

// Verified returns who the agent has proved to be, or nil: then it is not known who it is, whatever
// name it goes by. It must not be changed.
func (s *Subscription) Verified() *Verified {
	if !s.isDialed() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.verified
}

var errNoTrust = errors.New(
	"subscriber: a signed manifest is demanded, and Config.Trust does not say whose signature counts")

// demandsProof reports whether capabilities demand a signed manifest.
func demandsProof(c aaep.Capabilities) bool {
	return c.AcceptSignedManifestsOnly != nil && *c.AcceptSignedManifestsOnly
}

// verifyAgent checks what an agent proves by its answer, before anything else of it counts
// (INV-41). Without Config.Trust, and without a proof that neither was demanded nor was there
// before, it returns nil. The error is final, but for that of ctx: another attempt could lead to
// another agent by a way that others control.
func (s *Subscription) verifyAgent(ctx context.Context, accepted *aaep.SubscriptionAccepted, demanded bool) (*Verified,
	error) {
	if s.cfg.Trust == nil {
		return nil, nil
	}
	previous := s.Verified()
	if accepted.SignedManifest == "" {
		if !demanded && previous == nil {
			return nil, nil
		}
		return nil, s.unsignedError()
	}
	var m *manifest.Manifest
	var id *manifest.Identity
	err := s.callShielded("Config.Trust", func() (err error) {
		m, id, err = s.cfg.Trust.Verify(ctx, accepted.SignedManifest, manifest.Expect{Accepted: accepted})
		return err
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err() // its keys were not there in time
	case err != nil:
		return nil, notVerified("The agent is not verified: "+err.Error()+".", err)
	case previous != nil && m.AgentID != previous.Manifest.AgentID:
		return nil, notVerified(fmt.Sprintf("The agent was %q and is now %q.", previous.Manifest.AgentID, m.AgentID),
			manifest.ErrAgent)
	}
	return &Verified{m, id}, nil
}

// unsignedError returns the rejection of an agent that proves nothing, which says so where it
// proved before who it is. Config.Trust is set.
func (s *Subscription) unsignedError() error {
	err := s.callShielded("Config.Trust", s.cfg.Trust.CheckUnsigned)
	if err == manifest.ErrUnsigned {
		return notVerified("The agent has no signed manifest.", err)
	}
	return notVerified("The agent is not verified: "+err.Error()+".", err)
}

// notVerified returns the rejection of an agent that has not proved who it is.
func notVerified(text string, err error) error {
	return &aaep.Rejection{Code: aaep.ManifestSignatureRequired, Message: text, Err: err}
}

// errImpostor is the cause of the rejection of an impostor, which ends the subscription.
var errImpostor = errors.New("subscriber: the event is of another agent than the one that was verified")

// checkImpostor returns an error for an event of another agent than the one that was verified
// (INV-40); nil where no agent was verified.
func (s *Subscription) checkImpostor(ev *aaep.Event) error {
	v := s.Verified()
	if v == nil || ev.Producer.AgentID == v.Manifest.AgentID {
		return nil
	}
	return notVerified(fmt.Sprintf("The agent is %q, and an event came from %q.", v.Manifest.AgentID,
		aaep.SafeText(ev.Producer.AgentID)), errImpostor)
}
