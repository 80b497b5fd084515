// Command suite runs the tests as the Makefile asks: apart from whatever else runs on the machine,
// all of them whatever fails, and with a summary at the end: what was skipped and why, and how each
// package ended.
//
//	go run ./internal/suite ARGUMENTS OF GO TEST -- ARGUMENTS OF ANOTHER ++ ARGUMENTS OF ONE BESIDE IT ...
//
// What follows "--" runs after all before it, what follows "++" beside the run before it. It starts
// nothing else: what a test needs, it starts itself.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// main runs go test as its arguments say, with a home folder of its own, and prints one summary. It
// exits with 1 if anything failed.
func main() {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt) // go test gets it too, and ends; what it did until then is reported
	home, err := os.MkdirTemp("", "aaep")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s := &summary{out: os.Stdout}
	env, err := environment(os.Environ(), home)
	if err == nil {
		for _, together := range runs(os.Args[1:]) {
			var running sync.WaitGroup
			for _, arguments := range together {
				running.Go(func() { s.runTests(arguments, env) })
			}
			running.Wait()
			if len(interrupted) > 0 {
				s.problems = append(s.problems, "interrupted")
				break
			}
		}
	} else {
		s.problems = append(s.problems, err.Error())
	}
	os.RemoveAll(home)
	if !s.printSummary() {
		os.Exit(1)
	}
}

// runs returns the arguments of each run: those between two "--" run at once, and "++" is between
// their arguments.
func runs(arguments []string) (all [][][]string) {
	for arguments := range splitAt(arguments, "--") {
		all = append(all, slices.Collect(splitAt(arguments, "++")))
	}
	return all
}

// splitAt yields what is between the separators, in order; what is empty is left out.
func splitAt(arguments []string, separator string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for len(arguments) > 0 {
			end := slices.Index(arguments, separator)
			if end < 0 {
				end = len(arguments)
			}
			if end > 0 && !yield(arguments[:end]) {
				return
			}
			arguments = arguments[min(end+1, len(arguments)):]
		}
	}
}

// kept are the variables that say how to build and where to fetch from. Every other one, such as
// those of a display, a session bus, a speech server, a braille display or a language, belongs
// to the developer who runs the tests, and no test sees it.
var kept = regexp.MustCompile(`^(PATH|TMPDIR|USER|LOGNAME|GO[A-Z0-9]*|CGO_.*|CC|CXX|LD_LIBRARY_PATH|PKG_CONFIG.*|AAEP_.*|SSL_CERT_.*|NODE_.*|(?i:npm_config_.*|[a-z]+_proxy))=`)

// environment returns what is kept of an environment, with a home, a configuration and a runtime
// directory of its own in the folder home. There is no session bus but those that tests start. What
// go, git and npm know of the real home they go on to find.
func environment(from []string, home string) (env []string, err error) {
	for _, v := range from {
		if kept.MatchString(v) {
			env = append(env, v)
		}
	}
	out, err := exec.Command("go", "env", "-json", "GOENV", "GOPATH", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	settings := map[string]string{}
	if err := json.Unmarshal(out, &settings); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	if real, err := os.UserHomeDir(); err == nil {
		settings["GIT_CONFIG_GLOBAL"] = filepath.Join(real, ".gitconfig")
		settings["NETRC"] = filepath.Join(real, ".netrc")
		settings["npm_config_cache"] = cmp.Or(os.Getenv("npm_config_cache"), filepath.Join(real, ".npm"))
		settings["npm_config_userconfig"] = cmp.Or(os.Getenv("npm_config_userconfig"), filepath.Join(real, ".npmrc"))
	}
	settings["HOME"] = home
	settings["AAEP_NPM"] = filepath.Join(home, "npm")  // internal/npmtest fetches each set of packages there once
	settings["DBUS_SESSION_BUS_ADDRESS"] = "disabled:" // without it, the user's is looked for in /run/user
	for name, folder := range map[string]string{"XDG_RUNTIME_DIR": "run", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache",
		"XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state"} {
		settings[name] = filepath.Join(home, folder)
		if err := os.Mkdir(settings[name], 0o700); err != nil {
			return nil, err
		}
	}
	for name, value := range settings {
		env = append(env, name+"="+value)
	}
	return env, nil
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// summary gathers what go test reports, of runs that may be at once.
type summary struct {
	mu       sync.Mutex // guards what follows, and keeps lines of out together
	out      io.Writer
	packages []string // lines as go test prints them, of those that passed
	failures []string // the same, of those that did not, below their tests
	problems []string // runs that failed and not for a test of theirs
	skipped  []skip
}

// report gathers what one run reports.
type report struct {
	*summary
	outputs map[string][]string // what a test printed that has not passed, by package and name
	failed  map[string][]string // tests, by package
	built   []string            // what the builds printed, of which the event of the package comes later
	bad     bool                // a package failed
}

// skip is a test that was skipped, or some of its subtests.
type skip struct {
	test   string // with its package
	reason string // of the first
	count  int    // subtests, 0 for the test itself
}

// runTests runs go test once with arguments, in env, and adds to the summary how it went. It
// returns when it has ended.
func (s *summary) runTests(arguments, env []string) {
	index := 0
	if len(arguments) > 0 && arguments[0] == "-C" {
		index = 2 // go wants it first
	}
	arguments = slices.Insert(slices.Clone(arguments), index, "-json")
	s.printLine("go test " + strings.Join(arguments, " ") + "\n")
	cmd := exec.Command("go", append([]string{"test"}, arguments...)...)
	cmd.Env, cmd.Stderr = env, os.Stderr
	r := report{summary: s, outputs: map[string][]string{}, failed: map[string][]string{}}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		r.readEvents(out)
		err = cmd.Wait()
	}
	if err != nil && !r.bad {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.problems = append(s.problems, fmt.Sprintf("go test %s: %v", strings.Join(arguments, " "), err))
	}
}

// printLine writes a line to the output of the run; any goroutine may call it.
func (s *summary) printLine(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprint(s.out, line)
}

// readEvents gathers the events of the run from its output, and prints of each package that has
// ended how it did. It returns at the end of the output.
func (r *report) readEvents(from io.Reader) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		var ev event
		if json.Unmarshal([]byte(line), &ev) != nil {
			r.printLine(line)
			continue
		}
		r.addEvent(ev)
	}
}

