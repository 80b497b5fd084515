package toolwords

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// What matters in a command line. A person who listens cannot look for it: of a long command they
// are told first what in it deletes, overwrites, becomes root, runs what was fetched or leaves the
// machine, word for word, and then the whole. What is found here is in the command; that nothing is
// found does not mean that it does no harm, and is never said.

const (
	shortCommand = 60 // characters that are soon heard
	mostExcerpt  = 80 // characters of one thing that matters
	mostExcerpts = 4  // things that matter, of which it is said how many more there are
	mostScanned  = 1 << 16
	mostNested   = 8 // command lines in one another, as in sh -c "sh -c '…'"
)

// A finding is something in a command line that matters.
type finding struct {
	rank int    // the lower, the sooner it is told
	text string // as it is told
}

// The ranks of findings.
const (
	ruins    = iota // it deletes, becomes root, or runs what no person has seen
	changes         // it writes over something, or changes what others use
	contacts        // it reaches another machine
)

// ranks are programs that matter whatever they are given.
var ranks = func() map[string]int {
	all := map[string]int{}
	for rank, names := range []string{
		ruins: `rm rmdir unlink shred srm truncate dd wipefs fdisk parted blkdiscard sudo doas su pkexec runas eval source . del
			erase rd format remove-item ri clear-content invoke-expression iex shutdown reboot poweroff halt killall crontab`,
		changes: `mv chmod chown chgrp setfacl kill pkill stop-process systemctl service launchctl mount umount tee ln install
			passwd useradd userdel usermod visudo iptables ufw nft sysctl psql mysql sqlite3 mongosh redis-cli osascript at
			set-content move-item set-executionpolicy reg regedit`,
		contacts: `ssh scp sftp rsync curl wget nc ncat socat ftp telnet invoke-webrequest iwr`,
	} {
		for name := range strings.FieldsSeq(names) {
			all[name] = rank
		}
	}
	return all
}()

var (
	shells       = setOf("sh bash zsh dash ksh fish ash pwsh powershell cmd")
	interpreters = setOf("python python2 python3 perl ruby node deno bun php lua osascript")
	// wrappers run what they are given.
	wrappers = setOf(`env nice nohup time timeout xargs command builtin exec stdbuf setsid ionice watch find fd parallel busybox
		npx script strace unshare chroot flock`)
	// runners matter, and run what they are given.
	runners = setOf("sudo doas su pkexec runas eval source . ssh invoke-expression iex osascript crontab at script")
	// verbs are those of many programs: git push, kubectl delete, npm publish, docker rm.
	verbs = setOf(`push publish deploy apply destroy delete remove rm rmi drop prune purge uninstall reset clean restore
		checkout rebase filter-branch revert terminate truncate flush flushall`)
	// forcing are options of many programs.
	forcing = setOf(`--force --hard --delete --prune --purge --no-preserve-root --no-verify --force-with-lease -delete -exec
		-execdir -ok --yes -recurse -encodedcommand`)
	// telling are programs that do nothing with their words but find or print them.
	telling = setOf("echo printf grep rg egrep ag cat ls head tail")
	// keywords stand before a command, and naming ones before words that are none.
	keywords = setOf("if then else elif while until do ! { } fi done esac [[ [ ((")
	naming   = setOf("for case select function")
)

// setOf returns the set of the names that a text lists with blanks between.
func setOf(names string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		set[name] = true
	}
	return set
}

