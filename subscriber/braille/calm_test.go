package braille_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/subscriber/braille"
	"github.com/aaep-go/aaep/subscriber/braille/brailletest"
)

// A critical text stays, at its beginning, until the person has panned past its end.
func TestCritical(t *testing.T) {
	inBubble(t, 20, braille.Options{}, func(b *bed) {
		result := b.present(b.Context(), critical(transfer))
		b.after(time.Hour)
		b.shows("Confirm transfer| ⠒")
		b.press(brailletest.Forward, brailletest.Forward)
		b.shows("savings.| ⠿")
		b.press(brailletest.Forward) // too early: it was meant to go on, not to dismiss
		b.goesOn(result)
		b.shows("savings.| ⠿")
		b.after(2 * time.Hour)
		b.goesOn(result)
		b.press(brailletest.Forward)
		b.ends(result, nil)
		b.after(2*time.Hour + 100*time.Millisecond)
		b.shows("|")
	})
}

// The key that was pressed for what stood there a moment ago acknowledges nothing.
func TestCriticalIsArmed(t *testing.T) {
	for _, key := range []brailletest.Key{brailletest.Forward, brailletest.Next} {
		inBubble(t, 40, braille.Options{}, func(b *bed) {
			ctx, cancel := context.WithCancel(b.Context())
			first := b.present(ctx, say("The build goes on."))
			b.after(1500 * time.Millisecond)
			cancel()
			b.ends(first, context.Canceled)
			result := b.present(b.Context(), critical("Delete it?"))
			b.shows("Delete it?| ⠿")
			b.press(key)
			b.after(2400 * time.Millisecond)
			b.press(key)
			b.goesOn(result)
			b.shows("Delete it?| ⠿")
			b.after(2500 * time.Millisecond)
			b.press(key)
			b.ends(result, nil)
		})
	}
}

// What follows a critical text that was acknowledged takes its place: no empty line comes in between, which a finger would take for the end.
func TestCriticalFollowsCritical(t *testing.T) {
	inBubble(t, 20, braille.Options{}, func(b *bed) {
		first := b.present(b.Context(), critical("High risk."))
		b.after(2 * time.Second)
		b.press(brailletest.Forward)
		b.ends(first, nil)
		b.after(2050 * time.Millisecond)
		second := b.present(b.Context(), critical("No answer: no."))
		b.shows("No answer: no.| ⠿")
		b.after(5 * time.Second)
		b.press(brailletest.Forward)
		b.ends(second, nil)
		b.after(8 * time.Second)
		b.tells("High risk. ⠿, 2.05s", "No answer: no. ⠿, 3.05s", ", 1s", "given back, on")
	})
}

// A key that is pressed as a page turns by itself was meant for the page before: no page is skipped unread.
func TestKeyAsThePageTurns(t *testing.T) {
	for _, late := range []time.Duration{0, 200 * time.Millisecond} {
		inBubble(t, 14, braille.Options{}, func(b *bed) {
			result := b.present(b.Context(), say("One is here. Two is there."))
			b.after(2*time.Second + late)
			b.press(brailletest.Forward)
			b.shows("Two is| ⠒")
			b.after(2300 * time.Millisecond)
			b.press(brailletest.Forward)
			b.shows("there.|")
			b.after(10 * time.Second)
			b.ends(result, nil)
		})
	}
}

// A key that is pressed while a text waits for its turn on the display shows it now, and does not throw it away, or a page of it, unread.
func TestKeyBeforeItsTurn(t *testing.T) {
	for _, key := range []brailletest.Key{brailletest.Forward, brailletest.Next} {
		inBubble(t, 14, braille.Options{}, func(b *bed) {
			first := b.present(b.Context(), say("Saved."))
			b.after(300 * time.Millisecond)
			b.press(key)
			b.ends(first, nil)
			b.present(b.Context(), say("No money was moved."))
			b.after(400 * time.Millisecond)
			b.shows("|") // it comes a second after the one before
			b.press(key)
			b.shows("No money was| ⠒")
		})
	}
}

// Also by hand, and while the person reads back, a critical text comes. What was read stays a second.
func TestCriticalInterrupts(t *testing.T) {
	for _, manual := range []bool{false, true} {
		inBubble(t, 40, braille.Options{Manual: manual}, func(b *bed) {
			ctx, cancel := context.WithCancel(b.Context())
			first := b.present(ctx, say("First."))
			b.press(brailletest.Forward)
			b.ends(first, nil)
			second := b.present(ctx, say("Second."))
			b.after(time.Second)
			b.shows("Second.|")
			b.after(1500 * time.Millisecond)
			b.press(brailletest.Back)
			b.shows("First.|⠶")
			b.after(1600 * time.Millisecond)
			cancel()
			b.ends(second, context.Canceled)
			result := b.present(b.Context(), critical("Delete it?"))
			b.shows("First.|⠶")
			b.after(2400 * time.Millisecond)
			b.shows("First.|⠶")
			b.after(2500 * time.Millisecond)
			b.shows("Delete it?| ⠿")
			// Reading back does not acknowledge, and ends by itself.
			b.press(brailletest.Back)
			b.shows("Second.|⠶")
			b.after(4500 * time.Millisecond)
			b.shows("Delete it?| ⠿")
			b.goesOn(result)
		})
	}
}

