package serve_test

import (
	"bytes"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// proxy stands between a subscriber and a producer and hurts the event streams as it was told. What
// it does to a stream is decided when the GET comes by.
type proxy struct {
	ln     net.Listener
	target string
	all    sync.WaitGroup

	mu     sync.Mutex
	faults []fault // for the streams to come, one each; then none
	closed bool    // to new connections
	conns  map[net.Conn]bool
	gets   []string // the Last-Event-ID of each stream
}

// fault is what happens to one stream.
type fault struct {
	after   int    // cut after so many bytes of the response, if above zero
	text    string // or right after the event that holds this text
	reset   bool   // the subscriber's connection is reset, not closed
	keep    bool   // the producer's connection stays open and is read: it learns nothing
	onlyOne bool   // close the proxy to what comes, until let
}

// newProxy forwards connections to target until the test ends. Each stream takes the next of the
// faults.
func newProxy(t testing.TB, target string, faults ...fault) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	p := &proxy{ln: ln, target: target, faults: faults, conns: map[net.Conn]bool{}}
	p.all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			p.all.Go(func() { p.serveConn(c) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		p.cutAll(true)
		p.all.Wait()
	})
	return p
}

// cutAll ends every connection; and, if shut, those to come.
func (p *proxy) cutAll(shut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = shut
	for c := range p.conns {
		c.Close()
	}
}

// reopen takes connections again after cutAll.
func (p *proxy) reopen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = false
}

// resumedAfter returns the Last-Event-ID of each stream so far.
func (p *proxy) resumedAfter() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.gets)
}

// track registers a connection, or closes it and returns false where the proxy is shut.
func (p *proxy) track(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

// serveConn forwards one connection of a subscriber until either side ends.
func (p *proxy) serveConn(down net.Conn) {
	defer down.Close()
	if !p.track(down) {
		return
	}
	up, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer up.Close()
	if !p.track(up) {
		return
	}
	var mu sync.Mutex
	var f fault
	counting := false
	p.all.Go(func() { // requests; each comes in one piece
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			if !f.keep {
				up.Close()
			}
		}()
		buf := make([]byte, 64<<10)
		for {
			n, err := down.Read(buf)
			if n > 0 {
				if bytes.HasPrefix(buf[:n], []byte("GET ")) {
					mu.Lock()
					f, counting = p.nextFault(string(buf[:n])), true
					mu.Unlock()
				}
				if _, err := up.Write(buf[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	buf := make([]byte, 4<<10)
	sent := 0
	var tail []byte
	for {
		n, err := up.Read(buf)
		mu.Lock()
		plan, count := f, counting
		mu.Unlock()
		data, ends := buf[:n], false
		if count && plan.after > 0 && sent+n >= plan.after {
			data, ends = buf[:plan.after-sent], true
		}
		if count && plan.text != "" {
			tail = append(tail, data...)
			if i := bytes.Index(tail, []byte(plan.text)); i >= 0 {
				if j := bytes.Index(tail[i:], []byte("\n\n")); j >= 0 {
					over := len(tail) - (i + j + 2)
					// The end of the chunk belongs to it.
					data, ends = data[:min(len(data), len(data)-over+2)], true
				}
			}
		}
		if count {
			sent += len(data)
		}
		if _, werr := down.Write(data); werr != nil || err != nil {
			return
		}
		if ends {
			if plan.onlyOne {
				p.mu.Lock()
				p.closed = true
				p.mu.Unlock()
			}
			if tcp, isTCP := down.(*net.TCPConn); isTCP && plan.reset {
				tcp.SetLinger(0)
			}
			down.Close()
			if plan.keep {
				io.Copy(io.Discard, up) // until the producer, or the end of the test, closes it
			}
			return
		}
	}
}

// nextFault returns what is to happen to the stream that a request opens.
func (p *proxy) nextFault(request string) (f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := ""
	for line := range strings.Lines(request) {
		if v, found := strings.CutPrefix(line, "Last-Event-Id: "); found {
			last = strings.TrimSpace(v)
		}
	}
	p.gets = append(p.gets, last)
	if len(p.faults) > 0 {
		f, p.faults = p.faults[0], p.faults[1:]
	}
	return f
}
