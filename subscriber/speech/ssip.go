package speech

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"
)

// Bounds on what a server may send, and on how long it may take.
const (
	maxLine    = 4 << 10
	maxReply   = 8 << 20 // 130 languages of eSpeak NG, each in a hundred variants, are half a mebibyte
	replyLimit = 5 * time.Second
	hushLimit  = 250 * time.Millisecond // six times what silencing takes
)

// SSIP's codes that matter here. All of 2xx is good news; events are 7xx.
const (
	codeQueued   = 225
	codeNothing  = 227 // the text was empty
	codeGoOn     = 230
	codeBegun    = 701
	codeEnded    = 702
	codeCanceled = 703
	codePaused   = 704
	codeResumed  = 705
)

// A reply is one answer or one event: its lines without their codes, and the words of the last one.
type reply struct {
	code int
	data []string
	text string
}

// isEvent reports whether it is an event, which no command has asked for.
func (r reply) isEvent() bool { return r.code/100 == 7 }

// isAbout reports whether an event is about a message of a client. Without a client of its own a
// message id says little: events of a client that has left are sent to others (they carry message
// and client in this order).
func (r reply) isAbout(client, message string) bool {
	return len(r.data) >= 2 && r.data[0] == message && r.data[1] == client
}

// A parser puts lines together to replies.
type parser struct {
	now  reply // as far as its lines have come
	size int   // the bytes of those lines
}

// feedLine takes a line without its end. It returns the reply and true with the line that completes
// a reply. The error is for a line that is no reply, one within a reply of another code, and a
// reply of more than maxReply bytes.
func (p *parser) feedLine(line string) (reply, bool, error) {
	code, ok := 0, len(line) >= 4 && line[0] >= '1' && line[0] <= '9' && (line[3] == ' ' || line[3] == '-')
	for i := 0; ok && i < 3; i++ {
		ok = line[i] >= '0' && line[i] <= '9'
		code = 10*code + int(line[i]-'0')
	}
	if !ok {
		return reply{}, false, fmt.Errorf("the server sent %.60q, which is no reply", line)
	}
	if p.now.code != 0 && code != p.now.code {
		return reply{}, false, fmt.Errorf("the server sent %.60q inside a reply of %d", line, p.now.code)
	}
	if p.size += len(line) + 2; p.size > maxReply {
		return reply{}, false, fmt.Errorf("the server sent a reply of more than %d bytes", maxReply)
	}
	p.now.code = code
	if line[3] == '-' {
		p.now.data = append(p.now.data, line[4:])
		return reply{}, false, nil
	}
	complete := p.now
	complete.text = line[4:]
	*p = parser{}
	return complete, true, nil
}

// A link is a connection to the server, for one goroutine at a time. One command is outstanding at
// a time.
type link struct {
	conn net.Conn
	r    *bufio.Reader
	line []byte // what came of a line before a deadline
	parser
	events []reply // those that came while an answer was awaited
}

// newLink makes the link of a connection.
func newLink(conn net.Conn) *link { return &link{conn: conn, r: bufio.NewReaderSize(conn, maxLine)} }

// readReply returns the next reply or event. After an error that is os.ErrDeadlineExceeded it can
// be called again. A line of more than maxLine bytes is an error.
func (l *link) readReply() (reply, error) {
	for {
		part, err := l.r.ReadSlice('\n')
		// A line of maxLine bytes without its end is too long too, however much was read at once.
		if n := len(l.line) + len(part); n > maxLine || n == maxLine && err != nil {
			return reply{}, fmt.Errorf("the server sent a line of more than %d bytes", maxLine)
		}
		l.line = append(l.line, part...)
		if err != nil {
			return reply{}, err
		}
		line := strings.TrimSuffix(string(l.line[:len(l.line)-1]), "\r")
		l.line = l.line[:0]
		if r, complete, err := l.feedLine(line); complete || err != nil {
			return r, err
		}
	}
}

// sendCommand sends a command, or a text, and returns its answer. Events that come before it are
// kept. When ctx ends the server has hushLimit left: an exchange that is cut in half cannot be
// mended.
func (l *link) sendCommand(ctx context.Context, command string) (reply, error) {
	defer l.setDeadline(ctx, replyLimit, hushLimit)()
	if _, err := l.conn.Write([]byte(command + "\r\n")); err != nil {
		return reply{}, err
	}
	for {
		r, err := l.readReply()
		if err != nil || !r.isEvent() {
			return r, err
		}
		if len(l.events) < 64 { // three or four, if the server is sane
			l.events = append(l.events, r)
		}
	}
}

// sendChecked is sendCommand that takes an answer for an error unless it has one of the codes, or
// any good one if there are none.
func (l *link) sendChecked(ctx context.Context, command string, want ...int) (reply, error) {
	r, err := l.sendCommand(ctx, command)
	name, _, _ := strings.Cut(command, "\r\n")
	if err != nil {
		return r, fmt.Errorf("no answer to %.60q: %w", name, err)
	}
	good := len(want) == 0 && r.code/100 == 2 || slices.Contains(want, r.code)
	if !good {
		return r, fmt.Errorf("the server answered %d %.60q to %.60q", r.code, r.text, name)
	}
	return r, nil
}

// nextEvent returns the next event, or an error that is os.ErrDeadlineExceeded when ctx ends or the
// limit is over.
func (l *link) nextEvent(ctx context.Context, limit time.Duration) (reply, error) {
	if len(l.events) > 0 {
		r := l.events[0]
		l.events = l.events[1:]
		return r, nil
	}
	defer l.setDeadline(ctx, limit, 0)()
	r, err := l.readReply()
	if err == nil && !r.isEvent() {
		err = fmt.Errorf("the server answered %d %.60q to nothing", r.code, r.text)
	}
	return r, err
}

// setDeadline makes reading and writing fail after limit, or grace after ctx ends. The function
// that it returns must be called before the next setDeadline.
func (l *link) setDeadline(ctx context.Context, limit, grace time.Duration) func() {
	deadline := time.Now().Add(limit)
	l.conn.SetDeadline(deadline)
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		if sooner := time.Now().Add(grace); sooner.Before(deadline) {
			l.conn.SetDeadline(sooner)
		}
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// timedOut reports whether err only says that time was over, in which case nothing is lost.
func timedOut(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// oneLine makes a text safe to send: one line, valid, without control characters, its leading dot
// doubled.
func oneLine(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd")))
	if strings.HasPrefix(text, ".") {
		text = "." + text
	}
	return text
}
