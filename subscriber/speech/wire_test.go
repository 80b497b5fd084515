package speech

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// rates measured with eSpeak NG: the table, what is between, what is beyond.
func TestRate(t *testing.T) {
	for wpm, want := range map[int]int{
		84: -100, 127: -50, 172: 0, 247: 25, 317: 50, 396: 75, 473: 100, // as measured
		50: -100, 1000: 100, 1: -100, -5: -100,
		150: -24, 105: -76, 200: 9, 282: 38, 434: 87,
	} {
		if got := rateFor(wpm); got != want {
			t.Errorf("rateFor(%d) = %d, want %d", wpm, got, want)
		}
	}
}

// A language is spoken by the nearest voice, as at home where there is a choice, and by none rather
// than a wrong one.
func TestVoice(t *testing.T) {
	var lines []string
	// what eSpeak NG 1.51 says, in part
	for _, tag := range strings.Fields("af ar chr-US-QAAA-X-WEST cmn cmn-LATN-PINYIN en-029 en-GB en-GB-SCOTLAND en-US-NYC en-US es es-419 fa fa-LATN fr-BE fr-CH fr-FR ha-LATN he id nb pt pt-BR sr sw vi vi-VN-X-CENTRAL yue") {
		lines = append(lines, "A voice+Max\t"+tag+"\tMax", "no tabs", "x\tnot a tag\tnone")
	}
	for _, c := range []struct{ home, want, voice string }{
		{"en-US", "", "en-US"},
		{"en-US", "en", "en-US"},
		{"en-GB", "en", "en-GB"},
		{"de", "en", "en-US"},
		{"en-GB", "en-us", "en-US"},
		{"en-GB", "en-AU", "en-GB"},
		{"en-US", "es", "es"},
		{"en-US", "es-419", "es-419"},
		{"en-US", "es-MX", "es"},
		{"en-US", "fr", "fr-FR"},
		{"en-US", "fr-CA", "fr-FR"},
		{"en-US", "pt-PT", "pt"},
		{"en-US", "PT-br", "pt-BR"},
		{"en-US", "zh", "cmn"},
		{"en-US", "zh-Hant-TW", "cmn"},
		{"en-US", "zh-Latn", "cmn-LATN-PINYIN"},
		{"en-US", "yue", "yue"},
		{"en-US", "zh-yue", "yue"},
		{"en-US", "fa-Latn", "fa-LATN"},
		{"en-US", "fa", "fa"},
		{"en-US", "no", "nb"},
		{"en-US", "iw", "he"},
		{"en-US", "vi", "vi"},
		{"en-US", "ha", "ha-LATN"},
		{"en-US", "ha-Arab", ""}, // in another script it is rubbish
		{"en-US", "yo", ""},      // no voice, and not English: nor as Nigeria's other languages
		{"en-US", "yo-NG", ""},
		{"en-US", "ig", ""},
		{"en-US", "pcm", ""}, // x/text's own matcher says English, with confidence
		{"en-US", "chr", "chr-US-QAAA-X-WEST"},
		{"en-US", "und", ""},
		{"en-US", "e", ""},
		{"en-US", "en\r\nQUIT", ""},
		{"en-US", "en-" + strings.Repeat("x-12345678-", 20), ""},
	} {
		got, ok := newVoices(c.home, lines).chooseVoice(c.want)
		if got != c.voice || ok != (c.voice != "") {
			t.Errorf("at home in %s, %.40q is spoken by %q, want %q", c.home, c.want, got, c.voice)
		}
	}
	silent := newVoices("en-GB", nil) // a synthesizer that does not tell
	for tag, want := range map[string]string{"en": "en-GB", "": "en-GB", "es": ""} {
		if got, _ := silent.chooseVoice(tag); got != want {
			t.Errorf("without a list, %q is spoken by %q, want %q", tag, got, want)
		}
	}
}

// SPEECHD_ADDRESS is read as Speech Dispatcher's own clients read it.
func TestAddress(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", filepath.FromSlash("/run/user/7"))
	usual := filepath.FromSlash("/run/user/7/speech-dispatcher/speechd.sock")
	for env, want := range map[string]string{
		"":                          "unix " + usual,
		"unix_socket":               "unix " + usual,
		"unix_socket:/tmp/a:b.sock": "unix /tmp/a:b.sock",
		"inet_socket":               "tcp 127.0.0.1:6560",
		"inet_socket:example":       "tcp example:6560",
		"inet_socket:10.0.0.1:77":   "tcp 10.0.0.1:77",
		"inet_socket::77":           "tcp 127.0.0.1:77",
		"dbus:session":              "error",
	} {
		t.Setenv("SPEECHD_ADDRESS", env)
		network, addr, err := serverAddress()
		got := network + " " + addr
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q is %s, want %s", env, got, want)
		}
	}
	t.Setenv("SPEECHD_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", "")
	t.Setenv("XDG_CACHE_HOME", "/cache")
	if _, addr, err := serverAddress(); err == nil && !filepath.IsAbs(addr) {
		t.Errorf("without a runtime folder it is %s", addr)
	}
}

