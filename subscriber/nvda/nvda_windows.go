package nvda

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/aaep-go/aaep/subscriber/announce"
)

// Output presents through NVDA. Present is for one goroutine at a time; the other methods may be
// called from any.
type Output struct {
	running, speak, cancel, braille *windows.LazyProc

	speaking chan struct{} // one for each text that NVDA has of us
	marked   atomic.Bool   // a mark was reached: this voice tells
	closed   chan struct{}
	once     sync.Once
}

// The priorities and levels of speakSsml.
const (
	normal    = 0
	now       = 2
	unchanged = ^uintptr(0) // the user's own level of symbols
	wait      = 0           // until it is over
)

// atOnce is how many calls may be stuck in NVDA, which before its fix of nvaccess/nvda#20220 could
// forget one that was cut as it began. Each has a thread.
const atOnce = 4

// silent is how long NVDA may take to fall silent.
const silent = time.Second

// Callbacks are never freed, so there is one for the process, which notes the marks that NVDA has
// reached.
var (
	reached sync.Map // by name
	names   atomic.Int64
	onMark  = sync.OnceValue(func() uintptr {
		return windows.NewCallback(func(mark *uint16) uintptr {
			reached.Store(windows.UTF16PtrToString(mark), true)
			return 0
		})
	})
)

// Open loads the controller client, from Options.Library or, if that is empty, from the folder of
// the program. NVDA need not run yet. The error says that the library or a function of it is
// missing.
func Open(options Options) (*Output, error) {
	path := options.Library
	if path == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("nvda: %w", err)
		}
		path = filepath.Join(filepath.Dir(self), "nvdaControllerClient.dll")
	}
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("nvda: the path of the controller client, %q, is not absolute", path)
	}
	dll := windows.NewLazyDLL(path)
	proc := func(name string) *windows.LazyProc { return dll.NewProc("nvdaController_" + name) }
	o := &Output{running: proc("testIfRunning"), speak: proc("speakSsml"), cancel: proc("cancelSpeech"),
		braille:  proc("brailleMessage"),
		speaking: make(chan struct{}, atOnce), closed: make(chan struct{})}
	marks := proc("setOnSsmlMarkReachedCallback")
	for _, p := range []*windows.LazyProc{o.running, o.speak, o.cancel, o.braille, marks} {
		if err := p.Find(); err != nil {
			return nil, fmt.Errorf("nvda: %w", err)
		}
	}
	if err := failure(marks.Call(onMark())); err != nil {
		return nil, err
	}
	return o, nil
}

// Running reports whether NVDA runs. A program that has a voice of its own should be silent then.
func (o *Output) Running() bool { return failure(o.running.Call()) == nil }

// failure makes an error of what a call of the controller client returned: nil for 0, ErrAbsent
// where NVDA is not there, ErrOld where it does not know the call.
func failure(code, _ uintptr, _ error) error {
	switch errno := syscall.Errno(uint32(code)); errno {
	case 0:
		return nil
	case windows.RPC_S_SERVER_UNAVAILABLE, windows.RPC_S_CALL_FAILED, windows.RPC_S_CALL_FAILED_DNE:
		return ErrAbsent
	case windows.RPC_S_UNKNOWN_IF, windows.RPC_S_PROCNUM_OUT_OF_RANGE:
		return ErrOld
	default:
		return fmt.Errorf("nvda: %w", errno)
	}
}

// Present gives NVDA the text of u, for the voice and the braille display, and returns once it was
// spoken: nil when that was to its end, announce.ErrCut when it was not, announce.ErrClosed after
// Close, ErrHung while an earlier text has no end yet. When ctx ends first, NVDA is silenced, and
// the error is ctx's.
func (o *Output) Present(ctx context.Context, u announce.Utterance) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-o.closed:
		return announce.ErrClosed
	default:
	}
	select {
	case o.speaking <- struct{}{}:
	default:
		return ErrHung
	}
	text := strings.ReplaceAll(strings.ToValidUTF8(u.Text, "\ufffd"), "\x00", "")
	if strings.TrimSpace(text) == "" {
		<-o.speaking
		return nil
	}
	done := make(chan error, 1)
	go func() {
		err := o.speakMarked(text, u)
		<-o.speaking
		done <- err
	}()
	var err error
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		err = ctx.Err()
	case <-o.closed:
		err = announce.ErrClosed
	}
	go o.cancel.Call() // which waits as well, for an NVDA that hangs
	timer := time.NewTimer(silent)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	return err
}

// speakMarked has NVDA show and speak a text, without a NUL, with a mark at its end, and returns
// once it was spoken: nil, or announce.ErrCut where the mark was not reached, as far as this NVDA
// reaches marks at all. It waits as long as NVDA does.
func (o *Output) speakMarked(text string, u announce.Utterance) error {
	mark := "aaep" + strconv.FormatInt(names.Add(1), 10)
	priority := uintptr(normal)
	if u.Critical {
		priority = now
	}
	message, _ := windows.UTF16PtrFromString(text) // the only error is a NUL
	speech, _ := windows.UTF16PtrFromString(ssml(text, u.Language, mark))
	o.braille.Call(uintptr(unsafe.Pointer(message))) // of no consequence where there is no display
	err := failure(o.speak.Call(uintptr(unsafe.Pointer(speech)), unchanged, priority, wait))
	if _, ok := reached.LoadAndDelete(mark); ok {
		o.marked.Store(true)
	} else if err == nil && o.marked.Load() {
		err = announce.ErrCut
	}
	return err
}

// ssml returns a text as NVDA takes it, in a voice for the language unless that is empty, with a
// mark behind it that NVDA reports when it has spoken.
func ssml(text, language, mark string) string {
	var b bytes.Buffer
	b.WriteString("<speak>")
	if language != "" {
		b.WriteString(`<voice xml:lang="`)
		xml.EscapeText(&b, []byte(language))
		b.WriteString(`">`)
	}
	xml.EscapeText(&b, []byte(text))
	b.WriteString(`<mark name="` + mark + `"/>`)
	if language != "" {
		b.WriteString("</voice>")
	}
	b.WriteString("</speak>")
	return b.String()
}

// Speaks returns true: NVDA does not tell which languages its voice knows.
func (o *Output) Speaks(string) bool { return true }

// Close silences what NVDA was given and is not over. It does not unload the library.
func (o *Output) Close() error {
	o.once.Do(func() { close(o.closed) })
	return nil
}
