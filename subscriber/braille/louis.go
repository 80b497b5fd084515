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

// A translator uses the program lou_translate, one process for each table, started when it is first
// needed.
type translator struct {
	tables map[string]string

	mu     sync.Mutex
	closed bool                // no process is started any more
	open   map[string]*process // by table; nil of one that failed
}

// A process is a lou_translate that runs.
type process struct {
	cmd           *exec.Cmd
	in            io.WriteCloser
	lines         chan string     // what it says; closed at its end
	runes         map[rune]string // what it makes of single characters
	unknownPrefix string          // what it begins with for a character that it does not know,
	unknownSame   bool            // or all that it says then
}

// errTranslation is the error of every translation that failed.
var errTranslation = errors.New("liblouis has no such table, or does not answer")

// maxLine is how many bytes lou_translate takes as one line, with room to spare.
const maxLine = 1000

// newTranslator makes a translator with the tables of Options.
func newTranslator(tables map[string]string) *translator {
	return &translator{tables: tables, open: map[string]*process{}}
}

// checkPrograms returns an error that names the program that is missing, if one is.
func checkPrograms() error {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("there is no program %s to translate with", program)
		}
	}
	return nil
}

// endProcesses ends the processes; the translator then translates nothing more. It may be called on
// nil.
func (l *translator) endProcesses() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, p := range l.open {
		p.endProcess()
	}
}

// hasTable reports whether liblouis has a table.
func (l *translator) hasTable(table string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return table != "" && l.processFor(table) != nil
}

// processFor returns the running process of a table, or nil; it starts the first. A table that
// failed stays failed. It is called with l.mu held.
func (l *translator) processFor(table string) *process {
	if p, ok := l.open[table]; ok || l.closed {
		return p
	}
	p := startProcess(table)
	l.open[table] = p
	return p
}

// programs translate. The output of lou_translate is a pipe, which it would fill before it answers;
// stdbuf makes it write lines.
var programs = [...]string{"lou_translate", "stdbuf"}

// startProcess starts a process of liblouis for a table, and learns how it shows a character that
// no table has, from three of private use. It returns nil if the program cannot run or there is no
// such table.
func startProcess(table string) *process {
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
	a, err := p.translateLine("a")
	if err != nil || strings.Trim(a, string(blank)) == "" {
		p.endProcess()
		return nil
	}
	if p.learnUnknown() != nil {
		p.endProcess()
		return nil
	}
	return p
}

// learnUnknown finds out how the table shows a character that it does not have, from three of
// private use, which no table has: all in the same way, or each as a code behind a common prefix.
func (p *process) learnUnknown() error {
	var shown []string
	for _, private := range []string{"\ue0a1", "\uf1b2", "\U000f2c3d"} {
		s, err := p.translateLine(private)
		if err != nil {
			return err
		}
		shown = append(shown, s)
	}
	p.unknownPrefix = commonPrefix(commonPrefix(shown[0], shown[1]), shown[2])
	p.unknownSame = shown[0] == shown[1] && shown[1] == shown[2]
	return nil
}

// commonPrefix returns the longest prefix that a and b share and that ends between characters.
func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return a[:n]
}

// endProcess kills the program, and waits until its output has ended. A nil process is none to end.
func (p *process) endProcess() {
	if p == nil {
		return
	}
	p.in.Close()
	p.cmd.Process.Kill()
	for range p.lines { // until its output ends
	}
	p.cmd.Wait()
}

// translateLine returns the braille for one line without spaces at its ends. Without an answer in
// answerTimeout, or where the program ended, the error is errTranslation, and the process is of no
// more use.
func (p *process) translateLine(line string) (string, error) {
	timeout := time.NewTimer(answerTimeout)
	defer timeout.Stop()
	sent := make(chan error, 1)
	go func() { // lou_translate reads a backslash as the beginning of a code
		_, err := io.WriteString(p.in, strings.ReplaceAll(line, `\`, `\\`)+"\n")
		sent <- err
	}()
	select {
	case s, ok := <-p.lines:
		if !ok {
			return "", errTranslation
		}
		return s, <-sent
	case <-timeout.C:
		return "", errTranslation
	}
}

// translateLine translates a line of text to braille by a table, in a process that is kept for
// later lines; one that does not answer is ended, and the next line starts another. It is called
// with l.mu held.
func (l *translator) translateLine(table, line string) (string, error) {
	p := l.processFor(table)
	if p == nil {
		return "", errTranslation
	}
	s, err := p.translateLine(line)
	if err != nil {
		p.endProcess()
		l.open[table] = nil
	}
	return s, err
}

// hasCharacter reports whether a table has a character, by what liblouis makes of it. Each is tried
// once, and remembered. False too where the program does not answer. It takes l.mu.
func (l *translator) hasCharacter(table string, r rune) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.processFor(table)
	if p == nil {
		return false
	}
	s, ok := p.runes[r]
	if !ok {
		var err error
		if s, err = l.translateLine(table, string(r)); err != nil {
			return false
		}
		p.runes[r] = s
	}
	if p.unknownPrefix == "" || p.unknownSame {
		return s != p.unknownPrefix
	}
	return !strings.HasPrefix(s, p.unknownPrefix)
}

// translateText translates a text: a line at a time, so that contractions see their neighbours.
// Where the translation has another number of words than the text, each is translated alone, so
// that numbers stay whole.
func (l *translator) translateText(table, text string) ([]word, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var words []word
	for _, line := range groupWords(strings.FieldsFunc(text, isPageBreak)) {
		s, err := l.translateLine(table, strings.Join(line, " "))
		if err != nil {
			return nil, err
		}
		cells := strings.FieldsFunc(s, func(r rune) bool { return r == blank })
		if len(cells) != len(line) {
			cells = cells[:0]
			for _, w := range line {
				if s, err = l.translateLine(table, w); err != nil {
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
			w.joined = i > 0 && len(words) > 0 && continuesNumber([]rune(line[i-1]), []rune(line[i]))
			words = append(words, w)
		}
	}
	return words, nil
}

// groupWords puts words in groups that lou_translate takes at once: at most maxLine bytes, with
// each byte counted twice for escapes. A word that is longer than maxLine is split between
// characters.
func groupWords(words []string) [][]string {
	var groups [][]string
	size := maxLine // of the last group: there is none, and the first word begins one
	for _, w := range words {
		for w != "" {
			n := len(w)
			for n > maxLine || n < len(w) && !utf8.RuneStart(w[n]) {
				n--
			}
			if size += 2*n + 1; size > maxLine {
				groups, size = append(groups, nil), 2*n+1
			}
			groups[len(groups)-1] = append(groups[len(groups)-1], w[:n])
			w = w[n:]
		}
	}
	return groups
}
