// Package input opens what a command reads: a file, standard input or a web address, and says how
// far reading has come where that takes long. It does not know what is in it. Begin with Open.
package input

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aaep-go/aaep/manifest"
)

// Open opens a file, standard input as "-", or what a web address holds, over conf, which may be
// nil. The size is -1 if it is not known. A page for people, and any status but 200, is an error.
func Open(ctx context.Context, name string, conf *tls.Config, stdin io.Reader) (io.ReadCloser, int64, error) {
	switch {
	case name == "-":
		return io.NopCloser(stdin), -1, nil
	case strings.HasPrefix(name, "http://"), strings.HasPrefix(name, "https://"):
		return openWeb(ctx, name, conf)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err == nil && info.IsDir():
		f.Close()
		return nil, 0, fmt.Errorf("%s is a folder: name the file", name)
	case err == nil && info.Mode().IsRegular():
		return f, info.Size(), nil
	}
	return f, -1, nil
}

// openWeb opens what a web address holds, within a minute; conf is as for Open.
func openWeb(ctx context.Context, address string, conf *tls.Config) (io.ReadCloser, int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, err
	}
	client := &http.Client{Timeout: time.Minute}
	if conf != nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = conf
		client.Transport = transport
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, 0, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, 0, fmt.Errorf("the server answered %s", resp.Status)
	}
	if kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) == "text/html" {
		resp.Body.Close()
		return nil, 0, errors.New("this is a page for people; give the address of messages or of a manifest, such as " +
			strings.TrimRight(address, "/") + manifest.Path)
	}
	return resp.Body, resp.ContentLength, nil
}

// Progress says how far reading has come, where that takes long.
type Progress struct {
	io.Reader
	Name       string
	Size, done int64
	Say        func(label, text string)
	Next       time.Time
}

const ProgressAfter = 3 * time.Second

// Read reads on, and says how much was read whenever Next is past: in percent where Size is known,
// else in megabytes.
func (p *Progress) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.done += int64(n)
	if now := time.Now(); now.After(p.Next) {
		p.Next = now.Add(ProgressAfter)
		if p.Size > 0 {
			p.Say("aaep", fmt.Sprintf("%s: %d percent read.", p.Name, p.done*100/p.Size))
		} else {
			p.Say("aaep", fmt.Sprintf("%s: %d megabytes read.", p.Name, p.done>>20))
		}
	}
	return n, err
}
