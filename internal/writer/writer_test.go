package writer

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// link returns the two ends of a connection of the system.
func link(t testing.TB) (conn, peer net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	peer, err = net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { peer.Close() })
	conn, err = ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, peer
}

// What was begun leaves as it was then, whatever has become of the memory it was in.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, peer := net.Pipe()
		defer conn.Close()
		w := New(conn, time.Minute)
		msg := []byte("first.")
		go io.ReadFull(peer, make([]byte, 2))
		if err := w.WriteBy(time.Now().Add(time.Second), msg); err == nil || !w.HasRest() {
			t.Fatal("all of it has left")
		}
		clear(msg)
		rest := make([]byte, 10)
		go func() {
			w.WriteBy(time.Now().Add(time.Second), []byte("second"))
		}()
		if _, err := io.ReadFull(peer, rest); err != nil || string(rest) != "rst.second" {
			t.Errorf("the rest is %q, %v", rest, err)
		}
	})
}

// The end of a context interrupts the write that is under way with it, and nothing else.
func TestInterrupted(t *testing.T) {
	for name, begin := range map[string]func() (context.Context, func()){
		"any context": func() (context.Context, func()) { return context.WithCancel(context.Background()) },
		"a Context":   func() (context.Context, func()) { ctx := NewContext(); return ctx, ctx.End },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn, peer := net.Pipe()
				defer conn.Close()
				defer peer.Close()
				w := New(conn, time.Minute)
				write := func(ctx context.Context) <-chan error {
					result := make(chan error, 1)
					go func() { result <- w.Write(ctx, nil, []byte("x")) }()
					synctest.Wait()
					return result
				}
				take := func(result <-chan error) {
					t.Helper()
					peer.Read(make([]byte, 1))
					if err := <-result; err != nil {
						t.Error("a write that was read:", err)
					}
				}
				for range 2 {
					ctx, end := begin()
					take(write(ctx))
					take(write(ctx)) // again
					other, endOther := begin()
					result := write(other)
					end() // it wrote before, and is no longer what is written with
					synctest.Wait()
					take(result)
					result = write(other)
					began := time.Now()
					endOther()
					if err := <-result; err != context.Canceled || time.Since(began) != 0 {
						t.Errorf("interrupted after %v: %v", time.Since(began), err)
					}
					if err := w.Write(other, nil, []byte("x")); err != context.Canceled {
						t.Error("a context that is over:", err)
					}
				}
				last, end := begin()
				take(write(last))
				w.LeaveTurn()
				w.End()
				end()
			})
		})
	}
}