var (
	plainProgram = regexp.MustCompile(`^[\pL\pN_./+@:~\\-]+$`)
	assignment   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\+?=`)
)

// describeCommand returns how the action of a command line begins, to which the line is added: "Run
// the command", or, of a long one, what matters in it, the worst first. The part beyond mostScanned
// bytes counts as doing the worst.
func describeCommand(command string) string {
	const usual = "Run the command "
	command = strings.TrimSpace(command)
	if utf8.RuneCountInString(command) <= shortCommand {
		return usual
	}
	var s commandScan
	if s.scanLine(command[:min(len(command), mostScanned)], 0); len(command) > mostScanned {
		s.addFinding(ruins, "more than can be looked through")
	}
	if len(s.findings) == 0 && s.commands > 1 {
		slices.Sort(s.programs)
		return "Run a command that uses " + joinTexts(slices.Compact(s.programs), mostExcerpts+2) + ": "
	} else if len(s.findings) == 0 || s.commands == 1 && s.atStart {
		return usual // which begins with what it is
	}
	slices.SortStableFunc(s.findings, func(a, b finding) int { return cmp.Compare(a.rank, b.rank) })
	var texts []string
	for _, f := range s.findings {
		if !slices.Contains(texts, f.text) {
			texts = append(texts, f.text)
		}
	}
	folder := ""
	if len(s.folders) == 1 {
		folder = ", after it goes to " + quoteExcerpt(s.folders[0])
	} else if len(s.folders) > 1 {
		folder = fmt.Sprintf(", after it goes to %s and %d more folders", quoteExcerpt(s.folders[0]), len(s.folders)-1)
	}
	return "Run a command with " + joinTexts(texts, mostExcerpts) + " in it" + folder + ": "
}

// joinTexts lists texts, at least one, with commas and "and"; beyond limit it says how many more
// there are.
func joinTexts(texts []string, limit int) string {
	if more := len(texts) - limit; more > 0 {
		texts = append(slices.Clone(texts[:limit]), fmt.Sprintf("%d more", more))
	}
	last := len(texts) - 1
	if last == 0 {
		return texts[0]
	}
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}

// quoteExcerpt returns a piece of a command in marks, none of which are within it, and no longer
// than is soon heard. The whole command follows.
func quoteExcerpt(text string) string {
	return `"` + Clip(Code(strings.ReplaceAll(text, `"`, "'")), mostExcerpt) + `"`
}

// commandScan collects what matters in a command line.
type commandScan struct {
	findings []finding
	folders  []string // that it changes to
	programs []string
	commands int  // simple commands
	atStart  bool // the first of them is a finding
}

// A word is one of a simple command, without its quotation marks and backslashes.
type word struct {
	text   string
	quoted bool
}

// commandReader reads one command line, and notes what matters in it in a commandScan.
//
// Without knowing the shell, it reads as a command all that could be one to any. What is in
// quotation marks is read as a command line of its own where it is given to a program that may run
// it, and so is what a << has.
type commandReader struct {
	*commandScan
	text      string
	depth     int // of the command lines around this one
	words     []word
	current   strings.Builder // the word that is being read
	inWord    bool
	quoted    bool
	isComment bool
	piped     bool     // the command reads what another prints
	redirect  string   // the sign of a redirection whose target is the next word
	ends      []string // the words that end what is given to this line by <<
	lineRuns  bool     // a command of this line runs what it is given
}

// hereDocument is what a text that follows begins with, but for <<< which has it in one word.
var hereDocument = regexp.MustCompile(`^<<-?[ \t]*["'\\]?([A-Za-z_][A-Za-z0-9_]*)["']?`)

// scanLine reads a command line that depth others are around, and notes in s what of it matters.
func (s *commandScan) scanLine(text string, depth int) {
	r := commandReader{commandScan: s, text: text, depth: depth}
	for i := 0; i < len(text); i++ {
		i = r.readFrom(i)
	}
	r.endCommand(false)
}

// scanNested is scanLine for a command line within another. Blank text has nothing; one nested
// deeper than mostNested is noted as dangerous, unread.
func (s *commandScan) scanNested(text string, depth int) {
	switch {
	case strings.TrimSpace(text) == "":
	case depth > mostNested:
		s.addFinding(ruins, "commands within commands")
	default:
		s.scanLine(text, depth)
	}
}

