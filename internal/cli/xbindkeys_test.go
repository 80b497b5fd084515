package cli

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/aaep-go/aaep/internal/cli/subprocess"
	"github.com/aaep-go/aaep/internal/realtest"
)

// TestKeyOfTheDesktop presses the keys of docs/outputs.md on a display without a screen.
func TestKeyOfTheDesktop(t *testing.T) {
	realtest.Need(t, "Xvfb", "xbindkeys", "xdotool", "xterm")
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	screen := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "640x480x24", "-nolisten", "tcp")
	screen.ExtraFiles = []*os.File{write}
	t.Cleanup(subprocess.EndWithParent(screen))
	if err := screen.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Process.Kill(); screen.Wait() }) // after the script, which runs when this has returned
	write.Close()
	var number int
	if _, err := fmt.Fscan(read, &number); err != nil {
		t.Fatal(err)
	}
	runScripts(t, "xbindkeys", map[string]string{"DISPLAY": fmt.Sprintf(":%d", number)})
}
