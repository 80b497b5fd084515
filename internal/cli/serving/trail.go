package serving

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/aaep-go/aaep/internal/cli/exits"
	"github.com/aaep-go/aaep/producer/audit"
)

// OpenTrail opens the file that things are put on record in, for --audit. The error has the exit
// code, and says what to do: where another program writes to it, it was changed, or the disk is
// full.
func OpenTrail(name string) (*audit.File, error) {
	f, err := audit.Open(name, audit.Options{})
	var fault *audit.Fault
	code := exits.Usage
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, audit.ErrInUse):
		inUse := strings.TrimPrefix(err.Error(), audit.ErrInUse.Error()+": ")
		code, err = exits.Failed, fmt.Errorf("another program writes to the trail %s.\nEnd that, or name another file. To read this one: aaep audit verify %s", inUse, name)
	case errors.As(err, &fault):
		err = fmt.Errorf("the trail %s is not as it was written, so nothing is added to it.\nName another file. To see what is wrong: aaep audit verify %s", name, name)
	case errors.Is(err, fs.ErrNotExist): // a file that is not there would have been made
		folder := filepath.Dir(name)
		err = fmt.Errorf("cannot open the trail %s: there is no folder %s.\nMake it: mkdir -p %s", name, folder, folder)
	default:
		if exits.IsDiskFull(err) {
			code = exits.Failed
		}
		err = fmt.Errorf("cannot open the trail %s: %s", name, exits.InnermostError(err))
	}
	return nil, exits.With(code, err)
}

// CloseTrail closes it, and sets an error that says that it may not be whole where there is no
// other.
func CloseTrail(f *audit.File, name string, err *error) {
	if failed := f.Close(); failed != nil && *err == nil {
		*err = exits.With(exits.Failed, fmt.Errorf("the trail %s may not be whole: %s", name,
			exits.InnermostError(failed)))
	}
}
