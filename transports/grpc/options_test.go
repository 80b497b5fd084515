package grpc

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
)

// INV-31, INV-50: one connection has a hundred streams and no more; a place returns; metadata has a
// bound.
func TestOptions(t *testing.T) {
	addr, conns := acceptAll(t, ServerOptions{})
	c, ctx := newClient(t, addr)
	stream, err := c.Subscribe(metadata.AppendToOutgoingContext(ctx, "x", strings.Repeat("x", 128<<10)))
	if err == nil {
		if code, text := closed(stream); code == codes.OK || code == codes.DeadlineExceeded {
			t.Errorf("128 KiB of metadata: %v %s", code, text)
		}
	}
	first, leave := context.WithCancel(ctx)
	defer leave()
	for n := range 100 {
		life := ctx
		if n == 0 {
			life = first
		}
		if _, err := c.Subscribe(life); err != nil {
			t.Fatal(err)
		}
		defer (<-conns).Close()
	}
	opened := make(chan error, 1)
	go func() { _, err := c.Subscribe(ctx); opened <- err }()
	select {
	case <-conns:
		t.Error("a stream above the limit was accepted")
	case <-time.After(100 * time.Millisecond): // it waits
	}
	leave()
	if err := <-opened; err != nil {
		t.Errorf("after one has gone: %v", err)
	}
	defer (<-conns).Close()
}
