package errkind_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/aaep-go/aaep/internal/errkind"
)

// A mark is found through whatever wraps it, beside the error it is on, and changes no text.
func TestMark(t *testing.T) {
	err := fmt.Errorf("over: %w", errkind.Gateway.Mark(fmt.Errorf("status: %w", io.EOF)))
	if !errors.Is(err, errkind.Gateway) || !errors.Is(err, io.EOF) || errors.Is(err, errkind.Folder) || err.Error() != "over: status: EOF" {
		t.Errorf("%v", err)
	}
	if errkind.Folder.Mark(nil) != nil || errors.Is(errkind.MarkStatus(503, io.EOF), errkind.Gateway) ||
		!errors.Is(errkind.MarkStatus(504, io.EOF), errkind.Gateway) {
		t.Error("what is no error, or another status, is marked")
	}
}
