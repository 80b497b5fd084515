// Package ownagent follows a Producer of this process, as any listener does, for the bridges that
// show an agent to programs of another protocol. It never answers anything.
package ownagent

import (
	"context"
	"log/slog"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
)

// Link leads to a Producer of this process.
type Link struct{ Producer *producer.Producer }

// Dial returns a new link, whose other end the Producer serves on a goroutine of its own.
func (l Link) Dial(context.Context) (transports.Conn, error) {
	theirs, ours := transports.Pipe()
	go l.Producer.ServeConn(ours)
	return theirs, nil
}

// Follow subscribes to p under an id, at so many events a second, and cannot be asked.
func Follow(p *producer.Producer, id string, rate int64, logger *slog.Logger) (*subscriber.Subscription, error) {
	no := false
	terms := aaep.Capabilities{MaxEventsPerSecond: rate, SupportsConfirmationReply: &no, SupportsClarificationReply: &no}
	return subscriber.Dial(context.Background(), Link{p},
		subscriber.Config{ID: id, NoReconnect: true, Logger: logger, Capabilities: terms})
}
