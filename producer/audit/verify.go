package audit

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
)

// Report says what is in a trail.
type Report struct {
	// Records are those in order before anything that is wrong, First and Last the times of the
	// first and the last.
	Records     uint64
	First, Last time.Time
	// Runs is how many times the file was opened, and Torn how often the end was found torn then.
	Runs, Torn int
	// Head is the hash of the last of these records. Keep it elsewhere; see the package.
	Head string
	// Anchored is the number of the record whose hash was given to Verify, or zero. Up to there
	// nothing was changed.
	Anchored uint64
}

// Verify reads a trail and says whether every line is as it was written and where it was written.
// Head is the hash of a record that must be in it, as File.Head gave it at some time, or empty.
// Without it Verify cannot know whether whole lines are missing at the end, nor whether all of them
// were written anew.
//
// A *Fault says what is wrong first; any other error is that of r. The report is about what comes
// before. The memory needed does not grow with the trail.
func Verify(r io.Reader, head string) (Report, error) {
	lines := newLineReader(r)
	head = strings.ToLower(head)
	var c chain
	var rep Report
	for {
		seq, prev := c.nextLink() // before the hash moves on
		line, ended, err := lines.readLine()
		if err == io.EOF {
			break
		}
		if err != nil {
			return rep, err
		}
		e, fault := c.checkLine(line, ended)
		if e.Seq > 0 && (fault == nil || fault.How == TornEnd) {
			rep.addEntry(e, c.head)
			if c.head == head {
				rep.Anchored = e.Seq
			}
		}
		if fault != nil {
			if err := lines.explainFault(fault, e, seq, prev); err != nil {
				return rep, err
			}
			return rep, fault
		}
	}
	if fault := c.endFault(); fault != nil {
		return rep, fault
	}
	if head != "" && rep.Anchored == 0 {
		return rep,
			&Fault{0, HeadMissing, "no record has the head " + head +
				": records are missing at the end, or all of them were written anew"}
	}
	return rep, nil
}

// addEntry counts a good record in the report, with its time; head is its hash. Verify calls it for
// each.
func (rep *Report) addEntry(e Entry, head string) {
	if rep.Records == 0 {
		rep.First = e.Time
	}
	rep.Records++
	rep.Last, rep.Head = e.Time, head
	if e.Kind == Opened {
		rep.Runs++
		if e.Torn > 0 {
			rep.Torn++
		}
	}
}

// Read returns the entries of a trail, in the order in which they stand there. A *Fault says that
// something is wrong at this place, as far as is known from what comes before it; the entry is that
// of the line, or zero if it is none. It goes on after that. Any other error is that of r, and the
// last.
func Read(r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		lines := newLineReader(r)
		var c chain
		for {
			line, ended, err := lines.readLine()
			if err == io.EOF {
				if fault := c.endFault(); fault != nil {
					yield(Entry{}, fault)
				}
				return
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			e, fault := c.checkLine(line, ended)
			if fault != nil {
				err = fault
			}
			if (e.Seq > 0 || err != nil) && !yield(e, err) {
				return
			}
		}
	}
}

// A lineReader reads lines of any length, and keeps of each no more than a record can have.
type lineReader struct {
	r   *bufio.Reader
	buf []byte // the line that readLine returned last
}

// newLineReader returns a lineReader of r.
func newLineReader(r io.Reader) *lineReader { return &lineReader{r: bufio.NewReaderSize(r, 64<<10)} }

// readLine returns the next line without its newline, valid until the next call, and whether it had
// one. A line that is too long to be a record is nil. The error is io.EOF where there is no byte
// more.
func (l *lineReader) readLine() (line []byte, ended bool, err error) {
	l.buf = l.buf[:0]
	read, tooLong := false, false
	for {
		part, err := l.r.ReadSlice('\n')
		read = read || len(part) > 0
		ended = err == nil
		if ended {
			part = part[:len(part)-1]
		}
		if len(l.buf)+len(part) > maxLine+len(tornMark) {
			tooLong = true
		}
		if !tooLong {
			l.buf = append(l.buf, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err != nil && (err != io.EOF || !read):
			return nil, false, err
		case tooLong:
			return nil, ended, nil
		default:
			return l.buf, ended, nil
		}
	}
}

// explainFault searches the lines behind the fault f for the record that belongs in its place,
// which has the number seq and names prev: that tells a line that was added from one that was
// changed, and one that was moved from one that is gone. It changes f accordingly. e is the entry
// at the fault; the error is that of the reader.
func (l *lineReader) explainFault(f *Fault, e Entry, seq uint64, prev string) error {
	if f.How != Altered && f.How != Removed && f.How != OutOfSequence {
		return nil
	}
	for {
		line, _, err := l.readLine()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if later, isRecord := parseLine(line); !isRecord || later.Seq != seq || later.Prev != prev {
			continue
		}
		if f.How == Removed {
			f.How, f.Detail = Reordered, fmt.Sprintf("record %d is here, and record %d comes later", e.Seq, seq)
		} else {
			f.How, f.Detail = Inserted, "the records before and after this line belong together"
		}
		return nil
	}
}
