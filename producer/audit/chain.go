package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
)

const (
	// version is that of the format of a file.
	version = 1
	// maxLine is the longest line of a record, in bytes.
	maxLine = 1 << 20
	// beginning is how every file begins.
	beginning = `{"seq":1,"prev":"`
	// tornMark ends a line that is no record because its writer was stopped.
	tornMark = " (torn)"
)

// Entry is a record as it stands in a file.
type Entry struct {
	// Seq counts the records of the file from 1.
	Seq uint64 `json:"seq"`
	// Prev is the hash of the line before.
	Prev string `json:"prev"`
	Record
}

// sealRecord returns the line of a record, with its newline, and the hash of the line. seq and prev
// are its place in the chain. The error says why the record cannot be a line.
func sealRecord(seq uint64, prev string, r Record) (line []byte, head string, err error) {
	r.Time = r.Time.UTC()
	if r.Kind == "" {
		return nil, "", errors.New("audit: a record without a kind")
	}
	line, err = marshalSafe(Entry{seq, prev, r})
	if err != nil {
		return nil, "", fmt.Errorf("audit: a record that cannot be written: %w", err)
	}
	line = line[:len(line)-1]
	line = fmt.Appendf(line, `,"crc":"%08x"}`, crc32.ChecksumIEEE(line))
	if len(line) > maxLine {
		return nil, "", fmt.Errorf("audit: a record of %d bytes; a line has at most %d", len(line), maxLine)
	}
	return append(line, '\n'), hashOf(line), nil
}

