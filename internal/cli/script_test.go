package cli

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/natstest"
	"github.com/aaep-go/aaep/internal/sessionbus"
	"github.com/aaep-go/aaep/schemas"
)

func TestMain(m *testing.M) {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		os.Unsetenv(name) // the developer may speak another language
	}
	sessionbus.Processes = os.DevNull // nor do they find the screen reader of the developer, of which the scripts know nothing
	flag.Set("test.parallel", "16")   // the scripts do little but wait for each other's processes
	testscript.Main(m, map[string]func(){
		"akashikfield": akashikField,
		"aaep":         func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"acpcoder":     acpCoder,
		"asker":        asker,
		"display":      display,
		"mint":         mint,
		"voicebox":     voicebox,
		"waker":        waker,
		"raptools":     rapTools,
		"raprun":       rapRun,
		"printer":      printer,
	})
}

// TestScripts runs the command as people do: as processes that talk over real connections and get
// real signals. Nothing sleeps; what must happen is awaited. EVT-078: listen_answer wants the whole
// question and both answers.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "script", nil)
}

// TestServe has the scripts that need NATS servers, on three of them.
func TestServe(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers are started: make test-all runs it")
	}
	t.Parallel()
	servers := natstest.Start(t, 3)
	vars := map[string]string{"NATS": servers.URLs()}
	for i, s := range servers.Servers {
		vars[fmt.Sprint("NATS", i+1)] = s.URL
	}
	runScripts(t, "nats", vars)
}

func runScripts(t *testing.T, dir string, vars map[string]string) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", dir),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			running := &processes{all: map[string]*process{}}
			env.Values["processes"] = running
			env.Setenv("DEL", "\x7f")
			env.Setenv("DBUS_SESSION_BUS_ADDRESS", "disabled:") // else the user's is found where systems put it
			for name, value := range vars {
				env.Setenv(name, value)
			}
			env.Defer(running.kill)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": start, "await": await, "type": typeLine, "keys": keys, "raw": raw, "insist": insist,
			"signal": sendSignal,
			"answer": answerElsewhere,
			"ended":  ended, "inorder": inOrder, "cooked": cooked, "valid": valid, "plain": plainText,
		},
	})
}

type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	tty   string        // the file with what appears at its terminal; empty if it has none
	done  chan struct{} // closed when it has ended
}

type processes struct {
	mu  sync.Mutex
	all map[string]*process
}

func (ps *processes) kill() {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.all {
		p.kill()
	}
}

func (p *process) kill() {
	select {
	case <-p.done: // its number may be another's by now
	default:
		signalGroup(p.cmd.Process, syscall.SIGKILL)
		<-p.done
	}
}

func named(ts *testscript.TestScript, name string) *process {
	ps := ts.Value("processes").(*processes)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.all[name]
	if p == nil {
		ts.Fatalf("nothing was started as %s", name)
	}
	return p
}

// start [-tty] NAME PROGRAM ARGUMENTS runs a program in a process group of its own, as a terminal
// does, or with a terminal to read from, of which NAME.tty has what appears there. What it prints
// is in NAME.out and NAME.err.
func start(ts *testscript.TestScript, neg bool, args []string) {
	tty := len(args) > 0 && args[0] == "-tty"
	if tty {
		args = args[1:]
	}
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start [-tty] NAME PROGRAM ARGUMENTS")
	}
	path := args[1]
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if found, err := exec.LookPath(filepath.Join(dir, args[1])); err == nil {
			path = found
			break
		}
	}
	cmd := exec.Command(path, args[2:]...)
	cmd.Args[0] = args[1]
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "TMP", "SystemRoot", "GOCOVERDIR", "GORACE",
		"SPEECHD_ADDRESS", "TERM", "BRLAPI_HOST", "DBUS_SESSION_BUS_ADDRESS", "XDG_CONFIG_HOME", "DISPLAY"} {
		if value := ts.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	var stdin io.WriteCloser
	var err error
	screen := ""
	if tty {
		keyboard, err := onTTY(cmd)
		ts.Check(err)
		screen = args[0] + ".tty"
		file, err := os.Create(ts.MkAbs(screen))
		ts.Check(err)
		go func() { defer file.Close(); io.Copy(file, keyboard) }()
		stdin = keyboard
	} else {
		own(cmd)
		stdin, err = cmd.StdinPipe()
		ts.Check(err)
	}
	stdout, err := os.Create(ts.MkAbs(args[0] + ".out"))
	ts.Check(err)
	defer stdout.Close()
	stderr, err := os.Create(ts.MkAbs(args[0] + ".err"))
	ts.Check(err)
	defer stderr.Close()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	ts.Check(cmd.Start())
	p := &process{cmd: cmd, stdin: stdin, tty: screen, done: make(chan struct{})}
	go func() { cmd.Wait(); close(p.done) }()
	ps := ts.Value("processes").(*processes)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if before := ps.all[args[0]]; before != nil { // which no command can name any more
		before.kill()
	}
	ps.all[args[0]] = p
}

