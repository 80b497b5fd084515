package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// pager takes what is written to it when the person scrolls.
type pager struct {
	scroll chan struct{}
	bytes.Buffer
}

func (p *pager) Write(b []byte) (int, error) {
	<-p.scroll
	return p.Buffer.Write(b)
}

// INV-53: who prints does not wait for who reads until much is unread; nothing is lost, and when
// the person wants to be done it is.
func TestOutlet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unread := &pager{scroll: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		o := newAsyncWriter(ctx, unread)
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
		close(unread.scroll)
		synctest.Wait()
		var err error
		if o.awaitReader(&err); err != nil || unread.Len() != pieces*len(piece) {
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
			o := newAsyncWriter(ctx, writerFunc(func([]byte) (int, error) {
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
			o.awaitReader(&err)
			if took := time.Since(began); (err != nil) != (c.want != "") || err != nil && err.Error() != c.want ||
				took > time.Minute+time.Second {
				t.Errorf("%s: %v after %v", name, err, took)
			}
		})
	}
}

// Listeners hear the end of a program whose output is not read.
func TestPagerThatIsNotScrolled(t *testing.T) {
	unread := &pager{scroll: make(chan struct{})}
	in, typed := io.Pipe()
	talk, errs := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- Main([]string{"run", "--listen", "127.0.0.1:0", "--wait", "--name", "Model"}, in, unread, errs)
	}()
	lines := bufio.NewReader(talk)
	line, err := lines.ReadString('\n')
	_, url, ok := strings.Cut(line, "aaep listen ")
	if err != nil || !ok {
		t.Fatalf("it says %q, %v", line, err)
	}
	go io.Copy(io.Discard, lines)
	var heard saidLine
	listened := make(chan int, 1)
	go func() {
		listened <- Main([]string{"listen", strings.TrimSpace(url)}, strings.NewReader(""),
			writerFunc(func(b []byte) (int, error) {
				if n, _ := heard.Write(b); !strings.Contains(heard.String(), "Done.") {
					return n, nil
				}
				return 0, syscall.EPIPE // they have heard it
			}), io.Discard)
	}()
	io.WriteString(typed, "Here it is.\n")
	typed.Close()
	<-listened
	if got := heard.String(); !strings.Contains(got, "Here it is.") || !strings.Contains(got, "Done. Model finished.") {
		t.Errorf("they hear %q", got)
	}
	close(unread.scroll)
	if code := <-ended; code != exitOK || unread.String() != "Here it is.\n" {
		t.Errorf("code %d, standard output %q", code, unread.String())
	}
}
