//go:build !windows

package exits

import "os"

// hasTerminal reports whether there is a terminal that this program ends with.
func hasTerminal() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err == nil {
		tty.Close()
	}
	return err == nil
}
