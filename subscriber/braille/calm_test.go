package braille_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/internal/brailletest"
	"github.com/aaep-go/aaep/subscriber/braille"
)

// A critical text stays, at its beginning, until the person has panned past its end.
func TestCritical(t *testing.T) {
	inBubble(t, 20, braille.Options{}, func(b *fixture) {
		result := b.presentAsync(b.Context(), sayCritical(transfer))
		b.sleepUntil(time.Hour)
		b.checkShown("Confirm transfer| ⠒")
		b.pressKeys(brailletest.Forward, brailletest.Forward)
		b.checkShown("savings.| ⠿")
		b.pressKeys(brailletest.Forward) // too early: it was meant to go on, not to dismiss
		b.goesOn(result)
		b.checkShown("savings.| ⠿")
		b.sleepUntil(2 * time.Hour)
		b.goesOn(result)
		b.pressKeys(brailletest.Forward)
		b.checkEnd(result, nil)
		b.sleepUntil(2*time.Hour + 100*time.Millisecond)
		b.checkShown("|")
	})
}

// The key that was pressed for what stood there a moment ago acknowledges nothing.
func TestCriticalIsArmed(t *testing.T) {
	for _, key := range []brailletest.Key{brailletest.Forward, brailletest.Next} {
		inBubble(t, 40, braille.Options{}, func(b *fixture) {
			ctx, cancel := context.WithCancel(b.Context())
			first := b.presentAsync(ctx, sayText("The build goes on."))
			b.sleepUntil(1500 * time.Millisecond)
			cancel()
			b.checkEnd(first, context.Canceled)
			result := b.presentAsync(b.Context(), sayCritical("Delete it?"))
			b.checkShown("Delete it?| ⠿")
			b.pressKeys(key)
			b.sleepUntil(2400 * time.Millisecond)
			b.pressKeys(key)
			b.goesOn(result)
			b.checkShown("Delete it?| ⠿")
			b.sleepUntil(2500 * time.Millisecond)
			b.pressKeys(key)
			b.checkEnd(result, nil)
		})
	}
}

// What follows a critical text that was acknowledged takes its place: no empty line comes in
// between, which a finger would take for the end.
func TestCriticalFollowsCritical(t *testing.T) {
	inBubble(t, 20, braille.Options{}, func(b *fixture) {
		first := b.presentAsync(b.Context(), sayCritical("High risk."))
		b.sleepUntil(2 * time.Second)
		b.pressKeys(brailletest.Forward)
		b.checkEnd(first, nil)
		b.sleepUntil(2050 * time.Millisecond)
		second := b.presentAsync(b.Context(), sayCritical("No answer: no."))
		b.checkShown("No answer: no.| ⠿")
		b.sleepUntil(5 * time.Second)
		b.pressKeys(brailletest.Forward)
		b.checkEnd(second, nil)
		b.sleepUntil(8 * time.Second)
		b.checkHistory("High risk. ⠿, 2.05s", "No answer: no. ⠿, 3.05s", ", 1s", "given back, on")
	})
}

// A key that is pressed as a page turns by itself was meant for the page before: no page is skipped
// unread.
func TestKeyAsThePageTurns(t *testing.T) {
	for _, late := range []time.Duration{0, 200 * time.Millisecond} {
		inBubble(t, 14, braille.Options{}, func(b *fixture) {
			result := b.presentAsync(b.Context(), sayText("One is here. Two is there."))
			b.sleepUntil(2*time.Second + late)
			b.pressKeys(brailletest.Forward)
			b.checkShown("Two is| ⠒")
			b.sleepUntil(2300 * time.Millisecond)
			b.pressKeys(brailletest.Forward)
			b.checkShown("there.|")
			b.sleepUntil(10 * time.Second)
			b.checkEnd(result, nil)
		})
	}
}

// A key that is pressed while a text waits for its turn on the display shows it now, and does not
// throw it away, or a page of it, unread.
func TestKeyBeforeItsTurn(t *testing.T) {
	for _, key := range []brailletest.Key{brailletest.Forward, brailletest.Next} {
		inBubble(t, 14, braille.Options{}, func(b *fixture) {
			first := b.presentAsync(b.Context(), sayText("Saved."))
			b.sleepUntil(300 * time.Millisecond)
			b.pressKeys(key)
			b.checkEnd(first, nil)
			b.presentAsync(b.Context(), sayText("No money was moved."))
			b.sleepUntil(400 * time.Millisecond)
			b.checkShown("|") // it comes a second after the one before
			b.pressKeys(key)
			b.checkShown("No money was| ⠒")
		})
	}
}

