package nvda

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/aaep-go/aaep/subscriber/announce"
)

// stub opens the library that testdata/stub.c becomes; kept returns what it was asked since the
// last time.
func stub(t *testing.T) (out *Output, kept func() string) {
	t.Helper()
	path := os.Getenv("AAEP_NVDA_STUB")
	if path == "" {
		t.Skip("AAEP_NVDA_STUB does not name the stub's library: make wine builds it")
	}
	out, err := Open(Options{Library: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	dll := windows.NewLazyDLL(path)
	kept = func() string {
		p, _, _ := dll.NewProc("stub_kept").Call()
		text := windows.UTF16PtrToString(*(**uint16)(unsafe.Pointer(&p)))
		dll.NewProc("stub_forget").Call()
		return strings.TrimSuffix(text, "\n")
	}
	kept()
	names.Store(0)
	return out, kept
}

func TestPresent(t *testing.T) {
	out, kept := stub(t)
	if !out.Running() {
		t.Error("the stub is not running")
	}
	for _, c := range []struct {
		u    announce.Utterance
		want string
	}{
		{announce.Utterance{Text: "One & <two>."},
			"braille One & <two>.\nspeak -1 0 0 <speak>One &amp; &lt;two&gt;.<mark name=\"aaep1\"/></speak>"},
		{announce.Utterance{Text: "¿Transferir?", Language: "es-MX", Critical: true},
			"braille ¿Transferir?\nspeak -1 2 0 <speak><voice xml:lang=\"es-MX\">¿Transferir?<mark name=\"aaep2\"/></voice></speak>"},
		{announce.Utterance{Text: "a\x00b", Language: `"><mark name="x"/>`},
			"braille ab\nspeak -1 0 0 <speak><voice xml:lang=\"&#34;&gt;&lt;mark name=&#34;x&#34;/&gt;\">ab<mark name=\"aaep3\"/></voice></speak>"},
		{announce.Utterance{Text: " "}, ""},
	} {
		if err := out.Present(t.Context(), c.u); err != nil {
			t.Errorf("%q: %v", c.u.Text, err)
		}
		if got := kept(); got != c.want {
			t.Errorf("NVDA was asked\n%s\nwant\n%s", got, c.want)
		}
	}
}

func TestTrouble(t *testing.T) {
	out, _ := stub(t)
	present := func(text string) error { return out.Present(t.Context(), announce.Utterance{Text: text}) }
	if err := present("The silence key, for a voice without marks."); err != nil {
		t.Errorf("before there was a mark, Present = %v", err)
	}
	for _, c := range []struct {
		text string
		want error
	}{
		{"Hello.", nil}, // from here on the voice is known to reach marks
		{"The silence key.", announce.ErrCut},
		{"An old version.", ErrOld},
		{"It has ended.", ErrAbsent},
		{"It is back again.", nil},
	} {
		if err := present(c.text); !errors.Is(err, c.want) {
			t.Errorf("%s Present = %v, want %v", c.text, err, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	out, kept := stub(t)
	for _, text := range []string{"It is going on.", "It is deaf."} { // one falls silent, the other does not
		kept()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()
		if err := out.Present(ctx, announce.Utterance{Text: text}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 2500*time.Millisecond {
			t.Errorf("%s Present = %v after %v", text, err, time.Since(start))
		}
		if got := kept(); !strings.HasSuffix(got, "\ncancel") {
			t.Errorf("NVDA was asked %q", got)
		}
		if err := out.Present(ctx, announce.Utterance{Text: text}); !errors.Is(err, context.DeadlineExceeded) || kept() != "" {
			t.Errorf("afterwards Present = %v", err)
		}
	}
	// The call is still in the deaf one. With more like it, there is no use in another.
	for len(out.speaking) < atOnce {
		out.speaking <- struct{}{}
	}
	if err := out.Present(t.Context(), announce.Utterance{Text: "Hello."}); err != ErrHung {
		t.Errorf("Present = %v", err)
	}
}

func TestClose(t *testing.T) {
	out, kept := stub(t)
	time.AfterFunc(300*time.Millisecond, func() { out.Close() })
	for range 2 {
		if err := out.Present(t.Context(), announce.Utterance{Text: "It is going on."}); err != announce.ErrClosed {
			t.Errorf("Present = %v", err)
		}
	}
	if got := kept(); strings.Count(got, "speak") != 3 || !strings.HasSuffix(got, "cancel") { // with the two of the element
		t.Errorf("NVDA was asked %q", got)
	}
}

func TestOpen(t *testing.T) {
	if _, err := Open(Options{Library: "nvdaControllerClient.dll"}); err == nil || !strings.Contains(err.Error(), "not absolute") {
		t.Errorf("Open = %v", err)
	}
	if _, err := Open(Options{Library: `C:\nowhere\nvdaControllerClient.dll`}); err == nil {
		t.Error("Open found a library that is not there")
	}
	if _, err := Open(Options{Library: `C:\windows\system32\kernel32.dll`}); err == nil || !strings.Contains(err.Error(), "nvdaController_") {
		t.Errorf("of another library, Open = %v", err)
	}
}
