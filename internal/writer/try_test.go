//go:build unix

package writer

import (
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

// TryWrite never waits; what it began comes before whatever is written next, by whomever, and
// nothing gets in between.
func TestTry(t *testing.T) {
	conn, peer := link(t)
	w := New(conn, time.Minute)
	block := bytes.Repeat([]byte("0123456789abcdef"), 4<<10)
	var want []byte
	for n := len(block); n == len(block); { // until the peer's room is full
		mine := slices.Clone(block)
		n = w.TryWrite(mine)
		if clear(mine); n == 0 { // which is used again
			t.Fatal("the peer's room ended between two blocks; choose another size")
		}
		want = append(want, block...)
	}
	if !w.HasRest() || w.TryWrite([]byte("more")) != 0 {
		t.Fatal("it takes more before it has sent what it began")
	}
	if err := w.WriteBy(time.Now().Add(10*time.Millisecond), []byte("pong")); err == nil || !w.HasRest() ||
		w.TryWrite([]byte("more")) != 0 {
		t.Fatalf("what did not leave in time is not owed any more, and in the middle of it something else leaves: %v",
			err)
	}
	got := make(chan []byte, 1)
	go func() {
		all, err := io.ReadAll(peer)
		if err != nil {
			t.Error(err)
		}
		got <- all
	}()
	if err := w.WriteBy(time.Now().Add(time.Minute), []byte("first")); err != nil {
		t.Fatal(err)
	}
	if w.HasRest() || w.Write(context.Background(), nil, []byte("second")) != nil {
		t.Error("the rest was not sent")
	}
	conn.Close()
	if all := <-got; !bytes.Equal(all, append(want, "firstsecond"...)) {
		t.Errorf("%d bytes came, want %d and firstsecond; they end %q", len(all), len(want), all[max(0, len(all)-30):])
	}
	if w.TryWrite([]byte("late")) != 0 {
		t.Error("a closed connection has taken something")
	}
	a, _ := net.Pipe()
	if pipe := New(a, time.Minute); pipe.CanTry() || pipe.TryWrite([]byte("x")) != 0 {
		t.Error("it cannot ask a pipe, and does")
	}
}

func BenchmarkTry(b *testing.B) {
	conn, peer := link(b)
	go io.Copy(io.Discard, peer)
	w, event := New(conn, time.Minute), bytes.Repeat([]byte("x"), 600)
	b.ReportAllocs()
	for b.Loop() {
		if w.TryWrite(event) < len(event) && w.WriteBy(time.Now().Add(time.Minute), nil) != nil {
			b.Fatal("the peer is gone")
		}
	}
}
