//go:build linux

package speech_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/internal/speechd"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/speech"
)

const sentence = "The quick brown fox jumps over the lazy dog at noon." // eleven words

// TestReal speaks through Speech Dispatcher with eSpeak NG to a sink that takes sound at the pace of real ears. What
// happened is read from the server's own transcript of the protocol.
func TestReal(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes as long as what is said")
	}
	need(t, speechd.Programs...)
	r := &real{speechd.Start(t)}
	warm := r.dial(t, speech.Options{}) // the first sound of all comes a second late
	if err := warm.Present(t.Context(), announce.Utterance{Text: "Hello."}); err != nil {
		t.Fatal(err)
	}

	t.Run("spoken", func(t *testing.T) {
		o := r.dial(t, speech.Options{WordsPerMinute: 172})
		start := time.Now()
		if err := o.Present(t.Context(), announce.Utterance{Text: sentence}); err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		heard := r.last(t, sentence)
		if !heard.Heard() || heard.Took() < 2500*time.Millisecond || heard.Took() > 8*time.Second || took < heard.Took() {
			t.Errorf("Present took %v, and the server says %+v, %v", took, heard, heard.Took())
		}
		// Twice as fast is less than twice as fast: there is silence at the end.
		fast := r.dial(t, speech.Options{WordsPerMinute: 396})
		if err := fast.Present(t.Context(), announce.Utterance{Text: sentence}); err != nil {
			t.Fatal(err)
		}
		if ratio := float64(heard.Took()) / float64(r.last(t, sentence).Took()); ratio < 1.6 || ratio > 3 {
			t.Errorf("at 396 words a minute it was %.2f times as fast as at 172, want about 2.3", ratio)
		}
	})

	t.Run("interrupted", func(t *testing.T) {
		o := r.dial(t, speech.Options{})
		const limit = 150 * time.Millisecond
		for try := 1; ; try++ { // the machine may be busy, but not each time
			ctx, cancel := context.WithCancel(t.Context())
			var at time.Time
			time.AfterFunc(800*time.Millisecond, func() { at = time.Now(); cancel() })
			if err := o.Present(ctx, announce.Utterance{Text: "This " + sentence}); err != context.Canceled {
				t.Fatalf("Present = %v", err)
			}
			late := time.Since(at)
			if err := o.Present(t.Context(), announce.Utterance{Text: "Stop.", Critical: true}); err != nil {
				t.Fatal(err)
			}
			cut := r.last(t, "This "+sentence)
			if !cut.Cut {
				t.Fatalf("the server says %+v", cut)
			}
			silent, next := cut.Over.Sub(at), r.last(t, "Stop.").Begun.Sub(at)
			if late <= limit && silent <= limit && next <= limit {
				break
			}
			t.Logf("Present returned %v after its context ended, silence came after %v, the next one after %v", late, silent, next)
			if try == 3 {
				t.Fatalf("never within %v", limit)
			}
		}
	})

	t.Run("silenced by the person", func(t *testing.T) {
		o := r.dial(t, speech.Options{})
		time.AfterFunc(800*time.Millisecond, func() {
			key, err := net.Dial("unix", r.Socket)
			if err != nil {
				t.Error(err)
				return
			}
			defer key.Close()
			fmt.Fprint(key, "SET SELF CLIENT_NAME user:key:main\r\n")
			key.Read(make([]byte, 100))
			fmt.Fprint(key, "CANCEL ALL\r\n")
			key.Read(make([]byte, 100))
		})
		if err := o.Present(t.Context(), announce.Utterance{Text: sentence}); err != announce.ErrCut {
			t.Errorf("Present = %v", err)
		}
	})

	t.Run("languages", func(t *testing.T) {
		o := r.dial(t, speech.Options{WordsPerMinute: 400})
		for tag, want := range map[string]bool{"en": true, "es-419": true, "es-MX": true, "zh-CN": true, "sw": true, "yo": false, "yo-NG": false, "ha": false, "ig": false} {
			if got := o.Speaks(tag); got != want {
				t.Errorf("Speaks(%s) = %v", tag, got)
			}
		}
		yoruba := "Ẹ káàárọ̀, ṣé dáadáa ni"
		if err := o.Present(t.Context(), announce.Utterance{Text: yoruba, Language: "yo-NG"}); !errors.Is(err, announce.ErrLanguage) {
			t.Errorf("Present = %v", err)
		}
		if err := o.Present(t.Context(), announce.Utterance{Text: "Buenos días.", Language: "es-MX"}); err != nil {
			t.Error(err)
		}
		log := r.Transcript()
		if strings.Contains(log, yoruba) || !strings.Contains(log, "SET SELF LANGUAGE es\n") {
			t.Error("the server was asked to speak Yoruba, or not to speak Spanish")
		}
	})

	// Closing in the middle leaves silence, or the next client would wait for the rest.
	t.Run("closed in the middle", func(t *testing.T) {
		o := r.dial(t, speech.Options{})
		time.AfterFunc(800*time.Millisecond, func() { o.Close() })
		if err := o.Present(t.Context(), announce.Utterance{Text: "Long " + sentence}); !errors.Is(err, announce.ErrClosed) {
			t.Errorf("Present = %v", err)
		}
		if cut := r.last(t, "Long "+sentence); !cut.Cut {
			t.Errorf("the server says %+v", cut)
		}
	})

	t.Run("the server dies", func(t *testing.T) {
		o := r.dial(t, speech.Options{})
		time.AfterFunc(800*time.Millisecond, r.Kill)
		start := time.Now()
		if err := o.Present(t.Context(), announce.Utterance{Text: sentence}); err == nil || err == announce.ErrCut || !strings.Contains(err.Error(), "gone") {
			t.Errorf("Present = %v", err)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("Present took %v", took)
		}
	})
}

// need skips the test where programs are missing, or fails it where they are to be there.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			if os.Getenv("AAEP_REAL") != "" {
				t.Fatalf("%s is missing: run make real", p)
			}
			t.Skipf("%s is missing: make real installs it, and AAEP_REAL=1 makes this a failure", p)
		}
	}
}

type real struct{ *speechd.Server }

func (r *real) dial(t *testing.T, options speech.Options) *speech.Output {
	t.Helper()
	options.Force = true // a screen reader of this machine is not ours
	o, err := speech.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

// last returns what the server told of the latest message with a text.
func (r *real) last(t *testing.T, text string) (last speechd.Message) {
	t.Helper()
	for _, m := range r.Messages() {
		if m.Text == text && !m.Over.IsZero() {
			last = m
		}
	}
	if last.Over.IsZero() {
		t.Errorf("the server did not tell of %q", text)
	}
	return last
}
