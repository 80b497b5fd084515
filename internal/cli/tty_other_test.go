//go:build !linux

package cli

import (
	"errors"
	"os"
	"os/exec"
)

func onTTY(*exec.Cmd) (*os.File, error) { return nil, errors.ErrUnsupported }

func handsOnLines(*os.File) bool { return false }
