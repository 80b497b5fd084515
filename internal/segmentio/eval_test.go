package segmentio

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestEval scores `aaep segment` against annotated text in many languages; `make eval` runs it. The
// texts and the harness are not part of this repository.
func TestEval(t *testing.T) {
	if os.Getenv("AAEP_EVAL") == "" {
		t.Skip("make eval runs this")
	}
	data, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "sbd"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(data, "eval")); err != nil {
		t.Skipf("there is no harness in %s, so sentence boundaries were not scored", filepath.Join(data, "eval"))
	}
	bin, suffix := t.TempDir(), ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	aaep, sbdeval := filepath.Join(bin, "aaep"+suffix), filepath.Join(bin, "sbdeval"+suffix)
	run := func(dir, name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, os.Stdout, os.Stderr
		cmd.Env = append(os.Environ(), "GOWORK=off")
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v", filepath.Base(name), err)
		}
	}
	run(filepath.Join("..", ".."), "go", "build", "-o", aaep, "./cmd/aaep")
	run(filepath.Join(data, "eval"), "go", "build", "-buildvcs=false", "-o", sbdeval, ".")
	run(data, sbdeval, "run", "-data", "own.jsonl,golden.jsonl,ud.jsonl,ud-pud.jsonl", "-modes", "whole,rune,rand,bpe,bytes",
		"--", aaep, "segment", "--requests")
	run(data, sbdeval, "stress", "-max", "400", "--", aaep, "segment", "--requests")
}