// addEvent takes the next event of the run: it keeps output until it is known whether the test
// failed, and notes what was skipped. It takes r.mu.
func (r *report) addEvent(ev event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := ev.Package + " " + ev.Test
	switch ev.Action {
	case "build-output":
		r.built = append(r.built, ev.Output)
	case "output":
		r.outputs[name] = append(r.outputs[name], ev.Output)
	case "skip":
		r.noteSkipped(ev, r.outputs[name])
		delete(r.outputs, name)
	case "fail":
		if ev.Test != "" {
			r.failed[ev.Package] = append(r.failed[ev.Package], ev.Test)
			return // its output is printed with that of its package
		}
		r.fail(ev)
	case "pass":
		if ev.Test == "" {
			for _, line := range r.outputs[name] {
				if strings.HasPrefix(line, "ok ") {
					r.packages = append(r.packages, line)
					fmt.Fprint(r.out, line)
				}
			}
		}
		delete(r.outputs, name)
	}
}

// fail prints what the tests of a package that failed printed, and those that had not ended when it
// did; what belongs to no test, such as a panic or a race, comes first.
func (r *report) fail(ev event) {
	tests := r.failed[ev.Package]
	var printed []string
	for name := range r.outputs {
		if strings.HasPrefix(name, ev.Package+" ") {
			printed = append(printed, name)
		}
	}
	slices.Sort(printed)
	for _, line := range r.built {
		fmt.Fprint(r.out, line)
	}
	for _, name := range printed {
		for _, line := range r.outputs[name] {
			if !strings.HasPrefix(line, "=== ") {
				fmt.Fprint(r.out, line)
			}
		}
		if test := strings.TrimPrefix(name, ev.Package+" "); test != "" && !slices.Contains(tests, test) {
			tests = append(tests, test+" (it had not ended)")
		}
		delete(r.outputs, name)
	}
	slices.Sort(tests)
	for _, test := range tests {
		r.failures = append(r.failures, fmt.Sprintf("--- FAIL: %s\n", test))
	}
	r.built, r.bad = nil, true
	r.failures = append(r.failures, fmt.Sprintf("FAIL\t%s\t%.3fs\n", ev.Package, ev.Elapsed))
}

var logged = regexp.MustCompile(`^\s+[^\s:]+\.go:\d+: `)

// noteSkipped notes a test that was skipped, with the reason it printed; parts of one test are
// counted. A package without tests is left out. The caller holds s.mu.
func (s *summary) noteSkipped(ev event, output []string) {
	if ev.Test == "" {
		return // it has no tests
	}
	reason := ""
	for _, line := range output {
		if logged.MatchString(line) {
			reason = strings.TrimSpace(logged.ReplaceAllString(line, ""))
		}
	}
	top, _, sub := strings.Cut(ev.Test, "/")
	test := ev.Package + " " + top
	i := slices.IndexFunc(s.skipped, func(k skip) bool { return k.test == test })
	if i < 0 {
		i, s.skipped = len(s.skipped), append(s.skipped, skip{test: test, reason: cmp.Or(reason, "no reason is given")})
	}
	if sub {
		s.skipped[i].count++
	}
}

// printSummary prints the summary: what was skipped and why, how each package ended, and last what
// failed. It reports whether nothing did.
func (s *summary) printSummary() bool {
	fmt.Fprintln(s.out)
	for _, k := range s.skipped {
		parts := ""
		if k.count > 0 {
			parts = fmt.Sprintf(", %d of its parts, the first", k.count)
		}
		fmt.Fprintf(s.out, "skipped: %s%s: %s\n", k.test, parts, k.reason)
	}
	fmt.Fprintln(s.out)
	for _, line := range slices.Concat(s.packages, s.failures) {
		fmt.Fprint(s.out, line)
	}
	for _, p := range s.problems {
		fmt.Fprintf(s.out, "FAIL\t%s\n", p)
	}
	return len(s.failures)+len(s.problems) == 0
}
