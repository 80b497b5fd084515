package a2a

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

// DialOver is Dial over a transport of a test's own.
var DialOver = dialOver

// RecordTasks has a file remember many tasks that begin and end, and returns how many lines it has.
func RecordTasks(t *testing.T, name string, tasks int) int {
	m, err := openMemory(name, "agent")
	if err != nil {
		t.Fatal(err)
	}
	defer m.file.Close()
	for i := range tasks {
		for _, line := range []memoryLine{{Task: fmt.Sprint(i)}, {Task: fmt.Sprint(i), State: working, Status: "s"},
			{Task: fmt.Sprint(i), Over: true}} {
			if err := m.recordLine(line); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n"))
}
