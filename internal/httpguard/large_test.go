package httpguard

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// INV-31: of large messages only so many are held at once, of one sender fewer; the usual ones do
// not wait for them.
func TestLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const patience = time.Second
		var l LargeMessages
		large := strings.Repeat("a", largeSize+1)
		read := func(who, msg string) func() {
			t.Helper()
			got, done, err := l.Read(strings.NewReader(msg), who, patience)
			if err != nil || string(got) != msg {
				t.Fatalf("%s: %d bytes, %v", who, len(got), err)
			}
			return done
		}
		full := func(who string) {
			t.Helper()
			began := time.Now()
			if _, _, err := l.Read(strings.NewReader(large), who, patience); !errors.Is(err, ErrNoRoom) ||
				time.Since(began) != patience {
				t.Errorf("%s: %v after %v", who, err, time.Since(began))
			}
		}
		var held []func()
		for _, who := range []string{"slow", "b", "c", "d"} {
			for range maxLargeEach {
				held = append(held, read(who, large))
			}
			full(who)
			if who == "slow" { // who takes all of theirs takes no other sender's
				read("ada", large)()
			}
		}
		full("ada")
		read("ada", large[1:])()
		go func() { time.Sleep(patience / 2); held[0](); held[0]() }()
		read("slow", large)()
		for _, done := range held {
			done()
		}
		if l.held != 0 || len(l.bySender) != 0 {
			t.Errorf("%d are held still, of %v", l.held, l.bySender)
		}
		// A message that breaks off gives its room back.
		for range 2 * maxLarge {
			_, done, err := l.Read(io.MultiReader(strings.NewReader(large), broken{}), "ada", patience)
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal(err)
			}
			done()
		}
	})
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
