package braille

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// louis translates with the program lou_translate, one process for each table, started when it is first needed.
type louis struct {
	tables map[string]string

	mu     sync.Mutex
	closed bool
	open   map[string]*process
}

// A process is a lou_translate that runs.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string     // what it says; closed at its end
	runes map[rune]string // what it makes of single characters
	lost  string          // what it begins with for a character that it does not know,
	same  bool            // or all that it says then
}

var errLouis = errors.New("liblouis has no such table, or does not answer")

// maxLine is how many bytes lou_translate takes as one line, with room to spare.
const maxLine = 1000

func newLouis(tables map[string]string) *louis {
	return &louis{tables: tables, open: map[string]*process{}}
}

// haveLouis says which of the programs is not there.
func haveLouis() error {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("there is no program %s to translate with", program)
		}
	}
	return nil
}

// close ends the processes.
func (l *louis) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, p := range l.open {
		p.end()
	}
}

// can reports whether a table is there.
func (l *louis) can(table string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return table != "" && l.process(table) != nil
}

// process is the running one for a table, or nil. A table that failed stays failed.
func (l *louis) process(table string) *process {
	if p, ok := l.open[table]; ok || l.closed {
		return p
	}
	p := start(table)
	l.open[table] = p
	return p
}

// programs translate. The output of lou_translate is a pipe, which it would fill before it answers; stdbuf makes it write lines.
var programs = [...]string{"lou_translate", "stdbuf"}

// start starts a process, and asks it what a character that nobody has looks like.
func start(table string) *process {
	cmd := exec.Command(programs[1], "-oL", programs[0], "--forward", "unicode.dis,"+table)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil
	}
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return nil
	}
	p := &process{cmd: cmd, in: in, lines: make(chan string), runes: map[rune]string{}}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	a, err := p.translate("a")
	if err != nil || strings.Trim(a, string(blank)) == "" {
		p.end()
		return nil
	}
	for i, private := range []string{"\ue0a1", "\uf1b2", "\U000f2c3d"} {
		s, err := p.translate(private)
		if err != nil {
			p.end()
			return nil
		}
		if i == 0 {
			p.lost, p.same = s, true
		}
		p.lost, p.same = common(p.lost, s), p.same && s == p.lost
	}
	return p
}

// common is the longest prefix of both.
func common(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return a[:n]
}

func (p *process) end() {
	if p == nil {
		return
	}
	p.in.Close()
	p.cmd.Process.Kill()
	for range p.lines { // until its output ends
	}
	p.cmd.Wait()
}

// translate is the braille for one line without spaces at its ends.
func (p *process) translate(line string) (string, error) {
	timeout := time.NewTimer(answer)
	defer timeout.Stop()
	sent := make(chan error, 1)
	go func() { // lou_translate reads a backslash as the beginning of a code
		_, err := io.WriteString(p.in, strings.ReplaceAll(line, `\`, `\\`)+"\n")
		sent <- err
	}()
	select {
	case s, ok := <-p.lines:
		if !ok {
			return "", errLouis
		}
		return s, <-sent
	case <-timeout.C:
		return "", errLouis
	}
}

// ask translates a line, and gives up a process that does not answer.
func (l *louis) ask(table, line string) (string, error) {
	p := l.process(table)
	if p == nil {
		return "", errLouis
	}
	s, err := p.translate(line)
	if err != nil {
		p.end()
		l.open[table] = nil
	}
	return s, err
}

// knows reports whether a table has a character. Each is tried once.
func (l *louis) knows(table string, r rune) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.process(table)
	if p == nil {
		return false
	}
	s, ok := p.runes[r]
	if !ok {
		var err error
		if s, err = l.ask(table, string(r)); err != nil {
			return false
		}
		p.runes[r] = s
	}
	if p.lost == "" || p.same {
		return s != p.lost
	}
	return !strings.HasPrefix(s, p.lost)
}

// words translates a text: a line at a time, so that contractions see their neighbours. Where the translation has
// another number of words than the text, each is translated alone, so that numbers stay whole.
func (l *louis) words(table, text string) ([]word, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []word
	for _, line := range lines(strings.FieldsFunc(text, breaks)) {
		s, err := l.ask(table, strings.Join(line, " "))
		if err != nil {
			return nil, err
		}
		cells := strings.FieldsFunc(s, func(r rune) bool { return r == blank })
		if len(cells) != len(line) {
			cells = cells[:0]
			for _, w := range line {
				if s, err = l.ask(table, w); err != nil {
					return nil, err
				}
				cells = append(cells, strings.Trim(s, string(blank)))
			}
		}
		for i, c := range cells {
			if c == "" {
				continue
			}
			w := dotWord([]rune(c))
			w.glued = i > 0 && len(all) > 0 && thousands([]rune(line[i-1]), []rune(line[i]))
			all = append(all, w)
		}
	}
	return all, nil
}

// lines are words in groups that lou_translate takes at once. Of a longer word it gets the parts.
func lines(words []string) [][]string {
	var all [][]string
	size := maxLine
	for _, w := range words {
		for w != "" {
			n := len(w)
			for n > maxLine || n < len(w) && !utf8.RuneStart(w[n]) {
				n--
			}
			if size += 2*n + 1; size > maxLine {
				all, size = append(all, nil), 2*n+1
			}
			all[len(all)-1] = append(all[len(all)-1], w[:n])
			w = w[n:]
		}
	}
	return all
}
