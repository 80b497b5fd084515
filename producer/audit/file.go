package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/aaep-go/aaep/internal/lockfile"
)

// ErrInUse says that a trail is being written by another process, or by another File.
var ErrInUse = errors.New("audit: the trail is in use")

// Options say how a File keeps records. The zero value is the safe one.
type Options struct {
	// EachSecond lets Record return as soon as the operating system has the record, and puts what
	// came in on the disk once a second. It is many times faster. If the process is killed nothing
	// is lost; if the machine loses power or crashes, up to about a second of records is, and with
	// it the proof of who allowed what was done in that second.
	//
	// Otherwise every record is on the disk before Record returns, and so before anything is done
	// because of it.
	EachSecond bool
}

// syncDelay is how long Options.EachSecond leaves a record off the disk.
const syncDelay = time.Second

// File is a trail in a file: a Sink. All its methods may be called at once.
type File struct {
	path string
	out  outFile
	late bool // see Options.EachSecond

	// flush is held while the disk is waited for, so that the calls that come in meanwhile wait for
	// it once, together. It is taken before mu.
	flush sync.Mutex

	mu     sync.Mutex
	seq    uint64      // of the newest record
	head   string      // its hash
	err    error       // why no more is written
	lost   bool        // the disk may not have what it was given
	timer  *time.Timer // calls syncTo; nil while all is on the disk, or late is not set
	synced uint64      // the newest record that is on the disk
	safe   string      // its hash

	questions questionList // those from before the file was opened; see Questions
}

// outFile is the part of an *os.File that a File writes with; another one in tests.
type outFile interface {
	io.WriteCloser
	Sync() error
}

// Open opens a trail to continue it, or begins one where there is no file. It makes a new file
// readable by its owner alone (on Windows, by whom the folder lets), and keeps every other process
// from writing to it until Close. A path that is a symbolic link is refused.
//
// The end of the file is checked first, two MiB of it, and the first record says that it was
// opened, and what was torn; see the package. Questions returns what it knows of questions. Where
// the end is not in order nothing is written, and the error is a *Fault; Verify checks the whole
// file. Other errors are ErrInUse and those of the file system.
//
// Do not rotate the file under a running File; begin a new one with another name.
func Open(path string, opts Options) (*File, error) {
	_, statErr := os.Lstat(path)
	out, err := lockfile.Open(path)
	if err == lockfile.ErrInUse {
		return nil, fmt.Errorf("%w: %s%s", ErrInUse, path, openedBy(path))
	}
	if errors.Is(err, fs.ErrNotExist) { // for what is not there is made
		return nil, fmt.Errorf("audit: %w: make its folder first", err)
	}
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	info, err := out.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("it is no regular file, so nobody could read the trail back")
	default:
		if info.Size() == 0 { // the name must be as durable as the records
			err = lockfile.SyncFolder(filepath.Dir(path))
		}
		if err != nil {
			break
		}
		var f *File
		if f, err = openChain(out, out, info.Size(), opts.EachSecond); err == nil {
			f.path = path
			return f, nil
		}
	}
	if info, err := out.Stat(); err == nil && info.Size() == 0 && errors.Is(statErr, fs.ErrNotExist) {
		os.Remove(path) // this call made it, and nothing could be written
	}
	out.Close()
	return nil, fmt.Errorf("audit: %s: %w", path, err)
}

// openedBy returns which process opened the trail at path last, and when, after a comma. It is
// empty where that cannot be read.
func openedBy(path string) string {
	trail, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer trail.Close()
	var last Record
	for e := range Read(trail) {
		if e.Kind == Opened {
			last = e.Record
		}
	}
	if last.Node == "" {
		return ""
	}
	return fmt.Sprintf(", by the process %s since %s", last.Node, last.Time.Format("2006-01-02 15:04:05 UTC"))
}

// openChain checks the end of the trail that r holds, of size bytes, writes to out what repairs it
// and the Opened record, and returns the File once these are on the disk.
func openChain(r io.ReaderAt, out outFile, size int64, late bool) (*File, error) {
	c, questions, repair, err := findEnd(r, size)
	if err != nil {
		return nil, err
	}
	seq, prev := c.nextLink()
	line, head, err := sealRecord(seq, prev, c.openedRecord(time.Now()))
	if err != nil {
		return nil, err
	}
	if _, err := out.Write(append(repair, line...)); err != nil {
		return nil, err
	}
	if err := out.Sync(); err != nil {
		return nil, err
	}
	return &File{out: out, late: late, seq: seq, head: head, synced: seq, safe: head, questions: questions}, nil
}

// Questions makes a File a Recovering. It returns, of each question that the end of the file had
// when it was opened, the newest record, without words and recipients.
func (f *File) Questions() []Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.questions)
}

// A questionList has the newest record of each question, in the order in which they were put.
type questionList []Record

