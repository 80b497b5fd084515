package bridge

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// CopyLines copies from one side of a link to the other, a line at a time, until from ends, and
// returns its error, io.EOF included, or that of writing. admit is called for each line, with its
// end and with lock held, and reports whether the line is copied; the line is admit's to keep. Of a
// line of more than most bytes it gets the beginning, with whole false, and what follows is copied
// or dropped with that. lock is held until a line is written to its end, so that others can write
// between two.
func CopyLines(to io.Writer, from io.Reader, lock *sync.Mutex, most int,
	admit func(line []byte, whole bool) bool) error {
	r := bufio.NewReaderSize(from, 64<<10)
	for {
		line, readErr := readLine(r, most)
		if len(line) > 0 {
			var writeErr error
			lock.Lock()
			passes := admit(line, len(line) <= most)
			if passes {
				_, writeErr = to.Write(line)
			}
			for readErr == bufio.ErrBufferFull && writeErr == nil {
				line, readErr = r.ReadSlice('\n')
				if passes {
					_, writeErr = to.Write(line)
				}
			}
			lock.Unlock()
			if writeErr != nil {
				return writeErr
			}
		}
		if readErr != nil {
			return readErr
		}
	}
}

// readLine reads a line with its end, or more than most bytes of it; then the error is
// bufio.ErrBufferFull, unless the line ends there. What comes before r ends is a line too, beside
// the error.
func readLine(r *bufio.Reader, most int) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err != bufio.ErrBufferFull || len(line) > most {
			return line, err
		}
	}
}

// CheckMembers refuses an object in which a member is not one of the names, but would be taken for
// one by some programs: it is in another case, or has what is no letter in it, such as a NUL at its
// end. Members of other names are not looked at.
func CheckMembers(object jsontext.Value, names ...string) error {
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		member := token.String()
		for _, name := range names {
			if member != name && foldMember(member) == foldMember(name) {
				return fmt.Errorf("its member %.40q should be %q", member, name)
			}
		}
		if err := d.SkipValue(); err != nil {
			return err
		}
	}
	return nil
}

// foldMember returns the letters, digits and low lines of a member's name, in lower case, by which
// names that a lenient reader takes for one are equal. A long s counts as an S, and a dotless i as
// an i.
func foldMember(name string) string {
	return strings.Map(func(r rune) rune {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, name)
}

// maxRPCID is how many bytes an id of JSON-RPC may have.
const maxRPCID = 256

// ValidRPCID reports whether an id of JSON-RPC is text or a whole number without a fraction or an
// exponent.
func ValidRPCID(id jsontext.Value) bool {
	switch {
	case len(id) > maxRPCID:
		return false
	case id.Kind() == '"':
		var text string
		return jsonv2.Unmarshal(id, &text) == nil // which half a surrogate is not
	}
	return id.Kind() == '0' && !bytes.ContainsAny(id, ".eE")
}

// CanonicalRPCID returns what an id of JSON-RPC is known by however it is written, since the other
// side need not write it alike: "\u0061" is the "a" of a peer that reads it. exact says that it is
// written in the only way that every program writes it.
func CanonicalRPCID(id jsontext.Value) (key string, exact bool) {
	var text string
	switch {
	case id.Kind() == '"' && jsonv2.Unmarshal(id, &text) == nil:
		return "\"" + text, len(id) <= maxRPCID && !bytes.ContainsRune(id, '\\')
	case id.Kind() == '0':
		n, err := strconv.ParseFloat(string(id), 64)
		if err != nil {
			return "", false
		}
		key = strconv.FormatFloat(n+0, 'f', -1, 64) // of -0, 0
		return key, key == string(id) && ValidRPCID(id)
	}
	return "", false
}
