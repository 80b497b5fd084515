//go:build linux

package web_test

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/sessionbus/bustest"
	"github.com/aaep-go/aaep/internal/speechd"
	"github.com/aaep-go/aaep/producer"
)

// A desk is a desktop that nobody looks at, whose user has Orca read the page to them: what Orca says is spoken by a real
// speech server, at the pace of a voice.
type desk struct {
	t      *testing.T
	speech *speechd.Server
	*tab
	from int // messages before what is looked at
}

// run starts a program that ends with the test. Its output is kept where AAEP_ORCA_LOGS names a folder.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	if logs := os.Getenv("AAEP_ORCA_LOGS"); logs != "" {
		out, err := os.Create(filepath.Join(logs, name+".log"))
		check(t, err)
		defer out.Close()
		cmd.Stdout, cmd.Stderr = out, out
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	check(t, cmd.Start())
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
}

// sit starts the desktop, Orca and a browser.
func sit(t *testing.T) *desk {
	t.Helper()
	for _, program := range append([]string{"orca", "Xvfb", "openbox", "xdotool", "gsettings"}, speechd.Programs...) {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is missing: make orca installs it, if root runs that on Debian", program)
		}
	}
	version, err := exec.Command("orca", "--version").Output()
	check(t, err)
	t.Logf("Orca %s", bytes.TrimSpace(version))

	home, err := os.MkdirTemp("", "orca") // t.TempDir is too long for sockets
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	for _, name := range []string{"HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, home)
	}
	for name, value := range map[string]string{"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "GSETTINGS_BACKEND": "keyfile", "ACCESSIBILITY_ENABLED": "1"} {
		t.Setenv(name, value)
	}
	read, write, err := os.Pipe()
	check(t, err)
	screen := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "1280x900x24", "-nolisten", "tcp")
	screen.ExtraFiles = []*os.File{write}
	screen.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	check(t, screen.Start())
	t.Cleanup(func() { screen.Process.Kill(); screen.Wait() })
	write.Close()
	var number int
	_, err = fmt.Fscan(read, &number)
	check(t, err)
	t.Setenv("DISPLAY", fmt.Sprintf(":%d", number))

	d := &desk{t: t, speech: speechd.Start(t)}
	bustest.Start(t)
	for _, key := range []string{"org.gnome.desktop.interface toolkit-accessibility", "org.gnome.desktop.a11y.applications screen-reader-enabled"} {
		schema, name, _ := strings.Cut(key, " ")
		out, err := exec.Command("gsettings", "set", schema, name, "true").CombinedOutput()
		if err != nil {
			t.Fatalf("gsettings: %v: %s", err, out)
		}
	}
	run(t, "openbox") // without a window manager no window has the focus, and Orca reads only what has it
	run(t, "orca", "--replace")
	d.wait("Orca is there", func() bool { return len(d.speech.Messages()) > 0 })
	b := startBrowser(t, "--force-renderer-accessibility", "--start-maximized")
	b.seen = true
	d.tab = &tab{browser: b}
	return d
}

// open opens the page in front, and silences the reading of it, as its user would.
func (d *desk) open(url string) {
	d.t.Helper()
	d.tab = d.browser.open(url, "")
	d.do("Page.bringToFront", nil)
	d.until(connected)
	d.wait("the page is read", func() bool { return strings.Contains(d.said(), "heading level 1") })
	d.press("Control_L")
	d.idle()
}

func (d *desk) wait(what string, is func() bool) {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("it never came that %s. Orca said:\n%s", what, d.said())
		}
	}
}

