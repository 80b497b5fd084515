package web_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/aaep-go/aaep/internal/realtest"
)

// A browser is what a test has of Chromium: a profile of its own, in a process that all tests
// share.
type browser struct {
	t       *testing.T
	process *chromium
	profile string // the browser context; empty is the process's own
	seen    bool   // on a screen, with windows that have the focus or not
}

// A chromium is a process, spoken to in its DevTools protocol. Its end is that of conn.
type chromium struct {
	conn *websocket.Conn
	end  func()

	mu    sync.Mutex
	last  int
	calls map[int]chan reply
	broke map[string][]string // by session: errors of the page's scripts, and what its policy refused
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// shared is the process of newBrowser. Starting one takes longer than most tests.
var shared struct {
	once    sync.Once
	process *chromium
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.process != nil {
		shared.process.end()
	}
	os.Exit(code)
}

// newBrowser returns a Chromium without a screen, with a profile of its own.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	path := realtest.Need(t, "chromium")
	shared.once.Do(func() {
		var home string
		if home, shared.err = os.MkdirTemp("", "chromium"); shared.err != nil {
			return
		}
		// A page is never in front of another, and none is to be slowed down for that.
		if shared.process, shared.err = startChromium(path, home, "--headless", "--disable-background-timer-throttling",
			"--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding"); shared.err != nil {
			os.RemoveAll(home)
			return
		}
		end := shared.process.end
		shared.process.end = func() { end(); os.RemoveAll(home) }
	})
	check(t, shared.err)
	b := &browser{t: t, process: shared.process}
	var made struct{ BrowserContextID string }
	check(t, json.Unmarshal(b.call("", "Target.createBrowserContext", nil), &made))
	b.profile = made.BrowserContextID
	t.Cleanup(func() {
		b.process.write("", "Target.disposeBrowserContext", args{"browserContextId": b.profile}, nil)
	})
	return b
}

// startBrowser starts a Chromium for one test.
func startBrowser(t *testing.T, more ...string) *browser {
	t.Helper()
	process, err := startChromium(realtest.Need(t, "chromium"), t.TempDir(), more...)
	check(t, err)
	t.Cleanup(process.end)
	return &browser{t: t, process: process}
}

func startChromium(path, home string, more ...string) (*chromium, error) {
	cmd := exec.Command(path, "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-port=0", "--lang=en-US", "--user-data-dir="+home)
	cmd.Args = append(append(cmd.Args, more...), "about:blank")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
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
	c := &chromium{calls: map[int]chan reply{}, broke: map[string][]string{}}
	c.end = func() {
		if c.conn != nil {
			c.write("", "Browser.close", nil, nil)
		}
		gone := make(chan error, 1)
		go func() { <-read; gone <- cmd.Wait() }()
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			cmd.Process.Kill()
			<-gone
		}
		if c.conn != nil {
			c.conn.Close()
		}
	}
	select {
	case at := <-address:
		c.conn, _, err = websocket.DefaultDialer.Dial(at, nil)
	case <-time.After(time.Minute):
		err = errors.New("Chromium did not start")
	}
	if err != nil {
		c.end()
		return nil, err
	}
	go c.listen()
	return c, nil
}

func (c *chromium) listen() {
	for {
		var m struct {
			ID        int
			SessionID string
			Method    string
			Params    json.RawMessage
			reply
		}
		if c.conn.ReadJSON(&m) != nil {
			return
		}
		c.mu.Lock()
		if call := c.calls[m.ID]; call != nil {
			delete(c.calls, m.ID)
			call <- m.reply
		}
		if m.Method == "Runtime.exceptionThrown" || m.Method == "Log.entryAdded" && strings.Contains(string(m.Params), "Content Security Policy") {
			c.broke[m.SessionID] = append(c.broke[m.SessionID], string(m.Params))
		}
		c.mu.Unlock()
	}
}

func (c *chromium) write(session, method string, params any, call chan reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	if call != nil {
		c.calls[c.last] = call
	}
	m := map[string]any{"id": c.last, "method": method}
	if params != nil {
		m["params"] = params
	}
	if session != "" {
		m["sessionId"] = session
	}
	c.conn.WriteJSON(m)
}

type args map[string]any

func (b *browser) call(session, method string, params args) json.RawMessage {
	b.t.Helper()
	c := make(chan reply, 1)
	b.process.write(session, method, params, c)
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
	where := args{"url": "about:blank"}
	if b.profile != "" {
		where["browserContextId"] = b.profile
	}
	check(b.t, json.Unmarshal(b.call("", "Target.createTarget", where), &target))
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
		b.process.mu.Lock()
		defer b.process.mu.Unlock()
		for _, problem := range b.process.broke[at.SessionID] {
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