// readFrom reads what begins at i: a quotation, a blank, an operator or a character of a word. It
// returns the place of the last byte that it read.
func (r *commandReader) readFrom(i int) int {
	next := byte(0)
	if i+1 < len(r.text) {
		next = r.text[i+1]
	}
	switch c := r.text[i]; c {
	case '\\':
		if continuesLine := next == '\n'; !continuesLine {
			r.addToWord(r.text[min(i+1, len(r.text)):min(i+2, len(r.text))])
		}
		return i + 1
	case '\'', '"':
		return r.readMarks(i)
	case ' ', '\t', '\r':
		r.endWord()
	case '(':
		return r.readParenthesis(i)
	case ';', ')', '`':
		r.endCommand(false)
	case '\n':
		r.endCommand(false)
		r.isComment = false
		return r.readHereDocuments(i)
	case '|':
		r.endCommand(next != '|')
		if next == '|' || next == '&' {
			return i + 1
		}
	case '&':
		ofRedirection := next == '>' || i > 0 && r.text[i-1] == '>' // &> and >&
		if !ofRedirection {
			r.endCommand(false)
		}
	case '>':
		return r.readOutputSign(i, next)
	case '<':
		return r.readInputSign(i)
	default:
		r.isComment = r.isComment || c == '#' && !r.inWord
		r.addToWord(r.text[i : i+1])
	}
	return i
}

// readMarks reads what stands in the quotation marks that begin at i, and returns the place of the
// closing one. In a comment it reads nothing, for an apostrophe is none there.
func (r *commandReader) readMarks(i int) int {
	if r.isComment {
		return i
	}
	end := closingQuote(r.text, i)
	inner := r.text[i+1 : end]
	if r.text[i] == '"' {
		r.readDoubleMarks(inner)
	} else {
		r.addToWord(inner)
	}
	r.quoted = true
	return end
}

// readParenthesis reads the parenthesis at i: behind a dollar sign it holds a command line whose
// output is a part of the word, else it ends the command before it.
func (r *commandReader) readParenthesis(i int) int {
	before, isSubstitution := strings.CutSuffix(r.current.String(), "$")
	if !isSubstitution {
		r.endCommand(false)
		return i
	}
	end := closingParenthesis(r.text, i)
	r.scanNested(r.text[i+1:end], r.depth+1)
	r.current.Reset()
	r.addToWord(before + "…")
	return end
}

// readOutputSign reads > or >> or >| at i, and returns the place of its last byte. A number close
// before it is no word of the command, but says of which output the sign is.
func (r *commandReader) readOutputSign(i int, next byte) int {
	if r.inWord && strings.Trim(r.current.String(), "0123456789") == "" {
		r.current.Reset()
		r.inWord = false
	}
	r.endWord()
	switch next {
	case '>':
		r.redirect = ">>"
		return i + 1
	case '|':
		r.redirect = ">"
		return i + 1
	}
	r.redirect = ">"
	return i
}

// readInputSign reads < at i, with those behind it and the word that ends a text which is given to
// the command, as in <<END. It returns the place of the last byte of that.
func (r *commandReader) readInputSign(i int) int {
	r.endWord()
	if m := hereDocument.FindStringSubmatch(r.text[i:]); m != nil && !r.isComment {
		r.ends = append(r.ends, m[1])
		return i + len(m[0]) - 1
	}
	for i+1 < len(r.text) && r.text[i+1] == '<' {
		i++
	}
	return i
}

// addToWord adds text to the word that is being read; even empty text, as of two quotes, makes it a
// word.
func (r *commandReader) addToWord(text string) {
	r.current.WriteString(text)
	r.inWord = true
}

// endWord ends the word that is being read, if there is one: it is the target of a redirection, or
// a word of the command.
func (r *commandReader) endWord() {
	if !r.inWord {
		return
	}
	w := word{r.current.String(), r.quoted}
	r.current.Reset()
	r.inWord, r.quoted = false, false
	if r.redirect != "" {
		r.noteRedirect(r.redirect, w.text)
		r.redirect = ""
		return
	}
	r.words = append(r.words, w)
}

// endCommand ends a simple command, which is noted; pipes says that the next one reads what it
// prints. Words that it may run as a command line are scanned too.
func (r *commandReader) endCommand(pipes bool) {
	r.endWord()
	runs := r.noteCommand(r.words, r.piped, len(r.ends) > 0)
	r.lineRuns = r.lineRuns || runs
	for _, w := range r.words {
		// Marks with an end of a line between them may be none, as an apostrophe in a text is.
		if strings.Contains(w.text, "\n") || runs && strings.ContainsAny(w.text, " \t;`(|&") {
			r.scanNested(w.text, r.depth+1)
		}
	}
	r.words, r.redirect, r.piped = nil, "", pipes
}

