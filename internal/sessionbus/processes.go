package sessionbus

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Running returns the first of some programs of which a process of this user runs, as the folder
// proc shows them, or "".
func Running(proc string, names ...string) string {
	files, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "comm"))
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || !ours(info) {
			continue
		}
		comm, _ := os.ReadFile(file)
		if name := strings.TrimSpace(string(comm)); slices.Contains(names, name) {
			return name
		}
	}
	return ""
}
