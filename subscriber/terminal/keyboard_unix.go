//go:build unix

package terminal

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// eachKey makes a terminal hand on each key as it is pressed, and show none; screen is where they
// can be shown. Keys that send signals still do. Neither it nor restore waits for what was printed
// to leave: a terminal that is stopped would hold them up.
func eachKey(file *os.File) (screen io.Writer, restore func(), err error) {
	fd := int(file.Fd())
	saved, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, nil, err
	}
	if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil || group != unix.Getpgrp() {
		return nil, nil, os.ErrPermission // to change it from the background would stop the program
	}
	screen = file
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY {
		if screen, err = os.OpenFile("/dev/tty", os.O_WRONLY, 0); err != nil {
			return nil, nil, err
		}
	}
	changed := *saved
	changed.Lflag &^= unix.ICANON | unix.ECHO
	changed.Cc[unix.VMIN], changed.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermios, &changed); err != nil {
		return nil, nil, err
	}
	return screen, func() { unix.IoctlSetTermios(fd, setTermios, saved) }, nil
}

// watchSuspension leaves the terminal as it was to the program that uses it while this program is
// stopped, and takes it again when it goes on. A signal to quit or to abort ends the program with
// the terminal given back.
func (t *Terminal) watchSuspension() (stop func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGQUIT, syscall.SIGABRT)
	done := make(chan struct{})
	go func() {
		isStopped := false // t.suspended is held
		defer func() {
			if isStopped {
				t.suspended.Unlock()
			}
		}()
		for {
			select {
			case s := <-signals:
				switch s {
				case syscall.SIGCONT:
					t.noteResumed()
					t.takeTerminal()
					if isStopped {
						t.suspended.Unlock()
						isStopped = false
					}
				case syscall.SIGQUIT, syscall.SIGABRT:
					t.releaseForGood()
					signal.Reset(s)
					syscall.Kill(os.Getpid(), s.(syscall.Signal))
				case syscall.SIGTSTP:
					if hasShell() {
						if !isStopped {
							t.suspended.Lock()
							isStopped = true
						}
						t.releaseTerminal()
						// Go does not stop by SIGTSTP once that was asked for.
						syscall.Kill(os.Getpid(), syscall.SIGSTOP)
					}
				}
			case <-done:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(signals)
		close(done)
	})
}

// hasShell reports whether a shell can let this program go on when it is stopped: its parent is of
// the same session, and not stopped with it for good.
func hasShell() bool {
	parent := unix.Getppid()
	session, err := unix.Getsid(parent)
	ownSession, _ := unix.Getsid(0)
	group, _ := unix.Getpgid(parent)
	return err == nil && session == ownSession && (group != unix.Getpgrp() || parent != session)
}
