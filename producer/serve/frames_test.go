package serve_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/subscriber"
	"github.com/aaep-go/aaep/transports"
	"github.com/aaep-go/aaep/transports/websocket"
)

// frameCase is bytes that come on a new connection.
type frameCase struct {
	name, wire string
	bytes      []byte
	accept     bool   // a subscription.accepted must come back
	then       string // is sent after that
	survive    string // "yes": a good message sent next works; "no": the connection ends; else either
}

const goodRequest = `{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"raw","capabilities":{}}`

// maskedFrame makes a WebSocket frame as clients send it.
func maskedFrame(first byte, payload string) string {
	mask := [4]byte{0x11, 0x22, 0x33, 0x44}
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	b = append(b, mask[:]...)
	for i := range len(payload) {
		b = append(b, payload[i]^mask[i%4])
	}
	return string(b)
}

// prefixedFrame makes a message of a socket, behind a length that need not be its own.
func prefixedFrame(n uint32, msg string) string {
	return string(binary.BigEndian.AppendUint32(nil, n)) + msg
}

// RFC 6455: the first byte of frames.
const (
	frameText, frameBinary, frameMore, frameClose, framePing, framePong = 0x81, 0x82, 0x80, 0x88, 0x89, 0x8a
	begins, goesOn                                                      = 0x01, 0x00
)

func ownFrames(t *testing.T) []frameCase {
	var bomb bytes.Buffer
	z, err := flate.NewWriter(&bomb, 9)
	check(t, err)
	z.Write(bytes.Repeat([]byte(" "), 64<<20))
	check(t, z.Flush())
	plain := string([]byte{0x81, byte(len(`{"a":1}`))}) + `{"a":1}`
	all := map[string][]frameCase{
		"websocket": {
			{name: "good", bytes: []byte(maskedFrame(frameText, goodRequest)), accept: true, survive: "yes"},
			{name: "binary", bytes: []byte(maskedFrame(frameBinary, goodRequest)), accept: true, survive: "yes"},
			{name: "in three parts", bytes: []byte(maskedFrame(begins, goodRequest[:7]) + maskedFrame(framePing, "x") +
				maskedFrame(goesOn, goodRequest[7:20]) + maskedFrame(frameMore, goodRequest[20:])), accept: true,
				survive: "yes"},
			{name: "in single bytes", bytes: []byte(func() (s string) {
				s = maskedFrame(begins, goodRequest[:1])
				for i := 1; i < len(goodRequest); i++ {
					s += maskedFrame(goesOn, goodRequest[i:i+1])
				}
				return s + maskedFrame(frameMore, "")
			}()), accept: true, survive: "yes"},
			{name: "a flood of pongs", bytes: []byte(strings.Repeat(maskedFrame(framePong, ""), 20_000)),
				survive: "yes"},
			{name: "no mask", bytes: []byte(plain), survive: "no"},
			{name: "compressed, not agreed", bytes: []byte(maskedFrame(frameText|0x40, bomb.String())), survive: "no"},
			{name: "compressed, passed off as binary", bytes: []byte(maskedFrame(frameBinary, bomb.String())),
				survive: "no"},
			{name: "third reserved bit", bytes: []byte(maskedFrame(frameText|0x10, goodRequest)), survive: "no"},
			{name: "ping too long", bytes: []byte(maskedFrame(framePing, strings.Repeat("x", 126))), survive: "no"},
			{name: "ping in parts", bytes: []byte(maskedFrame(framePing&^0x80, "x")), survive: "no"},
			{name: "close in parts", bytes: []byte(maskedFrame(frameClose&^0x80, "\x03\xe8")), survive: "no"},
			{name: "more of nothing", bytes: []byte(maskedFrame(goesOn, "x")), survive: "no"},
			{name: "not UTF-8", bytes: []byte(maskedFrame(frameText, goodRequest)), accept: true,
				then: maskedFrame(frameText, "{\"a\":\"\xff\"}"), survive: "no"},
			{name: "half a letter at the end", bytes: []byte(maskedFrame(frameText, goodRequest)), accept: true,
				then: maskedFrame(frameText, "{}\xc3"), survive: "no"},
			{name: "too large", bytes: []byte(maskedFrame(frameText, strings.Repeat(" ", transports.MaxMessage+1))),
				survive: "no"},
			{name: "too large in parts", bytes: []byte(maskedFrame(begins,
				strings.Repeat(" ", transports.MaxMessage)) + maskedFrame(goesOn, "  ")), survive: "no"},
			{name: "half a terabyte announced", bytes: []byte("\x81\xff\x00\x00\x00\x80\x00\x00\x00\x00abcd"),
				survive: "no"},
			{name: "a negative length", bytes: []byte("\x81\xff\xff\xff\xff\xff\xff\xff\xff\xffabcd"), survive: "no"},
			{name: "half a frame", bytes: []byte(maskedFrame(frameText, goodRequest)[:40]), survive: "with the input"},
			{name: "half a header", bytes: []byte("\x81"), survive: "with the input"},
			{name: "an HTTP request", bytes: []byte("GET / HTTP/1.1\r\n\r\n"), survive: "no"},
		},
		"ipc": {
			{name: "good", bytes: []byte(prefixedFrame(uint32(len(goodRequest)), goodRequest)), accept: true,
				survive: "yes"},
			{name: "good line", bytes: []byte("\n\r\n" + goodRequest + "\r\n"), accept: true, survive: "yes"},
			{name: "a length that is too short", bytes: []byte(prefixedFrame(uint32(len(goodRequest)-1), goodRequest)),
				survive: "either"},
			{name: "a length that is too long", bytes: []byte(prefixedFrame(uint32(len(goodRequest)+1), goodRequest)),
				survive: "with the input"},
			{name: "a byte too much", bytes: []byte(prefixedFrame(transports.MaxMessage+1, goodRequest)),
				survive: "no"},
			{name: "16 MiB announced", bytes: []byte(prefixedFrame(0x00ffffff, goodRequest)), survive: "no"},
			{name: "4 GiB announced", bytes: []byte(prefixedFrame(0xffffffff, goodRequest)), survive: "no"},
			{name: "half a length", bytes: []byte("\x00\x00"), survive: "with the input"},
			{name: "an endless line", bytes: bytes.Repeat([]byte("{"), 2*transports.MaxMessage), survive: "no"},
			{name: "half a line", bytes: []byte(goodRequest[:40]), survive: "with the input"},
			{name: "not UTF-8", bytes: []byte(prefixedFrame(8, "{\"a\":\xff}")), survive: "either"},
			{name: "an HTTP request", bytes: []byte("GET / HTTP/1.1\r\n\r\n"), survive: "no"},
			{name: "a flood of empty lines", bytes: bytes.Repeat([]byte("\n"), 1<<16), survive: "yes"},
		},
	}
	var cases []frameCase
	for wire, some := range all {
		for _, c := range some {
			c.wire = wire
			cases = append(cases, c)
		}
	}
	return cases
}

