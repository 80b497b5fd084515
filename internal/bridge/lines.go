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
// line of more than most bytes it gets the beginning, with whole false; the line is then copied as
// it comes, or dropped. lock is held while a line is written, so that others can write between two.
func CopyLines(to io.Writer, from io.Reader, lock *sync.Mutex, most int,
	admit func(line []byte, whole bool) bool) error {
	r := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	isLong, passes := false, false // the line is too long, and its rest is passed on
	for {
		part, err := r.ReadSlice('\n')
		hasEnd := err != bufio.ErrBufferFull
		tooLong := !isLong && len(line)+len(part) > most
		if !isLong {
			line = append(line, part...)
		}
		if !isLong && (hasEnd || tooLong) {
			lock.Lock()
		}
		var writeErr error
		switch {
		case isLong && passes:
			_, writeErr = to.Write(part)
		case isLong:
		case tooLong:
			isLong, passes = true, admit(line, false)
			if passes {
				_, writeErr = to.Write(line)
			}
			line = nil
		case hasEnd && len(line) > 0:
			if admit(line, true) {
				_, writeErr = to.Write(line)
			}
		}
		if hasEnd || writeErr != nil {
			lock.Unlock()
			line, isLong = nil, false
		}
		switch {
		case writeErr != nil:
			return writeErr
		case err != nil && hasEnd:
			return err
		}
	}
}

// CheckMembers refuses an object in which a member is written otherwise than by one of its names,
// but there are programs that take it for that: in another case, or with what is no letter in it,
// such as a NUL at its end.
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