// A conn to read from.
type conn struct {
	net.Conn
	io.Reader
}

func (c conn) Read(p []byte) (int, error) { return c.Reader.Read(p) }

// A line may come in many pieces, with deadlines in between; its length has a bound all the same.
func TestLineInPieces(t *testing.T) {
	three := strings.NewReader(strings.Repeat("200 ", 800))
	var pieces []io.Reader
	for range 3 {
		pieces = append(pieces, three, iotest.ErrReader(os.ErrDeadlineExceeded))
	}
	l := newLink(conn{Reader: readerFunc(func(p []byte) (int, error) {
		if len(pieces) == 0 {
			return 0, io.EOF
		}
		n, err := pieces[0].Read(p)
		if n == 0 {
			pieces = pieces[1:]
			three.Seek(0, io.SeekStart)
			if err == io.EOF {
				err = nil
			}
		}
		return n, err
	})})
	for {
		if _, err := l.readReply(); err == nil || !timedOut(err) {
			if err == nil || !strings.Contains(err.Error(), "more than 4096 bytes") {
				t.Errorf("read = %v", err)
			}
			return
		}
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// The bound on a reply is for each, not for all of them.
func TestManyReplies(t *testing.T) {
	var p parser
	for i := range 3000 {
		if _, whole, err := p.feedLine("200 " + strings.Repeat("x", 4000)); !whole || err != nil {
			t.Fatalf("reply %d: %v, %v", i, whole, err)
		}
	}
}

// readAll returns what is understood of what comes from r, as it would be sent, and what is
// understood no more.
func readAll(t *testing.T, r io.Reader) (back string, err error) {
	l := newLink(conn{Reader: r})
	for {
		r, err := l.readReply()
		if err == iotest.ErrTimeout {
			continue
		}
		if err != nil {
			return back, err
		}
		if r.code < 100 || r.code > 999 {
			t.Fatalf("code %d", r.code)
		}
		for _, line := range r.data {
			back += fmt.Sprintf("%d-%s\n", r.code, line)
		}
		back += fmt.Sprintf("%d %s\n", r.code, r.text)
	}
}

// Whatever a server sends, in whatever pieces: no panic, nothing unbounded, nothing made up. What
// is understood is what was sent, and no timeout in between loses any of it.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"208 OK CLIENT NAME SET\r\n",
		"251-en-US\r\n251 OK GET RETURNED\r\n701-1\r\n701-2\r\n701 BEGIN\r\n",
		"249-Afrikaans+Adam\taf\tAdam\r\n249 OK\r\n",
		"225-1\n225 OK\n", "225-1\r\n226 OK\r\n", "225\r\n", "22", "\r\n", "\x00\xff\r\n", "000 x\r\n", "2 5 x\r\n",
		"700-\r\n700 \r\n",
		"200 " + strings.Repeat("x", maxLine) + "\r\n",
		"200 " + strings.Repeat("x", maxLine-5) + "\r", "200 " + strings.Repeat("x", maxLine-6) + "\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		back, err := readAll(t, bytes.NewReader(sent))
		if plain := strings.ReplaceAll(string(sent), "\r\n", "\n"); !strings.HasPrefix(plain, back) {
			t.Fatalf("%q was read as %q", sent, back)
		}
		slow, late := readAll(t, iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(sent))))
		if slow != back || late.Error() != err.Error() {
			t.Fatalf("%q was read as %q, %v; and with a timeout as %q, %v", sent, back, err, slow, late)
		}
	})
}

// No text ends its line or the message, or sends what is not UTF-8.
func FuzzOneLine(f *testing.F) {
	for _, seed := range []string{"", ".", "..a", "a\r\n.\r\nQUIT", "\xff", "a\u2028.", "\u0085.\u0085"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := oneLine(text)
		if strings.ContainsAny(line, "\r\n\x00") || line == "." || line != strings.ToValidUTF8(line, "") {
			t.Fatalf("%q is sent as %q", text, line)
		}
	})
}
