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
		joined := joinedLines{yield: yield}
		for line := 1; ; line++ {
			text, readErr := readLine(in)
			if len(text) == 0 && readErr != nil {
				if readErr != io.EOF {
					*err = readErr
				}
				joined.flush()
				return
			}
			wanted, tooLong := joined.addLine(line, text)
			if tooLong != nil {
				*err = tooLong
			}
			if !wanted || tooLong != nil {
				return
			}
		}
	}
}

// joinedLines joins lines into messages for Messages. The caller sees false from its methods when
// yield wants no more.
type joinedLines struct {
	yield func(line int, message []byte) bool
	held  []byte  // the beginning of a message over several lines
	begin int     // the line that held begins at
	depth nesting // of the brackets in held
}

// addLine adds a line: it yields a message that is whole on it, before which what was held never
// became one and is yielded too, or one that ends on it. A line that begins no JSON is yielded as
// it is, and a blank one is passed over. The error is for a message that is too long to be held.
func (j *joinedLines) addLine(line int, text []byte) (wanted bool, err error) {
	trimmed := bytes.Trim(text, " \t\r\n") // what JSON calls white space, and nothing else
	if len(trimmed) == 0 {
		return true, nil
	}
	isFirst := len(j.held) == 0
	mayBeMessage := isFirst || bytes.Contains(trimmed, []byte(`"type"`)) // rather than a part of what is held
	if mayBeMessage && isComplete(trimmed) {
		return j.flush() && j.yield(line, trimmed), nil
	}
	if isFirst && trimmed[0] != '{' && trimmed[0] != '[' {
		return j.yield(line, trimmed), nil
	}
	if isFirst {
		j.begin = line
	}
	if len(j.held)+len(text) > maxMessage {
		return true, fmt.Errorf("the message at line %d is longer than %d bytes", j.begin, maxMessage)
	}
	j.held = append(j.held, text...)
	j.depth.addText(text)
	if j.depth.isClosed() {
		return j.flush(), nil
	}
	return true, nil
}

// flush yields what is held, if there is anything.
func (j *joinedLines) flush() (wanted bool) {
	wanted = len(j.held) == 0 || j.yield(j.begin, j.held)
	j.held, j.depth = j.held[:0], nesting{}
	return wanted
}

// isComplete reports whether a line, which is not empty, is one whole JSON object as far as its
// brackets tell.
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
