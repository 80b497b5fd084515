package orca_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"
	"go.uber.org/goleak"

	"github.com/aaep-go/aaep/internal/orcatest"
	"github.com/aaep-go/aaep/internal/spoken"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/orca"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runVirtual runs a test in virtual time, with an Orca of each version and an output that speaks
// through it.
func runVirtual(t *testing.T, options orca.Options, test func(t *testing.T, double *orcatest.Orca, out *orca.Output)) {
	for name, version := range map[string]int{"Orca 49": 49, "Orca 51": 51} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				double := orcatest.New(version, "en-GB", "de", "cmn")
				defer double.Close()
				options.Bus = double.Dial
				out, err := orca.Open(t.Context(), options)
				if err != nil {
					t.Fatal(err)
				}
				defer out.Close()
				test(t, double, out)
			})
		})
	}
}

// callsSince returns what the double was asked, in short, since start.
func callsSince(double *orcatest.Orca, start time.Time) (all []string) {
	for _, c := range double.Calls() {
		all = append(all, strings.TrimSpace(c.At.Sub(start).Round(time.Second).String()+" "+c.Method+" "+c.Argument))
	}
	return all
}

// checkCalls checks what the double was asked since start.
func checkCalls(t *testing.T, double *orcatest.Orca, start time.Time, want ...string) {
	t.Helper()
	if got := strings.Join(callsSince(double, start), "; "); got != strings.Join(want, "; ") {
		t.Errorf("Orca was asked %q, want %q", got, strings.Join(want, "; "))
	}
}

