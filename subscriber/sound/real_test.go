//go:build linux

package sound

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/realtest"
	"github.com/aaep-go/aaep/subscriber/announce"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder takes what a sound card without a loudspeaker plays.
type recorder struct {
	mu      sync.Mutex
	samples []int16
	read    time.Time // when the newest came
}

// startCard starts a PulseAudio server with such a card, which the programs of this test find.
func startCard(t *testing.T) *recorder {
	t.Helper()
	realtest.Need(t, "pulseaudio", "paplay", "parec", "pactl")
	dir, err := os.MkdirTemp("", "aaep") // t.TempDir is too long for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, name := range []string{"HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, dir)
	}
	socket := filepath.Join(dir, "pulse.sock")
	t.Setenv("PULSE_SERVER", "unix:"+socket)
	start := func(name string, out io.Writer, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Stdout = out
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	}
	start("pulseaudio", nil, "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no",
		"-L", fmt.Sprintf("module-null-sink sink_name=void rate=%d channels=1", sampleRate),
		"-L", "module-native-protocol-unix socket="+socket+" auth-anonymous=1")
	await(t, "the sound server", func() bool { return exec.Command("pactl", "info").Run() == nil })
	r := &recorder{}
	start("parec", r, "--device=void.monitor", "--raw", "--format=s16le", "--channels=1", "--latency-msec=20",
		fmt.Sprintf("--rate=%d", sampleRate))
	await(t, "the recorder", func() bool { r.mu.Lock(); defer r.mu.Unlock(); return len(r.samples) > 0 })
	return r
}

// await waits for a condition.
func await(t *testing.T, what string, met func() bool) {
	t.Helper()
	for late := time.Now().Add(time.Minute); !met(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}

// Write takes samples. A sample may be cut between two calls only where parec does so, which it
// does not.
func (r *recorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := 0; i+1 < len(b); i += 2 {
		r.samples = append(r.samples, int16(binary.LittleEndian.Uint16(b[i:])))
	}
	r.read = time.Now()
	return len(b), nil
}

// heard returns how loud it was since a number of samples, at most, and for how long something was
// heard.
func (r *recorder) heard(since int) (peak float64, length time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first, last := -1, -1
	for i, s := range r.samples[since:] {
		v := math.Abs(float64(s))
		if peak = max(peak, v); v > 200 {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	return peak, time.Duration(last-first) * time.Second / sampleRate
}

// begun returns when the first sound since a number of samples was heard; the zero time is not yet.
func (r *recorder) begun(since int) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, s := range r.samples[min(since, len(r.samples)):] {
		if s > 200 || s < -200 {
			behind := len(r.samples) - since - i
			return r.read.Add(-time.Duration(behind) * time.Second / sampleRate)
		}
	}
	return time.Time{}
}

func (r *recorder) count() int { r.mu.Lock(); defer r.mu.Unlock(); return len(r.samples) }

// TestReal plays each sound on a real sound server: those that are made here and those of the
// desktop, as loud as the person wants, and only what they want; cut at once.
func TestReal(t *testing.T) {
	r := startCard(t)
	question := announce.Utterance{ID: 1, Kind: announce.Question, Critical: true,
		Event: &aaep.Event{EventID: "evt_1", Payload: &aaep.AwaitingConfirmation{Action: "Pay."}}}
	play := func(o *Output, present func() error) (peak float64, length, delay time.Duration) {
		t.Helper()
		await(t, "silence", func() bool {
			n := r.count()
			await(t, "more", func() bool { return r.count() > n+sampleRate/5 })
			peak, _ := r.heard(n)
			return peak == 0
		})
		since, began := r.count(), time.Now()
		if err := present(); err != nil {
			t.Fatal(err)
		}
		over := r.count()
		await(t, "what was played to be recorded", func() bool { return r.count() > over+sampleRate/5 })
		peak, length = r.heard(since)
		return peak, length, r.begun(since).Sub(began)
	}
	open := func(options Options) *Output {
		t.Helper()
		o, err := Open(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { o.Close() })
		return o
	}
	t.Run("ours", func(t *testing.T) {
		t.Setenv("XDG_DATA_DIRS", t.TempDir())
		o := open(Options{})
		for _, meaning := range Meanings() {
			var want time.Duration
			for _, tone := range ownSounds[meaning] {
				want += tone.length
			}
			peak, length, delay := play(o, func() error { return o.player.playMeaning(t.Context(), meaning) })
			if peak < 5000 || length > 2*want+time.Second || length < want/2 { // a busy machine leaves gaps
				t.Errorf("%s: peak %.0f for %v, want some %v", meaning, peak, length, want)
			}
			t.Logf("%s: began after %v, for %v", meaning, delay, length)
		}
	})
	t.Run("of the desktop", func(t *testing.T) {
		o, first := open(Options{}), time.Now()
		peak, length, delay := play(o, func() error { return o.Present(t.Context(), question) })
		if peak < 1000 || length < 50*time.Millisecond {
			t.Errorf("a question: peak %.0f for %v", peak, length)
		}
		t.Logf("a question began after %v, for %v, from %s", delay, length, o.player.files[Question])
		if peak, _, _ := play(o, func() error { return o.Present(t.Context(), question) }); peak > 0 &&
			time.Since(first) < 10*time.Second {
			t.Errorf("the same question sounds again at once, with a peak of %.0f", peak)
		}
	})
	t.Run("softer", func(t *testing.T) {
		t.Setenv("XDG_DATA_DIRS", t.TempDir())
		loud, soft := open(Options{}), open(Options{Volume: 50})
		full, _, _ := play(loud, func() error { return loud.Present(t.Context(), lostLink) })
		half, _, _ := play(soft, func() error { return soft.Present(t.Context(), lostLink) })
		if half == 0 || half > full*0.7 {
			t.Errorf("peaks %.0f and %.0f, want less than the half or so", full, half)
		}
	})
	t.Run("only some", func(t *testing.T) {
		o := open(Options{Only: []string{Done, Lost}})
		if peak, _, _ := play(o, func() error { return o.Present(t.Context(), question) }); peak > 0 {
			t.Errorf("a question sounds, with a peak of %.0f", peak)
		}
		if peak, _, _ := play(o, func() error { return o.Present(t.Context(), lostLink) }); peak == 0 {
			t.Error("a link that is lost does not sound")
		}
	})
	t.Run("cut", func(t *testing.T) {
		t.Setenv("XDG_DATA_DIRS", t.TempDir())
		o := open(Options{})
		long := encodeWAV(makeTones([]tone{{440, longest - time.Second}}))
		if err := os.WriteFile(o.player.files[Lost], long, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		since := r.count()
		go func() {
			await(t, "the sound", func() bool { return !r.begun(since).IsZero() })
			cancel()
		}()
		if err := o.Present(ctx, lostLink); !errors.Is(err, context.Canceled) {
			t.Errorf("Present of a lost link = %v", err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		o := open(Options{})
		o.Close()
		if err := o.Present(t.Context(), question); !errors.Is(err, announce.ErrClosed) {
			t.Errorf("Present = %v", err)
		}
		if _, err := os.Stat(o.player.folder); !os.IsNotExist(err) {
			t.Errorf("the sounds that were made are there still: %v", err)
		}
	})
}
