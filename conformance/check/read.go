package check

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
)

const maxMessage = 16 << 20

// Messages cuts a stream into messages: one on each line, or written over several lines. A line
// that is neither is handed on as it is, so that one bad message costs one message. The pair is the
// line a message begins at, from 1, and its bytes, which are valid until the next pair. After the
// last pair, err says why reading ended, if not at the end of the stream: one message takes at most
// 16 MiB, pretty-printed.
func Messages(r io.Reader, err *error) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		var held []byte // the beginning of a message over several lines
		var depth nesting
		begin, line := 0, 0
		flush := func() bool {
			ok := len(held) == 0 || yield(begin, held)
			held, depth = held[:0], nesting{}
			return ok
		}
		for {
			text, rerr := readLine(in)
			if len(text) == 0 && rerr != nil {
				if rerr != io.EOF {
					*err = rerr
				}
				flush()
				return
			}
			line++
			trimmed := bytes.Trim(text, " \t\r\n") // what JSON calls white space, and nothing else
			switch {
			case len(trimmed) == 0:
			case isComplete(trimmed) && (len(held) == 0 || bytes.Contains(trimmed, []byte(`"type"`))):
				// A message on one line. What was held never became one.
				if !flush() || !yield(line, trimmed) {
					return
				}
			case len(held) == 0 && trimmed[0] != '{' && trimmed[0] != '[':
				if !yield(line, trimmed) {
					return
				}
			default:
				if len(held) == 0 {
					begin = line
				}
				if len(held)+len(text) > maxMessage {
					*err = fmt.Errorf("the message at line %d is longer than %d bytes", begin, maxMessage)
					return
				}
				held = append(held, text...)
				if depth.addText(text); depth.isClosed() && !flush() {
					return
				}
			}
		}
	}
}

// isComplete reports whether a line is one whole JSON object.
func isComplete(line []byte) bool {
	var n nesting
	n.addText(line)
	return line[0] == '{' && n.isClosed() && line[len(line)-1] == '}'
}

// nesting counts the brackets that are open, outside strings.
type nesting struct {
	depth           int
	begun           bool
	inString, quote bool
}

// isClosed reports whether every bracket that was opened is closed again, and at least one was.
func (n *nesting) isClosed() bool { return n.begun && n.depth <= 0 && !n.inString }

// addText updates the depth of JSON nesting with more of a text that spans lines. A negative depth
// is one bracket too many.
func (n *nesting) addText(text []byte) {
	for _, b := range text {
		switch {
		case n.quote:
			n.quote = false
		case n.inString:
			n.quote = b == '\\'
			n.inString = b != '"'
		case b == '"':
			n.inString = true
		case b == '{' || b == '[':
			n.depth++
			n.begun = true
		case b == '}' || b == ']':
			n.depth--
		}
	}
}

// readLine returns the next line with its end. The error comes with the last line, or without one,
// and is io.EOF at the end of in. A line of more than maxMessage bytes is an error. What it returns
// is valid until the next call.
func readLine(in *bufio.Reader) ([]byte, error) {
	var all []byte
	for {
		part, err := in.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			if all = append(all, part...); len(all) > maxMessage {
				return nil, fmt.Errorf("a line is longer than %d bytes", maxMessage)
			}
			continue
		}
		if all == nil {
			return part, err
		}
		return append(all, part...), err
	}
}
