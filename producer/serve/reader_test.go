package serve_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aaep-go/aaep/transports/websocket"
)

// readers is the process of listeners that BenchmarkWire measures with. It says when all are there, when each has so many
// more events, and at the end how long they took.
func readers(wire, server, addr, listeners, burst, asks string) {
	n, err := strconv.Atoi(listeners)
	die(err)
	each, err := strconv.Atoi(burst)
	die(err)
	var received atomic.Int64
	delays := make([][]int64, n)
	complete := make(chan bool, 1)
	for i := range n {
		conn, rest, err := openReader(wire, server, addr, asking(asks, i))
		die(err)
		go scan(conn, rest, func(sent int64) {
			if len(delays[i]) < 1<<16 {
				delays[i] = append(delays[i], time.Now().UnixNano()-sent)
			}
			if received.Add(1)%int64(n*each) == 0 {
				complete <- true
			}
		})
	}
	fmt.Println("ready")
	over := make(chan bool)
	go func() { io.Copy(io.Discard, os.Stdin); close(over) }()
	for {
		select {
		case <-complete:
			fmt.Println("complete")
		case <-over:
			all := slices.Concat(delays...)
			slices.Sort(all)
			fmt.Printf("p50-µs=%d p99-µs=%d\n", all[len(all)/2]/1000, all[len(all)*99/100]/1000)
			os.Exit(0)
		}
	}
}

// asking is what the nth listener asks for.
func asking(asks string, n int) string {
	want := ""
	switch asks {
	case shapes:
		tags := append(languages, "en-US")
		want = fmt.Sprintf(`"languages":[%q],"preferred_verbosity":%q`, tags[n%8], []string{"normal", "terse"}[n/8%2])
	case critical:
		want = `"event_filters":{"exclude":["*"]}`
	}
	return strings.Replace(goodRequest, "{}", "{"+want+"}", 1)
}

var sentAt = []byte(`Event `) // and unix nanoseconds, and a full stop

// scan finds the moment in each event at which it was sent.
func scan(conn io.Reader, rest []byte, found func(sent int64)) {
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
				found(sent)
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

// openReader connects and subscribes, and returns what came after that.
func openReader(wire, server, addr, ask string) (net.Conn, []byte, error) {
	network := "tcp"
	if wire == "ipc" {
		network = "unix"
	}
	path := "/"
	if strings.HasPrefix(server, "/") {
		path = server
	}
	if wire == "sse" && server == "aaep" {
		resp, err := http.Post("http://"+addr+"/aaep/v1/subscriptions", "application/json", strings.NewReader(ask))
		if err != nil {
			return nil, nil, err
		}
		resp.Body.Close()
		path = resp.Header.Get("Location")
	}
	conn, err := net.Dial(network, addr)
	if err != nil {
		return nil, nil, err
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
	switch wire {
	case "sse":
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, addr)
		err = until("\r\n\r\n")
		server = "" // there is no more to ask
	case "websocket":
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"+
			"Sec-WebSocket-Protocol: %s\r\n\r\n", websocket.DefaultPath, addr, websocket.Subprotocol)
		err = until("\r\n\r\n")
		ask = masked(frameText, ask)
	case "ipc":
		ask = prefixed(uint32(len(ask)), ask)
	}
	if err == nil && server == "aaep" {
		if _, err = io.WriteString(conn, ask); err == nil {
			err = until("subscription.accepted")
		}
	}
	rest, _ := r.Peek(r.Buffered())
	return conn, rest, err
}
