// Package speechtest has a speech server without sound, for tests of what is heard, when, and what
// was cut off. It speaks SSIP as Speech Dispatcher does, paced by the words of each message, with
// the same events in the same order, and with its habits that surprise: it says yes to every
// language, and goes on to speak for clients that have left. In a testing/synctest bubble an hour
// of speech passes at once.
package speechtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// How long things take, as measured with Speech Dispatcher 0.11 and eSpeak NG 1.51.
const (
	toBegin  = 3 * time.Millisecond
	toCancel = 40 * time.Millisecond
	tail     = 400 * time.Millisecond // from the last sound to the event
)

// A Server is a speech server. Its fields are set before it is used; the zero Server is ready.
// Methods may be called at any time from any goroutine.
type Server struct {
	// WordsPerMinute is how fast it speaks, whatever rate a client sets. Zero is 172.
	WordsPerMinute int
	// Voices are the languages that it has voices for. Nil is en-US and es; empty is that it cannot
	// tell.
	Voices []string
	// Module is the name of its synthesizer. "" is espeak-ng.
	Module string
	// Answer, if not nil, is asked before each command is obeyed. If ok is true the server does
	// nothing but send the reply as it is, without a line end of its own: "" is to ignore the
	// command.
	Answer func(command string) (reply string, ok bool)

	mu       sync.Mutex
	clients  []*client // those that are there, oldest first
	seen     int       // how many there were ever
	messages []*message
	queue    []*message
	now      *message
	stalled  bool
	running  sync.WaitGroup
}

// A Message is what a client asked to be said.
type Message struct {
	ID, Client int
	Text       string
	Set        map[string]string // the client's settings at that time, such as LANGUAGE, PRIORITY and RATE
	Asked      time.Time
	Begun      time.Time // zero if it is not
	Over       time.Time // when it ended or was cut off; zero if it is not
	Heard      bool      // to its end
}

type message struct {
	Message
	owner *client
	timer *time.Timer
	step  int // changes when timer is replaced, so that one which is late does nothing
}

type client struct {
	id   int
	conn net.Conn
	set  map[string]string
	out  chan struct{} // something to send
	buf  []byte
	done chan struct{}
}

// Dial opens a connection in memory. It fits speech.Options.
func (s *Server) Dial(context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	s.serveClient(ours)
	return theirs, nil
}

// serveClient adds a client, and serves it by two goroutines that end with its connection.
func (s *Server) serveClient(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	c := &client{id: s.seen, conn: conn, out: make(chan struct{}, 1), done: make(chan struct{}),
		set: map[string]string{"LANGUAGE": "en-US", "PRIORITY": "text", "RATE": "0"}}
	s.clients = append(s.clients, c)
	s.running.Go(func() { s.readCommands(c) })
	s.running.Go(func() { s.writeQueued(c) })
}

// Serve serves those who connect to a listener until that is closed, which is nil; any other error
// of Accept is returned.
func (s *Server) Serve(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		s.serveClient(conn)
	}
}

// Messages returns all that was to be said, in the order in which it was asked for.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Message, len(s.messages))
	for i, m := range s.messages {
		all[i] = m.Message
	}
	return all
}

// Heard returns the texts that were said to their end, in this order.
func (s *Server) Heard() []string {
	var texts []string
	all := slices.DeleteFunc(s.Messages(), func(m Message) bool { return !m.Heard })
	slices.SortStableFunc(all, func(a, b Message) int { return a.Over.Compare(b.Over) })
	for _, m := range all {
		texts = append(texts, m.Text)
	}
	return texts
}

// Silence is the key that silences everything: what is being said and what waits, of all clients.
func (s *Server) Silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancelMessages(func(*message) bool { return true })
}

// Send sends lines to all clients as they are, whether or not SSIP has them. Each needs its own
// line end.
func (s *Server) Send(raw string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		s.sendLines(c, raw)
	}
}

// Stall lets the server answer nothing from now on, nor tell of anything. Connections stay open.
func (s *Server) Stall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = true
}

