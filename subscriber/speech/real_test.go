//go:build linux

package speech_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/realtest"
	"github.com/aaep-go/aaep/internal/speechd"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/present"
	"github.com/aaep-go/aaep/subscriber/speech"
)

const sentence = "The quick brown fox jumps over the lazy dog at noon." // eleven words

// What is cut in the middle would go on for longer than longest even where a busy machine is slow
// to cut it.
const longest = 15 * time.Second

// patience is how long anything may take that must happen.
const patience = 2 * time.Minute

var long = strings.TrimSpace(strings.Repeat(sentence+" ", 8))

// TestReal speaks through Speech Dispatcher with eSpeak NG to a sink that takes sound at the pace
// of real ears. What happened is read from the server's own transcript of the protocol.
func TestReal(t *testing.T) {
	realtest.Need(t, speechd.Programs...)
	t.Parallel()
	r := &real{speechd.Start(t)}
	r.sayToEnd(t, speech.Options{}, "Hello.") // the first sound of all comes a second late

	t.Run("spoken", func(t *testing.T) {
		took := r.sayToEnd(t, speech.Options{WordsPerMinute: 172}, sentence)
		heard := r.awaitLast(t, sentence)
		if !heard.Heard() || heard.Took() < 2500*time.Millisecond ||
			took < heard.Took()-time.Second { // its clock is read a moment later
			t.Errorf("Present took %v, and the server says %+v, %v", took, heard, heard.Took())
		}
		// About 2.3 times as fast, for there is silence at the end; less on a machine that is busy,
		// which gets more tries.
		for left := 4; ; left-- {
			r.sayToEnd(t, speech.Options{WordsPerMinute: 396}, sentence)
			faster := r.awaitLast(t, sentence)
			if faster.Took() < heard.Took() {
				break
			}
			if left == 0 {
				t.Fatalf("%v at 396 words a minute, and %v at 172", faster.Took(), heard.Took())
			}
		}
	})

	// In how many milliseconds is for TestInterrupt, in virtual time; here, that a real server
	// falls silent and goes on with the next.
	t.Run("interrupted", func(t *testing.T) {
		o := r.dialOutput(t, speech.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		go r.onceBegun(t, long, cancel)
		if err := o.Present(ctx, announce.Utterance{Text: long}); err != context.Canceled {
			t.Fatalf("Present = %v", err)
		}
		stop := announce.Utterance{Text: "Stop.", Critical: true}
		err := o.Present(t.Context(), stop)
		if errors.Is(err, os.ErrDeadlineExceeded) { // a server that was too busy to obey in time is left, and another link opened
			err = r.dialOutput(t, speech.Options{}).Present(t.Context(), stop)
		}
		if err != nil {
			t.Fatal(err)
		}
		if cut, next := r.awaitBegun(t, long), r.awaitLast(t, "Stop."); next.Begun.Sub(cut.Begun) > longest {
			t.Errorf("the server says %+v, and then %+v", cut, next)
		}
	})

	t.Run("silenced by the person", func(t *testing.T) {
		o := r.dialOutput(t, speech.Options{})
		// A busy server may be silenced too late, between two messages; that is no try.
		for left := 4; ; left-- {
			silenced := fmt.Sprintf("Silence %d. %s", left, long)
			presented, key := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(key)
				r.onceBegun(t, silenced, func() { r.pressSilence(t, presented) })
			}()
			err := o.Present(t.Context(), announce.Utterance{Text: silenced})
			close(presented)
			<-key
			switch said := r.awaitLast(t, silenced); {
			case said.Cut && err == announce.ErrCut:
				return
			case said.Cut || err != nil || left == 0:
				t.Fatalf("Present = %v, and the server says %+v", err, said)
			}
		}
	})

	t.Run("languages", func(t *testing.T) {
		o := r.dialOutput(t, speech.Options{WordsPerMinute: 400})
		for tag, want := range map[string]bool{"en": true, "es-419": true, "es-MX": true, "zh-CN": true, "sw": true,
			"yo": false, "yo-NG": false, "ha": false, "ig": false} {
			if got := o.Speaks(tag); got != want {
				t.Errorf("Speaks(%s) = %v", tag, got)
			}
		}
		yoruba := "Ẹ káàárọ̀, ṣé dáadáa ni"
		if err := o.Present(t.Context(), announce.Utterance{Text: yoruba, Language: "yo-NG"}); !errors.Is(err,
			announce.ErrLanguage) {
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

	// Ten thousand lines and a failure: what is left out is said, the error and the last lines come
	// first, and it is over soon.
	t.Run("a flood", func(t *testing.T) {
		o := r.dialOutput(t, speech.Options{WordsPerMinute: 396})
		p := present.New(announce.Preferences{WordsPerMinute: 396, Speaks: o.Speaks})
		before := len(r.Messages())
		for i := range 10000 {
			p.Add("", &aaep.Event{SessionID: "sess_1",
				LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: "en"},
				Payload: &aaep.OutputStreaming{Chunk: fmt.Sprintf("Compiling file %d.\n", i),
					OutputID: "out_1", CoalesceHint: aaep.BoundarySentence}})
		}
		p.Add("", &aaep.Event{SessionID: "sess_1", Urgency: aaep.UrgencyCritical,
			Summary:           aaep.Say("The compiler failed."),
			LocalizationHints: &aaep.LocalizationHints{PrimaryLanguage: "en"},
			Payload:           &aaep.SessionErrored{ErrorCategory: aaep.ErrorUnknown}})
		ctx, cancel := context.WithCancel(t.Context())
		presented := make(chan error, 1)
		go func() { presented <- p.Run(ctx, o) }()
		r.awaitLast(t, "Compiling file 9999.")
		cancel()
		<-presented
		var heard []string
		for _, m := range r.Messages()[before:] {
			heard = append(heard, m.Text)
		}
		want := "Error.|The compiler failed.|What came before:|9,997 lines left out.|The newest:|Compiling file 9997.|Compiling file 9998.|Compiling file 9999."
		if got := strings.Join(heard, "|"); got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
	})

	// Closing in the middle leaves silence, or the next client would wait for the rest.
	t.Run("closed in the middle", func(t *testing.T) {
		o, next := r.dialOutput(t, speech.Options{}), r.dialOutput(t, speech.Options{})
		left := "Left. " + long
		go r.onceBegun(t, left, func() { o.Close() })
		if err := o.Present(t.Context(), announce.Utterance{Text: left}); !errors.Is(err, announce.ErrClosed) {
			t.Errorf("Present = %v", err)
		}
		if err := next.Present(t.Context(), announce.Utterance{Text: "Next."}); err != nil {
			t.Fatal(err)
		}
		if was, is := r.awaitBegun(t, left), r.awaitLast(t, "Next."); is.Begun.Sub(was.Begun) > longest {
			t.Errorf("the server says %+v, and then %+v", was, is)
		}
	})

	t.Run("the server dies", func(t *testing.T) {
		o := r.dialOutput(t, speech.Options{})
		dying := "Dying. " + long
		go r.onceBegun(t, dying, r.Kill)
		if err := o.Present(t.Context(), announce.Utterance{Text: dying}); err == nil || err == announce.ErrCut ||
			!strings.Contains(err.Error(), "gone") {
			t.Errorf("Present = %v", err)
		}
	})
}

type real struct{ *speechd.Server }

func (r *real) dialOutput(t *testing.T, options speech.Options) *speech.Output {
	t.Helper()
	options.Force = true // a screen reader of this machine is not ours
	options.Dial = func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", r.Socket)
	}
	for tries := 1; ; tries++ {
		o, err := speech.Open(t.Context(), options)
		if err == nil {
			t.Cleanup(func() { o.Close() })
			return o
		}
		if tries == 5 || !errors.Is(err, os.ErrDeadlineExceeded) { // else the server is too busy to answer in time
			t.Fatal(err)
		}
	}
}

// sayToEnd presents a text to its end, and returns how long that took. A server that is too busy to
// report the end in time is left, and the text presented over another link.
func (r *real) sayToEnd(t *testing.T, options speech.Options, text string) time.Duration {
	t.Helper()
	for tries := 1; ; tries++ {
		o := r.dialOutput(t, options)
		start := time.Now()
		err := o.Present(t.Context(), announce.Utterance{Text: text})
		if err == nil {
			return time.Since(start)
		}
		if tries == 5 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
	}
}

// awaitBegun waits until the server has begun to say a message, and returns what it reports of it.
func (r *real) awaitBegun(t *testing.T, text string) speechd.Message {
	for late := time.Now().Add(patience); t.Context().Err() == nil; {
		for _, m := range r.Messages() {
			if m.Text == text && !m.Begun.IsZero() {
				return m
			}
		}
		if time.Now().After(late) {
			t.Errorf("the server did not begin %q", text)
			break
		}
		time.Sleep(20 * time.Millisecond) // it is known from a file alone
	}
	return speechd.Message{}
}

// onceBegun does something when a message has begun to be said.
func (r *real) onceBegun(t *testing.T, text string, do func()) {
	r.awaitBegun(t, text)
	do()
}

// pressSilence does what a key of the user does that silences all speech, in a moment and then
// every two seconds, until the channel is closed: a busy server may miss one between two messages.
func (r *real) pressSilence(t *testing.T, until <-chan struct{}) {
	key, err := net.Dial("unix", r.Socket)
	if err != nil {
		t.Error(err)
		return
	}
	defer key.Close()
	reply := make([]byte, 100)
	fmt.Fprint(key, "SET SELF CLIENT_NAME user:key:main\r\n")
	key.Read(reply)
	for wait := 300 * time.Millisecond; ; wait = 2 * time.Second {
		select {
		case <-until:
			return
		case <-time.After(wait):
		}
		fmt.Fprint(key, "CANCEL ALL\r\n")
		key.Read(reply)
	}
}

// awaitLast waits until the latest message with a text is over, and returns what the server reports
// of it, which it writes down a moment after it sends the event.
func (r *real) awaitLast(t *testing.T, text string) (last speechd.Message) {
	t.Helper()
	for late := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		for _, m := range r.Messages() {
			if m.Text == text {
				last = m
			}
		}
		if !last.Over.IsZero() {
			return last
		}
		if time.Now().After(late) {
			t.Errorf("the server did not tell of %q", text)
			return last
		}
	}
}
