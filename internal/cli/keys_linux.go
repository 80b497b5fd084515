package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// eachKey makes a terminal hand on each key as it is pressed, and show none. Keys that send signals still do.
func eachKey(file *os.File) (restore func(), err error) {
	fd := int(file.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil || group != unix.Getpgrp() {
		return nil, os.ErrPermission // to change it from the background would stop the program
	}
	each := *before
	each.Lflag &^= unix.ICANON | unix.ECHO
	each.Cc[unix.VMIN], each.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETSW, &each); err != nil {
		return nil, err
	}
	return func() { unix.IoctlSetTermios(fd, unix.TCSETSW, before) }, nil
}
