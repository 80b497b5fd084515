//go:build linux

package web_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aaep-go/aaep"
	"github.com/aaep-go/aaep/internal/sessionbus/bustest"
	"github.com/aaep-go/aaep/internal/speechd"
	"github.com/aaep-go/aaep/producer"
)

// A desktop has no screen; Orca reads the page to its user. What Orca says is spoken by a real
// speech server, at the pace of a voice.
type desktop struct {
	t      *testing.T
	speech *speechd.Server
	*tab
	from int  // messages before what is looked at
	slow bool // the voice has no words for what it reads, and spells
}

// run starts a program that ends with the test. Its output is kept where AAEP_ORCA_LOGS names a
// folder.
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
func sit(t *testing.T) *desktop {
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

	d := &desktop{t: t, speech: speechd.Start(t)}
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
func (d *desktop) open(url string) {
	d.t.Helper()
	d.tab = d.browser.open(url, "")
	d.do("Page.bringToFront", nil)
	d.until(`document.getElementById("agent")?.textContent === "Tester"`)
	d.wait("Orca begins to read the page", func() bool { return strings.Contains(d.said(), "Page has") })
	time.Sleep(time.Second)
	d.press("Control_L")
	d.idle()
}

func (d *desktop) wait(what string, is func() bool) {
	d.t.Helper()
	patience := time.Minute
	if d.slow {
		patience = 5 * time.Minute
	}
	for end := time.Now().Add(patience); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			if d.tab != nil {
				d.t.Logf("the page has the focus: %t; it shows:\n%s\nits alert: %s", eval[bool](d.tab, "document.hasFocus()"), eval[string](d.tab, "document.body.innerText"),
					eval[string](d.tab, `document.getElementById("alert")?.textContent ?? ""`))
			}
			d.t.Fatalf("it never came that %s. Orca said:\n%s", what, d.said())
		}
	}
}

