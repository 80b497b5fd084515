package bridge

import (
	"errors"
	"os"

	"github.com/go-json-experiment/json"

	"github.com/aaep-go/aaep/internal/lockfile"
)

// PlacesFile returns the name of the file that keeps how far news were told, beside the file seen
// that keeps which; "" without that.
func PlacesFile(seen string) string {
	if seen == "" {
		return ""
	}
	return seen + ".places"
}

// WriteState writes what is to be known after a restart to a file that only its owner can read, in
// one step. An empty name is no file.
func WriteState(name string, state any) error {
	if name == "" {
		return nil
	}
	text, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return lockfile.WriteWhole(name, text, 0o600)
}

// ReadState reads into state, a pointer, what WriteState wrote. A file that is not there, or no
// name, leaves state as it is.
func ReadState(name string, state any) error {
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, state)
	}
	return err
}