// until waits for a condition.
func until(ts *testscript.TestScript, what func() string, met func() bool) {
	for deadline := time.Now().Add(clitest.Patience); !met(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("waited %v for %s", clitest.Patience, what())
		}
	}
}

// await FILE REGEXP [VARIABLE] waits until a file matches, and keeps the first group in a variable.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await FILE REGEXP [VARIABLE]")
	}
	re := regexp.MustCompile("(?m)" + args[1])
	var found []string
	until(ts, func() string { return fmt.Sprintf("%s in\n%s", re, ts.ReadFile(args[0])) }, func() bool {
		found = re.FindStringSubmatch(ts.ReadFile(args[0]))
		return found != nil
	})
	if len(args) > 2 {
		ts.Setenv(args[2], found[1])
	}
}

// cooked NAME checks that the terminal of a program hands on lines; ! cooked, that it hands on
// keys.
func cooked(ts *testscript.TestScript, neg bool, args []string) {
	if got := handsOnLines(named(ts, args[0]).stdin.(*os.File)); got == neg {
		ts.Fatalf("the terminal hands on lines: %v", got)
	}
}

// raw NAME waits until a terminal hands on keys.
func raw(ts *testscript.TestScript, neg bool, args []string) {
	until(ts, func() string { return "keys of " + args[0] },
		func() bool { return !handsOnLines(named(ts, args[0]).stdin.(*os.File)) })
}

// type NAME LINE types a line, key by key at a terminal; without a line it ends the input.
func typeLine(ts *testscript.TestScript, neg bool, args []string) {
	p := named(ts, args[0])
	if len(args) == 1 {
		ts.Check(p.stdin.Close())
		return
	}
	if p.tty == "" {
		_, err := io.WriteString(p.stdin, args[1]+"\n")
		ts.Check(err)
		return
	}
	for _, key := range args[1] + "\n" {
		press(ts, p, string(key))
	}
}

// press writes to a terminal, and waits until something of it appears.
func press(ts *testscript.TestScript, p *process, keys string) {
	before := len(ts.ReadFile(p.tty))
	_, err := io.WriteString(p.stdin, keys)
	ts.Check(err)
	until(ts, func() string { return fmt.Sprintf("%q in\n%s", keys, ts.ReadFile(p.tty)) },
		func() bool { return len(ts.ReadFile(p.tty)) > before })
}

// keys NAME TEXT writes to a terminal in one piece, as a paste does. \n in it is Enter; ^Z and ^\
// are keys that send signals.
func keys(ts *testscript.TestScript, neg bool, args []string) {
	p, text := named(ts, args[0]), strings.NewReplacer(`\n`, "\n", "^Z", "\x1a", "^\\", "\x1c").Replace(args[1])
	if text[0] != '\n' && text[0] < ' ' { // of which nothing need appear
		_, err := io.WriteString(p.stdin, text)
		ts.Check(err)
		return
	}
	press(ts, p, text)
}

// yes is what a program asked for last, to be typed for a yes.
func yes(ts *testscript.TestScript, name string) string {
	for _, file := range []string{name + ".err", name + ".out"} {
		if all := asksFor.FindAllStringSubmatch(ts.ReadFile(file), -1); all != nil {
			return all[len(all)-1][1]
		}
	}
	return "y"
}

var asksFor = regexp.MustCompile(`(?m)(?:^|[.:] )Type (\S+) to accept`)

