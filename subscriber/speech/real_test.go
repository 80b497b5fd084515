//go:build linux

package speech_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

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
	need(t, "speech-dispatcher", "espeak-ng", "pulseaudio")
	r := startReal(t)
	warm := r.dial(t, speech.Dialer{}) // the first sound of all comes a second late
	if err := warm.Present(t.Context(), announce.Utterance{Text: "Hello."}); err != nil {
		t.Fatal(err)
	}

	t.Run("spoken", func(t *testing.T) {
		o := r.dial(t, speech.Dialer{WordsPerMinute: 172})
		start := time.Now()
		if err := o.Present(t.Context(), announce.Utterance{Text: sentence}); err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		heard := r.last(t, sentence)
		if heard.end != "702" || heard.took() < 2500*time.Millisecond || heard.took() > 8*time.Second || took < heard.took() {
			t.Errorf("Present took %v, and the server says %+v, %v", took, heard, heard.took())
		}
		// Twice as fast is less than twice as fast: there is silence at the end.
		fast := r.dial(t, speech.Dialer{WordsPerMinute: 396})
		if err := fast.Present(t.Context(), announce.Utterance{Text: sentence}); err != nil {
			t.Fatal(err)
		}
		if ratio := float64(heard.took()) / float64(r.last(t, sentence).took()); ratio < 1.6 || ratio > 3 {
			t.Errorf("at 396 words a minute it was %.2f times as fast as at 172, want about 2.3", ratio)
		}
	})

	t.Run("interrupted", func(t *testing.T) {
		o := r.dial(t, speech.Dialer{})
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
			if cut.end != "703" {
				t.Fatalf("the server says %+v", cut)
			}
			silent, next := cut.over.Sub(at), r.last(t, "Stop.").begun.Sub(at)
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
		o := r.dial(t, speech.Dialer{})
		time.AfterFunc(800*time.Millisecond, func() {
			key, err := net.Dial("unix", r.socket)
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
		o := r.dial(t, speech.Dialer{WordsPerMinute: 400})
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
		log := r.transcript(t)
		if strings.Contains(log, yoruba) || !strings.Contains(log, "SET SELF LANGUAGE es\n") {
			t.Error("the server was asked to speak Yoruba, or not to speak Spanish")
		}
	})

	// Closing in the middle leaves silence, or the next client would wait for the rest.
	t.Run("closed in the middle", func(t *testing.T) {
		o := r.dial(t, speech.Dialer{})
		time.AfterFunc(800*time.Millisecond, func() { o.Close() })
		if err := o.Present(t.Context(), announce.Utterance{Text: "Long " + sentence}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Present = %v", err)
		}
		if cut := r.last(t, "Long "+sentence); cut.end != "703" {
			t.Errorf("the server says %+v", cut)
		}
	})

	t.Run("the server dies", func(t *testing.T) {
		o := r.dial(t, speech.Dialer{})
		time.AfterFunc(800*time.Millisecond, r.kill)
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

type real struct {
	dir, socket string
	kill        func()
}

// startReal starts a sound server without a sound card, and a speech server that uses it, in a folder of their own.
func startReal(t *testing.T) *real {
	dir, err := os.MkdirTemp("", "aaep") // t.TempDir is too long for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.CopyFS(in("conf"), os.DirFS("/etc/speech-dispatcher")); err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf(`LogLevel 1
LogDir "%s"
CustomLogFile "protocol" "%s"
DefaultLanguage "en-US"
AudioOutputMethod "pulse"
AddModule "espeak-ng" "sd_espeak-ng" "espeak-ng.conf"
DefaultModule espeak-ng
SymbolsPreproc "char"
SymbolsPreprocFile "symbols.dic"
`, dir, in("ssip.log"))
	if err := os.WriteFile(in("conf/speechd.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &real{dir: dir, socket: in("speechd.sock")}
	start(t, dir, in("pulse.sock"), "pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no",
		"-L", "module-null-sink sink_name=void rate=22050 channels=1",
		"-L", "module-native-protocol-unix socket="+in("pulse.sock")+" auth-anonymous=1")
	r.kill = start(t, dir, r.socket, "speech-dispatcher", "-s", "-C", in("conf"), "-S", r.socket, "-P", in("pid"), "-L", dir, "-t", "0", "-l", "1")
	t.Setenv("SPEECHD_ADDRESS", "unix_socket:"+r.socket)
	return r
}

// start starts a program, waits until it listens at a socket, and returns what kills it and its children.
func start(t *testing.T, dir, socket string, name string, args ...string) (kill func()) {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_RUNTIME_DIR="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir,
		"PULSE_SERVER=unix:"+filepath.Join(dir, "pulse.sock"), "DBUS_SESSION_BUS_ADDRESS=disabled:")
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	kill = func() { // not SIGTERM: it can hang while a module closes
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
	t.Cleanup(kill)
	for wait := time.NewTimer(20 * time.Second); ; {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			return kill
		}
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", name, said.String())
		case <-wait.C:
			kill()
			t.Fatalf("%s does not listen: %s", name, said.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (r *real) dial(t *testing.T, d speech.Dialer) *speech.Output {
	t.Helper()
	d.Force = true // a screen reader of this machine is not ours
	o, err := d.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

func (r *real) transcript(t *testing.T) string {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(r.dir, "ssip.log"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(log), "\r", "")
}

// A told is what the server told of a message.
type told struct {
	begun, over time.Time
	end         string
}

func (e told) took() time.Duration { return e.over.Sub(e.begun) }

// An entry of the transcript has the time, in seconds and microseconds, and what was received or sent.
var entry = regexp.MustCompile(`(?m)^\[(.{24}) : (\d+)\] speechd: +\d+:(DATA|REPLY):\|`)

// last returns what the server told of the latest message with a text.
func (r *real) last(t *testing.T, text string) (e told) {
	t.Helper()
	log := r.transcript(t)
	at := entry.FindAllStringSubmatchIndex(log, -1)
	id, asked := "", false
	for i, m := range at {
		when, err := time.ParseInLocation(time.ANSIC, log[m[2]:m[3]], time.Local)
		if err != nil {
			t.Fatal(err)
		}
		micros, _ := strconv.Atoi(log[m[4]:m[5]])
		when = when.Add(time.Duration(micros) * time.Microsecond)
		end := len(log)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		lines := strings.Split(log[m[1]:end], "\n")
		switch {
		case log[m[6]:m[7]] == "DATA" && slices.Contains(lines, text):
			asked, id, e = true, "", told{}
		case asked && strings.HasPrefix(lines[0], "225-"):
			asked, id = false, lines[0][4:]
		case id != "" && lines[0] == "701-"+id:
			e.begun = when
		case id != "" && (lines[0] == "702-"+id || lines[0] == "703-"+id):
			e.end, e.over = lines[0][:3], when
		}
	}
	if e.end == "" {
		t.Errorf("the server did not tell of %q", text)
	}
	return e
}
