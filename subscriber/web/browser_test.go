package web_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// need skips a test whose program is not here. With AAEP_REAL=1 it has to be.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		if os.Getenv("AAEP_REAL") != "" {
			t.Fatalf("%s is missing: make real installs it", program)
		}
		t.Skipf("%s is missing: make real installs it, and AAEP_REAL=1 makes this a failure", program)
	}
	return path
}

// A browser is Chromium, spoken to in its DevTools protocol.
type browser struct {
	t    *testing.T
	conn *websocket.Conn
	seen bool // on a screen, with windows that have the focus or not

	mu    sync.Mutex
	last  int
	calls map[int]chan reply
	broke []string // errors of the pages' scripts, and what their policy refused
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// newBrowser starts Chromium with a profile of its own, without a screen.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	return startBrowser(t, "--headless")
}

func startBrowser(t *testing.T, more ...string) *browser {
	t.Helper()
	path := need(t, "chromium")
	cmd := exec.Command(path, "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-port=0", "--lang=en-US", "--user-data-dir="+t.TempDir())
	cmd.Args = append(append(cmd.Args, more...), "about:blank")
	stderr, err := cmd.StderrPipe()
	check(t, err)
	check(t, cmd.Start())
	address := make(chan string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			if _, at, ok := strings.Cut(s.Text(), "DevTools listening on "); ok {
				address <- at
			}
		}
	}()
	b := &browser{t: t, calls: map[int]chan reply{}}
	t.Cleanup(func() {
		if b.conn != nil {
			b.write("", "Browser.close", nil, nil)
		}
		gone := make(chan error, 1)
		go func() { <-read; gone <- cmd.Wait() }()
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			cmd.Process.Kill()
			<-gone
		}
		if b.conn != nil {
			b.conn.Close()
		}
	})
	select {
	case at := <-address:
		b.conn, _, err = websocket.DefaultDialer.Dial(at, nil)
		check(t, err)
	case <-time.After(time.Minute):
		t.Fatal("Chromium did not start")
	}
	go b.listen()
	return b
}

func (b *browser) listen() {
	for {
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
			reply
		}
		if b.conn.ReadJSON(&m) != nil {
			return
		}
		b.mu.Lock()
		if c := b.calls[m.ID]; c != nil {
			delete(b.calls, m.ID)
			c <- m.reply
		}
		if m.Method == "Runtime.exceptionThrown" || m.Method == "Log.entryAdded" && strings.Contains(string(m.Params), "Content Security Policy") {
			b.broke = append(b.broke, string(m.Params))
		}
		b.mu.Unlock()
	}
}

func (b *browser) write(session, method string, params any, c chan reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	if c != nil {
		b.calls[b.last] = c
	}
	m := map[string]any{"id": b.last, "method": method}
	if params != nil {
		m["params"] = params
	}
	if session != "" {
		m["sessionId"] = session
	}
	b.conn.WriteJSON(m)
}

type args map[string]any

func (b *browser) call(session, method string, params args) json.RawMessage {
	b.t.Helper()
	c := make(chan reply, 1)
	b.write(session, method, params, c)
	select {
	case r := <-c:
		if r.Error != nil {
			b.t.Fatalf("%s: %s", method, r.Error.Message)
		}
		return r.Result
	case <-time.After(2 * time.Minute):
		b.t.Fatalf("%s: no answer", method)
		return nil
	}
}

// A tab is one page.
type tab struct {
	*browser
	session string
}

// open opens a page at url, with a script that runs before the page's own.
func (b *browser) open(url, before string) *tab {
	b.t.Helper()
	var target struct{ TargetID string }
	check(b.t, json.Unmarshal(b.call("", "Target.createTarget", args{"url": "about:blank"}), &target))
	var at struct{ SessionID string }
	check(b.t, json.Unmarshal(b.call("", "Target.attachToTarget", args{"targetId": target.TargetID, "flatten": true}), &at))
	p := &tab{b, at.SessionID}
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		p.do(domain+".enable", nil)
	}
	if !b.seen {
		p.do("Emulation.setFocusEmulationEnabled", args{"enabled": true})
	}
	if before != "" {
		p.do("Page.addScriptToEvaluateOnNewDocument", args{"source": before})
	}
	p.do("Page.navigate", args{"url": url})
	b.t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, problem := range b.broke {
			b.t.Errorf("the page: %s", problem)
		}
	})
	return p
}

func (p *tab) do(method string, params args) json.RawMessage {
	p.t.Helper()
	return p.call(p.session, method, params)
}

// eval is what an expression is worth in the page, or a promise of it.
func eval[T any](p *tab, expression string) (v T) {
	p.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	check(p.t, json.Unmarshal(p.do("Runtime.evaluate", args{"expression": expression, "returnByValue": true, "awaitPromise": true}), &r))
	if r.ExceptionDetails != nil {
		p.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	if r.Result.Value != nil {
		check(p.t, json.Unmarshal(r.Result.Value, &v))
	}
	return v
}

// until waits for an expression to be true.
func (p *tab) until(expression string) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if eval[bool](p, "Boolean("+expression+")") {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("never true: %s\nThe page says: %s", expression, eval[string](p, "document.body.innerText"))
		}
	}
}

// key presses a key: a letter, or one with a name such as Tab and Enter.
func (p *tab) key(name string) {
	p.t.Helper()
	text := name
	code := map[string]int{"Tab": 9, "Enter": 13, " ": 32}[name]
	switch {
	case name == "Enter":
		text = "\r"
	case len(name) > 1:
		text = ""
	}
	down := args{"type": "keyDown", "key": name, "text": text, "windowsVirtualKeyCode": code}
	p.do("Input.dispatchKeyEvent", down)
	p.do("Input.dispatchKeyEvent", args{"type": "keyUp", "key": name, "windowsVirtualKeyCode": code})
}

// screenshot keeps what the page looks like, where AAEP_SHOTS names a folder.
func (p *tab) screenshot(name string) {
	p.t.Helper()
	folder := os.Getenv("AAEP_SHOTS")
	if folder == "" {
		return
	}
	var shot struct{ Data string }
	check(p.t, json.Unmarshal(p.do("Page.captureScreenshot", args{"captureBeyondViewport": true}), &shot))
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	check(p.t, err)
	check(p.t, os.WriteFile(fmt.Sprintf("%s/%s.png", folder, name), data, 0o600))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
