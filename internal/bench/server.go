package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/producer"
	"github.com/aaep-go/aaep/producer/log/sqlite"
	"github.com/aaep-go/aaep/producer/serve"
	"github.com/aaep-go/aaep/transports/ipc"
	wire "github.com/aaep-go/aaep/transports/websocket"
)

// A target is a server that is measured. Its methods are called one after the other.
type target interface {
	emitEvents(count int) error // sends so many to all listeners
	countListeners() int        // how many listeners there are
	emitCritical() error        // sends one that is critical
}

// The servers that can be measured here: ours; a plain handler with a channel and a goroutine for
// each listener, which writes frames that are encoded already; and one loop over the sockets, which
// writes what belongs together in one call.
const (
	ours  = "aaep"
	plain = "plain"
	raw   = "raw"
	kept  = "kept" // is ours with a log in a file
	many  = "many" // is ours for many agents, each at an address of its own
)

// Serve is the process that is measured: it serves a kind of server over a wire to so many
// listeners, says where, and then does what it is told, one line for one line, until there is no
// more. Where profile is not empty, it writes what took its processor time to that file.
func Serve(kind, wireName, listeners, profile string, in io.Reader, out io.Writer) error {
	n, err := strconv.Atoi(listeners)
	if err != nil {
		return err
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	if kind == crowd || kind == returning {
		return serveListeners(wireName, n, in, out)
	}
	dir, err := os.MkdirTemp("", "aaep")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t, addr, err := startServer(kind, wireName, dir, n)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, addr)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		answer, err := performCommand(t, lines.Text())
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return err
		}
	}
	return nil
}

// performCommand does what one line of the measuring process says: a word, and numbers that count
// as zero where they are missing. It returns the figure that was asked for, or zero.
func performCommand(t target, line string) (answer int64, err error) {
	words := append(strings.Fields(line), "0", "0", "0")
	number := func(i int) int { n, _ := strconv.Atoi(words[i]); return n }
	switch words[0] {
	case "emit":
		return 0, t.emitEvents(number(1))
	case "alarm":
		return 0, t.emitCritical()
	case "stream":
		return 0, t.(agentGroup).streamTokens(number(1), time.Duration(number(2))*time.Millisecond)
	case "here":
		return int64(t.countListeners()), nil
	case "held":
		return int64(t.(agentGroup).countHeld()), nil
	case "cpu":
		return cpuTime(), nil
	case "goroutines":
		return int64(runtime.NumGoroutine()), nil
	case "heap":
		return heapInUse(), nil
	case "rest":
		return memoryAtRest(), nil
	}
	return 0, nil
}

// heapInUse returns the bytes of the heap that are in use, without garbage. The second collection
// frees what pools kept over the first.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// memoryAtRest returns the bytes of memory that the process has when nothing happens, as the system
// counts them, or as the runtime does if the system does not say.
func memoryAtRest() int64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if resident := residentBytes("self"); resident != 0 {
		return resident
	}
	return int64(m.HeapAlloc + m.StackInuse)
}

// startServer starts a target of a kind in this process, and returns its address; dir is a folder
// for its socket and log.
func startServer(kind, wireName, dir string, listeners int) (target, string, error) {
	if kind == many {
		return startMany(wireName, dir, listeners)
	}
	network, addr := "tcp", "127.0.0.1:0"
	if wireName == Unix {
		network, addr = "unix", filepath.Join(dir, "s")
	}
	logFolder := ""
	if kind == kept {
		kind, logFolder = ours, filepath.Join(dir, "log")
	}
	if kind == ours && wireName == Unix {
		return startOurs(nil, addr, logFolder, listeners)
	}
	ln, err := net.Listen(network, addr)
	if err != nil {
		return nil, "", err
	}
	switch kind {
	case ours:
		return startOurs(ln, "", logFolder, listeners)
	case plain:
		return startPlain(ln, wireName), ln.Addr().String(), nil
	case raw:
		return startRaw(ln, wireName), ln.Addr().String(), nil
	}
	return nil, "", fmt.Errorf("%q is no server", kind)
}

// otherLanguages are those in which our server says everything, beside English, so that listeners
// may want it in many shapes.
var otherLanguages = []string{"es", "de", "fr", "it", "pt", "nl", "sv"}

type ourServer struct {
	*producer.Producer
	s         *producer.Session
	languages []string // besides English
	step      int64
}

// startOurs starts a producer of this module with a session, on ln or, if that is nil, at a socket,
// with a log if logFolder is not empty. It returns its address.
func startOurs(ln net.Listener, socket, logFolder string, listeners int) (target, string, error) {
	cfg := producer.Config{Agent: aaep.Agent{AgentID: "bench", AgentName: "Bench"}, Languages: otherLanguages,
		MaxSubscriptions: 2*listeners + 16, MaxRequestsPerSecond: -1}
	if logFolder != "" {
		store, err := sqlite.Open(logFolder, sqlite.Options{})
		if err != nil {
			return nil, "", err
		}
		cfg.Log, cfg.Languages = store, nil // whose room is for the history
	}
	p, err := producer.New(cfg)
	if err != nil {
		return nil, "", err
	}
	addr := ""
	if ln != nil {
		addr = ln.Addr().String()
		go serve.Serve(context.Background(), ln, p)
	} else {
		l, err := ipc.Listen(socket, nil)
		if err != nil {
			return nil, "", err
		}
		addr = l.Addr()
		go p.Serve(context.Background(), l)
	}
	s, err := p.StartSession(context.Background(), aaep.Say("Measuring."))
	return &ourServer{Producer: p, s: s, languages: cfg.Languages}, addr, err
}

