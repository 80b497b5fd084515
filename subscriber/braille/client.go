package braille

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// answerTimeout is how long BRLTTY may take for an answer, and the connection for what we write.
const answerTimeout = 5 * time.Second

// client is a connection to BrlAPI. Its methods are for one goroutine; close is for any.
type client struct {
	conn          net.Conn
	path          []uint32      // of the terminal
	replies       chan packet   // to what we asked
	keys          chan key      // a person's
	changes       chan struct{} // the display may have another size
	refusedWidths chan int      // a line of so many cells was not shown
	rows          map[rune][]byte
	done          chan struct{} // the connection has ended
	err           error         // why, once done is closed
}

// newClient agrees with BRLTTY on a version and authorizes us, and then reads its packets. If that
// fails it closes the connection.
func newClient(conn net.Conn, keyFile string) (*client, error) {
	conn.SetDeadline(time.Now().Add(answerTimeout))
	if err := authorize(conn, keyFile); err != nil {
		conn.Close()
		return nil, err
	}
	conn.SetDeadline(time.Time{})
	c := &client{
		conn: conn, path: terminalPath(),
		replies: make(chan packet, 1), keys: make(chan key, 64), changes: make(chan struct{}, 1),
		refusedWidths: make(chan int, 1),
		rows:          map[rune][]byte{}, done: make(chan struct{}),
	}
	go c.readPackets()
	return c, nil
}

// authorize begins a connection: it compares the version of the protocol, and proves with the key
// in keyFile that this user may use the display, if BRLTTY asks for one. The error says why BRLTTY
// does not let this program in. newClient calls it before other goroutines use conn.
func authorize(conn net.Conn, keyFile string) error {
	p, err := readExpected(conn, packetVersion)
	if err != nil {
		return err
	}
	if v := p.numberAt(0); v != protocolVersion {
		return fmt.Errorf("BRLTTY speaks version %d of BrlAPI, and this program speaks version %d", v, protocolVersion)
	}
	if _, err := conn.Write(p.encodeWire()); err != nil {
		return err
	}
	methods, err := readExpected(conn, packetAuth)
	if err != nil {
		return err
	}
	refused := errors.New("it offers no way to authorize that this program knows")
	for i := range len(methods.body) / 4 {
		switch methods.numberAt(i) {
		case 'N':
			return nil
		case 'K':
			key, err := readKeyFile(keyFile)
			if err != nil {
				refused = err
				continue
			}
			if _, err := conn.Write(packet{packetAuth, append(appendNumbers('K'), key...)}.encodeWire()); err != nil {
				return err
			}
			if _, err := readExpected(conn, packetAck); err == nil {
				return nil
			}
			refused = fmt.Errorf("it did not accept the key in %s", keyFile)
		}
	}
	return fmt.Errorf("BRLTTY does not let this program in: %w", refused)
}

// keyFile returns the file that a value of BRLAPI_AUTH names, or "": it is a path, perhaps after
// "keyfile:", perhaps among other ways to authorize, with a + between them.
func keyFile(auth string) string {
	for method := range strings.SplitSeq(auth, "+") {
		if name := strings.TrimPrefix(method, "keyfile:"); filepath.IsAbs(name) {
			return name
		}
	}
	return ""
}

// readKeyFile returns what a key file of BRLTTY holds, as much as fits a packet. A file that is
// empty or cannot be read is an error that names it.
func readKeyFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	key := make([]byte, maxPacket-8)
	n, err := f.Read(key)
	if err != nil {
		return nil, fmt.Errorf("the key file %s: %w", name, err)
	}
	return key[:n], nil
}

// readExpected reads a packet that must be of a kind. A packet of another kind, or BRLTTY's own
// error, is returned as an error that names it. authorize uses it, before the client's reading
// goroutine runs.
func readExpected(conn net.Conn, kind packetType) (packet, error) {
	p, err := readPacket(conn)
	switch {
	case err != nil:
		return packet{}, err
	case p.kind == packetError:
		return packet{}, fmt.Errorf("BRLTTY answers with error %d", p.numberAt(0))
	case p.kind != kind:
		return packet{}, fmt.Errorf("BRLTTY answers with a packet %v instead of %v", p.kind, kind)
	}
	return p, nil
}

