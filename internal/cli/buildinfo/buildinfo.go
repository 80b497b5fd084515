// Package buildinfo says which build of the command this is.
package buildinfo

import (
	"runtime"
	"runtime/debug"

	"github.com/aaep-go/aaep"
)

// release is the version of a program that was built to be given away; the linker writes it
// (internal/release).
var release string

// Read returns the version and the commit of this program, as far as the Go tools wrote them
// into it.
func Read() (name, commit string) {
	name = release
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; name == "" && v != "(devel)" {
			name = v
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	return name, commit
}

// Text returns which build of the command this is: version, commit and Go version, as far as the
// build says. "aaep --version" prints it.
func Text() string {
	text := "aaep"
	name, commit := Read()
	if name != "" {
		text += " " + name
	}
	text += ", for AAEP " + aaep.Version
	if commit != "" {
		text += ", commit " + commit
	}
	text += ", " + runtime.Version()
	if name == "" && commit == "" {
		text += "; the build says neither its version nor its commit (-buildvcs=false)"
	}
	return text
}