// Also by hand, and while the person reads back, a critical text comes. What was read stays a
// second.
func TestCriticalInterrupts(t *testing.T) {
	for _, manual := range []bool{false, true} {
		inBubble(t, 40, braille.Options{Manual: manual}, func(b *fixture) {
			ctx, cancel := context.WithCancel(b.Context())
			first := b.presentAsync(ctx, sayText("First."))
			b.pressKeys(brailletest.Forward)
			b.checkEnd(first, nil)
			second := b.presentAsync(ctx, sayText("Second."))
			b.sleepUntil(time.Second)
			b.checkShown("Second.|")
			b.sleepUntil(1500 * time.Millisecond)
			b.pressKeys(brailletest.Back)
			b.checkShown("First.|⠶")
			b.sleepUntil(1600 * time.Millisecond)
			cancel()
			b.checkEnd(second, context.Canceled)
			result := b.presentAsync(b.Context(), sayCritical("Delete it?"))
			b.checkShown("First.|⠶")
			b.sleepUntil(2400 * time.Millisecond)
			b.checkShown("First.|⠶")
			b.sleepUntil(2500 * time.Millisecond)
			b.checkShown("Delete it?| ⠿")
			// Reading back does not acknowledge, and ends by itself.
			b.pressKeys(brailletest.Back)
			b.checkShown("Second.|⠶")
			b.sleepUntil(4500 * time.Millisecond)
			b.checkShown("Delete it?| ⠿")
			b.goesOn(result)
		})
	}
}

