package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type file struct {
	name string
	mode int64
	data []byte
}

// packTar packs files as a compressed tar archive, all of one time and without an owner, so that
// the same files are the same bytes.
func packTar(files []file, modified time.Time) ([]byte, error) {
	var b bytes.Buffer
	gz, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(gz)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: modified,
			Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err = errors.Join(w.Close(), gz.Close())
	return b.Bytes(), err
}

// packZip packs files as a zip archive, all of one time, for Windows, so that the same files are
// the same bytes.
func packZip(files []file, modified time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser,
		error) {
		return flate.NewWriter(out, flate.BestCompression)
	})
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: modified}
		h.SetMode(os.FileMode(f.mode))
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// collectLicences returns the licences of Go and of every module in the program, which demand to go
// with it. A module without a file of its licence is an error.
func (r *release) collectLicences(goos, goarch string) ([]byte, error) {
	list, err := r.goCommand(goos, goarch, "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/aaep").Output()
	if err != nil {
		return nil, err
	}
	goroot, err := r.goCommand(goos, goarch, "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	modules := strings.Split(strings.TrimSpace(string(list)), "\n")
	slices.Sort(modules)
	modules = append([]string{"Go\t" + strings.TrimSpace(string(goroot))}, slices.Compact(modules)...)
	var b bytes.Buffer
	for _, module := range modules {
		name, dir, _ := strings.Cut(module, "\t")
		if dir == "" {
			continue // an empty line: packages of our own
		}
		found := false
		for _, pattern := range []string{"LICEN[CS]E*", "COPYING*", "NOTICE*"} {
			names, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				return nil, err
			}
			for _, path := range names {
				text, err := os.ReadFile(path)
				if err != nil {
					return nil, err
				}
				found = true
				fmt.Fprintf(&b, "%s: %s\n\n%s\n\n", name, filepath.Base(path), bytes.TrimSpace(text))
			}
		}
		if !found {
			return nil, fmt.Errorf("%s has no file with its licence", name)
		}
	}
	return b.Bytes(), nil
}
