package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var day = time.Date(2026, 11, 22, 4, 5, 6, 0, time.UTC)

// Two people who build one version in two folders have the same archive, and it holds what it
// should.
func TestReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the command four times: make test-all runs it")
	}
	here, elsewhere := "../..", filepath.Join(t.TempDir(), "a folder of another name")
	copySource(t, here, elsewhere)
	platform := runtime.GOOS + "/" + runtime.GOARCH
	build := func(source string) (string, []byte) {
		t.Helper()
		r := &release{source, "v0.1.0-test", day}
		papers, err := r.commonFiles()
		if err != nil {
			t.Fatal(err)
		}
		name, data, err := r.buildArchive(platform, papers)
		if err != nil {
			t.Fatal(err)
		}
		return name, data
	}
	name, first := build(here)
	t.Setenv("GOFLAGS", "-tags=mine") // of the caller
	again, second := build(elsewhere)
	if name != again || !bytes.Equal(first, second) {
		t.Errorf("%s, %d bytes, and %s, %d bytes, differ", name, len(first), again, len(second))
	}
	if runtime.GOOS == "windows" {
		return
	}
	files := unpackTar(t, first)
	for name, part := range map[string]string{"aaep.1": ".TH AAEP 1", "completions/_aaep": "#compdef aaep",
		"completions/aaep.bash": "complete",
		"completions/aaep.fish": "complete", "completions/aaep.ps1": "Register-ArgumentCompleter",
		"LICENSE": "Apache License", "NOTICE": "aaep-go",
		"CHANGELOG.md": "Unreleased", "THIRD-PARTY-LICENSES": "github.com/spf13/cobra v"} {
		if !strings.Contains(files[name], part) {
			t.Errorf("%s does not hold %q", name, part)
		}
	}
	program := filepath.Join(t.TempDir(), "aaep")
	if err := os.WriteFile(program, []byte(files["aaep"]), 0o755); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(program, "--version").Output()
	if err != nil || string(said) != "aaep v0.1.0-test, for AAEP 1.0.0, "+runtime.Version()+"\n" {
		t.Errorf("--version: %q, %v", said, err)
	}
	if wd, _ := filepath.Abs(here); strings.Contains(files["aaep"], wd) {
		t.Errorf("the program says that it was built in %s", wd)
	}
}

// copySource copies what a clone would have.
func copySource(t *testing.T, from, to string) {
	t.Helper()
	git := exec.Command("git", "ls-files", "-z")
	git.Dir = from
	list, err := git.Output()
	if err != nil {
		t.Skip("git does not say which files belong to the source")
	}
	for _, name := range strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(from, name))
		if os.IsNotExist(err) {
			continue // gone since
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func unpackTar(t *testing.T, data []byte) map[string]string {
	t.Helper()
	gz, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(day) || h.Uname != "" || h.Uid != 0 {
			t.Errorf("%s is of %v and of %q %d", h.Name, h.ModTime, h.Uname, h.Uid)
		}
		files[h.Name] = string(text)
	}
}

// The folder of a release is made, or emptied of another release; one that holds anything else is
// left as it is.
func TestEmpty(t *testing.T) {
	out := filepath.Join(t.TempDir(), "new", "dist")
	if err := prepareFolder(out); err != nil {
		t.Fatal(err)
	}
	put := func(names ...string) {
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(out, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	put("SHA256SUMS", "aaep_0.1.0_linux_amd64.tar.gz", "aaep_0.1.0_windows_amd64.zip")
	if err := prepareFolder(out); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("of another release %v is left, %v", left, err)
	}
	put("SHA256SUMS", "thesis.tex")
	if err := prepareFolder(out); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("of a folder with somebody's thesis: %v", err)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) != 2 {
		t.Errorf("of somebody's folder %v is left, %v", left, err)
	}
}

func TestZipped(t *testing.T) {
	data, err := packZip([]file{{"aaep.exe", 0o755, []byte("MZ")}, {"LICENSE", 0o644, []byte("text")}}, day)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(r, "LICENSE")
	if err != nil || string(text) != "text" || !r.File[0].Modified.Equal(day) || r.File[0].Mode().Perm() != 0o755 {
		t.Errorf("%q, %v, %v, %v", text, err, r.File[0].Modified, r.File[0].Mode())
	}
}

func TestNewRelease(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	r, err := newRelease(t.TempDir(), "v1.2.3")
	if err != nil || r.version != "v1.2.3" || r.at.Unix() != 1700000000 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, c := range []struct{ epoch, version, want string }{
		{"1700000000", "v1 -X evil", "give one such as v0.1.0"},
		{"1700000000", "-v", "give one such as v0.1.0"},
		{"1700000000", "", "give -version"},
		{"yesterday", "v1", "seconds since 1970"},
		{"", "v1", "SOURCE_DATE_EPOCH"},
	} {
		t.Setenv("SOURCE_DATE_EPOCH", c.epoch)
		if _, err := newRelease(t.TempDir(), c.version); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
