//go:build linux

// Package speechd runs a real Speech Dispatcher for tests: with eSpeak NG, and a sound card that
// takes sound at the pace of real ears and throws it away. What was said is read from the server's
// own transcript of the protocol.
package speechd

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Programs are what a Server needs.
var Programs = []string{"speech-dispatcher", "espeak-ng", "pulseaudio"}

// A Server is a speech server in a folder of its own.
type Server struct {
	Socket string
	Kill   func()
	t      *testing.T
	dir    string

	mu       sync.Mutex
	read     int64    // bytes of the transcript whose entries are in messages
	messages messages // of those
}

// Start starts a Server, which ends with the test. The test fails where a program of it does not
// start.
func Start(t *testing.T) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "aaep") // t.TempDir is too long for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.CopyFS(in("conf"), os.DirFS("/etc/speech-dispatcher")); err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf(`LogLevel 1
LogDir "%s"
CustomLogFile "protocol" "%s"
DefaultLanguage "en-US"
AudioOutputMethod "pulse"
AddModule "espeak-ng" "sd_espeak-ng" "espeak-ng.conf"
DefaultModule espeak-ng
SymbolsPreproc "char"
SymbolsPreprocFile "symbols.dic"
`, dir, in("ssip.log"))
	if err := os.WriteFile(in("conf/speechd.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Server{Socket: in("speechd.sock"), t: t, dir: dir}
	startProgram(t, dir, in("pulse.sock"), "pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no",
		"-L", "module-null-sink sink_name=void rate=22050 channels=1",
		"-L", "module-native-protocol-unix socket="+in("pulse.sock")+" auth-anonymous=1")
	s.Kill = startProgram(t, dir, s.Socket, "speech-dispatcher", "-s", "-C", in("conf"), "-S", s.Socket, "-P", in("pid"), "-L", dir, "-t", "0", "-l", "1")
	return s
}

// startProgram starts a program, waits until it listens at a socket, for at most a minute, and
// returns what kills it and its children. Its folders are in dir. It ends with the test.
func startProgram(t *testing.T, dir, socket string, name string, args ...string) (kill func()) {
	t.Helper()
	var output bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_RUNTIME_DIR="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir,
		"PULSE_SERVER=unix:"+filepath.Join(dir, "pulse.sock"), "DBUS_SESSION_BUS_ADDRESS=disabled:")
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	kill = func() { // not SIGTERM: it can hang while a module closes
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
	t.Cleanup(kill)
	for wait := time.NewTimer(time.Minute); ; {
		if conn, err := net.Dial("unix", socket); err == nil {
			conn.Close()
			return kill
		}
		select {
		case <-ended:
			t.Fatalf("%s ended: %s", name, output.String())
		case <-wait.C:
			kill()
			t.Fatalf("%s does not listen: %s", name, output.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Transcript returns all that was received and sent up to now, in SSIP, a line each; the test fails
// where it cannot be read.
func (s *Server) Transcript() string {
	s.t.Helper()
	log, err := os.ReadFile(filepath.Join(s.dir, "ssip.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.ReplaceAll(string(log), "\r", "")
}

// A Message is something that a client asked to be said.
type Message struct {
	Text        string
	Asked       time.Time
	Begun, Over time.Time // zero if it has not
	Cut         bool      // before its end
}

// Took is how long it was spoken.
func (m Message) Took() time.Duration { return m.Over.Sub(m.Begun) }

// Heard reports whether it was spoken to its end.
func (m Message) Heard() bool { return !m.Over.IsZero() && !m.Cut }

// An entry of the transcript has the time, in seconds and microseconds, and what was received or
// sent.
var entry = regexp.MustCompile(`(?m)^\[(.{24}) : (\d+)\] speechd: +(\d+):(DATA|REPLY):\|`)

// An entry ends with the bar behind its text, after which its number of bytes may follow.
var entryEnd = regexp.MustCompile(`\n\|( \(\d+\))?\n$`)

// messages is what the entries of a transcript say, as far as they were added.
type messages struct {
	pending map[string]Message // by the client who waits for its number
	numbers []string           // of all
	all     []Message
	spoken  map[string]Message // by number, what the events report; the first may come before the number is told
}

// Messages returns those asked for so far, oldest first. Keys and single characters are among them.
// It reads only what the transcript has more than at the call before.
func (s *Server) Messages() []Message {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	file, err := os.Open(filepath.Join(s.dir, "ssip.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	added, err := io.ReadAll(io.NewSectionReader(file, s.read, math.MaxInt64-s.read))
	if err != nil {
		s.t.Fatal(err)
	}
	done, entries := 0, entry.FindAllSubmatchIndex(added, -1)
	for i, m := range entries {
		end := len(added)
		if i+1 < len(entries) {
			end = entries[i+1][0]
		} else if !entryEnd.Match(added[m[0]:]) {
			break // the rest of it has yet to be written
		}
		if err := s.messages.add(string(added[m[0]:end])); err != nil {
			s.t.Fatal(err)
		}
		done = end
	}
	s.read += int64(done)
	return s.messages.list()
}

// add adds what an entry says.
func (ms *messages) add(text string) error {
	text = strings.ReplaceAll(text, "\r", "")
	m := entry.FindStringSubmatch(text)
	when, err := time.ParseInLocation(time.ANSIC, m[1], time.Local)
	if err != nil {
		return err
	}
	micros, _ := strconv.Atoi(m[2])
	when = when.Add(time.Duration(micros) * time.Microsecond)
	if ms.pending == nil {
		ms.pending, ms.spoken = map[string]Message{}, map[string]Message{}
	}
	client := m[3]
	text = text[len(m[0]):]
	text = text[:max(0, strings.LastIndex(text, "\n|"))] // what follows is the number of bytes
	first, _, _ := strings.Cut(text, "\n")
	code, number, _ := strings.Cut(first, "-")
	switch {
	case m[4] == "DATA":
		message := ms.pending[client]
		ms.pending[client] = Message{Text: message.Text + text + "\n", Asked: when}
	case len(first) > 3 && first[3] == ' ': // the answer to another command, or the leave to begin
		delete(ms.pending, client)
	case code == "225":
		message := ms.pending[client]
		message.Text = strings.TrimSuffix(strings.TrimSuffix(message.Text, "\n"), "\n.")
		ms.numbers, ms.all = append(ms.numbers, number), append(ms.all, message)
		delete(ms.pending, client)
	case code == "701":
		ms.spoken[number] = Message{Begun: when}
	case code == "702" || code == "703":
		ms.spoken[number] = Message{Begun: ms.spoken[number].Begun, Over: when, Cut: code == "703"}
	}
	return nil
}

// list returns the messages, with what is known by now of how they were spoken.
func (ms *messages) list() []Message {
	all := slices.Clone(ms.all)
	for i, number := range ms.numbers {
		m := ms.spoken[number]
		all[i].Begun, all[i].Over, all[i].Cut = m.Begun, m.Over, m.Cut
	}
	return all
}
