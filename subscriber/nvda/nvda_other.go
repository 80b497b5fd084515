//go:build !windows

package nvda

import (
	"context"
	"errors"
	"fmt"

	"github.com/aaep-go/aaep/subscriber/announce"
)

var errNone = fmt.Errorf("nvda: NVDA is a program for Windows: %w", errors.ErrUnsupported)

// Output is not available.
type Output struct{}

// Open returns errors.ErrUnsupported.
func Open(options Options) (*Output, error) { return nil, errNone }

// Running returns false.
func (o *Output) Running() bool { return false }

// Present returns errors.ErrUnsupported.
func (o *Output) Present(ctx context.Context, u announce.Utterance) error { return errNone }

// Speaks returns false.
func (o *Output) Speaks(string) bool { return false }

// Close does nothing.
func (o *Output) Close() error { return nil }
