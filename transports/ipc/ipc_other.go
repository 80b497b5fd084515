//go:build !unix && !windows

package ipc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aaep-go/aaep/transports"
)

var errNone = fmt.Errorf("ipc: there are neither Unix sockets nor named pipes on this system: %w",
	errors.ErrUnsupported)

// Path returns errors.ErrUnsupported.
func Path(agentID string) (string, error) { return "", errNone }

// Listener is not available.
type Listener struct{}

// Listen returns errors.ErrUnsupported.
func Listen(path string, logger *slog.Logger) (*Listener, error) { return nil, errNone }

// Addr returns "".
func (l *Listener) Addr() string { return "" }

// Accept returns errors.ErrUnsupported.
func (l *Listener) Accept(ctx context.Context) (transports.Conn, error) { return nil, errNone }

// Close does nothing.
func (l *Listener) Close() error { return nil }

// Dialer is not available.
type Dialer struct{ Path string }

// Dial returns errors.ErrUnsupported.
func (d Dialer) Dial(ctx context.Context) (transports.Conn, error) { return nil, errNone }
