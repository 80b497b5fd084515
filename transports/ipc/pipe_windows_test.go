package ipc

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Microsoft/go-winio"
	"go.uber.org/goleak"
	"golang.org/x/sys/windows"

	"github.com/aaep-go/aaep/transports"
)

// quiet names a goroutine that may outlive the tests: it serves every pipe there will ever be.
func quiet() []goleak.Option {
	return []goleak.Option{goleak.IgnoreAnyFunction("github.com/Microsoft/go-winio.ioCompletionProcessor")}
}

func self(t *testing.T) string {
	who, err := tokenUser(windows.GetCurrentProcessToken())
	if err != nil {
		t.Fatal(err)
	}
	return "sid:" + who.String()
}

// wine says that this is no Windows.
var wine = windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil

var count atomic.Int64

// fresh returns the path of a pipe that does not exist.
func fresh(t *testing.T) string {
	t.Helper()
	path, err := Path(fmt.Sprintf("test %d %d", os.Getpid(), count.Add(1)))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// start listens on a pipe of its own.
func start(t *testing.T) *Listener {
	t.Helper()
	l, err := Listen(fresh(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	knock(t, l.Addr())
	t.Cleanup(func() { l.Close() })
	return l
}

// knock takes the first place at a pipe. Package winio keeps it only to have the name: Windows lets
// no peer connect there, but Wine does, and who got it would wait forever.
func knock(t *testing.T, path string) {
	if !wine {
		return
	}
	c, err := winio.DialPipeContext(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// raw is a peer that is not ours.
func raw(t *testing.T, l *Listener) net.Conn {
	t.Helper()
	c, err := winio.DialPipeContext(t.Context(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

func put(t *testing.T, c net.Conn, msg string) {
	t.Helper()
	if _, err := io.WriteString(c, msg); err != nil {
		t.Error(err)
	}
}

func want(t *testing.T, c transports.Conn, msgs ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, want := range msgs {
		if got, err := c.Receive(ctx); err != nil || string(got) != want {
			t.Errorf("Receive = %.80q, %v; want %.80q", got, err, want)
		}
	}
}

// IPC-002, IPC-004: one write is one message, however many are waiting and whatever their size and
// line ends; a peer that stops at a message's end sees ours so too.
func TestPipeMessages(t *testing.T) {
	l := start(t)
	peer := raw(t, l)
	c := acceptConn(t, l)
	big := `{"x":"` + strings.Repeat("y", 100_000) + "\"}"
	sent := []string{"{\n\"a\": 1\n}\n", `{"b":2}`, "{}", big, `{"c":3}`, "{\"d\":4}\n"}
	for _, msg := range sent {
		put(t, peer, msg)
	}
	want(t, c, sent...)
	mode := uint32(windows.PIPE_READMODE_MESSAGE)
	if err := windows.SetNamedPipeHandleState(pipeHandle(peer), &mode, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, msg := range sent {
		if err := c.Send(t.Context(), []byte(msg)); err != nil {
			t.Error(err)
		}
	}
	buf := make([]byte, 1<<20)
	for _, want := range sent {
		if n, err := peer.Read(buf); err != nil || string(buf[:n]) != want {
			t.Errorf("the peer reads %.80q, %v; want %.80q", buf[:n], err, want)
		}
	}
}

// D-69: who puts a length in front, or a line end behind, is answered so; in one write, for a peer
// that stops at its end.
func TestPipeStreams(t *testing.T) {
	length := func(msg string) string { return string(binary.BigEndian.AppendUint32(nil, uint32(len(msg)))) + msg }
	most := `{"x":"` + strings.Repeat("y", transports.MaxMessage-8) + `"}`
	for name, tc := range map[string]struct {
		writes, want []string
		frame        func(string) string
	}{
		"lengths": {[]string{length(`{"a":1}`), length("{}") + length(`{"b":2}`)},
			[]string{`{"a":1}`, "{}", `{"b":2}`}, length},
		"in pieces": {[]string{"\x00", "\x00\x00\x07", `{"a"`, ":1}" + length("{}")[:3], length("{}")[3:]},
			[]string{`{"a":1}`, "{}"}, length},
		"a mebibyte": {[]string{length(most), length(most)}, []string{most, most}, length},
		"lines": {[]string{"{\"a\":1}\r\n", "{\"b\":2}\n{\"c\"", ":3}\n"},
			[]string{`{"a":1}`, `{"b":2}`, `{"c":3}`}, func(s string) string { return s + "\n" }},
		"a mebibyte's lines": {[]string{most + "\n", most + "\n"}, []string{most, most},
			func(s string) string { return s + "\n" }},
	} {
		l := start(t)
		peer := raw(t, l)
		c := acceptConn(t, l)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, w := range tc.writes {
				put(t, peer, w)
			}
		}()
		want(t, c, tc.want...)
		<-done
		if err := c.Send(t.Context(), []byte(`{"d":4}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		mode := uint32(windows.PIPE_READMODE_MESSAGE)
		if err := windows.SetNamedPipeHandleState(pipeHandle(peer), &mode, nil, nil); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		if n, err := peer.Read(buf); err != nil || string(buf[:n]) != tc.frame(`{"d":4}`) {
			t.Errorf("%s: the answer is %q, %v", name, buf[:n], err)
		}
		peer.Close()
		c.Close()
		l.Close()
	}
}

// B.3.4: at a pipe of bytes, which only other programs make, lengths part the messages.
func TestPipeOfBytes(t *testing.T) {
	who, err := tokenUser(windows.GetCurrentProcessToken())
	if err != nil {
		t.Fatal(err)
	}
	sd, err := windows.SecurityDescriptorFromString(ownerOnlyDescriptor(who))
	if err != nil {
		t.Fatal(err)
	}
	path := fresh(t)
	h, err := windows.CreateNamedPipe(windows.StringToUTF16Ptr(path),
		windows.PIPE_ACCESS_DUPLEX|windows.FILE_FLAG_OVERLAPPED,
		windows.PIPE_TYPE_BYTE, 1, 1<<16, 1<<16, 0, &windows.SecurityAttributes{Length: 24, SecurityDescriptor: sd})
	if err != nil {
		t.Fatal(err)
	}
	producer, err := winio.NewOpenFile(h)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	c, err := Dialer{Path: path}.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, msg := range []string{"{}", `{"a":1}`} {
		if err := c.Send(t.Context(), []byte(msg)); err != nil {
			t.Error(err)
		}
	}
	got := make([]byte, 4+2+4+7)
	if _, err := io.ReadFull(producer, got); err != nil ||
		string(got) != "\x00\x00\x00\x02{}\x00\x00\x00\x07{\"a\":1}" {
		t.Errorf("the producer reads %q, %v", got, err)
	}
	if _, err := producer.Write(got); err != nil {
		t.Error(err)
	}
	want(t, c, "{}", `{"a":1}`)
}

// INV-32, INV-35: what is too large, torn or changed is an error of the one link.
func TestPipeBadMessages(t *testing.T) {
	huge := bytes.Repeat([]byte("{"), 4<<20)
	for name, tc := range map[string]struct {
		writes [][]byte
		says   string
	}{
		"one byte too many": {[][]byte{huge[:transports.MaxMessage+1]}, "1 MiB"},
		"far too many":      {[][]byte{huge}, "1 MiB"},
		"a batch of them":   {[][]byte{bytes.Repeat([]byte("\x00\x00\x00\x02{}"), 200_000)}, "1 MiB"},
		"a lying length":    {[][]byte{[]byte("\x00\x10\x00\x01{}")}, "1 MiB"},
		"a torn length":     {[][]byte{[]byte("\x00\x00\x00\x09{}")}, "unexpected EOF"},
		"a torn line":       {[][]byte{[]byte("{}\n"), []byte("{}")}, "unexpected EOF"},
		"changed":           {[][]byte{[]byte("{}"), []byte("\x00\x00\x00\x02{}")}, "framing"},
		"changed to lines":  {[][]byte{[]byte("\x00\x00\x00\x02{}"), []byte("{}\n")}, "framing"},
	} {
		l := start(t)
		peer := raw(t, l)
		c := acceptConn(t, l)
		go func() {
			for _, w := range tc.writes {
				peer.Write(w)
			}
			peer.Close()
		}()
		var err error
		for err == nil {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err = c.Receive(ctx)
			cancel()
		}
		if err == io.EOF || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
		c.Close()
		l.Close()
	}
}
