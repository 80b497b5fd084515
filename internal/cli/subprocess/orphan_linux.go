package subprocess

import (
	"os/exec"
	"runtime"
	"syscall"
)

// EndWithParent has the kernel tell a program to end when we die, even of kill -9. It means the
// thread that starts the program, which therefore has to live until the program has ended and
// release is called.
func EndWithParent(cmd *exec.Cmd) (release func()) {
	runtime.LockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return runtime.UnlockOSThread
}
