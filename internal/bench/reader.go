package bench

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aaep-go/aaep/transports/websocket"
)

// The wires that are measured.
const (
	SSE       = "sse"
	WebSocket = "websocket"
	Unix      = "unix"
)

// What listeners ask for.
const (
	alike     = "alike"
	shapes    = "shapes"    // one of 16 languages and verbosities each
	critical  = "critical"  // nothing else
	throttled = "throttled" // three a second, in sentences
)

// request is what the nth listener asks for.
func request(asks string, n int) string {
	want := `"coalesce_boundaries":["none"]`
	switch asks {
	case shapes:
		want = fmt.Sprintf(`"languages":[%q],"preferred_verbosity":%q`, append(languages, "en-US")[n%8], []string{"normal", "terse"}[n/8%2])
	case critical:
		want = `"event_filters":{"exclude":["*"]}`
	case throttled:
		want = `"max_events_per_second":3,"coalesce_boundaries":["sentence"]`
	}
	return `{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"bench","capabilities":{` + want + `}}`
}

// listen connects, subscribes where there is a handshake, and calls found with the delay of each event until the link ends.
func listen(wireName, kind, addr, ask string, found func(time.Duration)) (net.Conn, error) {
	network := "tcp"
	if wireName == Unix {
		network = "unix"
	}
	path := "/"
	if wireName == SSE && kind == ours {
		resp, err := http.Post("http://"+addr+"/aaep/v1/subscriptions", "application/json", strings.NewReader(ask))
		if err != nil {
			return nil, err
		}
		resp.Body.Close()
		if path = resp.Header.Get("Location"); path == "" {
			return nil, fmt.Errorf("the subscription is %s", resp.Status)
		}
	}
	conn, err := net.Dial(network, addr)
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(conn)
	until := func(end string) error {
		for line := ""; !strings.HasSuffix(line, end); {
			c, err := r.ReadByte()
			if err != nil {
				return err
			}
			line = line[max(len(line)-len(end), 0):] + string(rune(c))
		}
		return nil
	}
	handshake := kind == ours && wireName != SSE
	switch wireName {
	case SSE:
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, addr)
		err = until("\r\n\r\n")
	case WebSocket:
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"+
			"Sec-WebSocket-Protocol: %s\r\n\r\n", websocket.DefaultPath, addr, websocket.Subprotocol)
		err = until("\r\n\r\n")
		// One text frame, with a mask of zeros (RFC 6455).
		ask = string(append(binary.BigEndian.AppendUint16([]byte{0x81, 0x80 | 126}, uint16(len(ask))), 0, 0, 0, 0)) + ask
	case Unix:
		ask = string(binary.BigEndian.AppendUint32(nil, uint32(len(ask)))) + ask
	}
	if err == nil && handshake {
		if _, err = io.WriteString(conn, ask); err == nil {
			err = until("subscription.accepted")
		}
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	rest, _ := r.Peek(r.Buffered())
	go scan(conn, rest, found)
	return conn, nil
}

var sentAt = []byte(`Event `) // and unix nanoseconds, and a full stop

// scan finds the moment in each event at which it was sent.
func scan(conn io.Reader, rest []byte, found func(time.Duration)) {
	const most = 64 // bytes from the beginning of sentAt to the end of its number
	buf := append(make([]byte, 0, 8<<10), rest...)
	for {
		for {
			i := bytes.Index(buf, sentAt)
			if i < 0 {
				buf = append(buf[:0], buf[max(len(buf)-len(sentAt), 0):]...)
				break
			}
			digits, _, whole := bytes.Cut(buf[i+len(sentAt):], []byte("."))
			if !whole {
				buf = append(buf[:0], buf[i:]...)
				break
			}
			if sent, err := strconv.ParseInt(string(digits), 10, 64); err == nil && len(digits) > 18 {
				found(time.Duration(time.Now().UnixNano() - sent))
			}
			buf = buf[i+len(sentAt):]
		}
		if cap(buf)-len(buf) < most {
			buf = append(make([]byte, 0, 8<<10), buf...)
		}
		n, err := conn.Read(buf[len(buf):cap(buf)])
		if err != nil {
			return
		}
		buf = buf[:len(buf)+n]
	}
}
