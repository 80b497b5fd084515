package lineio

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/internal/cli/clitest"
)

// INV-53: who prints does not wait for who reads until much is unread; nothing is lost, and when
// the person wants to be done it is.
func TestOutlet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unread := &clitest.Pager{Scroll: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		o := NewAsyncWriter(ctx, unread)
		piece := bytes.Repeat([]byte("x"), 1<<20)
		var mu sync.Mutex
		wrote := 0
		const pieces = 40
		go func() {
			for range pieces {
				if n, err := o.Write(piece); n != len(piece) || err != nil {
					t.Errorf("%d, %v", n, err)
				}
				mu.Lock()
				wrote += len(piece)
				mu.Unlock()
			}
		}()
		synctest.Wait()
		mu.Lock()
		if wrote < mostUnread || wrote > 2*mostUnread+len(piece) {
			t.Errorf("%d bytes were taken and nothing read", wrote)
		}
		mu.Unlock()
		close(unread.Scroll)
		synctest.Wait()
		var err error
		if o.AwaitReader(&err); err != nil || unread.Len() != pieces*len(piece) {
			t.Errorf("%d bytes arrived, %v", unread.Len(), err)
		}
	})
	for name, c := range map[string]struct {
		fails error
		want  string
	}{
		"full": {&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC},
			"cannot print what is said: no space left on device"},
		"gone":   {syscall.EPIPE, ""},
		"unread": {nil, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			began, never := time.Now(), make(chan struct{})
			defer close(never)
			o := NewAsyncWriter(ctx, clitest.WriterFunc(func([]byte) (int, error) {
				if c.fails == nil {
					<-never
				}
				return 0, c.fails
			}))
			o.Write([]byte("x"))
			if synctest.Wait(); c.fails == nil {
				time.AfterFunc(time.Minute, stop)
				for n := 0; n <= mostUnread; n += 1 << 20 { // and who waits for room is let go
					if _, err := o.Write(make([]byte, 1<<20)); err != nil && ctx.Err() == nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			} else if _, err := o.Write([]byte("y")); !errors.Is(err, c.fails) {
				t.Errorf("%s: %v", name, err)
			}
			var err error
			o.AwaitReader(&err)
			if took := time.Since(began); (err != nil) != (c.want != "") || err != nil && err.Error() != c.want ||
				took > time.Minute+time.Second {
				t.Errorf("%s: %v after %v", name, err, took)
			}
		})
	}
}
