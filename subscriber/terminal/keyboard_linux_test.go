package terminal

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/aaep-go/aaep/subscriber/announce"
)

// TestFullTerminal: a program whose terminal takes nothing any more ends when it is told to, and
// leaves the terminal handing on lines.
func TestFullTerminal(t *testing.T) {
	if os.Getenv("AAEP_FULL_TERMINAL") != "" { // that program
		ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		term := Open(ctx, os.Stdin, os.Stdout, os.Stderr)
		for ctx.Err() == nil {
			term.Present(ctx, announce.Utterance{Text: strings.Repeat("word ", 1000)})
		}
		term.Close()
		os.Exit(3)
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals:", err)
	}
	defer master.Close()
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run", "^TestFullTerminal$")
	cmd.Env = append(os.Environ(), "AAEP_FULL_TERMINAL=1", "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	handsOnLines := func() bool {
		settings, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		return err == nil && settings.Lflag&unix.ICANON != 0 && settings.Lflag&unix.ECHO != 0
	}
	await := func(what string, ok func() bool) {
		t.Helper()
		for limit := time.Now().Add(time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatal("this never came: ", what)
			}
		}
	}
	before := -1
	await("a full terminal", func() bool {
		printed, err := unix.IoctlGetInt(fd, unix.TIOCINQ) // that nothing has read
		full := err == nil && printed > 0 && printed == before && !handsOnLines()
		before = printed
		return full
	})
	cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		cmd.Process.Kill()
		t.Fatal("it did not end in a minute")
	}
	if cmd.ProcessState.ExitCode() != 3 || !handsOnLines() {
		t.Errorf("it ended with %v, and the terminal hands on lines: %v", cmd.ProcessState, handsOnLines())
	}
}
