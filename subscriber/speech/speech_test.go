package speech_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep/internal/speechtest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/speech"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runVirtual runs f in virtual time, with an output that speaks through s.
func runVirtual(t *testing.T, s *speechtest.Server, f func(t *testing.T, o *speech.Output)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		defer s.Close()
		o := dialOutput(t, s, speech.Options{})
		defer o.Close()
		f(t, o)
	})
}

func dialOutput(t *testing.T, s *speechtest.Server, options speech.Options) *speech.Output {
	t.Helper()
	options.Dial, options.Force = s.Dial, true
	o, err := speech.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func sayText(text string) announce.Utterance { return announce.Utterance{ID: 1, Text: text} }

// checkDuration checks that f takes between lo and hi.
func checkDuration(t *testing.T, lo, hi time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took < lo || took > hi {
		t.Errorf("it took %v, want %v to %v", took, lo, hi)
	}
}

// Four sentences at 172 words a minute: each is waited for, and each is a message of its own.
func TestPresent(t *testing.T) {
	s := &speechtest.Server{}
	runVirtual(t, s, func(t *testing.T, o *speech.Output) {
		sentences := []string{"One two three.", "Four five.", "Six.", "Seven eight nine ten."}
		checkDuration(t, 5*time.Second, 6*time.Second, func() {
			for _, text := range sentences {
				if err := o.Present(t.Context(), sayText(text)); err != nil {
					t.Fatal(err)
				}
			}
		})
		if got := s.Heard(); !slices.Equal(got, sentences) {
			t.Errorf("heard %q", got)
		}
	})
}

// Each message has the user's rate, voice, pitch and volume, and its own language and priority.
func TestSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &speechtest.Server{}
		defer s.Close()
		o := dialOutput(t, s, speech.Options{WordsPerMinute: 247, Voice: "FEMALE1", Pitch: -5, Volume: 50})
		defer o.Close()
		steps := []struct {
			u                  announce.Utterance
			language, priority string
		}{
			{announce.Utterance{Text: "a"}, "en-US", "message"},
			{announce.Utterance{Text: "b", Language: "es-419", Kind: announce.Progress}, "es", "message"},
			{announce.Utterance{Text: "c", Language: "en", Critical: true}, "en-US", "important"},
			{announce.Utterance{Text: "d", Language: "es", Critical: true}, "es", "important"},
			{announce.Utterance{Text: "e", Kind: announce.Question}, "en-US", "message"},
		}
		for i, step := range steps {
			if err := o.Present(t.Context(), step.u); err != nil {
				t.Fatal(err)
			}
			set := s.Messages()[i].Set
			if set["LANGUAGE"] != step.language || set["PRIORITY"] != step.priority {
				t.Errorf("%q: %v", step.u.Text, set)
			}
			for name, want := range map[string]string{"RATE": "25", "VOICE_TYPE": "FEMALE1", "PITCH": "-5",
				"VOLUME": "50"} {
				if set[name] != want {
					t.Errorf("%s is %q, want %s", name, set[name], want)
				}
			}
		}
	})
}

// What is sent is said as it is: no line of it is mistaken for the end or for a command.
func TestText(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{".", "."},
		{"..", ".."},
		{".hidden", ".hidden"},
		{"one.\r\n.\r\nSET ALL RATE 100", "one.  .  SET ALL RATE 100"},
		{"one\n.\ntwo\rthree\x00\x1b[1m", "one . two three  [1m"},
		{"a\u2028b\u0085c", "a b c"},
		{"<speak>5 < 6 & \"x\"</speak>", "<speak>5 < 6 & \"x\"</speak>"},
		{"\xff\xfe ok", "\ufffd ok"},
		{"Ẹ káàárọ̀ 👩‍👩‍👧", "Ẹ káàárọ̀ 👩‍👩‍👧"},
		{"", ""},
		{" \n ", ""},
		{strings.Repeat("word ", 15000) + "end", strings.Repeat("word ", 15000) + "end"}, // longer than any buffer
	} {
		s := &speechtest.Server{WordsPerMinute: 1e6}
		runVirtual(t, s, func(t *testing.T, o *speech.Output) {
			if err := o.Present(t.Context(), sayText(c.text)); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.Heard(), "|"); got != c.want {
				t.Errorf("%.40q was said as %.60q", c.text, got)
			}
		})
	}
}

