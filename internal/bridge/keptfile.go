package bridge

import (
	"errors"
	"io"
	"os"

	"github.com/aaep-go/aaep/internal/lockfile"
)

// besideSuffix ends the name of the file that holds what another is about to become.
const besideSuffix = ".new"

// OpenKept opens a file to which this process alone appends, makes it where there is none, and
// returns what is in it. If an earlier process was killed within ReplaceContent, that is what the
// file was to become.
func OpenKept(name string) (file *os.File, content []byte, err error) {
	if file, err = lockfile.Open(name); err != nil {
		return nil, nil, err
	}
	content, err = os.ReadFile(name + besideSuffix)
	switch {
	case err == nil:
		err = ReplaceContent(file, content)
	case errors.Is(err, os.ErrNotExist):
		content, err = io.ReadAll(file)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, content, nil
}

// ReplaceContent makes content all that is in a file of OpenKept. A kill at any moment leaves what
// was there before or what is to be there, and never less: it stands in a file beside it meanwhile.
func ReplaceContent(file *os.File, content []byte) error {
	temporary := file.Name() + besideSuffix
	if err := lockfile.WriteWhole(temporary, content, 0o600); err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil { // which appends
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return os.Remove(temporary)
}
