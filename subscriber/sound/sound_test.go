package sound

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/subscriber/announce"
)

// Where no program plays a sound, or none can, that is said, and nothing stays behind.
func TestAbsent(t *testing.T) {
	temp := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, temp)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Open(t.Context(), Options{}); !errors.Is(err, ErrAbsent) {
		t.Errorf("Open = %v", err)
	}
	if runtime.GOOS == "windows" {
		return // which has no scripts of a shell
	}
	writeProgram(t, "paplay", "echo no server >&2; exit 1")
	if _, err := Open(t.Context(), Options{}); !errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), "no server") {
		t.Errorf("Open = %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); left != nil {
		t.Errorf("left behind: %q", left)
	}
	writeProgram(t, "paplay", `echo "$@" >>"$TMPDIR/played"`)
	writeProgram(t, "pw-play", "exit 1") // as where PipeWire is installed, and PulseAudio runs
	o, err := Open(t.Context(), Options{Volume: 50})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := o.Present(t.Context(), lostLink); err != nil {
		t.Error(err)
	}
	played, _ := os.ReadFile(filepath.Join(temp, "played"))
	if !bytes.Contains(played, []byte("--volume=32768 ")) {
		t.Errorf("played: %s", played)
	}
}

// lostLink says that an agent is out of reach.
var lostLink = announce.Utterance{Kind: announce.Notice, Critical: true, Link: announce.LinkLost}

// writeProgram puts a script where programs are found.
func writeProgram(t *testing.T, name, does string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(os.Getenv("PATH"), name), []byte("#!/bin/sh\n"+does+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestOptions(t *testing.T) {
	for _, wrong := range []Options{{Volume: -1}, {Volume: 101}, {Only: []string{"bell"}}} {
		if _, err := Open(t.Context(), wrong); err == nil || errors.Is(err, ErrAbsent) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

// Sounds of one's own come first, and no two meanings sound alike.
func TestThemeFiles(t *testing.T) {
	mine, shared := t.TempDir(), t.TempDir()
	t.Setenv("XDG_DATA_HOME", mine)
	t.Setenv("XDG_DATA_DIRS", shared)
	write := func(path ...string) string {
		file := filepath.Join(path...)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			t.Fatal(err)
		}
		return real
	}
	complete := write(shared, "sounds", "freedesktop", "stereo", "complete.oga")
	write(mine, "sounds", "freedesktop", "stereo", "message-new-instant.oga")
	question := write(mine, "sounds", "aaep", "stereo", "message-new-instant.wav")
	if err := os.Symlink("complete.oga", filepath.Join(shared, "sounds", "freedesktop", "stereo", "dialog-error.oga")); err != nil {
		t.Skip("no links here: ", err)
	}
	p := &player{folder: t.TempDir()}
	if err := p.chooseFiles(); err != nil {
		t.Fatal(err)
	}
	if p.files[Question] != question || p.files[Done] != complete {
		t.Errorf("question %s, done %s", p.files[Question], p.files[Done])
	}
	for _, meaning := range []string{Tool, Failed, Lost} { // two are missing, one is a link to another
		if filepath.Dir(p.files[meaning]) != p.folder {
			t.Errorf("%s is %s, want one that is made", meaning, p.files[meaning])
		}
	}
}

// The sounds that are made are short, differ in rhythm or pitch, begin and end without a click, and
// are WAV files of the length that they say.
func TestTones(t *testing.T) {
	var rhythms []string
	for _, meaning := range Meanings() {
		tones := ownSounds[meaning]
		samples := makeTones(tones)
		if length := time.Duration(len(samples)) * time.Second / sampleRate; length > 700*time.Millisecond {
			t.Errorf("%s takes %v", meaning, length)
		}
		for i := 1; i < len(samples); i++ {
			if jump := math.Abs(float64(samples[i]) - float64(samples[i-1])); jump > 4000 {
				t.Fatalf("%s clicks at %d, by %.0f", meaning, i, jump)
			}
		}
		if last := samples[len(samples)-1]; last > 300 || last < -300 {
			t.Errorf("%s ends at %d", meaning, last)
		}
		rhythm := ""
		for i, tone := range tones {
			if tone.hertz == 0 {
				continue
			}
			step := "-"
			if i > 0 {
				step = map[bool]string{true: "/", false: "\\"}[tone.hertz > tones[i-2].hertz]
			}
			rhythm += step
		}
		if slices.Contains(rhythms, rhythm) {
			t.Errorf("%s sounds like another: %s", meaning, rhythm)
		}
		rhythms = append(rhythms, rhythm)
		wav := encodeWAV(samples)
		if size := binary.LittleEndian.Uint32(wav[40:]); int(size) != len(wav)-44 || int(size) != 2*len(samples) ||
			binary.LittleEndian.Uint32(wav[4:]) != uint32(len(wav)-8) {
			t.Errorf("%s: a WAV file of %d bytes says that it has %d", meaning, len(wav), size)
		}
	}
}
