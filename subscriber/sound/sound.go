// Package sound plays one short sound for each thing that a person may want to know without words:
// that a question waits, that a tool runs, that something failed or is done, and that an agent is
// out of reach. It is for people who listen to music or to a person meanwhile, and for those who
// know what a tone means sooner than a sentence ends.
//
// A sound never stands for the words of a question: it says that there is one, and an answer does
// not count for it. So an Output goes beside speech, braille or text.
//
// The sounds are those of the person's desktop, by the names of the freedesktop sound theme, where
// it has them: first of the theme "aaep", which is there for sounds of one's own, then of
// "freedesktop". For any that is missing, or would sound like another, there is one that this
// package makes. They differ by rhythm as by pitch.
//
// They are played by pw-play (PipeWire) or paplay (PulseAudio), which know the person's devices and
// how loud they have them. How often something sounds is as with package cue, which decides what
// has which meaning: at most once a second, work that goes on once in ten seconds, each event once.
package sound

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aaep-go/aaep/handshake/extensions"
	"github.com/aaep-go/aaep/subscriber/cue"
)

// ErrAbsent says that there is no program that plays sounds, or none that can.
var ErrAbsent = errors.New("sound: neither pw-play nor paplay plays a sound")

// The meanings, each of which has a sound.
const (
	Question = "question" // the agent waits for the person
	Tool     = "tool"     // the agent goes on: it uses a tool, or changes what it does
	Done     = "done"     // it is over, and nothing went wrong
	Failed   = "failed"   // it did not succeed
	Lost     = "lost"     // the agent is out of reach
)

// Meanings returns all meanings.
func Meanings() []string { return []string{Question, Tool, Done, Failed, Lost} }

// Options may be zero.
type Options struct {
	// Volume is how loud a sound is beside others of this machine, from 1 to 100. Zero is 100.
	Volume int
	// Only are the meanings that sound. Nil is all.
	Only []string
}

// Output is a present.Output.
type Output struct {
	*cue.Output
	player *player
}

// Open finds a program that plays sounds, and has it play silence, to know that it can. The error
// says which option is wrong, or is ErrAbsent where no program plays. The sounds it makes are in a
// folder that Close removes.
func Open(ctx context.Context, options Options) (*Output, error) {
	for _, name := range options.Only {
		if !slices.Contains(Meanings(), name) {
			return nil, fmt.Errorf("sound: there is no meaning %q; there are %s", name, strings.Join(Meanings(), ", "))
		}
	}
	if options.Volume < 0 || options.Volume > 100 {
		return nil, fmt.Errorf("sound: the volume %d is not from 1 to 100", options.Volume)
	}
	p := &player{volume: options.Volume, only: options.Only}
	if p.volume == 0 {
		p.volume = 100
	}
	if p.only == nil {
		p.only = Meanings()
	}
	var err error
	if p.folder, err = os.MkdirTemp("", "aaep-sound"); err != nil {
		return nil, fmt.Errorf("sound: %w", err)
	}
	if err = p.chooseFiles(); err == nil {
		err = p.chooseProgram(ctx)
	}
	if err != nil {
		os.RemoveAll(p.folder)
		return nil, err
	}
	return &Output{cue.New(p), p}, nil
}

// player is the cue.Device of an Output: cue.Output decides when it plays which pattern. It
// does not change once Open has returned.
type player struct {
	volume  int               // from 1 to 100
	only    []string          // the meanings that sound
	program string            // that plays: pw-play or paplay
	folder  string            // for the sounds that are made here
	files   map[string]string // the sound of each meaning
}

// patternMeanings are the meanings by the pattern that cue.Output chooses.
var patternMeanings = map[string]string{cue.NeedsYou: Question, cue.Working: Tool, cue.Done: Done,
	cue.Failed: Failed, cue.Lost: Lost}

// Patterns returns the patterns of all meanings, also of those that are not to sound: otherwise
// cue.Output would choose another for what is critical.
func (p *player) Patterns() []string {
	return []string{cue.NeedsYou, cue.Working, cue.Done, cue.Failed, cue.Lost}
}