// Close ends all connections as a server does that dies, and returns when its goroutines have
// ended.
func (s *Server) Close() {
	s.mu.Lock()
	for _, c := range s.clients {
		c.conn.Close()
	}
	s.queue = nil
	if s.now != nil {
		s.now.timer.Stop()
		s.now.step++
		s.now = nil
	}
	s.mu.Unlock()
	s.running.Wait()
}

// readCommands obeys a client until it leaves. What it asked for is still said then, as the real
// server does. It is a goroutine of its own for each client.
func (s *Server) readCommands(c *client) {
	defer func() {
		c.conn.Close()
		close(c.done)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clients = slices.DeleteFunc(s.clients, func(other *client) bool { return other == c })
	}()
	r := bufio.NewReader(c.conn)
	named, receiving := false, false
	var text []string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		s.mu.Lock()
		switch {
		case receiving && line != ".":
			text = append(text, strings.TrimPrefix(line, "."))
		case s.answerInstead(c, line):
			receiving, text = false, nil
		case receiving:
			s.queueText(c, strings.Join(text, "\n"))
			receiving, text = false, nil
		case r.Buffered() > 0:
			s.sendLines(c, "500 ERR ONE COMMAND AT A TIME\r\n") // the real one is not so strict
		case named == strings.HasPrefix(line, "SET SELF CLIENT_NAME "):
			s.sendLines(c, "403 ERR CLIENT NAME COMES FIRST, AND ONCE\r\n") // nor here, for what comes first
		case line == "SPEAK":
			receiving = true
			s.sendLines(c, "230 OK RECEIVING DATA\r\n")
		default:
			named = true
			s.sendLines(c, s.obeyCommand(c, line))
		}
		s.mu.Unlock()
	}
}

// answerInstead sends the client what Server.Answer says to a line, and reports whether it said
// anything; without Server.Answer it returns false. It is called with s.mu held, as all below.
func (s *Server) answerInstead(c *client, line string) bool {
	if s.Answer == nil {
		return false
	}
	reply, ok := s.Answer(line)
	if ok {
		s.sendLines(c, reply)
	}
	return ok
}

// obeyCommand obeys a command of a client, and returns the answer; an unknown one gets an error of
// SSIP. The caller holds s.mu.
func (s *Server) obeyCommand(c *client, line string) string {
	if rest, ok := strings.CutPrefix(line, "SET SELF "); ok {
		name, value, ok := strings.Cut(rest, " ")
		if !ok {
			return "510 ERR MISSING PARAMETER\r\n"
		}
		c.set[name] = value
		return "201 OK " + name + " SET\r\n"
	}
	switch line {
	case "CANCEL SELF":
		s.cancelMessages(func(m *message) bool { return m.owner == c })
		return "213 OK CANCELED\r\n"
	case "HISTORY GET CLIENT_ID":
		return fmt.Sprintf("245-%d\r\n245 OK CLIENT ID SENT\r\n", c.id)
	case "GET LANGUAGE":
		return "251-" + c.set["LANGUAGE"] + "\r\n251 OK GET RETURNED\r\n"
	case "GET OUTPUT_MODULE":
		module := s.Module
		if module == "" {
			module = "espeak-ng"
		}
		return "251-" + module + "\r\n251 OK GET RETURNED\r\n"
	case "LIST SYNTHESIS_VOICES":
		voices := s.Voices
		if voices == nil {
			voices = []string{"en-US", "es"}
		}
		if len(voices) == 0 {
			return "304 ERR CANT LIST VOICES\r\n"
		}
		var b strings.Builder
		for _, v := range voices {
			fmt.Fprintf(&b, "249-Voice of %s\t%[1]s\tnone\r\n249-Voice of %[1]s+Max\t%[1]s\tMax\r\n", v)
		}
		return b.String() + "249 OK VOICE LIST SENT\r\n"
	}
	return "500 ERR INVALID COMMAND\r\n"
}