// Who reads back is not disturbed by what comes, and a cell says that it waits.
func TestReadingBack(t *testing.T) {
	inBubble(t, 40, braille.Options{}, func(b *fixture) {
		for i := range 60 {
			if err := b.d.Present(b.Context(), sayText(fmt.Sprintf("Number %d.", i))); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 {
			b.pressKeys(brailletest.Back)
		}
		b.checkShown("Number 10.|") // fifty are kept
		result := b.presentAsync(b.Context(), sayText("New."))
		b.sleepUntil(122*time.Second - time.Millisecond)
		b.goesOn(result)
		b.checkShown("Number 10.|⠶")
		b.pressKeys(brailletest.Next)
		b.checkShown("Number 12.|⠶") // number 11 made room
		b.sleepUntil(125 * time.Second)
		b.checkShown("New.|")
		b.sleepUntil(126 * time.Second)
		b.checkEnd(result, nil)
	})
}

// What no key asked for changes the display once a second, whatever comes; the last text is
// shown whole.
func TestFlood(t *testing.T) {
	inBubble(t, 40, braille.Options{}, func(b *fixture) {
		for i := range 1000 {
			ctx, cancel := context.WithTimeout(b.Context(), 10*time.Millisecond)
			u := sayText(fmt.Sprintf("Flood %d.", i))
			u.Critical = i%7 == 0
			if err := b.d.Present(ctx, u); err != context.DeadlineExceeded {
				t.Fatal(err)
			}
			b.d.Waiting(i % 2)
			cancel()
		}
		if err := b.d.Present(b.Context(), sayText("Last.")); err != nil {
			t.Fatal(err)
		}
		b.sleepUntil(time.Minute)
		states := b.s.States()
		if n := len(states); n < 10 || n > 14 {
			t.Errorf("%d changes in eleven seconds", n)
		}
		for i := range states[1:] {
			if stood := states[i+1].At.Sub(states[i].At); stood < time.Second && states[i+1].Ours {
				t.Errorf("%q stood for %v", states[i].Line, stood)
			}
		}
		if last := states[len(states)-3]; !strings.HasPrefix(last.Line, "Last.") {
			t.Errorf("the last line is %q", last.Line)
		}
	})
}

// The cell that says that something waits comes and goes without restarting the reading time.
func TestWaiting(t *testing.T) {
	inBubble(t, 40, braille.Options{}, func(b *fixture) {
		b.d.Waiting(3)
		if len(b.s.States()) > 0 {
			t.Error("the display was taken for nothing but a mark")
		}
		result := b.presentAsync(b.Context(), sayText("First."))
		b.checkShown("First.|⠶")
		b.sleepUntil(1500 * time.Millisecond)
		b.d.Waiting(0)
		b.checkShown("First.|")
		b.d.Waiting(1)
		b.checkShown("First.|")
		b.sleepUntil(2 * time.Second)
		b.checkEnd(result, nil)
		b.sleepUntil(2500 * time.Millisecond)
		b.checkShown("First.|⠶")
	})
}

// A text that was cancelled does not vanish under the finger, and no longer asks for anything.
func TestCancel(t *testing.T) {
	inBubble(t, 40, braille.Options{}, func(b *fixture) {
		ctx, cancel := context.WithTimeout(b.Context(), 3*time.Second)
		defer cancel()
		if err := b.d.Present(ctx, sayCritical("Delete it?")); err != context.DeadlineExceeded {
			t.Error(err)
		}
		synctest.Wait()
		b.checkShown("Delete it?|")
		if err := b.d.Present(ctx, sayText("Never.")); err != context.DeadlineExceeded {
			t.Error(err)
		}
		b.sleepUntil(time.Minute)
		b.checkHistory("Delete it? ⠿, 3s", "Delete it?, 9s", "given back, on")
	})
}

// A display whose new size nothing tells of shows the text in it within seconds.
func TestUnnoticedSize(t *testing.T) {
	inBubble(t, 40, braille.Options{}, func(b *fixture) {
		result := b.presentAsync(b.Context(), sayCritical("Delete it?"))
		b.s.ResizeUnnoticed(20)
		b.sleepUntil(5 * time.Second)
		if b.d.Cells() != 20 {
			t.Errorf("Cells = %d", b.d.Cells())
		}
		b.checkShown("Delete it?| ⠿")
		b.pressKeys(brailletest.Forward)
		b.sleepUntil(8 * time.Second)
		b.pressKeys(brailletest.Forward)
		b.checkEnd(result, nil)
	})
}

// A display that becomes another one shows the same place of the text at once, and never gets a
// wider line.
func TestResize(t *testing.T) {
	inBubble(t, 40, braille.Options{}, func(b *fixture) {
		result := b.presentAsync(b.Context(), sayText(transfer+" Then tell me."))
		b.sleepUntil(4500 * time.Millisecond)
		b.checkShown("savings. Then tell me.|")
		b.s.Resize(14)
		synctest.Wait()
		if b.d.Cells() != 14 {
			t.Errorf("Cells = %d", b.d.Cells())
		}
		b.checkShown("to savings.| ⠒") // the page with its first word
		b.sleepUntil(6 * time.Second)
		b.checkShown("to savings.| ⠒")
		b.sleepUntil(7 * time.Second)
		b.checkShown("Then tell| ⠒")
		b.s.Resize(20)
		synctest.Wait()
		b.checkShown("savings. Then tell| ⠒")
		b.sleepUntil(15 * time.Second)
		b.checkEnd(result, nil)
	})
}

// One that is not there yet when the program starts may still come.
func TestPlugLate(t *testing.T) {
	inBubble(t, 0, braille.Options{}, func(b *fixture) {
		result := b.presentAsync(b.Context(), sayText("Hello."))
		b.sleepUntil(14 * time.Second)
		b.goesOn(result)
		b.s.Resize(40)
		b.checkShown("Hello.|")
		b.sleepUntil(16 * time.Second)
		b.checkEnd(result, nil)
	})
}

// A display that is unplugged and comes back in time shows what it showed; later Present says that
// it is gone, and works again when it is there again.
func TestUnplug(t *testing.T) {
	inBubble(t, 40, braille.Options{}, func(b *fixture) {
		result := b.presentAsync(b.Context(), sayCritical("Delete it?"))
		b.s.Resize(0)
		b.sleepUntil(4 * time.Second)
		b.goesOn(result)
		before := len(b.s.States())
		b.s.Resize(40)
		synctest.Wait()
		b.checkShown("Delete it?| ⠿")
		if len(b.s.States()) != before+1 {
			t.Error("it was not written again")
		}
		b.s.Resize(0)
		b.sleepUntil(18 * time.Second)
		b.goesOn(result)
		b.sleepUntil(19 * time.Second)
		b.checkEnd(result, braille.ErrNoDisplay)
		b.sleepUntil(time.Minute)
		if err := b.d.Present(b.Context(), sayText("Gone.")); err != braille.ErrNoDisplay ||
			time.Since(b.start) > time.Minute {
			t.Errorf("Present without a display = %v after %v", err, time.Since(b.start))
		}
		b.s.Resize(14)
		synctest.Wait()
		result = b.presentAsync(b.Context(), sayText("Back."))
		b.sleepUntil(63 * time.Second)
		b.checkShown("Back.|")
		b.checkEnd(result, nil)
	})
}