// corpusFrames are those of the hostile-input corpus for these wires.
func corpusFrames(t *testing.T) (cases []frameCase) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "corpus", "index.json"))
	if err != nil {
		t.Skip("the hostile-input corpus is not beside the repository: ", err)
	}
	var corpus struct {
		Cases []struct {
			ID, Base64, Reason, Target, Transport, Expect, Survive string
			Parts                                                  []struct {
				Base64 string
				Times  int
			}
		}
	}
	check(t, json.Unmarshal(data, &corpus))
	for _, c := range corpus.Cases {
		wire := map[string]string{"websocket": "websocket", "unix-length": "ipc"}[c.Transport]
		if c.Target != "frame" || wire == "" {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(c.Base64)
		check(t, err)
		for _, p := range c.Parts {
			part, err := base64.StdEncoding.DecodeString(p.Base64)
			check(t, err)
			raw = append(raw, bytes.Repeat(part, p.Times)...)
		}
		if c.Survive == "no" && (strings.Contains(c.Reason, "end of input") ||
			strings.Contains(c.Reason, "never ends")) {
			c.Survive = "with the input"
		}
		cases = append(cases, frameCase{c.ID + ", " + c.Reason, wire, raw, c.Expect == "accept", "", c.Survive})
	}
	if len(cases) < 30 {
		t.Errorf("only %d cases in the corpus", len(cases))
	}
	return cases
}

// TestFrames: whatever the bytes of one connection are, it survives or ends as it must, at once or
// with the end of the input, and another subscriber of the same wire and everybody else goes on
// undisturbed (INV-26, INV-31, INV-32, INV-35, TR-002, TR-003, TR-004, P7).
func TestFrames(t *testing.T) { tryFrames(t, ownFrames(t)) }

// TestCorpusFrames is TestFrames with the hostile-input corpus.
func TestCorpusFrames(t *testing.T) { tryFrames(t, corpusFrames(t)) }

func tryFrames(t *testing.T, cases []frameCase) {
	w := listenEverywhere(t, producer.Config{MaxRequestsPerSecond: -1})
	var others []*subscriber.Subscription
	for _, wire := range wireNames {
		d, _ := w.newDialer(wire, nil)
		sub, err := subscriber.Dial(context.Background(), d,
			subscriber.Config{ID: wire, Capabilities: everything, NoReconnect: true})
		check(t, err)
		defer sub.Close()
		others = append(others, sub)
	}
	s := w.st.startSession("Working.")
	defer s.Close()
	for i, c := range cases {
		heap := heapInUse()
		if err := w.tryFrame(c); err != nil {
			t.Errorf("%s: %s: %v", c.wire, c.name, err)
		}
		if grown := int64(heapInUse()) - int64(heap); grown > 32<<20 {
			t.Errorf("%s: %s: the heap has grown by %d MiB", c.wire, c.name, grown>>20)
		}
		begin := time.Now()
		check(t, s.Progress(aaep.Text{}, aaep.Progress{Step: int64(i + 1)}, 0))
		for _, other := range others {
			mustCollect(t, other, func(ev *aaep.Event) bool {
				p, ok := ev.Payload.(*aaep.ProgressUpdated)
				return ok && p.Progress.Step == int64(i+1)
			})
		}
		if took := time.Since(begin); took > 8*time.Second { // what is not read is given up after ten
			t.Errorf("%s: %s: the others waited for %v", c.wire, c.name, took)
		}
	}
	t.Logf("%d cases", len(cases))
}

