package transports

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sendMessage sends msg, which must succeed.
func sendMessage(t *testing.T, c Conn, msg []byte) {
	t.Helper()
	if err := c.Send(t.Context(), msg); err != nil {
		t.Errorf("Send = %v", err)
	}
}

// wantMessage receives a message, which must be want.
func wantMessage(t *testing.T, c Conn, want []byte) {
	t.Helper()
	got, err := c.Receive(t.Context())
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("Receive = %.60q, %v; want %.60q", got, err, want)
	}
}

// wantError checks that got, the error of what, is want.
func wantError(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// Messages arrive whole, unchanged and in order, in both directions. TR-006, §8.2.1
func TestPipeCarriesMessages(t *testing.T) {
	a, b := Pipe()
	for _, ends := range [][2]Conn{{a, b}, {b, a}} {
		msgs := [][]byte{[]byte("one"), {}, []byte("two\nlines\x00"), {0xff, 0xfe}, []byte(" three ")}
		for _, msg := range msgs {
			sendMessage(t, ends[0], msg)
		}
		for _, msg := range msgs {
			wantMessage(t, ends[1], msg)
		}
	}
}

// What is on its way is neither the sender's slice nor changed by it; the receiver may write to its
// own.
func TestPipeOwnsNothing(t *testing.T) {
	a, b := Pipe()
	msg := []byte("hello")
	sendMessage(t, a, msg)
	copy(msg, "xxxxx")
	got, err := b.Receive(t.Context())
	if err != nil || string(got) != "hello" {
		t.Errorf("Receive = %q, %v; want hello", got, err)
	}
	copy(got, "yyyyy")
	_ = append(got[:0], "zzzzzzzzzz"...)
	if string(msg) != "xxxxx" {
		t.Errorf("the sender's slice is %q", msg)
	}
}

// One MiB goes through, a byte more does not and costs nothing else. §8.3
func TestPipeSizes(t *testing.T) {
	a, b := Pipe()
	big := bytes.Repeat([]byte{'x'}, MaxMessage)
	wantError(t, "Send of a byte too much", a.Send(t.Context(), append(big, 'x')), ErrTooLarge)
	sendMessage(t, a, big)
	wantMessage(t, b, big)
}

// Two ends that both write first do not wait for each other.
func TestPipeBothWriteFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		sendMessage(t, a, []byte("from a"))
		sendMessage(t, b, []byte("from b"))
		wantMessage(t, a, []byte("from b"))
		wantMessage(t, b, []byte("from a"))
	})
}

// After a clean close the rest arrives, then io.EOF, for as long as one asks.
func TestPipeClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 100 { // select is random
			a, b := Pipe()
			for n := range 10 {
				sendMessage(t, a, []byte{byte(n)})
			}
			sendMessage(t, b, []byte("unread"))
			for range 2 {
				wantError(t, "Close", a.Close(), nil)
			}
			wantError(t, "Send after Close", a.Send(t.Context(), nil), ErrClosed)
			_, err := a.Receive(t.Context())
			wantError(t, "Receive after Close", err, ErrClosed)
			wantError(t, "Send to a closed end", b.Send(t.Context(), nil), io.ErrClosedPipe)
			for n := range 10 {
				wantMessage(t, b, []byte{byte(n)})
			}
			for range 2 {
				if _, err := b.Receive(t.Context()); err != io.EOF {
					t.Errorf("Receive = %v, want io.EOF", err)
				}
			}
			wantError(t, "Close", b.Close(), nil)
			_, err = b.Receive(t.Context())
			wantError(t, "Receive after Close", err, ErrClosed)
		}
	})
}

// Close unblocks Receive and Send on both sides. HS-080
func TestPipeCloseUnblocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		for range 16 {
			sendMessage(t, a, nil)
			sendMessage(t, b, nil)
		}
		var all sync.WaitGroup
		for i, c := range []Conn{a, b} {
			want := []error{ErrClosed, io.ErrClosedPipe}[i]
			all.Go(func() { wantError(t, "a blocked Send", c.Send(context.Background(), nil), want) })
		}
		synctest.Wait()
		_ = a.Close()
		all.Wait()

		a, b = Pipe()
		for i, c := range []Conn{a, b} {
			all.Go(func() {
				_, err := c.Receive(context.Background())
				wantError(t, "a blocked Receive", err, []error{ErrClosed, io.EOF}[i])
			})
		}
		synctest.Wait()
		_ = a.Close()
		all.Wait()
	})
}

// A reader that stalls blocks the writer after a few messages; nothing grows.
func TestPipeStalledReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		sent := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n := range 1000 {
				sendMessage(t, a, []byte{byte(n), byte(n >> 8)})
				sent++
			}
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		if sent != 16 {
			t.Errorf("%d messages were taken by nobody, want 16", sent)
		}
		for n := range 1000 {
			wantMessage(t, b, []byte{byte(n), byte(n >> 8)})
		}
		<-done
	})
}