// marshalSafe writes JSON in which every character that a screen does not show is escaped, so that
// printing a trail is harmless, and reading it gives exactly what was said.
func marshalSafe(v any) ([]byte, error) {
	data, err := jsonv2.Marshal(v)
	if err != nil {
		return nil, err
	}
	hidden := func(r rune) bool { return r > '~' && !unicode.IsPrint(r) }
	if bytes.IndexFunc(data, hidden) < 0 {
		return data, nil
	}
	var b []byte
	for _, r := range string(data) { // such characters are in strings only
		switch {
		case !hidden(r):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			r1, r2 := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, r1, r2)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b, nil
}

// parseLine returns the entry of a line, which has no newline, and whether the line is that of a
// record, with the right crc.
func parseLine(line []byte) (e Entry, isRecord bool) {
	const tail = len(`,"crc":"00000000"}`)
	n := len(line) - tail
	if n < 0 || len(line) > maxLine ||
		string(line[n:]) != fmt.Sprintf(`,"crc":"%08x"}`, crc32.ChecksumIEEE(line[:n])) {
		return Entry{}, false
	}
	// Names match exactly, and repeats are refused: two readers of one line must not read different
	// things.
	return e, jsonv2.Unmarshal(line, &e) == nil && e.Seq > 0
}

// hashOf returns the hash by which the next record names a line, which has no newline.
func hashOf(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// How says in which way a trail is wrong.
type How string

const (
	// Altered: a line is not as it was written, or does not belong to the line before it.
	Altered How = "altered"
	// Removed: records are missing before this line.
	Removed How = "removed"
	// Inserted: a line was put between two that belong together.
	Inserted How = "inserted"
	// Reordered: the record that belongs here comes later.
	Reordered How = "reordered"
	// OutOfSequence: the line belongs here, but its number is not the next.
	OutOfSequence How = "out of sequence"
	// TornEnd: the last line was not finished. The next Open puts that on record.
	TornEnd How = "torn end"
	// HeadMissing: no record has the hash that was asked for, so the end is missing, or all was
	// written anew.
	HeadMissing How = "head missing"
	// NewerFormat: this version of the package does not know the format.
	NewerFormat How = "newer format"
)

// Fault is what is wrong with a trail, and where.
type Fault struct {
	// Line counts all lines of the file from 1; zero is unknown.
	Line int64
	How  How
	// Detail says more, in a sentence without its full stop.
	Detail string
}

// Error returns the place in the trail, the kind of fault, and the detail.
func (f *Fault) Error() string {
	place := "the trail"
	if f.Line > 0 {
		place = "line " + strconv.FormatInt(f.Line, 10)
	}
	return fmt.Sprintf("%s: %s: %s", place, f.How, f.Detail)
}

// A chain checks a trail line by line, and holds what the next record must fit. The zero chain is
// at the beginning.
type chain struct {
	line int64  // how many lines were checked
	seq  uint64 // of the last record
	head string // the hash of its line
	// covered is the hash that the next record must name: of the last record's line, and of the
	// torn lines after it; nil is that of nothing.
	covered  hash.Hash
	torn     int64 // bytes of torn lines after the last record
	tornLine int64 // the first of these lines
	adrift   bool  // what came before is unknown, so that the next record fits wherever it belongs
}

// nextLink returns the number that the next record must have, and the hash that it must name.
func (c *chain) nextLink() (seq uint64, prev string) {
	if c.covered != nil {
		prev = hex.EncodeToString(c.covered.Sum(nil))
	}
	return c.seq + 1, prev
}

// checkLine checks the next line, without its newline, and moves the chain on behind it. ended says
// that the line had a newline. The entry is zero if the line is no record, and the fault nil if it
// is what belongs here.
func (c *chain) checkLine(line []byte, ended bool) (Entry, *Fault) {
	c.line++
	e, isRecord := parseLine(line)
	switch {
	case isRecord:
		fault := c.checkLink(e)
		c.seq, c.head = e.Seq, hashOf(line)
		c.covered, c.torn, c.tornLine, c.adrift = nil, 0, 0, false
		c.addHash(line)
		if fault == nil && !ended {
			fault = &Fault{c.line, TornEnd, "the line end of the last record is missing"}
		}
		return e, fault
	case !ended:
		return Entry{}, &Fault{c.line, TornEnd, "the last line was not finished"}
	case bytes.HasSuffix(line, []byte(tornMark)):
		c.addTorn(line)
		return Entry{}, nil
	}
	c.adrift = true
	return Entry{}, &Fault{c.line, Altered, "this is not a line as it was written"}
}

// addTorn moves the chain on behind a line that its writer did not finish.
func (c *chain) addTorn(line []byte) {
	if c.torn == 0 {
		c.tornLine = c.line
	}
	c.torn += int64(len(line)) + 1
	c.addHash(line)
}

// addHash adds a line to c.covered, the hash that the next record must name, and makes that hash
// where it is nil; lines are joined by a line end.
func (c *chain) addHash(line []byte) {
	if c.covered == nil {
		c.covered = sha256.New()
	} else {
		c.covered.Write([]byte{'\n'})
	}
	c.covered.Write(line)
}

// checkLink returns what is wrong with the record e of the line c.line, compared with the place
// that it stands at; nil if it belongs there.
func (c *chain) checkLink(e Entry) *Fault {
	seq, prev := c.nextLink()
	fault := &Fault{Line: c.line}
	switch {
	case e.Version > version:
		fault.How, fault.Detail = NewerFormat,
			fmt.Sprintf("format %d was written by a newer version of this program", e.Version)
	case c.adrift:
		return nil
	case e.Seq == seq && e.Prev == prev:
		// Torn lines are followed by the Opened record that counts their bytes, and no other record
		// counts any. The first record says the format.
		follows := c.torn == 0 && e.Torn == 0 && (seq > 1 || e.Version > 0)
		followsTorn := c.torn > 0 && e.Torn == c.torn && e.Kind == Opened
		if follows || followsTorn {
			return nil
		}
		fault.How, fault.Detail = Altered, "this record does not say what the lines before it need"
	case c.torn > 0 && e.Seq == seq && e.Prev == c.head:
		return &Fault{c.tornLine, Inserted, "the records before and after this line belong together"}
	case e.Prev == prev:
		fault.How, fault.Detail = OutOfSequence,
			fmt.Sprintf("this is record %d by its number, and record %d by its place", e.Seq, seq)
	case e.Seq == seq:
		fault.How, fault.Detail = Altered,
			"this line does not belong to the one before it: one of the two was changed"
	case e.Seq > seq:
		fault.How, fault.Detail = Removed, missingText(seq, e.Seq-1)
	default:
		fault.How, fault.Detail = Inserted, fmt.Sprintf("record %d was here before", e.Seq)
	}
	return fault
}

// missingText returns the detail of a Fault that says that the records first to last, which may be
// one, are missing.
func missingText(first, last uint64) string {
	if first == last {
		return fmt.Sprintf("record %d is missing", first)
	}
	return fmt.Sprintf("records %d to %d are missing", first, last)
}

// endFault returns what is wrong if the file ends here: torn lines without the record that counts
// them; or nil.
func (c *chain) endFault() *Fault {
	if c.torn > 0 {
		return &Fault{c.tornLine, TornEnd, "whoever took up the torn trail was stopped before that was on record"}
	}
	return nil
}

// openedRecord returns the Opened record that a File of this process writes first, behind c.
func (c *chain) openedRecord(now time.Time) Record {
	host, _ := os.Hostname()
	return Record{Time: now, Kind: Opened, Node: fmt.Sprint(host, ":", os.Getpid()), Version: version, Torn: c.torn}
}

// looksTorn reports whether a line that is no record can be what is left of the first line of a
// trail.
func looksTorn(line []byte) bool {
	start, _ := strings.CutSuffix(string(line), tornMark)
	start = start[:min(len(start), len(beginning))]
	return start != "" && strings.HasPrefix(beginning, start)
}