// Play plays the sound of a pattern.
func (p *player) Play(ctx context.Context, felt extensions.HapticData) error {
	return p.playMeaning(ctx, patternMeanings[felt.Pattern])
}

// Close removes the sounds that were made.
func (p *player) Close() error { return os.RemoveAll(p.folder) }

// playMeaning plays the sound of a meaning, if it is to sound.
func (p *player) playMeaning(ctx context.Context, meaning string) error {
	if !slices.Contains(p.only, meaning) {
		return nil
	}
	return p.playFile(ctx, p.program, p.files[meaning])
}

// longest is how long a sound may take, whatever the theme has.
const longest = 5 * time.Second

// playFile plays a file at the volume of p and returns when it is over, after longest at the
// latest; when ctx ends first, it is silenced, and the error is that of ctx.
func (p *player) playFile(ctx context.Context, program, file string) error {
	limited, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	volume := strconv.Itoa(p.volume * 65536 / 100) // 0x10000 is the whole of it
	if program == "pw-play" {
		volume = strconv.FormatFloat(float64(p.volume)/100, 'f', 2, 64)
	}
	cmd := exec.CommandContext(limited, program, "--volume="+volume, file)
	var stderr bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &stderr, time.Second
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		text := strings.TrimSpace(stderr.String())
		return fmt.Errorf("sound: %s plays nothing: %w %s", program, err, text[:min(len(text), 200)])
	}
	return nil
}

// chooseProgram takes the first program that plays a moment of silence, pw-play before paplay. The
// error is ErrAbsent, with why the last one did not. Open calls it.
func (p *player) chooseProgram(ctx context.Context) error {
	silence := filepath.Join(p.folder, "silence.wav")
	if err := os.WriteFile(silence, encodeWAV(make([]int16, sampleRate/100)), 0o600); err != nil {
		return fmt.Errorf("sound: %w", err)
	}
	failed := ErrAbsent
	for _, program := range []string{"pw-play", "paplay"} {
		if _, err := exec.LookPath(program); err != nil {
			continue
		}
		err := p.playFile(ctx, program, silence)
		if err == nil {
			p.program = program
			return nil
		}
		failed = fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	return failed
}

// themeNames are the sounds by their names in themes. That of a question is not window-question,
// which in the theme of freedesktop is the sound of an error.
var themeNames = map[string]string{Question: "message-new-instant", Tool: "audio-volume-change", Done: "complete",
	Failed: "dialog-error", Lost: "network-connectivity-lost"}

// chooseFiles finds the sounds of the desktop for each meaning, and makes those that it lacks, or
// that are the same as another's. Open calls it.
func (p *player) chooseFiles() error {
	p.files = map[string]string{}
	for _, meaning := range Meanings() {
		file := findThemeFile(themeNames[meaning])
		if slices.Contains(slices.Collect(maps.Values(p.files)), file) {
			file = ""
		}
		if file == "" {
			file = filepath.Join(p.folder, meaning+".wav")
			if err := os.WriteFile(file, encodeWAV(makeTones(ownSounds[meaning])), 0o600); err != nil {
				return fmt.Errorf("sound: %w", err)
			}
		}
		p.files[meaning] = file
	}
	return nil
}

// findThemeFile returns the file of a name in the theme aaep or, failing that, freedesktop, in the
// first folder of XDG_DATA_HOME and XDG_DATA_DIRS that has it; "" if none has.
func findThemeFile(name string) string {
	home := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(home) {
		if user, err := os.UserHomeDir(); err == nil {
			home = filepath.Join(user, ".local", "share")
		}
	}
	shared := os.Getenv("XDG_DATA_DIRS")
	if shared == "" {
		shared = "/usr/local/share:/usr/share"
	}
	for _, theme := range []string{"aaep", "freedesktop"} {
		for _, dir := range append([]string{home}, filepath.SplitList(shared)...) {
			for _, ending := range []string{".oga", ".ogg", ".wav"} {
				file := filepath.Join(dir, "sounds", theme, "stereo", name+ending)
				if real, err := filepath.EvalSymlinks(file); filepath.IsAbs(dir) && err == nil {
					return real
				}
			}
		}
	}
	return ""
}
