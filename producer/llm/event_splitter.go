package llm

import "bytes"

// An eventSplitter splits a stream of Server-Sent Events, in whatever pieces it comes. An event
// that is too large is given with its name alone.
type eventSplitter struct {
	isLines    bool // each line is an event instead
	line       []byte
	name       string
	data       []byte
	hasData    bool // the event has data
	isTooLarge bool
	afterCR    bool // the last byte was a carriage return
}

// splitEvents calls event for each event that ends in p, the next bytes of a stream; a part of one
// is kept. data is nil for an event that is too large, and valid during the call.
func (f *eventSplitter) splitEvents(p []byte, event func(name string, data []byte)) {
	if f.afterCR && len(p) > 0 && p[0] == '\n' {
		p = p[1:]
		f.afterCR = false
	}
	for len(p) > 0 {
		i := bytes.IndexAny(p, "\r\n")
		if i < 0 {
			f.addToLine(p)
			f.afterCR = false
			return
		}
		f.addToLine(p[:i])
		f.endLine(event)
		f.afterCR = false
		if p[i] == '\r' {
			switch {
			case i+1 == len(p):
				f.afterCR = true
			case p[i+1] == '\n':
				i++
			}
		}
		p = p[i+1:]
	}
}

// splitLast calls event for the event that is still open when the stream ends, if there is one:
// some servers leave out the empty line behind the last event.
func (f *eventSplitter) splitLast(event func(name string, data []byte)) {
	if len(f.line) > 0 {
		f.endLine(event)
	}
	f.endLine(event)
}

// addToLine appends to the line, which is parsed into the field's name and value at its end. Beyond
// maxEvent only the name is kept.
func (f *eventSplitter) addToLine(p []byte) {
	if len(f.line)+len(f.data)+len(p) > maxEvent {
		f.isTooLarge = true
		p = p[:max(min(len(p), 64-len(f.line)), 0)] // so much that the name of a field is seen
	}
	f.line = append(f.line, p...)
}

// endLine ends the line that was gathered: a line of JSON is an event by itself, an empty line ends
// an event of SSE, and any other line is a field of it. splitEvents calls it.
func (f *eventSplitter) endLine(event func(name string, data []byte)) {
	if f.isLines {
		switch {
		case f.isTooLarge:
			event("", nil)
		case len(f.line) > 0:
			event("", f.line)
		}
		f.isTooLarge, f.line = false, f.line[:0]
		if cap(f.line) > maxEvent/8 {
			f.line = nil
		}
		return
	}
	field, value, _ := bytes.Cut(bytes.TrimPrefix(f.line, []byte("\ufeff")), []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case len(f.line) == 0:
		switch {
		case f.isTooLarge && (f.hasData || f.name != ""):
			event(f.name, nil)
		case f.hasData:
			event(f.name, f.data)
		}
		*f = eventSplitter{line: f.line, data: f.data[:0]}
		if cap(f.line)+cap(f.data) > maxEvent/8 {
			f.line, f.data = nil, nil
		}
	case string(field) == "event":
		f.name = string(value)
	case string(field) == "data" && !f.isTooLarge:
		if f.hasData {
			f.data = append(f.data, '\n')
		}
		f.data, f.hasData = append(f.data, value...), true
	case string(field) == "data":
		f.hasData = true
	}
	f.line = f.line[:0]
}
