package conformance_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aaep-go/aaep/conformance"
)

// This program is its own driver: see TestCommandDriver.
func init() {
	switch os.Getenv("CONFORMANCE_DRIVER") {
	case "write":
		in := make([]byte, 200)
		n, _ := os.Stdin.Read(in)
		os.WriteFile(os.Getenv("CONFORMANCE_OUT"), append([]byte(os.Args[len(os.Args)-1]+" "), in[:n]...), 0o600)
		os.Exit(0)
	case "fail":
		os.Stderr.WriteString("no such scenario")
		os.Exit(3)
	case "hang":
		time.Sleep(time.Hour)
	}
}

// A command gets the scenario, its failure is told, and one that hangs is ended with the play.
func TestCommandDriver(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := conformance.CommandDriver{Command: []string{self}}
	s := conformance.Scenario{Name: conformance.Ask, TimeoutSeconds: 20}
	path := filepath.Join(t.TempDir(), "out")
	t.Setenv("CONFORMANCE_OUT", path)
	t.Setenv("CONFORMANCE_DRIVER", "write")
	if err := d.Start(t.Context(), s); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != `ask {"name":"ask","timeout_seconds":20}` {
		t.Errorf("%v: %s", err, got)
	}
	t.Setenv("CONFORMANCE_DRIVER", "fail")
	if err := d.Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), "no such scenario") {
		t.Errorf("err = %v", err)
	}
	t.Setenv("CONFORMANCE_DRIVER", "hang")
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- d.Start(ctx, s) }()
	cancel()
	if err := <-over; err != nil {
		t.Errorf("err = %v", err)
	}
	if err := (conformance.CommandDriver{}).Start(t.Context(), s); err == nil {
		t.Error("no command was run")
	}
}