// A cancelled Receive or Send loses nothing: a message is taken or is not, and both sides agree.
func TestPipeCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe()
		next := uint32(0)
		for n := range uint32(500) {
			ctx, cancel := context.WithCancel(t.Context())
			got := make(chan []byte, 1)
			go func() {
				msg, err := b.Receive(ctx)
				if err != nil {
					wantError(t, "Receive", err, context.Canceled)
				}
				got <- msg
			}()
			if n%2 == 0 {
				synctest.Wait()
			}
			go cancel()
			sendMessage(t, a, binary.BigEndian.AppendUint32(nil, n))
			msg := <-got
			if msg == nil {
				msg, _ = b.Receive(t.Context())
			}
			if v := binary.BigEndian.Uint32(msg); v != n {
				t.Fatalf("message %d, want %d", v, n)
			}
			cancel()
		}
		for range 16 {
			sendMessage(t, a, nil)
		}
		late, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		wantError(t, "Send on a full link", a.Send(late, nil), context.DeadlineExceeded)
		for range 500 { // a full link: what Send says must be what happens
			ctx, cancel := context.WithCancel(t.Context())
			sent := make(chan error, 1)
			go func() { sent <- a.Send(ctx, binary.BigEndian.AppendUint32(nil, next)) }()
			synctest.Wait()
			go cancel()
			if _, err := b.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-sent; err == nil {
				next++
			} else {
				wantError(t, "Send", err, context.Canceled)
				sendMessage(t, a, binary.BigEndian.AppendUint32(nil, next))
				next++
			}
			cancel()
		}
		for n := next - 16; n < next; n++ {
			wantMessage(t, b, binary.BigEndian.AppendUint32(nil, n))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := b.Receive(ctx)
		wantError(t, "Receive of nothing", err, context.DeadlineExceeded)
	})
}

// Many writers and readers, a hundred thousand messages: each arrives once, each writer's in order.
func TestPipeManyWriters(t *testing.T) {
	const writers, each = 20, 5000
	a, b := Pipe()
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for n := range each {
				msg := binary.BigEndian.AppendUint32([]byte{byte(w)}, uint32(n))
				if err := a.Send(context.Background(), msg); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	go func() {
		writing.Wait()
		_ = a.Close()
	}()
	var next [writers]uint32
	for {
		msg, err := b.Receive(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		w, n := msg[0], binary.BigEndian.Uint32(msg[1:])
		if n != next[w] {
			t.Fatalf("writer %d: message %d, want %d", w, n, next[w])
		}
		next[w]++
	}
	for w, n := range next {
		if n != each {
			t.Errorf("writer %d: %d messages, want %d", w, n, each)
		}
	}
}

// The last message is not lost to the close that follows it.
func TestPipeReceiveRacesWithClose(t *testing.T) {
	for range 20_000 {
		a, b := Pipe()
		go func() {
			_ = a.Send(context.Background(), []byte("last"))
			_ = a.Close()
		}()
		if msg, err := b.Receive(t.Context()); string(msg) != "last" {
			t.Fatalf("Receive = %q, %v; want the last message", msg, err)
		}
	}
}

// What Send took before the same end closed arrives, whichever side called Close.
func TestPipeSendRacesWithClose(t *testing.T) {
	for range 2000 {
		a, b := Pipe()
		var all sync.WaitGroup
		var mu sync.Mutex
		taken := 0
		for range 4 {
			all.Go(func() {
				for range 20 {
					if a.Send(context.Background(), []byte{1}) == nil {
						mu.Lock()
						taken++
						mu.Unlock()
					}
				}
			})
		}
		all.Go(func() { _ = a.Close() })
		got := 0
		for {
			if _, err := b.Receive(t.Context()); err != nil {
				if err != io.EOF {
					t.Errorf("Receive = %v", err)
				}
				break
			}
			got++
		}
		all.Wait()
		if got != taken {
			t.Fatalf("%d messages arrived, Send took %d", got, taken)
		}
	}
}

// Two ends of one process. Package subscriber has a Dialer made of this.
func ExamplePipe() {
	ctx := context.Background()
	reader, agent := Pipe()
	defer reader.Close()
	go func() { // the agent
		defer agent.Close()
		question, err := agent.Receive(ctx)
		if err != nil {
			return
		}
		_ = agent.Send(ctx, append([]byte("you said "), question...))
	}()
	if err := reader.Send(ctx, []byte("hello")); err != nil {
		fmt.Println(err)
	}
	for {
		msg, err := reader.Receive(ctx)
		if errors.Is(err, io.EOF) {
			fmt.Println("the agent hung up")
			return
		}
		fmt.Println(string(msg))
	}
	// Output:
	// you said hello
	// the agent hung up
}