// idle waits until all has been said, and nothing more comes for a while.
func (d *desk) idle() {
	d.t.Helper()
	last, since := -1, time.Now()
	d.wait("there is silence", func() bool {
		all := d.speech.Messages()
		speaking := false
		for _, m := range all {
			speaking = speaking || m.Over.IsZero() && time.Since(m.Asked) < 20*time.Second
		}
		if len(all) != last || speaking {
			last, since = len(all), time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
}

// press presses real keys. Orca does not see those of the DevTools.
func (d *desk) press(keys ...string) {
	d.t.Helper()
	for _, key := range keys {
		if out, err := exec.Command("xdotool", "key", key).CombinedOutput(); err != nil {
			d.t.Fatalf("xdotool: %v: %s", err, out)
		}
		time.Sleep(160 * time.Millisecond) // as a person types
	}
}

var markup = regexp.MustCompile(`<[^>]*>`)

type utterance struct {
	speechd.Message
	words string
}

// heard is what was said since mark.
func (d *desk) heard() (all []utterance) {
	for _, m := range d.speech.Messages()[d.from:] {
		all = append(all, utterance{m, strings.TrimSpace(html.UnescapeString(markup.ReplaceAllString(m.Text, "")))})
	}
	return all
}

func (d *desk) mark() { d.from = len(d.speech.Messages()) }

// said is that as text, with what was cut off marked.
func (d *desk) said() string {
	var b strings.Builder
	var first time.Time
	for _, u := range d.heard() {
		if first.IsZero() {
			first = u.Asked
		}
		how := "heard"
		switch {
		case u.Cut:
			how = "cut"
		case u.Over.IsZero():
			how = "waits"
		}
		fmt.Fprintf(&b, "%6.2f s, %s: %s\n", u.Asked.Sub(first).Seconds(), how, u.words)
	}
	return b.String()
}

// times is how often words were heard to their end.
func (d *desk) times(words string) (n int) {
	for _, u := range d.heard() {
		if u.Message.Heard() {
			n += strings.Count(u.words, words)
		}
	}
	return n
}

var four = []string{"The agent read fourteen files.", "It found three failing tests.", "It will fix the payment service first.", "Then it will run all the tests again."}

// TestOrca: what a person hears who has Orca read the page. It is no part of the other tests: it takes minutes, and half
// a desktop. AAEP_ORCA=1 runs it; make orca brings what it needs.
func TestOrca(t *testing.T) {
	if os.Getenv("AAEP_ORCA") == "" {
		t.Skip("make orca runs it")
	}
	d := sit(t)
	st := start(t, producer.Config{})
	d.open(st.page)
	s := st.session(t, "Mending the tests.")
	d.idle()

	scene := func(name string, play func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			was := d.t
			d.t, d.browser.t = t, t
			defer func() { d.t, d.browser.t = was, was }()
			d.mark()
			play(t)
			t.Logf("Orca said:\n%s", d.said())
		})
	}
	answer := func() {
		out := s.Output()
		for _, sentence := range four {
			out.WriteString(sentence + " ")
		}
		out.Close()
	}

	scene("four sentences are heard whole and once", func(t *testing.T) {
		answer()
		d.until(spoken + `.some((t) => t.includes("run all the tests"))`)
		d.idle()
		for _, sentence := range four {
			if n := d.times(sentence); n != 1 {
				t.Errorf("%q was heard %d times", sentence, n)
			}
		}
	})

	scene("the question is heard before what waits", func(t *testing.T) {
		answer()
		d.wait("the first sentence is read", func() bool { return strings.Contains(d.said(), four[0]) })
		outcome := pay(t, s, "$5")
		d.until(spoken + `.at(-1).includes("run all the tests")`)
		d.idle()
		at := func(words string) int {
			for i, u := range d.heard() {
				if u.Message.Heard() && strings.Contains(u.words, words) {
					return i
				}
			}
			t.Errorf("%q was not heard to its end", words)
			return -1
		}
		if question := at("Pay $5 to the water company."); question > at(four[1]) {
			t.Error("the question was heard after the second sentence")
		}
		for _, sentence := range four {
			if n := d.times(sentence); n != 1 {
				t.Errorf("%q was heard %d times", sentence, n)
			}
		}
		undecided(t, outcome)
		d.until(armed)
		eval[any](d.tab, `document.querySelector(".question:not(.settled) button").click()`)
		result(t, outcome)
		d.idle()
	})

	scene("typing loses nothing and accepts nothing", func(t *testing.T) {
		eval[any](d.tab, `{ const box = document.createElement("input"); box.id = "box"; box.setAttribute("aria-label", "Message"); document.querySelector("main").prepend(box); }`)
		d.idle()
		eval[any](d.tab, `document.querySelector(".skip").focus()`)
		d.idle()
		d.mark()
		d.press("Tab") // for Orca to hand on what is typed
		d.wait("Orca is at the box", func() bool { return strings.Contains(d.said(), "Message entry") })
		d.idle()
		d.mark()
		answer()
		outcome := pay(t, s, "$6")
		d.press(strings.Split("h,e,l,l,o,space,a,g,e,n,t,Return", ",")...)
		if typed := eval[string](d.tab, `document.getElementById("box").value`); typed != "hello agent" {
			t.Errorf("typed was %q", typed)
		}
		d.until(spoken + `.some((t) => t.includes("run all the tests"))`)
		d.idle()
		undecided(t, outcome)
		for _, sentence := range four {
			if n := d.times(sentence); n != 1 {
				t.Errorf("%q was heard %d times", sentence, n)
			}
		}
		if d.times("Pay $6 to the water company.") == 0 {
			t.Error("the question was not heard")
		}
		eval[any](d.tab, `document.getElementById("box").remove()`)
		d.until(armed)
		eval[any](d.tab, `document.querySelector(".question:not(.settled) button").click()`)
		result(t, outcome)
		d.idle()
	})

	scene("what came in the background is told on return", func(t *testing.T) {
		page := d.tab
		other := d.browser.open("about:blank", "")
		other.do("Page.bringToFront", nil)
		page.until("document.hidden")
		d.idle()
		d.mark()
		answer()
		page.until(spoken + `.at(-1).includes("run all the tests")`)
		d.idle()
		if n := d.times(four[0]); n != 0 {
			t.Errorf("in another tab it was read %d times", n)
		}
		d.mark()
		page.do("Page.bringToFront", nil)
		page.until("!document.hidden")
		d.wait("it is told what came", func() bool { return d.times("While you were away came 4 lines") > 0 })
		d.idle()
		if n := d.times("While you were away came 4 lines. The newest: " + four[3]); n != 1 {
			t.Errorf("that was told %d times", n)
		}
	})
	check(t, s.Complete(aaep.Say("Done.")))
}
