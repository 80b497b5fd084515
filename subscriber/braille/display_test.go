package braille_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep/internal/brailletest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/braille"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const transfer = "Confirm transfer of 500 dollars to savings."

// fixture is a display in a bubble: a second of its time lasts no time.
type fixture struct {
	*testing.T
	s     *brailletest.Server
	d     *braille.Display
	start time.Time
}

func inBubble(t *testing.T, cells int, options braille.Options, test func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &fixture{T: t, s: brailletest.New(cells), start: time.Now()}
		options.Dial = b.s.Dial
		var err error
		if b.d, err = braille.Open(t.Context(), options); err != nil {
			t.Fatal(err)
		}
		test(b)
		b.d.Close()
	})
}

// sayText is an utterance that is not critical.
func sayText(text string) announce.Utterance { return announce.Utterance{ID: 1, Text: text} }

// sayCritical is one that is.
func sayCritical(text string) announce.Utterance {
	return announce.Utterance{ID: 1, Text: text, Critical: true}
}

// presentAsync presents in the background; the channel gets the result.
func (b *fixture) presentAsync(ctx context.Context, u announce.Utterance) <-chan error {
	result := make(chan error, 1)
	go func() { result <- b.d.Present(ctx, u) }()
	synctest.Wait()
	return result
}

// sleepUntil lets time pass until so long after the start.
func (b *fixture) sleepUntil(d time.Duration) {
	time.Sleep(time.Until(b.start.Add(d)))
	synctest.Wait()
}

// pressKeys presses keys of the display, one after the other.
func (b *fixture) pressKeys(keys ...brailletest.Key) {
	b.s.Press(keys...)
	synctest.Wait()
}

// checkShown checks what is on the display: text, then from its last two cells what waits and what
// follows.
func (b *fixture) checkShown(want string) {
	b.Helper()
	synctest.Wait()
	state := b.s.Now()
	line := []rune(state.Line)
	if state.Cursor != 0 {
		b.Errorf("after %v a cursor stands on cell %d", time.Since(b.start), state.Cursor)
	}
	got := state.Line
	if n := len(line); n >= 8 {
		got = strings.TrimRight(strings.TrimRight(string(line[:n-2]), " ")+"|"+string(line[n-2:]), " ")
	}
	if got != want {
		b.Errorf("after %v the display shows %q, want %q", time.Since(b.start), got, want)
	}
}

// checkEnd checks that a Present has ended.
func (b *fixture) checkEnd(result <-chan error, want error) {
	b.Helper()
	synctest.Wait()
	select {
	case err := <-result:
		if !errors.Is(err, want) {
			b.Errorf("after %v Present = %v, want %v", time.Since(b.start), err, want)
		}
	default:
		b.Errorf("after %v Present has not returned", time.Since(b.start))
		b.d.Close()
	}
}

func (b *fixture) goesOn(result <-chan error) {
	b.Helper()
	synctest.Wait()
	select {
	case err := <-result:
		b.Fatalf("after %v Present = %v", time.Since(b.start), err)
	default:
	}
}

// shownHistory returns what was on the display, and for how long.
func (b *fixture) shownHistory() []string {
	states := b.s.States()
	var lines []string
	for i, s := range states {
		stood := "on"
		if i+1 < len(states) {
			stood = fmt.Sprint(states[i+1].At.Sub(s.At))
		}
		if !s.Ours {
			lines = append(lines, "given back, "+stood)
			continue
		}
		if strings.TrimSpace(s.Line) == "" && stood == "0s" {
			continue // wiped before it is given back
		}
		lines = append(lines, strings.Join(strings.Fields(s.Line), " ")+", "+stood)
	}
	return lines
}

