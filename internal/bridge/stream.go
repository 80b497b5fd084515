package bridge

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// MostEvent is how many bytes one event of a stream may have.
const MostEvent = 8 << 20

// ReadEvents gives the data of each server-sent event in r to take, in their order, until r ends or
// take returns an error. Names, ids and comments are left out. Data is valid until take returns.
// The error is nil where r ends as a stream does.
func ReadEvents(r io.Reader, take func(data []byte) error) error {
	in := bufio.NewReaderSize(r, 32<<10)
	var line, data []byte
	for some := false; ; {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line)+len(data) > MostEvent {
			return fmt.Errorf("%w: an event of a stream has more than %d MiB", ErrTooLong, MostEvent>>20)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF:
			return nil // what is not ended by an empty line is no event
		case err != nil:
			return err
		}
		text := bytes.TrimRight(line, "\r\n")
		switch value, isData := bytes.CutPrefix(text, []byte("data:")); {
		case len(text) == 0:
			if some {
				if err := take(data); err != nil {
					return err
				}
			}
			data, some = data[:0], false
		case isData:
			if some {
				data = append(data, '\n')
			}
			data, some = append(data, bytes.TrimPrefix(value, []byte(" "))...), true
		}
		line = line[:0]
	}
}
