package sse

import (
	"bufio"
	"bytes"
	"io"
)

// An event is one dispatched event of a stream.
type event struct {
	name, id string
	data     []byte // its data lines joined by \n; nil if tooLarge
	// tooLarge marks an event whose data exceeds the limit; it was read past.
	tooLarge bool
}

// A parser splits a byte stream into events as the HTML standard says (§9.2.6). It holds at most
// about twice its limit, whatever it reads. An event counts whatever its name is (D-64). The field
// retry is ignored: the caller of Reopen decides when.
type parser struct {
	r     *bufio.Reader
	limit int // on an event's data, in bytes

	// Of the last dispatched event that had one, or the one given to newParser.
	lastID string
	id     string // read, but not dispatched yet

	line    []byte // as readLine read it, without its end
	long    bool   // the line went beyond the limit and was cut
	afterCR bool   // the last line ended in \r; a \n right after it belongs to that
	begun   bool   // the first line was read
}

// newParser returns a parser of a stream that was asked to continue after the event lastID. limit
// is the largest data of an event, in bytes.
func newParser(r io.Reader, limit int, lastID string) *parser {
	return &parser{r: bufio.NewReaderSize(r, 16<<10), limit: limit, lastID: lastID, id: lastID}
}

// nextEvent reads the next event, and sets p.lastID. An event that the end of the stream cuts off
// is dropped. One whose data is longer than p.limit comes as tooLarge, without data. The error is
// the reader's. readEvents calls it on the stream's goroutine.
func (p *parser) nextEvent() (event, error) {
	var ev event
	hasData := false // a data line, even an empty one, makes an event
	for {
		if err := p.readLine(); err != nil {
			return event{}, err
		}
		if len(p.line) == 0 {
			p.lastID = p.id
			if hasData {
				return ev, nil
			}
			ev = event{}
			continue
		}
		name, value, _ := bytes.Cut(p.line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) { // "" is a comment
		case "data":
			if hasData && !ev.tooLarge {
				ev.data = append(ev.data, '\n')
			}
			hasData = true
			if ev.tooLarge || p.long || len(ev.data)+len(value) > p.limit {
				ev = event{name: ev.name, id: ev.id, tooLarge: true}
				continue
			}
			ev.data = append(ev.data, value...)
		case "event":
			// A longer name than eventName is no name that this package knows.
			ev.name = string(value[:min(len(value), len(eventName)+1)])
		case "id":
			if !p.long && !bytes.Contains(value, []byte{0}) {
				p.id = string(value)
				ev.id = p.id
			}
		}
	}
}

// readLine reads one line, which ends in \r, \n or \r\n, into p.line, and returns without waiting
// for what follows a \r. Of a line that is too long it keeps the beginning, and sets p.long. The
// error is the reader's; a line without an end is not a line.
func (p *parser) readLine() error {
	p.line, p.long = p.line[:0], false
	const fieldName = len("data: ")
	for {
		if p.r.Buffered() == 0 {
			if _, err := p.r.Peek(1); err != nil {
				return err
			}
		}
		chunk, _ := p.r.Peek(p.r.Buffered())
		if p.afterCR {
			p.afterCR = false
			if chunk[0] == '\n' {
				p.discardBuffered(1)
				continue
			}
		}
		n := lineEnd(chunk)
		if room := p.limit + fieldName + len(byteOrderMark) - len(p.line); n > room {
			p.line, p.long = append(p.line, chunk[:room]...), true
		} else {
			p.line = append(p.line, chunk[:n]...)
		}
		if n == len(chunk) { // the line goes on in the next chunk
			p.discardBuffered(n)
			continue
		}
		p.afterCR = chunk[n] == '\r'
		p.discardBuffered(n + 1)
		if !p.begun {
			p.begun = true
			p.line = bytes.TrimPrefix(p.line, []byte(byteOrderMark))
		}
		return nil
	}
}

// discardBuffered drops n bytes, which the caller knows to be buffered.
func (p *parser) discardBuffered(n int) { _, _ = p.r.Discard(n) }

// lineEnd returns the index in b of the first \r or \n, or len(b) if there is none.
func lineEnd(b []byte) int {
	n := len(b)
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		n = i
	}
	if i := bytes.IndexByte(b[:n], '\r'); i >= 0 {
		n = i
	}
	return n
}