// Who reads back is not disturbed by what comes, and a cell says that it waits.
func TestReadingBack(t *testing.T) {
	inBubble(t, 40, braille.Options{}, func(b *bed) {
		for i := range 60 {
			if err := b.d.Present(b.Context(), say(fmt.Sprintf("Number %d.", i))); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 {
			b.press(brailletest.Back)
		}
		b.shows("Number 10.|") // fifty are kept
		result := b.present(b.Context(), say("New."))
		b.after(122*time.Second - time.Millisecond)
		b.goesOn(result)
		b.shows("Number 10.|⠶")
		b.press(brailletest.Next)
		b.shows("Number 12.|⠶") // number 11 made room
		b.after(125 * time.Second)
		b.shows("New.|")
		b.after(126 * time.Second)
		b.ends(result, nil)
	})
}

// What nobody's key asked for changes the display once a second, whatever comes; the last text is shown whole.
func TestFlood(t *testing.T) {
	inBubble(t, 40, braille.Options{}, func(b *bed) {
		for i := range 1000 {
			ctx, cancel := context.WithTimeout(b.Context(), 10*time.Millisecond)
			u := say(fmt.Sprintf("Flood %d.", i))
			u.Critical = i%7 == 0
			if err := b.d.Present(ctx, u); err != context.DeadlineExceeded {
				t.Fatal(err)
			}
			b.d.Waiting(i % 2)
			cancel()
		}
		if err := b.d.Present(b.Context(), say("Last.")); err != nil {
			t.Fatal(err)
		}
		b.after(time.Minute)
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
	inBubble(t, 40, braille.Options{}, func(b *bed) {
		b.d.Waiting(3)
		if len(b.s.States()) > 0 {
			t.Error("the display was taken for nothing but a mark")
		}
		result := b.present(b.Context(), say("First."))
		b.shows("First.|⠶")
		b.after(1500 * time.Millisecond)
		b.d.Waiting(0)
		b.shows("First.|")
		b.d.Waiting(1)
		b.shows("First.|")
		b.after(2 * time.Second)
		b.ends(result, nil)
		b.after(2500 * time.Millisecond)
		b.shows("First.|⠶")
	})
}

// A text that was cancelled does not vanish under the finger, and no longer asks for anything.
func TestCancel(t *testing.T) {
	inBubble(t, 40, braille.Options{}, func(b *bed) {
		ctx, cancel := context.WithTimeout(b.Context(), 3*time.Second)
		defer cancel()
		if err := b.d.Present(ctx, critical("Delete it?")); err != context.DeadlineExceeded {
			t.Error(err)
		}
		synctest.Wait()
		b.shows("Delete it?|")
		if err := b.d.Present(ctx, say("Never.")); err != context.DeadlineExceeded {
			t.Error(err)
		}
		b.after(time.Minute)
		b.tells("Delete it? ⠿, 3s", "Delete it?, 9s", "given back, on")
	})
}

// A display that becomes another one shows the same place of the text at once, and never gets a wider line.
func TestResize(t *testing.T) {
	inBubble(t, 40, braille.Options{}, func(b *bed) {
		result := b.present(b.Context(), say(transfer+" Then tell me."))
		b.after(4500 * time.Millisecond)
		b.shows("savings. Then tell me.|")
		b.s.Resize(14)
		synctest.Wait()
		if b.d.Cells() != 14 {
			t.Errorf("Cells = %d", b.d.Cells())
		}
		b.shows("to savings.| ⠒") // the page with its first word
		b.after(6 * time.Second)
		b.shows("to savings.| ⠒")
		b.after(7 * time.Second)
		b.shows("Then tell| ⠒")
		b.s.Resize(20)
		synctest.Wait()
		b.shows("savings. Then tell| ⠒")
		b.after(15 * time.Second)
		b.ends(result, nil)
	})
}

// One that is not there yet when the program starts may still come.
func TestPlugLate(t *testing.T) {
	inBubble(t, 0, braille.Options{}, func(b *bed) {
		result := b.present(b.Context(), say("Hello."))
		b.after(14 * time.Second)
		b.goesOn(result)
		b.s.Resize(40)
		b.shows("Hello.|")
		b.after(16 * time.Second)
		b.ends(result, nil)
	})
}

// A display that is unplugged and comes back in time shows what it showed; later Present says that it is gone, and
// works again when it is there again.
func TestUnplug(t *testing.T) {
	inBubble(t, 40, braille.Options{}, func(b *bed) {
		result := b.present(b.Context(), critical("Delete it?"))
		b.s.Resize(0)
		b.after(4 * time.Second)
		b.goesOn(result)
		before := len(b.s.States())
		b.s.Resize(40)
		synctest.Wait()
		b.shows("Delete it?| ⠿")
		if len(b.s.States()) != before+1 {
			t.Error("it was not written again")
		}
		b.s.Resize(0)
		b.after(18 * time.Second)
		b.goesOn(result)
		b.after(19 * time.Second)
		b.ends(result, braille.ErrNoDisplay)
		b.after(time.Minute)
		if err := b.d.Present(b.Context(), say("Gone.")); err != braille.ErrNoDisplay || time.Since(b.start) > time.Minute {
			t.Errorf("Present without a display = %v after %v", err, time.Since(b.start))
		}
		b.s.Resize(14)
		synctest.Wait()
		result = b.present(b.Context(), say("Back."))
		b.after(63 * time.Second)
		b.shows("Back.|")
		b.ends(result, nil)
	})
}