// readHereDocuments reads the texts that are given by << to the line that ends at i, and returns
// the place of the last byte of them. Where no command of the line runs what it is given, only what
// would ruin something is noted, unless a sentence begins with it: it may be a text for people.
func (r *commandReader) readHereDocuments(i int) int {
	for _, end := range r.ends {
		start := i + 1
		for line := range strings.Lines(r.text[start:]) {
			if i += len(line); strings.TrimSpace(line) == end {
				break
			}
		}
		var inner commandScan
		if inner.scanNested(r.text[start:i+1], r.depth+1); r.lineRuns {
			r.findings = append(r.findings, inner.findings...)
			continue
		}
		for _, f := range inner.findings {
			beginsSentence := f.text != strings.ToLower(f.text[:2])+f.text[2:]
			if f.rank == ruins && !beginsSentence {
				r.findings = append(r.findings, f)
			}
		}
	}
	r.ends, r.lineRuns = nil, false
	return i
}

// closingQuote returns the place of the mark that closes the one at i, or the length of the text
// where none does. In double marks, one behind a backslash or within $( ) does not.
func closingQuote(text string, i int) int {
	for j := i + 1; j < len(text); j++ {
		switch {
		case text[j] == text[i]:
			return j
		case text[i] == '\'':
		case text[j] == '\\':
			j++
		case strings.HasPrefix(text[j:], "$("):
			j = closingParenthesis(text, j+1)
		}
	}
	return len(text)
}

// closingParenthesis returns the place of the one that closes the parenthesis at i, or the length
// of the text. Those in quotations do not count.
func closingParenthesis(text string, i int) int {
	open := 0
	for j := i; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case '\'', '"':
			j = closingQuote(text, j)
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				return j
			}
		}
	}
	return len(text)
}

// readDoubleMarks reads what stands in double quotation marks. A shell runs the command lines in it
// whose output it puts there, whatever the program that is given the word.
func (r *commandReader) readDoubleMarks(text string) {
	for text != "" {
		start := len(text)
		if i := strings.IndexAny(text, "$`\\"); i >= 0 {
			start = i
		}
		r.addToWord(text[:start])
		switch text = text[start:]; {
		case strings.HasPrefix(text, "$("):
			end := closingParenthesis(text, 1)
			r.scanNested(text[2:end], r.depth+1)
			r.addToWord("…")
			text = text[min(end+1, len(text)):]
		case strings.HasPrefix(text, "`"):
			line, rest, _ := strings.Cut(text[1:], "`")
			r.scanNested(line, r.depth+1)
			r.addToWord("…")
			text = rest
		case len(text) > 1 && text[0] == '\\' && strings.IndexByte("\\\"$`\n", text[1]) >= 0:
			r.addToWord(strings.TrimSuffix(text[1:2], "\n"))
			text = text[2:]
		case text != "":
			r.addToWord(text[:1])
			text = text[1:]
		}
	}
}

// addFinding adds a finding about the command; the lower its rank, the sooner it is told.
func (s *commandScan) addFinding(rank int, text string) {
	s.findings = append(s.findings, finding{rank, text})
}

// noteRedirect notes that output goes to a file by a sign, > or >>. One to nothing, or to another
// stream, is not noted.
func (s *commandScan) noteRedirect(sign, target string) {
	switch {
	case target == "/dev/null" || target == "" || strings.Trim(target, "0123456789-") == "":
	case sign == ">>":
		s.addFinding(changes, "an addition to "+quoteExcerpt(target))
	default:
		s.addFinding(changes, "a write over "+quoteExcerpt(target))
	}
}