// idle waits until all has been said, and nothing more comes for a while.
func (d *desktop) idle() {
	d.t.Helper()
	last, since := -1, time.Now()
	d.wait("there is silence", func() bool {
		all := d.speech.Messages()
		speaking := false
		for _, m := range all {
			speaking = speaking || m.Over.IsZero() && (d.slow || time.Since(m.Asked) < 20*time.Second)
		}
		if len(all) != last || speaking {
			last, since = len(all), time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
}

// press presses real keys. Orca does not see those of the DevTools.
func (d *desktop) press(keys ...string) {
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
func (d *desktop) heard() (all []utterance) {
	for _, m := range d.speech.Messages()[d.from:] {
		all = append(all, utterance{m, strings.TrimSpace(html.UnescapeString(markup.ReplaceAllString(m.Text, "")))})
	}
	return all
}

func (d *desktop) mark() { d.from = len(d.speech.Messages()) }

// said is that as text, with what was cut off marked.
func (d *desktop) said() string {
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
func (d *desktop) times(words string) (n int) {
	for _, u := range d.heard() {
		if u.Message.Heard() {
			n += strings.Count(u.words, words)
		}
	}
	return n
}

// testdata/orca has what a person must hear in each scene, in words that one who uses a screen
// reader can check: "hears" is followed by words that are heard to their end, each after those of
// the line before or in the same breath; "once" by such that are heard exactly once, and "never" by
// such that are not asked to be said at all.
func (d *desktop) judge(t *testing.T, scene string) {
	t.Helper()
	text, err := os.ReadFile("testdata/orca/" + strings.ReplaceAll(scene, " ", "-") + ".txt")
	check(t, err)
	rules := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if rule, words, _ := strings.Cut(strings.TrimSpace(line), " "); slices.Contains([]string{"hears", "once", "never"}, rule) {
			rules[rule] = append(rules[rule], words)
		}
	}
	if len(rules["hears"]) == 0 {
		t.Error("nothing is to be heard")
	}
	missing := func() string {
		all, at, from := d.heard(), 0, 0
		for _, words := range rules["hears"] {
			for ; at < len(all); at, from = at+1, 0 {
				if i := strings.Index(all[at].words[from:], words); i >= 0 && all[at].Message.Heard() {
					from += i + len(words)
					break
				}
			}
			if at == len(all) {
				return words
			}
		}
		return ""
	}
	for end := time.Now().Add(time.Minute); missing() != "" && time.Now().Before(end); time.Sleep(time.Second) {
	}
	if words := missing(); words != "" {
		t.Errorf("%q was not heard to its end, or not where it belongs", words)
	}
	d.idle()
	for _, words := range rules["once"] {
		if n := d.times(words); n != 1 {
			t.Errorf("%q was heard %d times", words, n)
		}
	}
	for _, words := range rules["never"] {
		for _, u := range d.heard() {
			if strings.Contains(u.words, words) {
				t.Errorf("it was said: %q", u.words)
			}
		}
	}
}

var four = []string{"The agent read fourteen files.", "It found three failing tests.", "It will fix the payment service first.", "Then it will run all the tests again."}

// A fixture is what every scene begins with: the page in front, connected and silent, and an agent
// with a session.
type fixture struct {
	*desktop
	t    *testing.T
	page *agentPage
	*producer.Session
	begun map[string]int // how often something was, when that was waited for
}

func (r *fixture) writes(lines ...string) {
	r.t.Helper()
	out := r.Output()
	for _, line := range lines {
		_, err := out.WriteString(line + " ")
		check(r.t, err)
	}
	check(r.t, out.Close())
}

// asks asks for consent; what comes of it comes over the channel.
func asks(t *testing.T, s *producer.Session, action, consequence string, timeout time.Duration) <-chan error {
	outcome := make(chan error, 1)
	go func() {
		_, err := s.Tool(t.Context(), producer.Tool{Name: "pay", Risk: aaep.RiskHigh, Irreversible: true, Action: aaep.Say(action), Consequence: aaep.Say(consequence), Timeout: timeout},
			func(context.Context) (string, error) { return "done", nil })
		outcome <- err
	}()
	return outcome
}

func (r *fixture) paying(amount string) <-chan error {
	return pay(r.t, r.Session, amount)
}

// reads waits until Orca has begun to say something once more than it was by then.
func (r *fixture) reads(words string) {
	r.t.Helper()
	r.wait("it is read: "+words, func() bool {
		n := 0
		for _, u := range r.heard() {
			if strings.Contains(u.words, words) && (!u.Begun.IsZero() || !u.Over.IsZero()) { // of some only the end is told
				n++
			}
		}
		if n <= r.begun[words] {
			return false
		}
		r.begun[words] = n
		return true
	})
}

const (
	working = `document.querySelector(".question:not(.settled) button.yes")?.getAttribute("aria-disabled") === "false"`
	open    = `document.querySelectorAll(".question:not(.settled)").length`
)

// rejects ends a question without a key, where that is not what a scene is about.
func (r *fixture) rejects(outcome <-chan error) {
	r.t.Helper()
	r.until(`document.querySelector(".question:not(.settled) button.no")?.getAttribute("aria-disabled") === "false"`)
	eval[any](r.tab, `document.querySelector(".question:not(.settled) button.no").click()`)
	result(r.t, outcome)
	r.idle()
}

// tabTo presses Tab from the questions on until the focus is on what a selector finds.
func (r *fixture) tabTo(selector string) {
	r.t.Helper()
	eval[any](r.tab, `document.getElementById("questions").focus()`)
	for range 12 {
		time.Sleep(500 * time.Millisecond)
		if eval[bool](r.tab, `document.activeElement?.matches(`+strconv.Quote(selector)+`)`) {
			return
		}
		r.press("Tab")
	}
	r.t.Fatalf("Tab does not lead to %s", selector)
}

var scenes = []struct {
	name string
	play func(r *fixture)
}{
	{"four sentences", func(r *fixture) {
		r.writes(four...)
		r.reads(four[3])
	}},
	{"a question comes first", func(r *fixture) {
		r.writes(four...)
		r.reads(four[0])
		outcome := r.paying("$5")
		r.reads(four[3])
		r.reads("Waiting for an answer.")
		r.idle()
		undecided(r.t, outcome)
		r.rejects(outcome)
	}},
	{"typing", func(r *fixture) {
		eval[any](r.tab, `{ const box = document.createElement("input"); box.id = "box"; box.setAttribute("aria-label", "Message"); document.querySelector("main").prepend(box); document.querySelector(".skip").focus(); }`)
		defer eval[any](r.tab, `document.getElementById("box").remove()`)
		r.idle()
		r.mark()
		r.press("Tab") // for Orca to hand on what is typed
		r.wait("Orca is at the box", func() bool { return strings.Contains(r.said(), "Message entry") })
		r.idle()
		r.mark()
		r.writes(four...)
		outcome := r.paying("$6")
		r.press(strings.Split("h,e,l,l,o,space,a,g,e,n,t,Return", ",")...)
		if typed := eval[string](r.tab, `document.getElementById("box").value`); typed != "hello agent" {
			r.t.Errorf("typed was %q", typed)
		}
		r.reads(four[3])
		r.idle()
		undecided(r.t, outcome)
		r.rejects(outcome)
	}},
	{"a question is cut again and again", func(r *fixture) {
		outcome := r.paying("$7")
		for _, key := range []string{"Tab", "Down", "Control_L"} {
			r.reads("Pay $7")
			time.Sleep(time.Second) // into the action
			r.press(key)
		}
		if eval[bool](r.tab, working) {
			r.t.Error("it can be accepted, and was not heard")
		}
		r.until(working)
		r.idle()
		undecided(r.t, outcome)
		r.tabTo("button.yes")
		r.idle()
		r.press("Return")
		check(r.t, result(r.t, outcome))
	}},
	{"a no by key", func(r *fixture) {
		outcome := r.paying("$8")
		r.reads("Pay $8")
		r.idle()
		r.tabTo("button.no")
		r.idle()
		r.press("Return")
		if result(r.t, outcome) == nil {
			r.t.Error("it was paid")
		}
	}},
	{"a choice", func(r *fixture) {
		got := make(chan any, 1)
		go func() {
			v, _ := r.AskChoice(r.t.Context(), producer.Question{Text: aaep.Say("Which colour shall the door have?"), Timeout: 2 * time.Minute,
				Choices: []producer.Choice{{Value: "r", Label: aaep.Say("Red")}, {Value: "b", Label: aaep.Say("Blue")}}})
			got <- v
		}()
		r.reads("Which colour")
		r.idle()
		r.tabTo(".question:not(.settled) button + button")
		r.idle()
		r.press("Return")
		if v := <-got; v != "b" {
			r.t.Errorf("the answer is %v", v)
		}
		time.Sleep(2 * time.Second)
	}},
	{"it failed", func(r *fixture) {
		r.writes(four...)
		r.reads(four[0])
		check(r.t, r.Fail(errors.New("disk full"), aaep.Say("The tests could not be run: the disk is full.")))
	}},
	{"time is almost over", func(r *fixture) {
		outcome := asks(r.t, r.Session, "Pay $9 to the water company.", "The money leaves your account today.", 40*time.Second)
		r.reads("Pay $9")
		result(r.t, outcome)
	}},
	{"two questions at once", func(r *fixture) {
		first := r.paying("$10")
		r.until(open + ` === 1`)
		other, err := r.page.StartSession(r.t.Context(), aaep.Say("Another task."))
		check(r.t, err)
		defer other.Close()
		second := pay(r.t, other, "$11")
		r.until(open + ` === 2`)
		r.idle()
		r.rejects(first)
		r.rejects(second)
	}},
	{"a flood", func(r *fixture) {
		var lines []string
		for n := range 10000 {
			lines = append(lines, fmt.Sprintf("Compiling file number %d of the project.", n))
		}
		r.writes(append(lines, "Error: the file main.go has no package clause.")...)
		outcome := r.paying("$12")
		r.reads("Pay $12")
		r.idle()
		undecided(r.t, outcome)
		r.rejects(outcome)
	}},
	{"asked in a hidden tab", func(r *fixture) {
		page := r.tab
		other := r.browser.open("about:blank", "")
		other.do("Page.bringToFront", nil)
		page.until(`document.visibilityState === "hidden"`)
		r.idle()
		r.mark()
		r.writes(four...)
		outcome := r.paying("$13")
		page.until(open + ` === 1`)
		page.until(spoken + `.slice(-2).some((t) => t.includes("run all the tests"))`) // the question may come after
		r.idle()
		if n := r.times("Pay $13"); n != 0 {
			r.t.Errorf("in another tab it was read %d times", n)
		}
		r.press("ctrl+Page_Up") // which Orca takes for what changes a page in the next moments
		page.until("!document.hidden")
		r.reads("Pay $13")
		r.reads("While you were away")
		r.idle()
		undecided(r.t, outcome)
		r.rejects(outcome)
		other.do("Page.close", nil)
	}},
	{"it fails in a hidden tab", func(r *fixture) {
		page := r.tab
		other := r.browser.open("about:blank", "")
		other.do("Page.bringToFront", nil)
		page.until(`document.visibilityState === "hidden"`)
		r.idle()
		r.mark()
		check(r.t, r.Fail(errors.New("disk full"), aaep.Say("The copy could not be made: the disk is full.")))
		page.until(spoken + `.at(-1).includes("The copy could not be made")`)
		r.idle()
		if n := r.times("The copy could not be made"); n != 0 {
			r.t.Errorf("in another tab it was read %d times", n)
		}
		r.press("ctrl+Page_Up")
		page.until("!document.hidden")
		r.reads("The copy could not be made")
		r.idle()
		other.do("Page.close", nil)
	}},
	{"keys while it speaks", func(r *fixture) {
		r.writes(four...)
		r.reads(four[0])
		time.Sleep(time.Second) // into the sentence
		r.press("Down")
		r.reads(four[3])
		r.idle()
		outcome := r.paying("$14")
		r.reads("Pay $14")
		r.until(working)
		r.idle()
		eval[any](r.tab, `document.querySelector(".question:not(.settled) button.no").click()`)
		result(r.t, outcome)
		r.reads("You answered: reject.")
		time.Sleep(time.Second)
		r.press("Down")
		r.reads("You answered: reject.")
		r.idle()
		check(r.t, r.Fail(errors.New("disk full"), aaep.Say("The backup could not be made: the disk is full.")))
		for _, key := range []string{"Control_L", "Down"} {
			r.reads("The backup could not be made")
			time.Sleep(time.Second)
			r.press(key)
		}
		r.reads("The backup could not be made")
	}},
	{"a diff without a fence", func(r *fixture) {
		out := r.Output()
		_, err := out.WriteString("I changed one file.\n\ndiff --git a/config.json b/config.json\n--- a/config.json\n+++ b/config.json\n@@ -1,3 +1,4 @@\n {\n" +
			"-  \"retries\": 3\n+  \"retries\": 5,\n+  \"wait\": 2\n }\n")
		check(r.t, err)
		check(r.t, out.Close())
		r.reads("config.json:")
		r.idle()
		out = r.Output()
		_, err = out.WriteString("These two lines change:\n\n- timeout = 30\n+ timeout = 60\n")
		check(r.t, err)
		check(r.t, out.Close())
		r.reads("timeout = 60")
	}},
	{"in Spanish", inLanguage("es", "Pagar 5 euros a la compañía del agua.", "El dinero sale hoy de su cuenta.", "¿De qué color?", "Rojo", "Azul")},
	{"in Arabic", inLanguage("ar", "ادفع ٥ دولارات.", "يغادر المال حسابك اليوم.", "أي لون؟", "أحمر", "أزرق")},
	{"in Chinese", inLanguage("zh", "向水务公司付款五元。", "钱今天就会离开你的账户。", "什么颜色？", "红", "蓝")},
	{"in Yoruba", inLanguage("yo", "San owó omi.", "Owó náà yóò kúrò lónìí.", "Àwọ̀ wo?", "Pupa", "Búlúù")},
}

// inLanguage has another agent ask in a language, on a page in that, where the page speaks it; Tab
// cuts the question, which is rejected. Then it asks which of two, and is answered the second.
func inLanguage(tag, action, consequence, which, one, other string) func(r *fixture) {
	return func(r *fixture) {
		before := r.tab
		r.slow = tag != "es" // Orca's own voice is English here
		defer func() {
			r.slow = false
			r.tab.do("Page.close", nil)
			r.tab = before
			r.tab.do("Page.bringToFront", nil)
			r.idle()
		}()
		st := start(r.t, producer.Config{Language: tag, Languages: []string{"en"}})
		r.open(st.page + "?lang=" + tag)
		session := st.session(r.t, action)
		outcome := asks(r.t, session, action, consequence, 4*time.Minute)
		r.reads(action)
		time.Sleep(300 * time.Millisecond)
		r.press("Tab")
		r.until(working)
		r.idle()
		undecided(r.t, outcome)
		r.rejects(outcome)
		got := make(chan any, 1)
		go func() {
			v, _ := session.AskChoice(r.t.Context(), producer.Question{Text: aaep.Say(which), Timeout: 4 * time.Minute,
				Choices: []producer.Choice{{Value: "1", Label: aaep.Say(one)}, {Value: "2", Label: aaep.Say(other)}}})
			got <- v
		}()
		r.reads(which)
		r.idle()
		const second = `document.querySelector(".question:not(.settled) button + button")`
		r.until(second + `?.getAttribute("aria-disabled") === "false"`)
		eval[any](r.tab, second+".click()")
		if v := <-got; v != "2" {
			r.t.Errorf("the answer is %v", v)
		}
		r.reads(other)
		r.idle()
	}
}

// TestOrca: what a person hears who has Orca read the page. It is no part of the other tests: it
// takes minutes, and half a desktop. AAEP_ORCA says how many times; make orca brings what it needs.
func TestOrca(t *testing.T) {
	times, _ := strconv.Atoi(os.Getenv("AAEP_ORCA"))
	if times == 0 {
		t.Skip("make orca runs it")
	}
	d := sit(t)
	st := start(t, producer.Config{ShortTimeouts: true})
	d.open(st.page)
	played, good := map[string]int{}, map[string]int{}
	for range times {
		for _, scene := range scenes {
			t.Run(scene.name, func(t *testing.T) {
				played[scene.name]++
				was := d.t
				d.t, d.browser.t = t, t
				defer func() { d.t, d.browser.t = was, was }()
				s, err := st.StartSession(t.Context(), aaep.Say("Working on it."))
				check(t, err)
				defer s.Close()
				defer func() {
					if !t.Failed() {
						good[scene.name]++
					}
				}()
				d.idle()
				d.mark()
				defer func() { t.Logf("Orca said:\n%s", d.said()) }()
				scene.play(&fixture{desktop: d, t: t, page: st, Session: s, begun: map[string]int{}})
				d.idle()
				d.judge(t, scene.name)
			})
		}
	}
	for _, scene := range scenes {
		if n := played[scene.name]; n > 0 {
			t.Logf("%s: %d of %d", scene.name, good[scene.name], n)
		}
	}
}
