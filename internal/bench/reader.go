package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	gorilla "github.com/gorilla/websocket"

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

// requestOf returns the subscription request of the nth listener, whose terms are of the kind
// terms.
func requestOf(terms string, n int) string {
	want := `"coalesce_boundaries":["none"]`
	switch terms {
	case shapes:
		want = fmt.Sprintf(`"languages":[%q],"preferred_verbosity":%q`, append(otherLanguages, "en-US")[n%8],
			[]string{"normal", "terse"}[n/8%2])
	case critical:
		want = `"event_filters":{"exclude":["*"]}`
	case throttled:
		want = `"max_events_per_second":3,"coalesce_boundaries":["sentence"]`
	}
	return `{"type":"subscription.request","aaep_version":"1.0.0","subscriber_id":"bench","capabilities":{` +
		want + `}}`
}

// A link is a listener's connection, on which nothing but messages is left to be read.
type link struct {
	close func() error
	// next returns the next message. The bytes are valid until the next call.
	next func() ([]byte, error)
}

var errNotAccepted = errors.New("the request was not accepted")

// dialListener connects to a server of a kind over a wire, and subscribes with the request ask
// where the server has a handshake. A request that is not accepted is errNotAccepted.
func dialListener(wireName, kind, addr, ask string) (*link, error) {
	handshake := kind != plain && kind != raw
	var l *link
	var err error
	switch wireName {
	case SSE:
		return listenSSE(addr, ask, handshake) // whose handshake is a request of its own
	case WebSocket:
		l, err = listenWebSocket(addr, ask, handshake)
	default:
		l, err = listenUnix(addr, ask, handshake)
	}
	if err != nil || !handshake {
		return l, err
	}
	answer, err := l.next()
	if err == nil && !bytes.Contains(answer, []byte(`"subscription.accepted"`)) {
		err = fmt.Errorf("%w: %.300s", errNotAccepted, answer)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// listenSSE connects over Server-Sent Events, with a subscription of the request ask if handshake
// is set. The link reads the data of one event at a time.
func listenSSE(addr, ask string, handshake bool) (*link, error) {
	path := "/"
	if handshake {
		resp, err := http.Post("http://"+addr+"/aaep/v1/subscriptions", "application/json", strings.NewReader(ask))
		if err != nil {
			return nil, err
		}
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		resp.Body.Close()
		if path = resp.Header.Get("Location"); path == "" {
			return nil, fmt.Errorf("%w: %s: %s", errNotAccepted, resp.Status, answer)
		}
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n", path, addr)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the stream is %s", resp.Status)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	lines := bufio.NewReader(resp.Body)
	var whole []byte
	return &link{conn.Close, func() ([]byte, error) {
		for {
			line, err := lines.ReadSlice('\n')
			if err == bufio.ErrBufferFull { // a line that is longer than the buffer is gathered
				for whole = append(whole[:0], line...); err == bufio.ErrBufferFull; whole = append(whole, line...) {
					line, err = lines.ReadSlice('\n')
				}
				line = whole
			}
			if data, isData := bytes.CutPrefix(line, []byte("data:")); isData || err != nil {
				return data, err
			}
		}
	}}, nil
}

// listenWebSocket connects over WebSocket, and sends the request ask if handshake is set. The
// library answers pings.
func listenWebSocket(addr, ask string, handshake bool) (*link, error) {
	dialer := gorilla.Dialer{Subprotocols: []string{websocket.Subprotocol}, ReadBufferSize: 4 << 10,
		WriteBufferSize: 512}
	conn, _, err := dialer.DialContext(context.Background(), "ws://"+addr+websocket.DefaultPath, nil)
	if err != nil {
		return nil, err
	}
	if handshake {
		if err := conn.WriteMessage(gorilla.TextMessage, []byte(ask)); err != nil {
			conn.Close()
			return nil, err
		}
	}
	var message bytes.Buffer
	return &link{conn.Close, func() ([]byte, error) {
		_, r, err := conn.NextReader()
		if err != nil {
			return nil, err
		}
		message.Reset()
		_, err = message.ReadFrom(r)
		return message.Bytes(), err
	}}, nil
}

// listenUnix connects over the Unix socket at addr, and sends the request ask if handshake is set.
// The link reads one message at a time, which is valid until the next.
func listenUnix(addr, ask string, handshake bool) (*link, error) {
	conn, err := net.Dial("unix", addr)
	if err != nil {
		return nil, err
	}
	if handshake {
		if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(ask))), ask...)); err != nil {
			conn.Close()
			return nil, err
		}
	}
	r := bufio.NewReader(conn)
	var length [4]byte
	var message []byte
	return &link{conn.Close, func() ([]byte, error) {
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return nil, err
		}
		n := int(binary.BigEndian.Uint32(length[:]))
		if n > cap(message) {
			message = make([]byte, n)
		}
		_, err := io.ReadFull(r, message[:n])
		return message[:n], err
	}}, nil
}

// readEvents calls found with the delay of each event that has a stamp, once whatever is said in it
// several times, until the link ends. It returns why that was.
func (l *link) readEvents(found func(time.Duration)) error {
	for {
		msg, err := l.next()
		if err != nil {
			return err
		}
		if sent, ok := sentAt(msg); ok {
			found(time.Since(sent))
		}
	}
}

var stampPrefix = []byte("Event ") // before Unix nanoseconds and a full stop

// sentAt returns the time that stamp wrote into a message, or false where there is none.
func sentAt(msg []byte) (sent time.Time, ok bool) {
	for {
		_, rest, found := bytes.Cut(msg, stampPrefix)
		if !found {
			return time.Time{}, false
		}
		digits, _, _ := bytes.Cut(rest, []byte("."))
		if ns, err := strconv.ParseInt(string(digits), 10, 64); err == nil && len(digits) > 18 {
			return time.Unix(0, ns), true
		}
		msg = rest
	}
}