// queueText queues a text of a client, and begins with it if nothing is said. Of the priorities it
// knows "important", which cuts off others; the rest wait. The caller holds s.mu.
func (s *Server) queueText(c *client, text string) {
	if strings.TrimSpace(text) == "" {
		s.sendLines(c, "227 OK MESSAGE CANCELED\r\n")
		return
	}
	m := &message{owner: c}
	m.Message = Message{ID: len(s.messages) + 1, Client: c.id, Text: text, Set: maps.Clone(c.set), Asked: time.Now()}
	s.messages = append(s.messages, m)
	s.sendLines(c, fmt.Sprintf("225-%d\r\n225 OK MESSAGE QUEUED\r\n", m.ID))
	isImportant := func(m *message) bool { return m.Set["PRIORITY"] == "important" }
	index := len(s.queue)
	if isImportant(m) {
		for index > 0 && !isImportant(s.queue[index-1]) {
			index--
		}
		if s.now != nil && !isImportant(s.now) {
			s.silenceMessage(s.now)
		}
	}
	s.queue = slices.Insert(s.queue, index, m)
	s.startNext()
}

// startNext begins with the first message that waits, if nothing is being said. It ends after as
// long as its words take. The caller holds s.mu.
func (s *Server) startNext() {
	if s.now != nil || len(s.queue) == 0 {
		return
	}
	m := s.queue[0]
	s.queue = s.queue[1:]
	s.now = m
	wpm := s.WordsPerMinute
	if wpm == 0 {
		wpm = 172
	}
	lasts := time.Duration(len(strings.Fields(m.Text))) * time.Minute / time.Duration(wpm)
	s.runLater(m, toBegin, func() {
		m.Begun = time.Now()
		s.sendEvent(m, "701", "BEGIN")
		s.runLater(m, lasts+tail, func() {
			m.Heard = true
			s.endMessage(m, "702", "END")
		})
	})
}

// runLater calls f for m after d, with s.mu held, unless another runLater for m comes first.
func (s *Server) runLater(m *message, d time.Duration, f func()) {
	m.step++
	step := m.step
	m.timer = time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if m.step == step {
			f()
		}
	})
}

// silenceMessage silences the message that is being said, which takes a moment.
func (s *Server) silenceMessage(m *message) {
	m.timer.Stop()
	s.runLater(m, toCancel, func() { s.endMessage(m, "703", "CANCELED") })
}

// endMessage ends the message that is being said, with an event, and starts the next.
func (s *Server) endMessage(m *message, code, name string) {
	m.Over = time.Now()
	s.sendEvent(m, code, name)
	s.now = nil
	s.startNext()
}

// cancelMessages silences and drops the messages that which chooses. The caller holds s.mu.
func (s *Server) cancelMessages(which func(*message) bool) {
	if s.now != nil && which(s.now) {
		s.silenceMessage(s.now)
	}
	s.queue = slices.DeleteFunc(s.queue, func(m *message) bool {
		if which(m) {
			m.Over = time.Now()
			s.sendEvent(m, "703", "CANCELED")
			return true
		}
		return false
	})
}

// sendEvent sends an event to the client whose message it is about. If that has left, the newest
// one gets it, as from the real server, where that has the same file descriptor.
func (s *Server) sendEvent(m *message, code, name string) {
	if m.owner.set["NOTIFICATION"] != "ALL on" {
		return
	}
	to := m.owner
	if !slices.Contains(s.clients, to) {
		if len(s.clients) == 0 {
			return
		}
		to = s.clients[len(s.clients)-1]
	}
	s.sendLines(to, fmt.Sprintf("%[1]s-%[2]d\r\n%[1]s-%[3]d\r\n%[1]s %[4]s\r\n", code, m.ID, m.Client, name))
}

// sendLines queues lines for a client, whose own goroutine sends them; where the server is stalled
// they are dropped.
func (s *Server) sendLines(c *client, raw string) {
	if s.stalled {
		return
	}
	c.buf = append(c.buf, raw...)
	select {
	case c.out <- struct{}{}:
	default:
	}
}

// writeQueued writes what is queued for a client, on a goroutine of its own, so that nothing waits
// for a client that does not read.
func (s *Server) writeQueued(c *client) {
	for {
		select {
		case <-c.out:
		case <-c.done:
			return
		}
		s.mu.Lock()
		buf := c.buf
		c.buf = nil
		s.mu.Unlock()
		if _, err := c.conn.Write(buf); err != nil {
			c.conn.Close()
			return
		}
	}
}