// A text that the server finds empty is over at once: there will be no event.
func TestNothingToSay(t *testing.T) {
	s := answerWith(".", "227 OK MESSAGE CANCELED\r\n", 0)
	runVirtual(t, s, func(t *testing.T, o *speech.Output) {
		checkDuration(t, 0, 0, func() {
			if err := o.Present(t.Context(), sayText("\u200b")); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// The context ends in the middle of a sentence: silence in 50 ms, and the output goes on to work.
func TestInterrupt(t *testing.T) {
	s := &speechtest.Server{}
	runVirtual(t, s, func(t *testing.T, o *speech.Output) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		checkDuration(t, time.Second, 1050*time.Millisecond, func() {
			if err := o.Present(ctx, sayText("one two three four five six seven eight")); err != context.DeadlineExceeded {
				t.Errorf("Present = %v", err)
			}
		})
		if m := s.Messages()[0]; m.Heard || m.Over.IsZero() {
			t.Errorf("%+v", m)
		}
		checkDuration(t, 0, 0, func() {
			if err := o.Present(ctx, sayText("no")); err != context.DeadlineExceeded {
				t.Errorf("Present = %v", err)
			}
		})
		if err := o.Present(t.Context(), sayText("again")); err != nil {
			t.Error(err)
		}
		if got := s.Heard(); !slices.Equal(got, []string{"again"}) {
			t.Errorf("heard %q", got)
		}
	})
}

// It ends while another program speaks, so that ours has not begun: it never will.
func TestInterruptWaiting(t *testing.T) {
	s := &speechtest.Server{}
	runVirtual(t, s, func(t *testing.T, o *speech.Output) {
		other := dialOutput(t, s, speech.Options{})
		defer other.Close()
		var group sync.WaitGroup
		group.Go(func() {
			if err := other.Present(t.Context(), sayText("one two three four five six seven eight")); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		checkDuration(t, time.Second, time.Second, func() {
			if err := o.Present(ctx, sayText("no")); err != context.DeadlineExceeded {
				t.Errorf("Present = %v", err)
			}
		})
		group.Wait()
		if got := s.Heard(); len(got) != 1 {
			t.Errorf("heard %q", got)
		}
	})
}

// The server reports the end just as the context ends: it was heard.
func TestInterruptTooLate(t *testing.T) {
	s := &speechtest.Server{Answer: func(command string) (string, bool) {
		return "702-1\r\n702-1\r\n702 END\r\n213 OK CANCELED\r\n", command == "CANCEL SELF"
	}}
	runVirtual(t, s, func(t *testing.T, o *speech.Output) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := o.Present(ctx, sayText("one two three four five")); err != nil {
			t.Errorf("Present = %v", err)
		}
	})
}

// The person's silence key, and another program's important message, cut ours.
func TestCut(t *testing.T) {
	s := &speechtest.Server{}
	runVirtual(t, s, func(t *testing.T, o *speech.Output) {
		other := dialOutput(t, s, speech.Options{})
		defer other.Close()
		time.AfterFunc(time.Second, s.Silence)
		checkDuration(t, time.Second, 1050*time.Millisecond, func() {
			if err := o.Present(t.Context(), sayText("one two three four five six")); err != announce.ErrCut {
				t.Errorf("Present = %v", err)
			}
		})
		var group sync.WaitGroup
		group.Go(func() {
			time.Sleep(time.Second)
			if err := other.Present(t.Context(), announce.Utterance{Text: "Fire", Critical: true}); err != nil {
				t.Error(err)
			}
		})
		if err := o.Present(t.Context(), sayText("one two three four five six")); err != announce.ErrCut {
			t.Errorf("Present = %v", err)
		}
		group.Wait()
		if got := s.Heard(); !slices.Equal(got, []string{"Fire"}) {
			t.Errorf("heard %q", got)
		}
	})
}

// Events about others, before and while we speak, mean nothing: not even those with our message's
// number.
func TestOthersEvents(t *testing.T) {
	s := &speechtest.Server{}
	runVirtual(t, s, func(t *testing.T, o *speech.Output) {
		foreign := "702-1\r\n702-77\r\n702 END\r\n703-9\r\n703-1\r\n703 CANCELED\r\n700-1\r\n700-9\r\n700-mark\r\n700 INDEX MARK\r\n702 END\r\n"
		s.Send(foreign)
		time.AfterFunc(500*time.Millisecond, func() { s.Send(foreign) })
		checkDuration(t, 2*time.Second, 3*time.Second, func() {
			if err := o.Present(t.Context(), sayText("one two three four five six")); err != nil {
				t.Error(err)
			}
		})
	})
}

// A client that has left is spoken for, and its events reach others. We leave silence.
func TestClose(t *testing.T) {
	s := &speechtest.Server{}
	runVirtual(t, s, func(t *testing.T, o *speech.Output) {
		first := dialOutput(t, s, speech.Options{})
		done := make(chan error)
		go func() { done <- first.Present(t.Context(), sayText("one two three four five six")) }()
		time.Sleep(time.Second)
		checkDuration(t, 0, 50*time.Millisecond, func() { first.Close() })
		if err := <-done; !errors.Is(err, announce.ErrClosed) {
			t.Errorf("Present = %v", err)
		}
		if m := s.Messages()[0]; m.Heard || m.Over.IsZero() {
			t.Errorf("%+v", m)
		}
		if err := first.Close(); err != nil {
			t.Error(err)
		}
		if err := first.Present(t.Context(), sayText("no")); !errors.Is(err, announce.ErrClosed) {
			t.Errorf("Present = %v", err)
		}
		if err := o.Present(t.Context(), sayText("yes")); err != nil {
			t.Error(err)
		}
	})
}

// Close silences whatever there may be, and waits no longer than it must for a server that does not
// answer.
func TestCloseIdle(t *testing.T) {
	for reply, limit := range map[string]time.Duration{"213 OK CANCELED\r\n": 0, "": 250 * time.Millisecond} {
		cancelled := false
		s := &speechtest.Server{Answer: func(command string) (string, bool) {
			cancelled = cancelled || command == "CANCEL SELF"
			return reply, command == "CANCEL SELF"
		}}
		runVirtual(t, s, func(t *testing.T, o *speech.Output) {
			checkDuration(t, limit, limit, func() { o.Close() })
			if !cancelled {
				t.Error("it was closed without a word")
			}
		})
	}
}

// All speech is paused for ten minutes, which is no fault of the server.
func TestPaused(t *testing.T) {
	s := &speechtest.Server{WordsPerMinute: 1} // it takes six minutes in any case
	runVirtual(t, s, func(t *testing.T, o *speech.Output) {
		time.AfterFunc(time.Second, func() { s.Send("704-1\r\n704-1\r\n704 PAUSED\r\n") })
		time.AfterFunc(10*time.Minute, func() { s.Send("705-1\r\n705-1\r\n705 RESUMED\r\n") })
		time.AfterFunc(10*time.Minute+time.Second, func() { s.Send("702-1\r\n702-1\r\n702 END\r\n") })
		checkDuration(t, 10*time.Minute, 11*time.Minute, func() {
			if err := o.Present(t.Context(), sayText("one two three four five six seven eight nine ten eleven twelve")); err != nil {
				t.Error(err)
			}
		})
	})
}

// 8.4: the server says yes to Yoruba, and has no voice for it.
func TestLanguages(t *testing.T) {
	s := &speechtest.Server{}
	runVirtual(t, s, func(t *testing.T, o *speech.Output) {
		for tag, want := range map[string]bool{"": true, "en": true, "en-GB": true, "ES-mx": true, "yo": false,
			"yo-NG": false, "x y": false} {
			if got := o.Speaks(tag); got != want {
				t.Errorf("Speaks(%q) = %v", tag, got)
			}
		}
		err := o.Present(t.Context(), announce.Utterance{Text: "Ẹ káàárọ̀", Language: "yo-NG"})
		if !errors.Is(err, announce.ErrLanguage) || len(s.Messages()) != 0 {
			t.Errorf("Present = %v, and the server got %v", err, s.Messages())
		}
		if err := o.Present(t.Context(), sayText("still here")); err != nil {
			t.Error(err)
		}
	})
}