func (b *fixture) checkHistory(want ...string) {
	b.Helper()
	if got := b.shownHistory(); !slices.Equal(got, want) {
		b.Errorf("on the display was\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A text goes over the display by itself, each page for as long as its cells take: 5 s for 40, 2 s
// at least.
func TestDwell(t *testing.T) {
	for cells, want := range map[int][]string{
		14: {"Confirm ⠒, 2s", "transfer of ⠒, 2s", "500 dollars ⠒, 2s", "to savings., 12s", "given back, on"},
		20: {"Confirm transfer ⠒, 2s", "of 500 dollars to ⠒, 2.125s", "savings., 12s", "given back, on"},
		40: {"Confirm transfer of 500 dollars to ⠒, 4.25s", "savings., 12s", "given back, on"},
		80: {transfer + ", 15.375s", "given back, on"},
		// no room for marks
		7: {"Confirm, 2s", "transfe, 2s", "r of, 2s", "500, 2s", "dollars, 2s", "to, 2s", "savings, 2s", "., 12s",
			"given back, on"},
	} {
		t.Run(fmt.Sprint(cells), func(t *testing.T) {
			inBubble(t, cells, braille.Options{}, func(b *fixture) {
				if err := b.d.Present(b.Context(), sayText(transfer)); err != nil {
					t.Fatal(err)
				}
				if stood, last := time.Since(b.start), len(want)-1; stood < 2*time.Second*time.Duration(last) &&
					cells < 80 {
					t.Errorf("read in %v", stood)
				}
				b.sleepUntil(time.Minute)
				b.checkHistory(want...)
			})
		})
	}
}

// A text takes the person's own pace.
func TestPace(t *testing.T) {
	inBubble(t, 40, braille.Options{Page: 20 * time.Second}, func(b *fixture) {
		b.d.Present(b.Context(), sayText(transfer))
		b.sleepUntil(time.Minute)
		b.checkHistory("Confirm transfer of 500 dollars to ⠒, 17s", "savings., 14s", "given back, on")
	})
}

// Nothing moves by itself, and the text is over when the person has panned past its end.
func TestManual(t *testing.T) {
	inBubble(t, 20, braille.Options{Manual: true}, func(b *fixture) {
		result := b.presentAsync(b.Context(), sayText(transfer))
		b.sleepUntil(time.Hour)
		b.checkShown("Confirm transfer| ⠒")
		b.pressKeys(brailletest.Forward, brailletest.Forward)
		b.checkShown("savings.|")
		b.goesOn(result)
		b.pressKeys(brailletest.Forward)
		b.checkEnd(result, nil)
		b.sleepUntil(time.Hour + 2*time.Second)
		b.checkHistory("Confirm transfer ⠒, 1h0m0s", "of 500 dollars to ⠒, 0s", "savings., 100ms", ", 1s",
			"given back, on")
	})
}

// A key is obeyed at once. Who skips gets the next text at once too, but not faster than one a
// second.
func TestKeys(t *testing.T) {
	inBubble(t, 20, braille.Options{}, func(b *fixture) {
		first := b.presentAsync(b.Context(), sayText(transfer))
		b.sleepUntil(100 * time.Millisecond)
		b.pressKeys(brailletest.Forward, brailletest.Back, brailletest.Back) // nothing is before
		b.checkShown("Confirm transfer| ⠒")
		b.pressKeys(brailletest.Forward)
		b.pressKeys(brailletest.Previous)
		b.checkShown("Confirm transfer| ⠒")
		b.sleepUntil(2 * time.Second)
		b.checkShown("Confirm transfer| ⠒") // the reading time counts from the key
		b.pressKeys(brailletest.Next)
		b.checkEnd(first, announce.ErrCut)
		second := b.presentAsync(b.Context(), sayText("Second."))
		b.checkShown("Second.|")
		b.sleepUntil(3 * time.Second)
		b.pressKeys(brailletest.Next)
		b.checkEnd(second, nil) // all of it was there
		third := b.presentAsync(b.Context(), sayText("Third."))
		b.checkShown("Third.|")
		b.pressKeys(brailletest.Forward)
		b.checkEnd(third, nil)
		fourth := b.presentAsync(b.Context(), sayText("Fourth."))
		b.sleepUntil(3100 * time.Millisecond)
		b.checkShown("|")
		b.sleepUntil(4 * time.Second)
		b.checkShown("Fourth.|")
		b.pressKeys(brailletest.Back)
		b.checkShown("Third.|⠶")
		b.pressKeys(brailletest.Back, brailletest.Back)
		b.checkShown("savings.|⠶")
		b.pressKeys(brailletest.Home)
		b.checkShown("Fourth.|")
		b.sleepUntil(7 * time.Second)
		b.checkEnd(fourth, nil)
	})
}
