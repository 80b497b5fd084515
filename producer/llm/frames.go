package llm

import "bytes"

// frames takes a stream of server-sent events apart, in whatever pieces it comes. An event that is
// too large is given with its name alone.
type frames struct {
	lines bool // each line is an event instead
	line  []byte
	name  string
	data  []byte
	some  bool // the event has data
	large bool
	cr    bool // the last byte was a carriage return
}

// feed calls event for each event that ends in p. What it gives is valid during the call.
func (f *frames) feed(p []byte, event func(name string, data []byte)) {
	if f.cr && len(p) > 0 && p[0] == '\n' {
		p = p[1:]
		f.cr = false
	}
	for len(p) > 0 {
		i := bytes.IndexAny(p, "\r\n")
		if i < 0 {
			f.take(p)
			f.cr = false
			return
		}
		f.take(p[:i])
		f.cut(event)
		f.cr = false
		if p[i] == '\r' {
			switch {
			case i+1 == len(p):
				f.cr = true
			case p[i+1] == '\n':
				i++
			}
		}
		p = p[i+1:]
	}
}

// last gives the event that the stream ended in: servers leave out its empty line.
func (f *frames) last(event func(name string, data []byte)) {
	if len(f.line) > 0 {
		f.cut(event)
	}
	f.cut(event)
}

// take adds to the line. The field's name and its value are told apart at its end.
func (f *frames) take(p []byte) {
	if len(f.line)+len(f.data)+len(p) > maxEvent {
		f.large = true
		p = p[:max(min(len(p), 64-len(f.line)), 0)] // so much that the name of a field is seen
	}
	f.line = append(f.line, p...)
}

// cut ends the line.
func (f *frames) cut(event func(name string, data []byte)) {
	if f.lines {
		switch {
		case f.large:
			event("", nil)
		case len(f.line) > 0:
			event("", f.line)
		}
		f.large, f.line = false, f.line[:0]
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
		case f.large && (f.some || f.name != ""):
			event(f.name, nil)
		case f.some:
			event(f.name, f.data)
		}
		*f = frames{line: f.line, data: f.data[:0]}
		if cap(f.line)+cap(f.data) > maxEvent/8 {
			f.line, f.data = nil, nil
		}
	case string(field) == "event":
		f.name = string(value)
	case string(field) == "data" && !f.large:
		if f.some {
			f.data = append(f.data, '\n')
		}
		f.data, f.some = append(f.data, value...), true
	case string(field) == "data":
		f.some = true
	}
	f.line = f.line[:0]
}
