package sse

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/transports"
)

// listenUnnegotiated opens the stream of a producer that knows no handshake, and answers req in the
// producer's place. Without such a stream the conn is as fresh as before, and the error says that
// there is neither. postRequest calls it, where Dialer.RootLayout is set.
func (c *conn) listenUnnegotiated(ctx context.Context, req *aaep.SubscriptionRequest) error {
	answer, err := aaep.Encode(c.unnegotiatedAcceptance(req))
	if err != nil {
		c.setPhase(fresh)
		return err
	}
	c.mu.Lock()
	c.unnegotiated, c.substitute, c.events = true, answer, c.root.JoinPath("events")
	c.mu.Unlock()
	c.silence = silenceUnnegotiated
	in := c.newInbound("")
	// The stream is opened before the acceptance is given: that there is a stream is all that it
	// can mean.
	body, err := c.openStream(ctx, in)
	if err != nil {
		in.cancel(nil)
		c.mu.Lock()
		c.unnegotiated = false
		c.mu.Unlock()
		c.setPhase(fresh)
		return fmt.Errorf("sse: there is neither a handshake at %s nor a stream without one: %w",
			c.base.Redacted(), err)
	}
	c.answers <- answer // there is room: nothing was answered before
	c.setPhase(open)
	if !c.startStream(in, func() error { return c.readEvents(in, body) }) {
		body.Close()
		return transports.ErrClosed
	}
	return nil
}

// unnegotiatedAcceptance returns the acceptance of req that the conn writes in the producer's
// place. By the letter, a capability that an acceptance leaves out is honoured as requested (D-45),
// so a note says that nothing was agreed. Such producers send their questions to every client, so a
// subscriber that offered to answer may.
func (c *conn) unnegotiatedAcceptance(req *aaep.SubscriptionRequest) *aaep.SubscriptionAccepted {
	return &aaep.SubscriptionAccepted{
		SubscriptionID: implicitID, AAEPVersion: aaep.Version,
		Producer: aaep.Agent{AgentID: c.root.Host}, // its events name it
		HonoredCapabilities: aaep.Capabilities{
			SupportsConfirmationReply:  req.Capabilities.SupportsConfirmationReply,
			SupportsClarificationReply: req.Capabilities.SupportsClarificationReply,
		},
		NegotiationNotes: "This producer has no handshake. Nothing was agreed: its events come as it makes them, " +
			"whatever was asked for.",
	}
}

// Substituted reports whether the Conn wrote a message that Receive returned, in place of an answer
// that the producer does not give. No judgement of the producer may rest on such a message.
func (c *conn) Substituted(msg []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.substitute != nil && bytes.Equal(msg, c.substitute)
}

// sendUnnegotiated sends what a producer without a handshake understands, which is replies. A close
// only ends the stream; a renegotiation is an error. Send calls it.
func (c *conn) sendUnnegotiated(ctx context.Context, m aaep.Message, msg []byte) error {
	switch m.(type) {
	case *aaep.SubscriptionClose:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.phase = leaving
		if c.inbound != nil { // else startStream ends the one that Reopen is about to open
			c.inbound.cancel(transports.ErrInterrupted)
		}
		c.setStreamLocked(c.inbound)
		return nil
	case *aaep.SubscriptionRenegotiate:
		return errors.New("sse: this producer has no handshake; there is nothing to renegotiate")
	}
	return c.postReply(ctx, c.root.JoinPath("messages"), m, msg)
}