// noteRecord puts a record in the place of the one about the same question. If add is set, a
// question that is not in the list is added. A record about nothing in the list, or of another
// kind, is ignored.
func (l *questionList) noteRecord(r Record, add bool) {
	switch r.Kind {
	case Asked, Settled, Invoked, NotDone:
	default:
		return
	}
	i := slices.IndexFunc(*l, func(q Record) bool {
		return q.QuestionID == r.QuestionID && r.QuestionID != "" || q.ToolCallID == r.ToolCallID && r.ToolCallID != ""
	})
	r.Shown, r.Recipients, r.Untold = nil, nil, nil
	switch {
	case i >= 0 && r.Kind != Asked: // a later Asked tells of more recipients alone
		r.AgentID, r.QuestionID = (*l)[i].AgentID, (*l)[i].QuestionID
		(*l)[i] = r
	case i < 0 && add && r.QuestionID != "":
		*l = append(*l, r)
	}
}

// findEnd checks the last two MiB or so of the trail that r holds, of size bytes. c is at its end.
// questions are those that it has records of; repair is what must be written before the next
// record. The error is a *Fault if the end is not in order.
func findEnd(r io.ReaderAt, size int64) (c *chain, questions questionList, repair []byte, err error) {
	const window = 2 * (maxLine + 4096)
	c = &chain{}
	start := max(size-window, 0)
	lines := newLineReader(io.NewSectionReader(r, start, size-start))
	if start > 0 { // in the middle of a line
		c.adrift = true
		if _, _, err := lines.readLine(); err != nil {
			return nil, nil, nil, err
		}
	}
	for {
		line, ended, err := lines.readLine()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, nil, err
		}
		e, fault := c.checkLine(line, ended)
		questions.noteRecord(e.Record, true)
		if c.seq == 0 && start == 0 && c.line == 1 && !looksTorn(line) {
			fault = &Fault{1, Altered, "this is no line of a trail"}
		}
		switch {
		case fault == nil:
		case fault.How != TornEnd || line == nil:
			if start > 0 {
				fault.Line = 0 // lines were not counted from the beginning
			}
			return nil, nil, nil, fault
		case c.head == hashOf(line):
			repair = []byte{'\n'} // the record is whole, and lacks its line end alone
		default:
			repair = []byte(tornMark + "\n")
			c.addTorn(append(line, tornMark...))
		}
	}
	if start > 0 && c.seq == 0 {
		return nil, nil, nil, &Fault{0, Altered, "there is no record at its end"}
	}
	return c, questions, repair, nil
}

// Record adds a record. The error is about the record, which then is not in the file, or about the
// disk, or that the file was removed. What a disk holds after an error is not known, so from then
// on every Record returns it: close the File, see to the disk, and open it again.
func (f *File) Record(r Record) error {
	if r.Kind == Opened {
		return errors.New("audit: only a File itself records that it was opened")
	}
	r.Node, r.Version, r.Torn = "", 0, 0
	seq, err := f.writeRecord(r)
	if err != nil || f.late {
		return err
	}
	return f.syncTo(seq)
}

// writeRecord writes a record to the file and returns its number. It is on the disk once syncTo has
// returned. The error says why it was not written; after a failure of the file every later record
// fails too. It takes f.mu.
func (f *File) writeRecord(r Record) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return 0, f.err
	}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	line, head, err := sealRecord(f.seq+1, f.head, r)
	if err != nil {
		return 0, err
	}
	if _, err := f.out.Write(line); err != nil {
		return 0, f.failFile(err)
	}
	// A file that was moved away, as to be rotated, still has its records.
	if file, ok := f.out.(*os.File); ok && lockfile.Removed(file) {
		return 0, f.failFile(errors.New("the file was removed; restart to begin a new trail"))
	}
	f.seq, f.head = f.seq+1, head
	f.questions.noteRecord(r, false)
	if f.late && f.timer == nil {
		f.timer = time.AfterFunc(syncDelay, func() { f.syncTo(0) })
	}
	return f.seq, nil
}

// failFile makes every later Record fail because of err, and returns the error that they return; mu
// is held.
func (f *File) failFile(err error) error {
	f.err = fmt.Errorf("audit: %s is not written to any more: %w", f.path, err)
	return f.err
}

// syncTo puts all records that were written by now on the disk, unless the record seq is there
// already. Zero is the newest record. After an error the disk may not have what it was given.
func (f *File) syncTo(seq uint64) error {
	f.flush.Lock()
	defer f.flush.Unlock()
	f.mu.Lock()
	newest, head := f.seq, f.head
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	isSynced, lost, err := newest == f.synced || seq > 0 && seq <= f.synced, f.lost, f.err
	f.mu.Unlock()
	switch {
	case isSynced:
		return nil
	case lost:
		// A second Sync could succeed wrongly: the system may have dropped what it could not write.
		return err
	}
	err = f.out.Sync()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.lost = true
		return f.failFile(err)
	}
	f.synced, f.safe = newest, head
	return nil
}

// Head returns the hash of the newest record that is on the disk, in hex. Kept where those who can
// write the file cannot change it, it lets Verify prove that nothing up to there was changed.
func (f *File) Head() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.safe
}

// Close puts on the disk what is not there yet, and lets go of the file. Records that come later
// are refused. The error says that not everything may be on the disk. A second Close does nothing.
func (f *File) Close() error {
	if f == nil {
		return os.ErrInvalid
	}
	err := f.syncTo(0)
	f.flush.Lock()
	defer f.flush.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(f.err, os.ErrClosed) {
		return nil
	}
	f.failFile(os.ErrClosed)
	return errors.Join(err, f.out.Close())
}
