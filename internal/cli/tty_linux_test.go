package cli

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// onTTY gives a program a terminal of its own to read from, and returns the end at which a person
// types.
func onTTY(cmd *exec.Cmd) (*os.File, error) {
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		cmd.Stdin, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		keyboard.Close()
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return keyboard, nil
}

// handsOnLines reports whether a terminal shows what is typed and hands on lines, as it does for
// other programs.
func handsOnLines(keyboard *os.File) bool {
	t, err := unix.IoctlGetTermios(int(keyboard.Fd()), unix.TCGETS)
	return err == nil && t.Lflag&unix.ICANON != 0 && t.Lflag&unix.ECHO != 0
}
