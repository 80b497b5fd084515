package hook_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkStart measures what an agent waits for at each event: "aaep hook claude" as it is
// installed, from its start to its end, with a server that takes what it says. In the same run and
// by turns it measures a Go program that does nothing, "bare", which is what the machine takes for
// any program. "cpu-ms" is how long they compute, which other programs of the machine change
// little.
func BenchmarkStart(b *testing.B) {
	h := newHome(b)
	dir := b.TempDir()
	source := filepath.Join(dir, "bare.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	for name, pkg := range map[string]string{"aaep": "../../../cmd/aaep", "bare": source} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	h.startServer()
	input := strings.Replace(asks, "PermissionRequest", "PreToolUse", 1)
	took, computed := map[string][]time.Duration{}, map[string]time.Duration{}
	for b.Loop() {
		for _, args := range [][]string{{"aaep", "hook", "claude"}, {"bare"}} {
			cmd := exec.Command(filepath.Join(dir, args[0]), args[1:]...)
			cmd.Env, cmd.Stdin = h.env, strings.NewReader(input)
			began := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				b.Fatalf("%v: %s", err, out)
			}
			took[args[0]] = append(took[args[0]], time.Since(began))
			computed[args[0]] += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
	}
	for name, prefix := range map[string]string{"aaep": "", "bare": "bare-"} {
		all := slices.Sorted(slices.Values(took[name]))
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, prefix+"p50-ms")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, prefix+"p99-ms")
		b.ReportMetric(float64(computed[name].Microseconds())/1000/float64(len(all)), prefix+"cpu-ms")
	}
}