// noteCommand notes what matters in a simple command; piped says that it reads what another prints,
// and fed that it reads a text behind <<. It reports whether the command may run what it is given,
// as a shell or sudo does, or a program that cannot be told here. Keywords and assignments before
// it do not count.
func (s *commandScan) noteCommand(words []word, piped, fed bool) (runs bool) {
	for len(words) > 0 && (keywords[words[0].text] || assignment.MatchString(words[0].text)) {
		words = words[1:]
	}
	if len(words) == 0 || naming[words[0].text] {
		return false
	}
	name := programName(words[0].text)
	s.programs = append(s.programs, Clip(Code(name), mostExcerpt))
	findings := len(s.findings)
	s.noteProgram(name, words, piped, fed)
	if s.commands++; s.commands == 1 {
		s.atStart = len(s.findings) > findings
	}
	isUnread := !plainProgram.MatchString(words[0].text) // which program it is cannot be read here
	return runners[name] || wrappers[name] || shells[name] || interpreters[name] || isUnread
}

// noteProgram notes what the named program does with its words, the first of which names it. The
// first case that fits decides, from what is worst to what only its verb can tell.
func (s *commandScan) noteProgram(name string, words []word, piped, fed bool) {
	var texts []string
	for _, w := range words {
		texts = append(texts, w.text)
	}
	excerpt := quoteExcerpt(strings.Join(texts, " "))
	changesFolder := name == "cd" || name == "pushd" || name == "set-location"
	takesProgram := fed || len(words) > 1 && strings.HasPrefix(words[1].text, "-") // such as python -c
	switch rank, known := ranks[name]; {
	case changesFolder && len(words) > 1:
		s.folders = append(s.folders, strings.Join(texts[1:], " "))
	case piped && (shells[name] || interpreters[name]):
		s.addFinding(ruins, "a pipe into "+excerpt)
	case known:
		s.addFinding(rank, excerpt)
	case strings.HasPrefix(name, "mkfs"):
		s.addFinding(ruins, excerpt)
	case name == "sed" && slices.ContainsFunc(texts, changesInPlace):
		s.addFinding(changes, excerpt)
	case strings.Contains(words[0].text, "\n"): // a text between apostrophes, which is read by itself
	case !plainProgram.MatchString(words[0].text): // which program it is cannot be read here
		s.addFinding(ruins, excerpt)
	case interpreters[name] && takesProgram:
		s.addFinding(changes, excerpt)
	case wrappers[name] || shells[name]:
		s.noteWrapped(words[1:], excerpt)
	case !telling[name]:
		s.noteVerb(words[1:], excerpt)
	}
}

// changesInPlace reports whether a word of a sed command has it change the files themselves.
func changesInPlace(text string) bool {
	return strings.HasPrefix(text, "-i") || strings.HasPrefix(text, "--in-place")
}

// noteWrapped notes the first that matters among the words that a program such as sudo or xargs
// runs, else what noteVerb finds; excerpt is the whole command, which stands in the finding.
func (s *commandScan) noteWrapped(words []word, excerpt string) {
	for _, w := range words {
		name := programName(w.text)
		rank, known := ranks[name]
		switch {
		case known && name != ".":
			s.addFinding(rank, excerpt)
			return
		case forcing[strings.ToLower(w.text)], strings.HasPrefix(name, "mkfs"):
			s.addFinding(ruins, excerpt)
			return
		}
	}
	s.noteVerb(words, excerpt)
}

// noteVerb notes a program whose options, or first words, say that it changes something for good,
// such as --force or delete; excerpt is the command for the finding. Of other words it notes
// nothing.
func (s *commandScan) noteVerb(words []word, excerpt string) {
	for i, w := range words {
		if forcing[strings.ToLower(w.text)] || i < 4 && !w.quoted && verbs[strings.ToLower(w.text)] {
			s.addFinding(changes, excerpt)
			return
		}
	}
}

// programName returns the name by which a program is known, of the word that runs it: without
// folders and .exe, in small letters.
func programName(text string) string {
	text = strings.ReplaceAll(text, `\`, "/")
	if text == "." {
		return text
	}
	return strings.TrimSuffix(strings.ToLower(path.Base(text)), ".exe")
}