// readPackets passes on keys, changes, refusals and answers until the connection ends, and then
// sets c.err and closes c.done. It is a goroutine of its own and never waits for a reader.
func (c *client) readPackets() {
	defer c.conn.Close() // what is being written then fails, and done says why
	defer close(c.done)
	for {
		p, err := readPacket(c.conn)
		if err != nil {
			c.err = err
			return
		}
		switch p.kind {
		case packetKey:
			if k := commands[p.numberAt(1)]; len(p.body) == 8 && k != keyNone {
				select {
				case c.keys <- k:
				default: // a person does not press that many
				}
			}
		case packetUpdate:
			// What it says is of no use: BRLTTY 6 sends the size now in one byte order, now in the
			// other.
			select {
			case c.changes <- struct{}{}:
			default:
			}
		case packetException:
			// It has a code and a kind, then the packet that was wrong: for a write its flags and
			// its region.
			if packetType(p.numberAt(1)) != packetWrite {
				c.err = fmt.Errorf("BRLTTY answers with exception %d", p.numberAt(0))
				return
			}
			select {
			case c.refusedWidths <- int(p.numberAt(4)):
			default:
			}
		default:
			select {
			case c.replies <- p:
			default:
				c.err = fmt.Errorf("BRLTTY sends a packet %v that nobody asked for", p.kind)
				return
			}
		}
	}
}

// writePacket writes a packet, or fails within answerTimeout. Where the connection had ended
// before, the error is why.
func (c *client) writePacket(p packet) error {
	c.conn.SetWriteDeadline(time.Now().Add(answerTimeout))
	_, err := c.conn.Write(p.encodeWire())
	if err != nil {
		select {
		case <-c.done:
			return c.err
		default:
		}
	}
	return err
}

// request sends a packet and waits for the answer, which must be of kind want. A refusal is an
// error that leaves the connection in use. One request is under way at a time. After answerTimeout
// without an answer it is an error, and the connection is of no more use.
func (c *client) request(p packet, want packetType) (packet, error) {
	if err := c.writePacket(p); err != nil {
		return packet{}, err
	}
	timeout := time.NewTimer(answerTimeout)
	defer timeout.Stop()
	select {
	case reply := <-c.replies:
		if reply.kind == packetError && want != packetError {
			return packet{}, refusal(reply.numberAt(0))
		}
		if reply.kind != want {
			return packet{}, fmt.Errorf("BRLTTY answers with a packet %v instead of %v", reply.kind, want)
		}
		return reply, nil
	case <-timeout.C:
		return packet{}, fmt.Errorf("BRLTTY has not answered for %v", answerTimeout)
	case <-c.done:
		return packet{}, c.err
	}
}

// refusal is a BrlAPI error code: the request had no effect, and the connection goes on.
type refusal uint32

// Error returns the number of BRLTTY's error, for a log.
func (r refusal) Error() string { return fmt.Sprintf("BRLTTY answers with error %d", uint32(r)) }

// Parameters of BrlAPI.
const (
	paramPriority = 1
	paramSize     = 6
	paramOnline   = 9
	paramRowCells = 27

	paramGlobal    = 0x001
	paramGet       = 0x100
	paramSubscribe = 0x200
)

// subscribeToChanges asks for a packet whenever the display changes. An old BRLTTY refuses; then a
// line that does not fit shows that the size has changed.
func (c *client) subscribeToChanges() error {
	for _, param := range []uint32{paramSize, paramOnline} {
		_, err := c.request(packet{packetRequest, appendNumbers(paramGlobal|paramGet|paramSubscribe, param, 0, 0)},
			packetValue)
		if err != nil && !errors.As(err, new(refusal)) {
			return err
		}
	}
	return nil
}

// maxCells is the longest line that fits a packet, and more than any display has.
const maxCells = 400

// displaySize asks how many cells the first line of the display has; 0 if there is no display.
func (c *client) displaySize() (int, error) {
	p, err := c.request(packet{kind: packetSize}, packetSize)
	if err != nil {
		return 0, err
	}
	if len(p.body) != 8 {
		return 0, fmt.Errorf("BRLTTY answers with a display size of %d bytes", len(p.body))
	}
	if p.numberAt(1) == 0 {
		return 0, nil
	}
	return int(min(p.numberAt(0), maxCells)), nil
}

