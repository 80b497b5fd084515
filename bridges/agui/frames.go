package agui

import (
	"bufio"
	"bytes"
	"io"

	"github.com/aaep-go/aaep/internal/bridge"
)

// A frameReader reads Server-Sent Events with every byte of them.
type frameReader struct {
	in     *bufio.Reader
	raw    []byte
	data   []byte
	isLong bool // the event is too long to be looked at, and comes in pieces
}

// nextFrame returns the next event as it came, and its data; both are valid until the next call. Of
// one that is too long it returns pieces without data. The last one comes with the error.
func (f *frameReader) nextFrame() (raw, data []byte, err error) {
	f.raw, f.data = f.raw[:0], f.data[:0]
	hasData, begins := false, 0
	for {
		part, err := f.in.ReadSlice('\n')
		f.raw = append(f.raw, part...)
		if err == bufio.ErrBufferFull && len(f.raw) <= bridge.MostEvent {
			continue
		}
		line := bytes.TrimRight(f.raw[begins:], "\r\n")
		ends := err == nil && len(line) == 0
		if err != nil && err != bufio.ErrBufferFull {
			return f.raw, nil, err
		}
		if f.isLong || len(f.raw) > bridge.MostEvent {
			f.isLong = !ends
			return f.raw, nil, nil
		}
		if ends {
			if !hasData {
				return f.raw, nil, nil
			}
			return f.raw, f.data, nil
		}
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if hasData {
				f.data = append(f.data, '\n')
			}
			f.data, hasData = append(f.data, bytes.TrimPrefix(value, []byte(" "))...), true
		}
		begins = len(f.raw)
	}
}

// newFrameReader returns a frameReader of the stream r.
func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{in: bufio.NewReaderSize(r, 32<<10)}
}
