package agent

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/cli/clitest"
	"github.com/aaep-go/aaep/internal/cli/lineio"
	"github.com/aaep-go/aaep/internal/cli/serving"
	"github.com/aaep-go/aaep/producer"
)

// INV-02: what cannot be put on record is not run.
func TestRunNotRecorded(t *testing.T) {
	p, _ := clitest.AgentOf(t, producer.Config{})
	defer p.Shutdown(t.Context())
	s, err := p.StartSession(t.Context(), aaep.Say("Running."))
	if err != nil {
		t.Fatal(err)
	}
	f, err := serving.OpenTrail(filepath.Join(t.TempDir(), "trail.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var talk bytes.Buffer
	r := &runner{name: "printer", args: []string{"printer"}, audit: f, status: lineio.Printer{Out: &talk}}
	if err := r.runRecorded(t.Context(), s, func() error { return f.Close() }); err != nil || talk.String() != "aaep: The trail does not say that printer ended: it cannot be written.\n" {
		t.Errorf("%v, and said %q", err, talk.String())
	}
	ran := false
	if err := r.runRecorded(t.Context(), s, func() error { ran = true; return nil }); err != producer.ErrNotRecorded || ran {
		t.Errorf("%v, and it ran: %v", err, ran)
	}
}

// A program that ends as it is told to has not failed, also where its exit code says that it was
// told: listeners hear that it was stopped, and so does who reads the trail.
func TestRunStoppedOnRecord(t *testing.T) {
	p, _ := clitest.AgentOf(t, producer.Config{})
	defer p.Shutdown(t.Context())
	s, err := p.StartSession(t.Context(), aaep.Say("Running."))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "trail.jsonl")
	f, err := serving.OpenTrail(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	r := &runner{name: "printer", args: []string{"printer"}, audit: f}
	killed := errors.New("signal: terminated")
	if err := r.runRecorded(ctx, s, func() error { stop(); return killed }); err != killed {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"status":"stopped"`) {
		t.Errorf("%v, and the trail has %s", err, text)
	}
}
