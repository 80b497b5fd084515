package llm

import (
	"compress/gzip"
	"io"
	"iter"
)

// maxInflated is how many bytes of a compressed answer are decoded. It is far above what models
// say, and bounds what an answer costs that was compressed a thousandfold.
const maxInflated = 64 << 20

// A gzipDecoder decodes gzip in whatever pieces it comes, and needs no goroutine of its own: the
// decoder runs while decode is called, and waits in between.
type gzipDecoder struct {
	input   []byte // what came and is not read yet
	decoded int    // bytes so far
	failed  bool   // what came is no gzip
	next    func() ([]byte, bool)
	stop    func() // must be called when nothing more comes
}

// newGzipDecoder returns a decoder that has decoded nothing. Its stop must be called.
func newGzipDecoder() *gzipDecoder {
	d := &gzipDecoder{}
	d.next, d.stop = iter.Pull(d.pieces)
	return d
}

// pieces yields each decoded piece, and nil when it needs more input; next pulls from it. It sets
// failed where the input is not valid gzip.
func (d *gzipDecoder) pieces(yield func([]byte) bool) {
	source := readerFunc(func(p []byte) (int, error) {
		for len(d.input) == 0 {
			if !yield(nil) {
				return 0, io.EOF
			}
		}
		n := copy(p, d.input)
		d.input = d.input[n:]
		return n, nil
	})
	z, err := gzip.NewReader(source)
	for piece := make([]byte, 16<<10); err == nil; {
		n := 0
		if n, err = z.Read(piece); n > 0 && !yield(piece[:n]) {
			return
		}
	}
	d.failed = err != io.EOF
}

// decode calls pass with what p decodes to, in pieces that are valid during the call, until there
// is no more, or pass returns false. It reports whether p could be read.
func (d *gzipDecoder) decode(p []byte, pass func([]byte) bool) bool {
	for d.input = p; ; {
		piece, _ := d.next()
		if piece == nil {
			return !d.failed
		}
		if d.decoded += len(piece); d.decoded > maxInflated {
			return false
		}
		if !pass(piece) {
			return true
		}
	}
}

// A readerFunc is an io.Reader that calls itself.
type readerFunc func([]byte) (int, error)

// Read calls f.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
