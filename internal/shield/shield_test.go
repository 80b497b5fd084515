package shield_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/shield"
)

// An error that is a nil pointer does not panic where it is told or compared; any other is as it
// was.
func TestCheckError(t *testing.T) {
	var none *aaep.Rejection
	checked := shield.CheckError(fmt.Errorf("admit: %w", none))
	if errors.Is(checked, aaep.AuthorizationDenied) || !strings.Contains(checked.Error(), "panic") {
		t.Errorf("a nil error became %v", checked)
	}
	whole := &aaep.Rejection{Code: aaep.AuthorizationDenied}
	if err := shield.CheckError(whole); err != error(whole) {
		t.Errorf("an error became %v", err)
	}
	if err := shield.CheckError(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
	if err := shield.New(shield.Logger(nil)).Call("f", func() error { return none }); errors.Is(err, aaep.AuthorizationDenied) {
		t.Error("what Call returns is a nil error")
	}
}

// A nil pointer in an interface is found, and said by its type.
func TestCheckNil(t *testing.T) {
	var none *bytes.Buffer
	for _, value := range []any{nil, none} {
		if shield.CheckNil("it", value) == nil {
			t.Errorf("%T is taken", value)
		}
	}
	if err := shield.CheckNil("it", none); !strings.Contains(err.Error(), "*bytes.Buffer") {
		t.Errorf("the error is %v", err)
	}
	if err := shield.CheckNil("it", new(bytes.Buffer)); err != nil {
		t.Error(err)
	}
}

// brittle panics in each of its methods.
type brittle struct{}

func (brittle) Enabled(context.Context, slog.Level) bool  { panic("enabled") }
func (brittle) Handle(context.Context, slog.Record) error { panic("handle") }
func (brittle) WithAttrs([]slog.Attr) slog.Handler        { panic("attrs") }
func (brittle) WithGroup(string) slog.Handler             { panic("group") }

// A logger whose Handler panics loses the record, and nothing else.
func TestLogger(t *testing.T) {
	l := shield.Logger(slog.New(brittle{}))
	l.Error("one")
	l.With("a", 1).WithGroup("g").Error("two")
	if err := l.Handler().Handle(t.Context(), slog.Record{}); err == nil {
		t.Error("a record that was lost counts as logged")
	}
	if shield.Logger(l) != l {
		t.Error("a logger is shielded twice")
	}
	shield.Logger(nil).Error("discarded")
}

// Without a logger, warnings and errors go where a program's own log goes, and nothing else does,
// nor anything that is done to the logger changes that.
func TestLoggerOrDefault(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	for _, l := range []*slog.Logger{shield.LoggerOrDefault(nil), shield.LoggerOrDefault(nil).With("a", 1).WithGroup("g")} {
		log.Reset()
		l.Info("all is well")
		l.Warn("hear this")
		if got := log.String(); !strings.Contains(got, "hear this") || strings.Contains(got, "all is well") {
			t.Errorf("logged %s", got)
		}
	}
	given := shield.Logger(slog.New(brittle{}))
	if shield.LoggerOrDefault(given) != given {
		t.Error("the logger that is given is not used")
	}
}
