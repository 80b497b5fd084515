package braille_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aaep-go/aaep/internal/brailletest"
	"github.com/aaep-go/aaep/subscriber/announce"
	"github.com/aaep-go/aaep/subscriber/braille"
)

// A server that wants a key gets the file's, and a wrong or missing one is told.
func TestKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	t.Setenv("BRLAPI_AUTH", file)
	for _, tc := range []struct{ content, want string }{
		{"open sesame", ""}, {"wrong", "did not accept the key"}, {"", "key file"},
	} {
		os.WriteFile(file, []byte(tc.content), 0o600)
		synctest.Test(t, func(t *testing.T) {
			s := brailletest.New(40)
			s.Key = "open sesame"
			d, err := braille.Open(t.Context(), braille.Options{Dial: s.Dial})
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("with key %q Open = %v", tc.content, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			d.Close()
		})
	}
}

// A BRLTTY that dies ends what is under way, with one error for everybody.
func TestServerDies(t *testing.T) {
	inBubble(t, 40, braille.Options{}, func(b *fixture) {
		result := b.presentAsync(b.Context(), sayText(transfer))
		b.s.Cut()
		b.checkEnd(result, io.EOF)
		if err := b.d.Present(b.Context(), sayText("More.")); !errors.Is(err, io.EOF) ||
			!strings.Contains(err.Error(), "BRLTTY has ended") {
			t.Error(err)
		}
		if b.d.Speaks("en") {
			t.Error("it still speaks")
		}
		b.d.Waiting(1)
	})
}

// Close ends what is shown and gives the display back, however many call it.
func TestClose(t *testing.T) {
	inBubble(t, 40, braille.Options{}, func(b *fixture) {
		result := b.presentAsync(b.Context(), sayCritical(transfer))
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { b.d.Close() })
		}
		all.Wait()
		b.checkEnd(result, announce.ErrClosed)
		if err := b.d.Present(b.Context(), sayText("More.")); err != announce.ErrClosed {
			t.Error(err)
		}
		synctest.Wait()
		states := b.s.States()
		if n := len(states); states[n-1].Ours || strings.TrimSpace(states[n-2].Line) != "" {
			t.Errorf("the display was not given back: %v", states)
		}
	})
}

// startFakeServer opens a display on a server by hand, which answers each kind of packet as the
// test says.
func startFakeServer(t *testing.T, answers map[byte]string) (*braille.Display, error) {
	client, conn := net.Pipe()
	t.Cleanup(func() { conn.Close() })
	packet := func(kind byte, body string) {
		b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
		io.WriteString(conn, string(b)+"\x00\x00\x00"+string(kind)+body)
	}
	reply := func(kind byte, body string) {
		if raw, ok := answers[kind]; ok {
			io.WriteString(conn, raw)
			return
		}
		packet(kind, body)
	}
	go func() {
		defer conn.Close()
		reply('v', "\x00\x00\x00\x08")
		for {
			var head [8]byte
			if _, err := io.ReadFull(conn, head[:]); err != nil {
				return
			}
			io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head[:])))
			switch head[7] {
			case 'v':
				reply('a', "\x00\x00\x00N")
			case 's':
				reply('s', "\x00\x00\x00\x28\x00\x00\x00\x01")
			case 'R':
				packet('e', "\x00\x00\x00\x06")
			case 'V', 'm', 'u', 'L':
				packet('A', "")
			case 't':
				if reply('t', ""); answers[0] == "deaf" {
					<-t.Context().Done()
				}
			case 'w':
				reply('w', "")
			}
		}
	}()
	return braille.Open(t.Context(), braille.Options{Dial: func(context.Context) (net.Conn, error) {
		return client,
			nil
	}})
}

