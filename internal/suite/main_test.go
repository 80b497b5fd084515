package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A package that fails, one that does not compile and one whose test panics hide nothing of what
// comes after them; the summary names each of them, and why tests were skipped.
func TestSummary(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":              "module example.com/m\n\ngo 1.26\n",
		"bad/bad_test.go":     "package bad\nimport \"testing\"\nfunc TestBad(t *testing.T) { t.Run(\"worse\", func(t *testing.T) { t.Error(\"two is not three\") }) }\nfunc TestFine(t *testing.T) { t.Log(\"not of interest\") }",
		"broken/x_test.go":    "package broken\nfunc oops() { return 1 }",
		"good/good_test.go":   "package good\nimport \"testing\"\nfunc TestGood(t *testing.T) {}",
		"panics/x_test.go":    "package panics\nimport \"testing\"\nfunc TestPanics(t *testing.T) { panic(\"so be it\") }",
		"skips/skips_test.go": "package skips\nimport \"testing\"\nfunc TestSkips(t *testing.T) { t.Log(\"looked\"); t.Skip(\"there is no chromium\") }\nfunc TestParts(t *testing.T) { for _, n := range []string{\"a\", \"b\"} { t.Run(n, func(t *testing.T) { t.Skip(\"no\", n) }) } }",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	s := &summary{out: &out}
	var running sync.WaitGroup
	for _, arguments := range [][]string{{"-C", dir, "./bad", "./broken", "./panics"}, {"-C", dir, "./skips", "./good"},
		{"-C", filepath.Join(dir, "nowhere"), "./..."}} {
		running.Go(func() { s.runTests(arguments, os.Environ()) })
	}
	running.Wait()
	before := out.Len()
	if s.printSummary() {
		t.Error("it passed")
	}
	text, end := out.String(), out.String()[before:]
	for _, want := range []string{"two is not three", "so be it", "x_test.go:2:"} {
		if !strings.Contains(text[:before], want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	if strings.Contains(text, "not of interest") {
		t.Error("what a test that passed printed is in the output")
	}
	last := 0
	for _, want := range []string{
		"skipped: example.com/m/skips TestSkips: there is no chromium\n", "skipped: example.com/m/skips TestParts, 2 of its parts, the first: no a\n",
		"ok  \texample.com/m/good\t",
	} {
		at := strings.Index(end, want)
		if at < last {
			t.Errorf("the summary lacks %q, or not in this place", want)
		}
		last = max(at, last)
	}
	for _, want := range []string{"--- FAIL: TestBad/worse\n", "FAIL\texample.com/m/bad\t", "FAIL\texample.com/m/broken\t", "--- FAIL: TestPanics\n", "FAIL\texample.com/m/panics\t", "nowhere"} {
		if !strings.Contains(end[last:], want) {
			t.Errorf("the end of the summary lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// The developer who runs the tests may have a desktop, a screen reader and a language; the tests
// see none of it, and have a home of their own. What builds and downloads need stays.
func TestEnvironment(t *testing.T) {
	home := t.TempDir()
	env, err := environment([]string{"PATH=/bin", "GOPROXY=https://proxy.example", "https_proxy=http://proxy.example", "AAEP_REAL=1", "DISPLAY=:0",
		"WAYLAND_DISPLAY=wayland-0", "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus", "AT_SPI_BUS_ADDRESS=unix:path=/x", "SPEECHD_ADDRESS=x",
		"BRLAPI_HOST=:0", "PULSE_SERVER=x", "LANG=fr_FR.UTF-8", "NO_COLOR=1", "HOME=/nowhere", "XDG_RUNTIME_DIR=/run/user/1000", "NOTIFY_SOCKET=/x"}, home)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"PATH=/bin", "GOPROXY=https://proxy.example", "https_proxy=http://proxy.example", "AAEP_REAL=1", "HOME=" + home,
		"XDG_RUNTIME_DIR=" + filepath.Join(home, "run"), "DBUS_SESSION_BUS_ADDRESS=disabled:"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is not in it", want)
		}
	}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if slices.Contains([]string{"DISPLAY", "WAYLAND_DISPLAY", "AT_SPI_BUS_ADDRESS", "SPEECHD_ADDRESS", "BRLAPI_HOST", "PULSE_SERVER", "LANG", "NO_COLOR", "NOTIFY_SOCKET"}, name) {
			t.Errorf("%s is in it", v)
		}
		if strings.HasPrefix(name, "XDG_") && !strings.HasPrefix(value, home) {
			t.Errorf("%s is not the tests' own", v)
		}
		if name == "GOCACHE" && strings.HasPrefix(value, home) {
			t.Error("everything would be built anew")
		}
	}
}

func TestRuns(t *testing.T) {
	got := runs([]string{"-short", "./a", "--", "-C", "b", "./...", "++", "./c", "--", "./d"})
	want := [][][]string{{{"-short", "./a"}}, {{"-C", "b", "./..."}, {"./c"}}, {{"./d"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the runs are %q", got)
	}
}
