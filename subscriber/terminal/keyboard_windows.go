package terminal

import (
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// eachKey makes a console hand on each key as it is pressed, and show none, until restore; screen
// is where they can be shown. Ctrl-C still interrupts. A file that is no console is an error.
func eachKey(file *os.File) (screen io.Writer, restore func(), err error) {
	console := windows.Handle(file.Fd())
	var before uint32
	if err := windows.GetConsoleMode(console, &before); err != nil {
		return nil, nil, err
	}
	shown, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	each := before&^(windows.ENABLE_LINE_INPUT|windows.ENABLE_ECHO_INPUT) | windows.ENABLE_PROCESSED_INPUT
	if err := windows.SetConsoleMode(console, each); err != nil {
		shown.Close()
		return nil, nil, err
	}
	return shown, func() {
		windows.SetConsoleMode(console, before)
		shown.Close()
	}, nil
}

// watchSuspension watches nothing: no signal stops a program here.
func (t *Terminal) watchSuspension() (stop func()) { return func() {} }
