// Package shield calls code of other authors on goroutines of the producer: the functions and
// interfaces of its Config, and links. As in net/http, a panic there ends what it was called for
// and not the agent.
//
// Calls are in shield.go; how often a mistake of such code is logged, and the logger behind the
// shield, in logger.go.
package shield

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
	"sync"
	"time"
)

// Shield makes such calls. A panic is logged with its stack, once a minute for each function. Where
// the function has an error it returns one; a panic never becomes a yes. Any goroutine may use it.
type Shield struct {
	logger *slog.Logger

	mu     sync.Mutex           // a leaf; guards logged
	logged map[string]time.Time // when a mistake was logged last, by its kind
}

// New returns a Shield that logs mistakes to logger.
func New(logger *slog.Logger) *Shield {
	return &Shield{logger: logger, logged: map[string]time.Time{}}
}

// Call calls f and returns its error. If f panics it logs that and returns an error that says so.
// doing names f for the log.
func (s *Shield) Call(doing string, f func() error) (err error) {
	defer func() {
		if crash := recover(); crash != nil {
			err = fmt.Errorf("producer: panic: %v", crash)
			s.LogMistake(doing, "panic, and the agent goes on",
				"doing", doing, "panic", crash, "stack", string(debug.Stack()))
		}
	}()
	return CheckError(f())
}

// CheckError returns an error that other code has returned, as it is, if it can be used. Where one
// of its methods panics, as those of a nil pointer in an error do, it returns an error that says
// so.
func CheckError(err error) (checked error) {
	if err == nil {
		return nil
	}
	defer func() {
		if crash := recover(); crash != nil {
			checked = fmt.Errorf("an error of type %T panics: %v", err, crash)
		}
	}()
	_, _ = err.Error(), errors.Is(err, errNone)
	_ = errors.As(err, new(*noError))
	return err
}

// CheckNil returns an error where a value that other code has given is nil, or a nil pointer, such
// as what a function returned beside an error that was not looked at. name names the value.
func CheckNil(name string, value any) error {
	switch v := reflect.ValueOf(value); {
	case value == nil:
		return fmt.Errorf("%s is nil", name)
	case v.Kind() == reflect.Pointer && v.IsNil():
		return fmt.Errorf("%s is a nil %T; look at the error of what was to make it", name, value)
	}
	return nil
}

// noError is a type that no error has: CheckError looks for it, so that the methods Is and As of an
// error are called.
type noError struct{}

// Error makes noError an error.
func (*noError) Error() string { return "none" }

var errNone error = &noError{}