// Each utterance takes the time it needs to be spoken, and what is critical cuts the one before.
func TestPresent(t *testing.T) {
	runVirtual(t, orca.Options{WordsPerMinute: 120}, func(t *testing.T, double *orcatest.Orca, out *orca.Output) {
		start := time.Now()
		for _, u := range []announce.Utterance{
			{Text: "One two three four."},
			{Text: "Transfer 500 dollars?", Critical: true},
			{Text: " \t"},
		} {
			if err := out.Present(t.Context(), u); err != nil {
				t.Fatal(err)
			}
		}
		// 4.2 words at two a second, and a second; then 10.8 words, for each digit is two.
		checkCalls(t, double, start, "0s PresentMessage One two three four.", "3s InterruptSpeech",
			"3s PresentMessage Transfer 500 dollars?")
		if took := time.Since(start); took != 9500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

// The second sentence of a question does not cut the end of the first, which may take longer than
// was thought.
func TestSentences(t *testing.T) {
	runVirtual(t, orca.Options{WordsPerMinute: 120}, func(t *testing.T, double *orcatest.Orca, out *orca.Output) {
		start := time.Now()
		for _, text := range []string{"One two.", "Three four.", "", "Later on."} {
			if text == "" {
				time.Sleep(2001 * time.Millisecond)
			} else if err := out.Present(t.Context(), announce.Utterance{Text: text, Critical: true}); err != nil {
				t.Fatal(err)
			}
		}
		checkCalls(t, double, start, "0s InterruptSpeech", "0s PresentMessage One two.",
			"2s PresentMessage Three four.",
			"7s InterruptSpeech", "7s PresentMessage Later on.")
	})
}

// A question counts as heard when it was presented: it has the time of a voice that names each
// letter, unless Orca's is known to speak that language. Anything else has that of its own.
func TestQuestionByAnotherVoice(t *testing.T) {
	const arabic = "ادفع عشرين دولارا."
	own, named := spoken.Time(arabic, 120), spoken.TimeBy(arabic, 120)
	for _, tc := range []struct {
		kind announce.Kind
		more []string
		want time.Duration
	}{{announce.Question, nil, named}, {announce.Question, []string{"en"}, named}, {announce.Question, []string{"ar"}, own}, {announce.Output, nil, own}} {
		runVirtual(t, orca.Options{WordsPerMinute: 120, VoiceLanguages: tc.more}, func(t *testing.T, _ *orcatest.Orca, out *orca.Output) {
			start := time.Now()
			if err := out.Present(t.Context(), announce.Utterance{Text: arabic, Kind: tc.kind}); err != nil || time.Since(start) != tc.want {
				t.Errorf("%s by a voice of %v: %v in %v, want %v", tc.kind, tc.more, err, time.Since(start), tc.want)
			}
		})
	}
	if named < 3*own {
		t.Errorf("another voice takes %v, and one of its own %v", named, own)
	}
}

// Where there are no spaces, a text is not one word.
func TestEstimate(t *testing.T) {
	runVirtual(t, orca.Options{WordsPerMinute: 60}, func(t *testing.T, double *orcatest.Orca, out *orca.Output) {
		for _, text := range []string{"One.", "Transfer 500\u00a0dollars?", "我们走吧。", "สวัสดีครับ", "Open 我们走吧 now",
			"い", "--"} {
			start := time.Now()
			if err := out.Present(t.Context(), announce.Utterance{Text: text}); err != nil {
				t.Fatal(err)
			}
			if got, want := time.Since(start), spoken.Time(text, 60); got != want {
				t.Errorf("%q takes %v, want %v", text, got, want)
			}
		}
	})
}

// A caller that presents something more important ends ctx, and Orca must be silent before that.
func TestCut(t *testing.T) {
	runVirtual(t, orca.Options{}, func(t *testing.T, double *orcatest.Orca, out *orca.Output) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		err := out.Present(ctx, announce.Utterance{Text: strings.Repeat("word ", 50)})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Second {
			t.Errorf("Present = %v after %v", err, time.Since(start))
		}
		if err := out.Present(ctx, announce.Utterance{Text: "Too late."}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Present = %v", err)
		}
		checkCalls(t, double, start, "0s PresentMessage "+strings.Repeat("word ", 49)+"word", "2s InterruptSpeech")
	})
}

// Each thing that goes wrong has its own error, in its own time, and is over when it is over.
func TestTrouble(t *testing.T) {
	for _, c := range []struct {
		name  string
		state orcatest.State
		want  error
		after time.Duration
	}{
		{"absent", orcatest.Absent, orca.ErrAbsent, 0},
		{"hung", orcatest.Hung, orca.ErrHung, 6 * time.Second}, // one for the interruption, five for the message
		{"refusing", orcatest.Refusing, orca.ErrRefused, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			runVirtual(t, orca.Options{}, func(t *testing.T, double *orcatest.Orca, out *orca.Output) {
				start, u := time.Now(), announce.Utterance{Text: "Hello.", Critical: true}
				double.Be(c.state)
				if err := out.Present(t.Context(), u); !errors.Is(err, c.want) || time.Since(start) != c.after {
					t.Errorf("Present = %v after %v, want %v after %v", err, time.Since(start), c.want, c.after)
				}
				double.Be(orcatest.Well)
				if err := out.Present(t.Context(), u); err != nil {
					t.Errorf("afterwards Present = %v", err)
				}
			})
		})
	}
}

// A hung Orca does not keep a caller that cancels for longer than the second it has to fall silent.
func TestCutWhileHung(t *testing.T) {
	runVirtual(t, orca.Options{}, func(t *testing.T, double *orcatest.Orca, out *orca.Output) {
		double.Be(orcatest.Hung)
		defer double.Be(orcatest.Well)
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := out.Present(ctx, announce.Utterance{Text: "Hello."})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Second {
			t.Errorf("Present = %v after %v", err, time.Since(start))
		}
		checkCalls(t, double, start, "0s PresentMessage Hello.", "1s InterruptSpeech")
	})
}

// An Orca that leaves while it speaks is noticed at once, and the next one is spoken to.
func TestRestart(t *testing.T) {
	runVirtual(t, orca.Options{}, func(t *testing.T, double *orcatest.Orca, out *orca.Output) {
		start, u := time.Now(), announce.Utterance{Text: "This takes more than one second."}
		again := make(chan struct{})
		time.AfterFunc(time.Second, func() {
			double.Be(orcatest.Absent)
			double.Be(orcatest.Well)
			close(again)
		})
		if err := out.Present(t.Context(), u); !errors.Is(err, orca.ErrLeft) || time.Since(start) != time.Second {
			t.Errorf("Present = %v after %v", err, time.Since(start))
		}
		<-again
		if err := out.Present(t.Context(), u); err != nil {
			t.Errorf("with the new Orca Present = %v", err)
		}
	})
}

// Close ends what is being said, and nothing is said after it.
func TestClose(t *testing.T) {
	runVirtual(t, orca.Options{}, func(t *testing.T, double *orcatest.Orca, out *orca.Output) {
		time.AfterFunc(time.Second, func() { out.Close() })
		u := announce.Utterance{Text: "This takes more than one second."}
		for range 2 {
			if err := out.Present(t.Context(), u); !errors.Is(err, announce.ErrClosed) {
				t.Errorf("Present = %v", err)
			}
		}
	})
}

// The bus drops a client that sends what is no text.
func TestUnsendable(t *testing.T) {
	runVirtual(t, orca.Options{}, func(t *testing.T, double *orcatest.Orca, out *orca.Output) {
		if err := out.Present(t.Context(), announce.Utterance{Text: "a\x00b\xffc"}); err != nil {
			t.Fatal(err)
		}
		checkCalls(t, double, time.Now(), "-2s PresentMessage ab\ufffdc")
	})
}

// Orca is asked once for each language, and believed to have a voice where it does not tell.
func TestSpeaks(t *testing.T) {
	runVirtual(t, orca.Options{}, func(t *testing.T, double *orcatest.Orca, out *orca.Output) {
		tells := double.Name() == "org.gnome.Orca1.Service"
		for language, want := range map[string]bool{
			"": true, "en": true, "en-US": true, "DE_at": true, "zh-Hant-TW": true,
			"yo": !tells, "yo-NG": !tells, "ha": !tells, // an Orca that does not tell is believed to have a voice
		} {
			for range 2 {
				if got := out.Speaks(language); got != want {
					t.Errorf("Speaks(%q) = %v", language, got)
				}
			}
		}
		if n := len(double.Calls()); tells && n != 6 { // de, en, ha, yo, and zh by two names
			t.Errorf("Orca was asked %d times", n)
		}
		double.Be(orcatest.Hung)
		if !out.Speaks("ig") {
			t.Error("what Orca did not answer is taken for a no")
		}
		double.Be(orcatest.Well)
		if got := out.Speaks("ig"); got != !tells {
			t.Errorf("once Orca answers, Speaks = %v", got)
		}
		before := len(double.Calls())
		double.Be(orcatest.Absent)
		double.Be(orcatest.Well)
		if out.Speaks("ig"); tells && len(double.Calls()) != before+1 {
			t.Error("an Orca that was restarted is not asked for its voices")
		}
	})
	runVirtual(t, orca.Options{Languages: []string{"yo", "nb-NO"}},
		func(t *testing.T, double *orcatest.Orca, out *orca.Output) {
			for language, want := range map[string]bool{"": true, "yo-NG": true, "no": true, "en": false} {
				if got := out.Speaks(language); got != want {
					t.Errorf("Speaks(%q) = %v", language, got)
				}
			}
		})
}

// Open says whether there is no Orca or no bus.
func TestOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		double := orcatest.New(51)
		defer double.Close()
		double.Be(orcatest.Absent)
		if _, err := orca.Open(t.Context(), orca.Options{Bus: double.Dial}); !errors.Is(err, orca.ErrAbsent) {
			t.Errorf("Open = %v", err)
		}
		no := errors.New("no bus")
		if _, err := orca.Open(t.Context(), orca.Options{Bus: func(context.Context) (*dbus.Conn, error) {
			return nil,
				no
		}}); !errors.Is(err, no) {
			t.Errorf("Open = %v", err)
		}
	})
}