// insist NAME LINE REGEXP types a line, and again while it came too soon after the question, until
// NAME.err matches. Where a word is asked for, y is that.
func insist(ts *testscript.TestScript, neg bool, args []string) {
	re, tooSoon := regexp.MustCompile("(?m)"+args[2]),
		regexp.MustCompile(`(?m)^aaep: (?:\S+: )?(That came before|You may not have heard) .*$`)
	if strings.EqualFold(args[1], "y") { // a word may be asked for
		tooSoon = regexp.MustCompile(`(?m)^aaep: (?:\S+: )?(That came before|You may not have heard|That is no answer).*$`)
	}
	text := func() string { return ts.ReadFile(args[0] + ".err") }
	for tries, late := 0, time.Now().Add(2*clitest.Patience); ; tries++ {
		// A person lets what they are told come to its end: each answer interrupts it.
		time.Sleep(time.Duration(max(tries-1, 0)*max(tries-1, 0)) * time.Second)
		before := len(tooSoon.FindAllString(text(), -1))
		line := args[1]
		if strings.EqualFold(line, "y") {
			line = yes(ts, args[0])
		}
		typeLine(ts, false, []string{args[0], line})
		// A reason that waits to be told is not queued twice: where nothing comes, a person
		// tries again.
		for again := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			switch now := time.Now(); {
			case re.MatchString(text()):
				return
			case now.After(late):
				ts.Fatalf("typed %d times, and nothing matches %s in\n%s", tries+1, re, text())
			}
			if len(tooSoon.FindAllString(text(), -1)) > before || time.Now().After(again) {
				break
			}
		}
	}
}

// answer ARGUMENTS runs "aaep answer" until what it gives counts.
func answerElsewhere(ts *testscript.TestScript, neg bool, args []string) {
	until(ts, func() string { return "an answer that counts" }, func() bool {
		err := ts.Exec("aaep", append([]string{"answer"}, args...)...)
		if err != nil {
			time.Sleep(1100 * time.Millisecond) // sooner it is the same key, held down
		}
		return err == nil
	})
}

// signal [-one] NAME SIGNAL sends a signal to the process group, as a terminal does, or to the
// process alone.
func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	one := args[0] == "-one"
	if one {
		args = args[1:]
	}
	p := named(ts, args[0])
	sig := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP,
		"KILL": syscall.SIGKILL, "QUIT": syscall.SIGQUIT, "ABRT": syscall.SIGABRT}[args[1]]
	if one {
		ts.Check(p.cmd.Process.Signal(sig))
		return
	}
	ts.Check(signalGroup(p.cmd.Process, sig))
}

// ended NAME CODE waits for a process to end with an exit code.
func ended(ts *testscript.TestScript, neg bool, args []string) {
	p := named(ts, args[0])
	select {
	case <-p.done:
	case <-time.After(clitest.Patience):
		ts.Fatalf("%s has not ended after %v; it said:\n%s%s", args[0], clitest.Patience, ts.ReadFile(args[0]+".out"),
			ts.ReadFile(args[0]+".err"))
	}
	if got := p.cmd.ProcessState.ExitCode(); strconv.Itoa(got) != args[1] {
		ts.Fatalf("%s ended with %d, want %s; it said:\n%s%s", args[0], got, args[1], ts.ReadFile(args[0]+".out"),
			ts.ReadFile(args[0]+".err"))
	}
}

// inorder FILE WANT checks that every line of WANT is a line of FILE, in this order; "..." in it is
// anything.
func inOrder(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	lines := strings.Split(text, "\n")
	for want := range strings.Lines(ts.ReadFile(args[1])) {
		want = strings.TrimSuffix(want, "\n")
		re := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), `\.\.\.`, ".+") + "$")
		for !re.MatchString(lines[0]) {
			if lines = lines[1:]; len(lines) == 0 {
				ts.Fatalf("%s misses, in its place, the line\n%s\nIt is:\n%s", args[0], want, text)
			}
		}
		lines = lines[1:]
	}
}

// valid FILE NUMBER checks that a file has at least so many lines and that each is a valid event.
func valid(ts *testscript.TestScript, neg bool, args []string) {
	lines := bytes.Split(bytes.TrimSuffix([]byte(ts.ReadFile(args[0])), []byte("\n")), []byte("\n"))
	if least, _ := strconv.Atoi(args[1]); len(lines) < least {
		ts.Fatalf("%s has %d lines, want at least %d", args[0], len(lines), least)
	}
	for _, line := range lines {
		if err := schemas.Validate(line); err != nil {
			ts.Fatalf("%s: %v", line, err)
		}
	}
}

// plain FILES checks that a terminal shows just these lines, one after the other, and without
// colour.
func plainText(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		for _, r := range ts.ReadFile(name) {
			if r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0 || r >= 0x2500 && r < 0x2600 || r >= 0x2800 &&
				r < 0x2900 {
				ts.Fatalf("%s holds %U", name, r)
			}
		}
	}
}