// A server that stalls or lies gets one clear error in time, and no hang.
func TestFakeServers(t *testing.T) {
	for name, tc := range map[string]struct {
		answers map[byte]string
		open    string // what Open says
		present string // if that works
	}{
		"silent":        {map[byte]string{'v': ""}, "timeout", ""},
		"half a header": {map[byte]string{'v': "\x00\x00"}, "timeout", ""},
		"another age": {map[byte]string{'v': "\x00\x00\x00\x04\x00\x00\x00v\x00\x00\x00\x09"},
			"speaks version 9 of BrlAPI", ""},
		"no BRLTTY":    {map[byte]string{'v': "HTTP/1.1 400 Bad Request\r\n\r\n"}, "1213486160 bytes", ""},
		"huge":         {map[byte]string{'v': "\xff\xff\xff\xff\x00\x00\x00v"}, "4096 is the most", ""},
		"another kind": {map[byte]string{'v': "\x00\x00\x00\x00\x00\x00\x00A"}, "'A' instead of 'v'", ""},
		"no way in": {map[byte]string{'a': "\x00\x00\x00\x04\x00\x00\x00a\x00\x00\x00X"},
			"does not let this program in", ""},
		"size stalls":   {map[byte]string{'s': ""}, "has not answered for 5s", ""},
		"size of 1":     {map[byte]string{'s': "\x00\x00\x00\x01\x00\x00\x00s!"}, "display size of 1 bytes", ""},
		"size refused":  {map[byte]string{'s': "\x00\x00\x00\x04\x00\x00\x00e\x00\x00\x00\x07"}, "error 7", ""},
		"two sizes":     {map[byte]string{'s': strings.Repeat("\x00\x00\x00\x08\x00\x00\x00s\x00\x00\x00\x28\x00\x00\x00\x01", 9)}, "nobody asked for", "nobody asked for"}, // whichever meets it
		"no terminal":   {map[byte]string{'t': "\x00\x00\x00\x04\x00\x00\x00e\x00\x00\x00\x03"}, "", "error 3"},
		"enter stalls":  {map[byte]string{'t': ""}, "", "has not answered for 5s"},
		"enter is deaf": {map[byte]string{'t': "\x00\x00\x00\x00\x00\x00\x00A", 0: "deaf"}, "", "timeout"},
		"exception": {map[byte]string{'t': "\x00\x00\x00\x08\x00\x00\x00E\x00\x00\x00\x03\x00\x00\x00t"}, "",
			"exception 3"},
		"refuses lines": {map[byte]string{'t': "\x00\x00\x00\x00\x00\x00\x00A",
			'w': "\x00\x00\x00\x14\x00\x00\x00E\x00\x00\x00\x05\x00\x00\x00w" +
				"\x00\x00\x00\x7e\x00\x00\x00\x01\x00\x00\x00\x28"}, "", "refuses what is shown"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				d, err := startFakeServer(t, tc.answers)
				want := tc.open
				if err == nil {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					err, want = d.Present(ctx, announce.Utterance{Text: "Hello.", Critical: true}), tc.present
					d.Close()
				}
				if err == nil || want == "" || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// A server that stops reading does not stop Close.
func TestCloseWhileStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := startFakeServer(t, map[byte]string{'t': ""})
		if err != nil {
			t.Fatal(err)
		}
		go d.Present(t.Context(), sayText("Hello."))
		synctest.Wait()
		start := time.Now()
		d.Close()
		if took := time.Since(start); took > time.Second {
			t.Errorf("Close took %v", took)
		}
	})
}

// Nor does it stop a cancelled Present.
func TestCancelWhileStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := startFakeServer(t, map[byte]string{'t': ""})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		start := time.Now()
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := d.Present(ctx, sayText("Hello.")); err != context.DeadlineExceeded {
				t.Error(err)
			}
			cancel()
		}
		d.Waiting(1)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// Open gives up a server that says nothing when its context ends.
func TestOpenIsCancelled(t *testing.T) {
	client, conn := net.Pipe()
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	start := time.Now()
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err := braille.Open(ctx, braille.Options{Dial: func(context.Context) (net.Conn, error) { return client, nil }})
	if took := time.Since(start); !errors.Is(err, context.Canceled) || took > time.Minute {
		t.Errorf("%v after %v", err, took)
	}
}

// A language is spoken when the table has its letters; what it lacks is shown without marks, not as
// rubbish.
func TestSpeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := brailletest.New(40)
		s.Lacks = "ẹọṣɓə\u0301\u0323مابت日본的一是나다가"
		d, err := braille.Open(t.Context(), braille.Options{Dial: s.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		for tag, want := range map[string]bool{
			"en": true, "en-NG": true, "es-419": true, "hi": true, "ru": true, "sw": true, "": true, "cs": true,
			"yo": false, "yo-NG": false,
			"ha": false, "ig": false, "ar": false, "ar-EG": false, "ko": false, "zh-Hant": false, "tlh": false,
			"not a tag": false, "sr": true,
			"az": false, "az-Cyrl": true,
		} {
			if got := d.Speaks(tag); got != want {
				t.Errorf("%q: %t", tag, got)
			}
		}
		for text, want := range map[string]string{
			"ẹ kú àárọ̀ o": "e kú àáro\u0300 o", "5 日本": "5 ?本", "plain": "plain", "q\u0301": "q",
		} {
			d.Present(t.Context(), sayText(text))
			if got := strings.TrimSpace(s.Now().Line); got != want {
				t.Errorf("%q is shown as %q, want %q", text, got, want)
			}
		}
	})
}

// A person without BRLTTY learns what to do.
func TestNoBRLTTY(t *testing.T) {
	_, err := braille.Open(t.Context(), braille.Options{Host: "127.0.0.1:61434"}) // its port is 65535
	if err == nil || !strings.Contains(err.Error(), "BRLTTY does not answer: start it") {
		t.Errorf("Open = %v", err)
	}
}