// emitEvents has the agent emit so many events of progress, whose words are the time at which each
// was emitted, in all its languages: a listener measures the delay by that.
func (p *ourServer) emitEvents(count int) error {
	for range count {
		p.step++
		normal := stampText()
		text := aaep.Text{Normal: normal, Terse: normal, Detailed: normal}
		for _, tag := range p.languages {
			text = text.In(tag, text)
		}
		if err := p.s.Progress(text, aaep.Progress{Step: p.step}, 0); err != nil {
			return err
		}
	}
	return nil
}

// emitCritical emits an event that passes every rate, with the time in it.
func (p *ourServer) emitCritical() error {
	return p.s.Handoff(aaep.Say(stampText()), aaep.HandoffRequested{})
}

func (p *ourServer) countListeners() int { return p.Stats().Connected }

// stampText says when it is, for a listener to find.
func stampText() string { return "Event " + strconv.FormatInt(time.Now().UnixNano(), 10) + "." }

// encodeFrame returns an event of a real event's length, with the time in it, in the framing of a
// wire.
func encodeFrame(wireName string) []byte {
	msg := fmt.Sprintf(`{"pad":"%0420d","summary_normal":%q}`, 0, stampText())
	switch wireName {
	case SSE:
		return []byte("event: aaep.event\nid: evt_0123456789abcdef0123456789abcdef\ndata: " + msg + "\n\n")
	case WebSocket: // one text frame, RFC 6455
		return append(binary.BigEndian.AppendUint16([]byte{0x81, 126}, uint16(len(msg))), msg...)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(msg))), msg...)
}

// A frameServer is what the servers lack that know only frames.
type frameServer struct{}

func (frameServer) emitCritical() error { return nil }

type plainServer struct {
	frameServer
	wire    string
	mu      sync.Mutex
	streams []chan []byte
}

// addStream returns the channel, with room for 64 frames, of a new listener. It takes p.mu.
func (p *plainServer) addStream() chan []byte {
	frames := make(chan []byte, 64)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streams = append(p.streams, frames)
	return frames
}

func (p *plainServer) countListeners() int { p.mu.Lock(); defer p.mu.Unlock(); return len(p.streams) }

// emitEvents hands so many frames, each with its time, to the goroutine of every listener.
func (p *plainServer) emitEvents(count int) error {
	for range count {
		f := encodeFrame(p.wire)
		for _, s := range p.streams {
			s <- f
		}
	}
	return nil
}

// startPlain starts a server of net/http, or of a socket, that writes frames to a goroutine for
// each listener, as a plain handler would.
func startPlain(ln net.Listener, wireName string) target {
	p := &plainServer{wire: wireName}
	handOut(ln, wireName, func(w http.ResponseWriter, r *http.Request) {
		flush := http.NewResponseController(w)
		flush.Flush()
		frames := p.addStream()
		for {
			select {
			case f := <-frames:
				w.Write(f)
				flush.Flush()
			case <-r.Context().Done():
				return
			}
		}
	}, func(conn net.Conn) {
		for f := range p.addStream() {
			if _, err := conn.Write(f); err != nil {
				return
			}
		}
	})
	return p
}

type rawServer struct {
	frameServer
	wire  string
	mu    sync.Mutex
	conns []net.Conn
}

// addConn adds a connection and never returns.
func (r *rawServer) addConn(conn net.Conn) {
	r.mu.Lock()
	r.conns = append(r.conns, conn)
	r.mu.Unlock()
	select {}
}

func (r *rawServer) countListeners() int { r.mu.Lock(); defer r.mu.Unlock(); return len(r.conns) }

// emitEvents writes so many frames, each with its time, to every connection, one after the other.
func (r *rawServer) emitEvents(count int) error {
	var all []byte
	for range count {
		all = append(all, encodeFrame(r.wire)...)
	}
	for _, c := range r.conns {
		if _, err := c.Write(all); err != nil {
			return err
		}
	}
	return nil
}

// startRaw starts a server that writes frames to connections, one after the other, without a
// goroutine for each.
func startRaw(ln net.Listener, wireName string) target {
	r := &rawServer{wire: wireName}
	handOut(ln, wireName, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"); err == nil {
			r.addConn(conn)
		}
	}, r.addConn)
	return r
}

// handOut accepts listeners from ln on a goroutine, and gives each to stream, over HTTP, or to
// link, once it speaks WebSocket or over a socket.
func handOut(ln net.Listener, wireName string, stream http.HandlerFunc, link func(net.Conn)) {
	if wireName == Unix {
		go func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				go link(conn)
			}
		}()
		return
	}
	if wireName == WebSocket {
		up := websocket.Upgrader{Subprotocols: []string{wire.Subprotocol}}
		stream = func(w http.ResponseWriter, r *http.Request) {
			if ws, err := up.Upgrade(w, r, nil); err == nil {
				link(ws.NetConn())
			}
		}
	}
	go http.Serve(ln, stream)
}