// tryFrame plays one case and returns what is not as it must be.
func (w *wires) tryFrame(c frameCase) error {
	var conn net.Conn
	var err error
	if c.wire == "ipc" {
		conn, err = net.Dial("unix", w.socket.Addr())
	} else {
		conn, err = w.openWebSocket()
	}
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	r := bufio.NewReader(conn)
	sent := make(chan struct{})
	go func() { // it may be refused while it is written
		defer close(sent)
		conn.Write(c.bytes)
	}()
	defer func() { <-sent }()
	defer conn.Close()
	lines := c.wire == "ipc" && len(c.bytes) > 0 && c.bytes[0] != 0
	good := maskedFrame(frameText, goodRequest)
	if lines {
		good = goodRequest + "\n"
	} else if c.wire == "ipc" {
		good = prefixedFrame(uint32(len(goodRequest)), goodRequest)
	}
	answer := func() error {
		for {
			msg, err := readFrame(r, c.wire, lines)
			if err != nil {
				return err
			}
			if len(msg) > 0 { // else it is a pong, or so
				_, err := decodeAccepted(msg)
				return err
			}
		}
	}
	if c.accept {
		if err := answer(); err != nil {
			return fmt.Errorf("not accepted: %w", err)
		}
		if _, err := io.WriteString(conn, c.then); err != nil {
			return err
		}
	}
	switch c.survive {
	case "yes":
		<-sent
		if c.accept { // the next message is another request, which is ignored; the connection lives
			return checkAlive(conn, r, c.wire)
		}
		if _, err := io.WriteString(conn, good); err != nil {
			return err
		}
		return answer()
	case "no", "with the input":
		if c.survive != "no" {
			<-sent
			check(w.t, conn.(interface{ CloseWrite() error }).CloseWrite())
		}
		if _, err := io.Copy(io.Discard, r); isTimeout(err) {
			return errors.New("the connection does not end")
		}
	}
	return nil
}

// checkAlive waits a moment in which a connection that is to be ended would end.
func checkAlive(conn net.Conn, r *bufio.Reader, wire string) error {
	if wire == "websocket" {
		if _, err := io.WriteString(conn, maskedFrame(framePing, "alive?")); err != nil {
			return err
		}
	}
	conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := io.Copy(io.Discard, r); !isTimeout(err) {
		return fmt.Errorf("the connection has ended: %w", err)
	}
	return nil
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// openWebSocket opens a WebSocket by hand, and asks for compression.
func (w *wires) openWebSocket() (net.Conn, error) {
	conn, err := net.Dial("tcp", w.st.addr)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"+
		"Sec-WebSocket-Protocol: %s\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n", websocket.DefaultPath,
		w.st.addr, websocket.Subprotocol)
	conn.SetDeadline(time.Now().Add(patience))
	var head []byte
	for one := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); head = append(head, one...) {
		if _, err := conn.Read(one); err != nil {
			conn.Close()
			return nil, err
		}
	}
	if resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), nil); err != nil ||
		resp.StatusCode != 101 || resp.Header.Get("Sec-WebSocket-Extensions") != "" {
		conn.Close()
		return nil, fmt.Errorf("the answer is %s: %w", head, err)
	}
	return conn, nil
}

// readFrame reads one frame from a producer; a WebSocket's control frames return nothing.
func readFrame(r *bufio.Reader, wire string, lines bool) ([]byte, error) {
	if lines {
		return r.ReadBytes('\n')
	}
	n := uint64(0)
	control := false
	if wire == "ipc" {
		var length uint32
		if err := binary.Read(r, binary.BigEndian, &length); err != nil {
			return nil, err
		}
		n = uint64(length)
	} else {
		var head [2]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return nil, err
		}
		control = head[0]&8 != 0
		if n = uint64(head[1]); n == 126 {
			var length uint16
			if err := binary.Read(r, binary.BigEndian, &length); err != nil {
				return nil, err
			}
			n = uint64(length)
		}
	}
	msg := make([]byte, n)
	_, err := io.ReadFull(r, msg)
	if control {
		msg = nil
	}
	return msg, err
}
