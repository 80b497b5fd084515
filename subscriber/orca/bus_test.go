package orca_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/orcatest"
	"github.com/aaep-go/aaep/internal/sessionbus"
	"github.com/aaep-go/aaep/internal/sessionbus/bustest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/orca"
)

// A real bus has names, owners and signals of its own.
func TestBus(t *testing.T) {
	bustest.Start(t)
	if _, err := orca.Open(t.Context(), orca.Options{}); !errors.Is(err, orca.ErrAbsent) {
		t.Errorf("before Orca is there, Open = %v", err)
	}
	for _, version := range []int{50, 51} {
		conn, err := sessionbus.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		double := orcatest.New(version, "en")
		defer double.Close()
		if err := double.Serve(conn); err != nil {
			t.Fatal(err)
		}
		out, err := orca.Open(t.Context(), orca.Options{WordsPerMinute: 60})
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if out.Speaks("yo") != (version < 51) || !out.Speaks("en-NG") {
			t.Error("Speaks does not know the voices")
		}
		start := time.Now()
		text := strings.Repeat("One two three. ", 40) // two minutes, which are cut short
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- out.Present(ctx, announce.Utterance{Text: text, Critical: true}) }()
		begun := func(after int) bool {
			return slices.ContainsFunc(double.Calls()[after:],
				func(c orcatest.Call) bool { return strings.HasPrefix(c.Argument, "One") })
		}
		for !begun(0) {
			time.Sleep(time.Millisecond)
		}
		cancel()
		if err := <-done; err != context.Canceled {
			t.Errorf("Present = %v", err)
		}
		calls := double.Calls()
		if n := len(calls); n < 3 || calls[n-3].Method != "InterruptSpeech" ||
			!strings.HasPrefix(calls[n-2].Argument, "One") || calls[n-1].Method != "InterruptSpeech" {
			t.Errorf("Orca was asked %q", callsSince(double, start))
		}
		go func() { done <- out.Present(t.Context(), announce.Utterance{Text: text}) }()
		for !begun(len(calls)) {
			time.Sleep(time.Millisecond)
		}
		if err := double.Be(orcatest.Absent); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, orca.ErrLeft) {
			t.Errorf("when Orca left, Present = %v", err)
		}
		if err := out.Present(t.Context(), announce.Utterance{Text: "Hello."}); !errors.Is(err, orca.ErrAbsent) {
			t.Errorf("with Orca away, Present = %v", err)
		}
	}
}

// With AAEP_ORCA=1 it speaks through the Orca that runs, where the person who started the test can
// hear it.
func TestRealOrca(t *testing.T) {
	if os.Getenv("AAEP_ORCA") != "1" {
		t.Skip("AAEP_ORCA is not 1: the Orca that runs, if any, is left alone")
	}
	out, err := orca.Open(t.Context(), orca.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for _, language := range []string{"en-US", "yo-NG", "zh-CN"} {
		t.Logf("Speaks(%q) = %v", language, out.Speaks(language))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	start := time.Now()
	err = out.Present(ctx, announce.Utterance{Text: "This is a long sentence, which goes on and on until it is cut off after two seconds by the end of its context."})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Present = %v", err)
	}
	t.Logf("silence was asked for and answered after %v", time.Since(start))
	other, err := orca.Open(t.Context(), orca.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go other.Present(t.Context(), announce.Utterance{Text: "This is a second long sentence, and a question comes before it has come to an end."})
	time.Sleep(time.Second)
	if err := out.Present(t.Context(), announce.Utterance{Text: "Transfer 500 dollars to savings?",
		Critical: true}); err != nil {
		t.Errorf("Present = %v", err)
	}
}