// enterDisplay takes the display, and only the keys that are ours: all others go on doing what they
// do. The priority is above that of a screen reader, which is 50: a text covers what is read for a
// while, and then the display is given back. A BRLTTY that refuses the priority or the keys is no
// error; one that refuses the display is.
func (c *client) enterDisplay() error {
	path := append(appendNumbers(uint32(len(c.path))), appendNumbers(c.path...)...)
	if _, err := c.request(packet{packetEnter, append(path, 0)}, packetAck); err != nil {
		return err
	}
	keyRanges := []uint32{}
	for code := range commands {
		keyRanges = append(keyRanges, 0, code, 0xffffffff, code)
	}
	for _, p := range []packet{
		{'P'<<8 | 'V', appendNumbers(0, paramPriority, 0, 0, 60)},
		{packetIgnore, appendNumbers(0, 0, 0xffffffff, 0xffffffff)},
		{packetAccept, appendNumbers(keyRanges...)},
	} {
		if _, err := c.request(p, packetAck); err != nil && !errors.As(err, new(refusal)) {
			return err
		}
	}
	return nil
}

// leaveDisplay gives the display back.
func (c *client) leaveDisplay() error {
	_, err := c.request(packet{kind: packetLeave}, packetAck)
	return err
}

// hasCharacter reports whether the table of the display has a character. It asks BRLTTY once for
// each 256 characters; an old BRLTTY that does not say is taken to have all. The error is for a
// connection that is gone.
func (c *client) hasCharacter(r rune) (bool, error) {
	row, ok := c.rows[r>>8]
	if !ok {
		p, err := c.request(packet{packetRequest, appendNumbers(paramGlobal|paramGet, paramRowCells, 0, uint32(r>>8))},
			packetValue)
		switch {
		case errors.As(err, new(refusal)):
			row = bytes.Repeat([]byte{0xff}, 32)
		case err != nil:
			return false, err
		case len(p.body) == 16+256+32: // the request, the cells of the row, and a bit for each that is defined
			row = p.body[16+256:]
		}
		c.rows[r>>8] = row
	}
	i := int(r&0xff) / 8
	return i < len(row) && row[i]&(1<<(r&7)) != 0, nil
}

// terminalPath returns where the person is, as libbrlapi finds it: the numbers of an X session's
// terminals, else none.
func terminalPath() []uint32 {
	path := os.Getenv("WINDOWPATH")
	if path == "" && os.Getenv("DISPLAY") != "" {
		path = os.Getenv("XDG_VTNR")
	}
	var numbers []uint32
	for _, s := range strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.ParseUint(s, 10, 32); err == nil && len(numbers) < 16 {
			numbers = append(numbers, uint32(n))
		}
	}
	return numbers
}

const (
	firstPort = 4101
	// socketDir is where BRLTTY puts its sockets.
	socketDir = "/var/lib/BrlAPI"
)

// hostAddresses returns the networks and addresses to try for the value of BRLAPI_HOST, in order:
// ":N", and "" which is ":0", is a socket file and then the loopback network (the latter alone on
// Windows); "host:N" is TCP, port 4101+N.
func hostAddresses(host string) ([][2]string, error) {
	if host == "" {
		host = ":0"
	}
	name, display := host, "0"
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		name, display = host[:i], host[i+1:]
	}
	n, err := strconv.ParseUint(display, 10, 16)
	if err != nil || n > 65535-firstPort {
		return nil, fmt.Errorf("BRLTTY's host %q does not end in a number after a colon", host)
	}
	port := strconv.Itoa(firstPort + int(n))
	if name != "" {
		return [][2]string{{"tcp", net.JoinHostPort(name, port)}}, nil
	}
	local := [][2]string{{"tcp", net.JoinHostPort("127.0.0.1", port)}, {"tcp", net.JoinHostPort("::1", port)}}
	if runtime.GOOS == "windows" {
		return local, nil
	}
	return append([][2]string{{"unix", filepath.Join(socketDir, display)}}, local...), nil
}

// dialHost connects to the first address of a host that answers, each for at most answerTimeout. If
// none does, the error has that of the first, and says how to name another.
func dialHost(ctx context.Context, host string) (net.Conn, error) {
	addresses, err := hostAddresses(host)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		d := net.Dialer{Timeout: answerTimeout}
		conn, e := d.DialContext(ctx, a[0], a[1])
		if e == nil {
			return conn, nil
		}
		if err == nil {
			err = e // the first is the likely one
		}
	}
	return nil, fmt.Errorf("BRLTTY does not answer: start it, or name where it is in BRLAPI_HOST: %w", err)
}
