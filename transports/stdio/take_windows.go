package stdio

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// moveStreams returns the standard input and output for the link, and puts others in their place,
// so that no child inherits the link: an empty input, and standard error as the output.
func moveStreams() (in, out *os.File, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, fmt.Errorf("stdio: %w", err)
	}
	for id, f := range map[uint32]*os.File{windows.STD_INPUT_HANDLE: null, windows.STD_OUTPUT_HANDLE: os.Stderr} {
		if err := windows.SetStdHandle(id, windows.Handle(f.Fd())); err != nil {
			return nil, nil, fmt.Errorf("stdio: %w", err)
		}
	}
	in, out = os.Stdin, os.Stdout
	os.Stdin, os.Stdout = null, os.Stderr
	return in, out, nil
}
